from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.dimensions import Ceiling
from proctor.budget.reserve import DoesNotFit, reserve
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion

TOKENS, COST, ITERATIONS = Dimension.TOKENS, Dimension.COST, Dimension.ITERATIONS


def tokens(limit: int = 1_000, action: Exhaustion = Exhaustion.PARK, **more: int) -> Ceiling:
    return Ceiling(TOKENS, limit, action, **more)


def used(amount: int) -> dict[Dimension, Figure]:
    return {TOKENS: Figure(amount)}


def test_the_first_task_takes_its_part_of_what_is_left() -> None:
    assert reserve([tokens(), Ceiling(COST, 90, Exhaustion.STOP)], used(200), 4, []) == {TOKENS: 200, COST: 22}


def test_later_tasks_take_what_verified_ones_cost_in_the_middle() -> None:
    verified = [{TOKENS: 100}, {TOKENS: 900}, {TOKENS: 150}]
    assert reserve([tokens(2_000)], used(1_150), 4, verified) == {TOKENS: 150}
    assert reserve([tokens(2_000)], used(1_150), 4, verified[:2]) == {TOKENS: 500}


def test_the_contract_comes_first_and_a_second_attempt_has_what_the_first_left() -> None:
    verified = [{TOKENS: 900}]
    assert reserve([tokens(per_task=300)], {}, 4, verified) == {TOKENS: 300}
    assert reserve([tokens(per_task=300)], used(700), 4, verified, {TOKENS: 100}) == {TOKENS: 200}


def test_no_iteration_sets_aside_more_than_it_may_use() -> None:
    assert reserve([tokens(per_iteration=50)], {}, 2, []) == {TOKENS: 50}
    assert reserve([tokens(per_task=300, per_iteration=50)], {}, 2, []) == {TOKENS: 50}


def test_a_task_that_does_not_fit_is_refused_with_what_it_wants_and_what_is_left() -> None:
    assert reserve([tokens(per_task=300)], used(800), 1, []) == DoesNotFit(TOKENS, 300, 200, Exhaustion.PARK)
    refused = reserve([tokens(action=Exhaustion.ESCALATE)], used(900), 1, [{TOKENS: 101}])
    assert refused == DoesNotFit(TOKENS, 101, 100, Exhaustion.ESCALATE)
    assert reserve([tokens(action=Exhaustion.STOP, per_task=300)], used(800), 1, []) == DoesNotFit(
        TOKENS, 300, 200, Exhaustion.PARK
    )


def test_nothing_left_fits_nothing() -> None:
    for amount in (1_000, 5_000):
        assert reserve([tokens()], used(amount), 3, []) == DoesNotFit(TOKENS, 1, 0, Exhaustion.PARK)
        assert isinstance(reserve([tokens()], used(amount), 3, [{TOKENS: 0}]), DoesNotFit)


def test_the_last_allowed_iteration_may_start_whatever_earlier_tasks_took() -> None:
    limit = [Ceiling(ITERATIONS, 6, Exhaustion.PARK)]
    assert reserve(limit, {ITERATIONS: Figure(5)}, 9, [{ITERATIONS: 3}]) == {ITERATIONS: 1}
    assert isinstance(reserve(limit, {ITERATIONS: Figure(6)}, 1, []), DoesNotFit)


def test_the_reserve_of_degrade_can_be_set_aside() -> None:
    limit = [Ceiling(COST, 100, Exhaustion.DEGRADE, per_task=10, reserve=20)]
    assert reserve(limit, {COST: Figure(105)}, 1, []) == {COST: 10}
    assert reserve(limit, {COST: Figure(115)}, 1, []) == DoesNotFit(COST, 10, 5, Exhaustion.PARK)


@given(
    st.dictionaries(st.sampled_from(Dimension), st.integers(1, 10**9), min_size=1),
    st.dictionaries(st.sampled_from(Dimension), st.integers(0, 10**9)),
    st.integers(0, 50),
    st.lists(st.dictionaries(st.sampled_from(Dimension), st.integers(0, 10**9)), max_size=5),
    st.none() | st.integers(1, 10**9),
)
def test_a_share_is_at_least_one_and_never_more_than_is_left(
    limits: dict[Dimension, int],
    spent: dict[Dimension, int],
    tasks: int,
    verified: list[dict[Dimension, int]],
    per_task: int | None,
) -> None:
    ceilings = [Ceiling(name, limit, Exhaustion.PARK, per_task) for name, limit in limits.items()]
    result = reserve(ceilings, {name: Figure(amount) for name, amount in spent.items()}, tasks, verified)
    left = {name: max(0, limit - spent.get(name, 0)) for name, limit in limits.items()}
    if isinstance(result, DoesNotFit):
        assert result.left == left[result.dimension] < result.wanted
    else:
        assert result.keys() == limits.keys()
        assert all(1 <= amount <= left[name] for name, amount in result.items())


@given(st.integers(1, 10**6), st.integers(1, 20))
def test_without_history_all_open_tasks_fit_if_there_is_one_unit_each(limit: int, tasks: int) -> None:
    spent = 0
    for still_open in range(tasks, 0, -1):
        share = reserve([tokens(limit)], used(spent), still_open, [])
        if limit < tasks:
            return
        assert isinstance(share, dict)
        spent += share[TOKENS]
    assert spent <= limit
