from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.dimensions import Ceiling
from proctor.budget.thresholds import Binding, Scope, binding, bindings, crossings, level_of
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion, Level, Source

ORDER = list(Level)
TOKENS, COST = Dimension.TOKENS, Dimension.COST


def ceiling(dimension: Dimension = TOKENS, limit: int = 100, action: Exhaustion = Exhaustion.PARK) -> Ceiling:
    return Ceiling(dimension, limit, action)


def spent(**amounts: int) -> dict[Dimension, Figure]:
    return {Dimension(name): Figure(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("used", "level"),
    [
        (0, Level.OK),
        (49, Level.OK),
        (50, Level.ALERT),
        (69, Level.ALERT),
        (70, Level.SOFT),
        (99, Level.SOFT),
        (100, Level.HARD),
        (10**12, Level.HARD),
    ],
)
def test_a_level_is_reached_at_its_share_of_the_limit(used: int, level: Level) -> None:
    assert level_of(used, 100) is level


def test_levels_are_configurable() -> None:
    assert level_of(20, 100, alert=20, soft=30) is Level.ALERT
    assert level_of(30, 100, alert=20, soft=30) is Level.SOFT
    assert level_of(19, 100, alert=20, soft=30) is Level.OK


def test_a_share_is_not_rounded_down_to_an_earlier_level() -> None:
    assert level_of(1, 3) is Level.OK
    assert level_of(2, 3) is Level.ALERT
    assert level_of(3, 3) is Level.HARD


@given(st.integers(0, 10**13), st.integers(0, 10**13), st.integers(0, 10**13), st.integers(1, 99), st.integers(1, 99))
def test_more_spending_never_lowers_a_level(used: int, more: int, limit: int, one: int, other: int) -> None:
    alert, soft = sorted((one, other))
    before, after = (level_of(amount, limit, alert, soft) for amount in (used, used + more))
    assert ORDER.index(after) >= ORDER.index(before)
    assert level_of(limit, limit, alert, soft) is Level.HARD


@pytest.mark.parametrize("dimension", list(Dimension))
def test_every_dimension_crosses_and_binds(dimension: Dimension) -> None:
    limits = [ceiling(dimension, 10, Exhaustion.ESCALATE)]
    used = {dimension: Figure(12, Source.ESTIMATED)}
    assert [(one.level, one.source) for one in crossings(used, limits, set())] == [
        (level, Source.ESTIMATED) for level in (Level.ALERT, Level.SOFT, Level.HARD)
    ]
    bound = binding(used, limits)
    assert bound == Binding(dimension, Scope.SESSION, 12, 10, Exhaustion.ESCALATE)
    assert bound.overshoot == 2


def test_a_jump_reports_all_levels_from_below_ceiling_by_ceiling() -> None:
    found = crossings(spent(tokens=100, cost=75), [ceiling(COST), ceiling(TOKENS)], set())
    assert [(one.dimension, one.level) for one in found] == [
        (COST, Level.ALERT),
        (COST, Level.SOFT),
        (TOKENS, Level.ALERT),
        (TOKENS, Level.SOFT),
        (TOKENS, Level.HARD),
    ]
    assert {(one.used, one.limit) for one in found} == {(75, 100), (100, 100)}


def test_what_fired_before_a_restart_does_not_fire_after_it() -> None:
    fired = {(TOKENS, Level.ALERT)}
    assert [one.level for one in crossings(spent(tokens=70), [ceiling()], fired)] == [Level.SOFT]
    assert crossings(spent(tokens=60), [ceiling()], fired) == []


def test_a_raise_lets_go_and_the_new_limit_binds_without_a_second_notice() -> None:
    before, used = ceiling(), spent(tokens=100)
    fired = {(one.dimension, one.level) for one in crossings(used, [before], set())}
    after = before.raised(100)
    assert binding(used, [before]) is not None
    assert binding(used, [after]) is None
    assert used == spent(tokens=100)
    assert level_of(100, after.limit) is Level.ALERT
    assert crossings(spent(tokens=200), [after], fired) == []
    assert binding(spent(tokens=200), [after]) == Binding(TOKENS, Scope.SESSION, 200, 200, Exhaustion.PARK)


def test_an_early_raise_leaves_the_higher_levels_to_fire_at_the_new_limit() -> None:
    raised = ceiling().raised(900)
    fired = {(TOKENS, Level.ALERT)}
    assert crossings(spent(tokens=600), [raised], fired) == []
    assert [one.level for one in crossings(spent(tokens=700), [raised], fired)] == [Level.SOFT]


def test_a_dimension_without_a_ceiling_never_binds_and_one_without_a_figure_is_at_nothing() -> None:
    assert binding(spent(cost=10**12), [ceiling(TOKENS)]) is None
    assert crossings(spent(cost=10**12), [ceiling(TOKENS)], set()) == []


def test_an_unknown_figure_counts_as_far_as_it_is_known() -> None:
    used = {COST: Figure(100, Source.UNKNOWN)}
    assert binding(used, [ceiling(COST)]) is not None
    assert crossings(used, [ceiling(COST)], set())[-1].source is Source.UNKNOWN


@pytest.mark.parametrize(
    ("used", "action"),
    [(99, None), (100, Exhaustion.DEGRADE), (119, Exhaustion.DEGRADE), (120, Exhaustion.PARK), (500, Exhaustion.PARK)],
)
def test_degrade_lasts_from_the_limit_to_the_end_of_the_reserve_and_then_parks(
    used: int, action: Exhaustion | None
) -> None:
    bound = binding(spent(cost=used), [Ceiling(COST, 100, Exhaustion.DEGRADE, reserve=20)])
    assert (bound and bound.action) is action


def test_the_strictest_ceiling_wins() -> None:
    limits = [
        Ceiling(COST, 100, Exhaustion.DEGRADE, reserve=50),
        Ceiling(Dimension.TOOL_CALLS, 10, Exhaustion.ESCALATE),
        Ceiling(TOKENS, 100, Exhaustion.PARK),
        Ceiling(Dimension.BYTES_WRITTEN, 100, Exhaustion.STOP),
    ]
    used = spent(cost=100, tool_calls=10, tokens=100, bytes_written=100)
    assert [one.action for one in bindings(used, limits)] == [
        Exhaustion.STOP,
        Exhaustion.PARK,
        Exhaustion.ESCALATE,
        Exhaustion.DEGRADE,
    ]
    assert binding(used, limits) == bindings(used, limits)[0]


def test_limits_of_a_task_and_an_iteration_end_only_these() -> None:
    limits = [Ceiling(TOKENS, 1_000, Exhaustion.STOP, per_task=100, per_iteration=50)]
    used = spent(tokens=200)
    assert bindings(used, limits, task={TOKENS: 99}, iteration={TOKENS: 49}) == []
    assert bindings(used, limits, task={TOKENS: 120}, iteration={TOKENS: 60}) == [
        Binding(TOKENS, Scope.TASK, 120, 100, None),
        Binding(TOKENS, Scope.ITERATION, 60, 50, None),
    ]
    assert bindings(used, limits) == []


def test_a_degraded_session_still_ends_an_iteration_at_its_own_limit() -> None:
    limits = [Ceiling(COST, 100, Exhaustion.DEGRADE, per_iteration=10, reserve=50)]
    found = bindings(spent(cost=110), limits, iteration={COST: 10})
    assert [one.scope for one in found] == [Scope.ITERATION, Scope.SESSION]


@given(
    st.lists(st.dictionaries(st.sampled_from(Dimension), st.integers(0, 400), min_size=1), max_size=30),
    st.dictionaries(st.sampled_from(Dimension), st.integers(1, 500), min_size=1),
    st.data(),
)
def test_each_level_fires_once_in_order_and_none_is_left_out(
    steps: list[dict[Dimension, int]], limits: dict[Dimension, int], data: st.DataObject
) -> None:
    ceilings = {name: ceiling(name, limit) for name, limit in limits.items()}
    totals: dict[Dimension, int] = {}
    fired: list[tuple[Dimension, Level]] = []
    for step in steps:
        for name, amount in step.items():
            totals[name] = totals.get(name, 0) + amount
        if data.draw(st.booleans(), label="raise one"):
            name = data.draw(st.sampled_from(sorted(ceilings)))
            ceilings[name] = ceilings[name].raised(data.draw(st.integers(1, 300)))
        used: Mapping[Dimension, Figure] = {name: Figure(amount) for name, amount in totals.items()}
        found = [(one.dimension, one.level) for one in crossings(used, ceilings.values(), set(fired))]
        assert crossings(used, ceilings.values(), {*fired, *found}) == []
        fired += found
        for name, one in ceilings.items():
            reached = ORDER.index(level_of(totals.get(name, 0), one.limit))
            assert {(name, level) for level in ORDER[1 : reached + 1]} <= set(fired)
            bound = any(item.dimension is name for item in bindings(used, [one]))
            assert bound == (totals.get(name, 0) >= one.limit)
    assert len(fired) == len(set(fired))
    for name in ceilings:
        own = [level for dimension, level in fired if dimension is name]
        assert own == sorted(own, key=ORDER.index)
