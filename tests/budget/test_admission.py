from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.admission import LEAST_OUTPUT, USUAL_OUTPUT, Call, Exhausted, Fits, Spent, Unpriced, fit
from proctor.budget.dimensions import Ceiling
from proctor.budget.thresholds import Scope
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion

D = Dimension
NOTHING = Spent({}, {}, {}, {})


def call(prefix: int = 100, most: int | None = 2000, rate: int | None = 10) -> Call:
    return Call(prefix, most, lambda output: None if rate is None else prefix + rate * output)


def spent(dimension: Dimension, used: int, **more: int) -> Spent:
    return Spent({dimension: Figure(used)}, {}, {}, {dimension: more.get("reserved", 0)})


def test_a_call_reserves_all_that_it_may_cost() -> None:
    found = fit(call(), [Ceiling(D.TOKENS, 10_000, Exhaustion.PARK)], NOTHING, cheaper=False)
    assert found == Fits({D.TOKENS: 2100, D.PREFIX_TOKENS: 100, D.GENERATED_TOKENS: 2000, D.COST: 20_100})


def test_a_call_without_a_limit_of_its_own_is_taken_for_a_usual_one() -> None:
    found = fit(call(most=None), [], NOTHING, cheaper=False)
    assert isinstance(found, Fits)
    assert found.amounts[D.GENERATED_TOKENS] == USUAL_OUTPUT


def test_what_it_may_generate_is_lowered_to_what_fits_and_not_below_the_least() -> None:
    ceiling = [Ceiling(D.TOKENS, 10_000, Exhaustion.PARK)]
    found = fit(call(), ceiling, spent(D.TOKENS, 8_000), cheaper=False)
    assert isinstance(found, Fits)
    assert found.most_output == 1_900
    refused = fit(call(), ceiling, spent(D.TOKENS, 8_900), cheaper=False)
    assert refused == Exhausted(D.TOKENS, Scope.SESSION, 100 + LEAST_OUTPUT, 1_100, 10_000, Exhaustion.PARK)
    small = fit(call(most=50), ceiling, spent(D.TOKENS, 9_850), cheaper=False)
    assert isinstance(small, Fits)
    assert small.most_output is None


def test_calls_in_flight_count_with_what_they_reserved() -> None:
    ceiling = [Ceiling(D.COST, 50_000, Exhaustion.STOP)]
    assert isinstance(fit(call(), ceiling, spent(D.COST, 20_000), cheaper=False), Fits)
    refused = fit(call(), ceiling, spent(D.COST, 20_000, reserved=25_000), cheaper=False)
    assert isinstance(refused, Exhausted)
    assert (refused.dimension, refused.left) == (D.COST, 5_000)


def test_the_reserve_is_for_the_cheaper_model_alone() -> None:
    ceiling = [Ceiling(D.TOKENS, 10_000, Exhaustion.DEGRADE, reserve=50)]
    used = spent(D.TOKENS, 10_000)
    assert isinstance(fit(call(), ceiling, used, cheaper=False), Exhausted)
    assert isinstance(fit(call(), ceiling, used, cheaper=True), Fits)


def test_shares_of_a_task_and_of_an_iteration_bind_too() -> None:
    ceiling = [Ceiling(D.TOKENS, 100_000, Exhaustion.PARK, per_task=3_000, per_iteration=2_500)]
    task = Spent({}, {D.TOKENS: 2_950}, {}, {})
    iteration = Spent({}, {}, {D.TOKENS: 2_450}, {})
    for used, scope in ((task, Scope.TASK), (iteration, Scope.ITERATION)):
        refused = fit(call(), ceiling, used, cheaper=False)
        assert isinstance(refused, Exhausted)
        assert (refused.scope, refused.action) == (scope, None)


def test_the_last_tool_call_allowed_is_made_and_no_model_is_asked_after_it() -> None:
    ceiling = [Ceiling(D.TOOL_CALLS, 5, Exhaustion.PARK)]
    assert isinstance(fit(call(), ceiling, spent(D.TOOL_CALLS, 4), cheaper=False), Fits)
    assert isinstance(fit(call(), ceiling, spent(D.TOOL_CALLS, 5), cheaper=False), Exhausted)


def test_d1_a_model_without_a_price_is_refused_where_cost_is_capped_and_only_there() -> None:
    unknown = call(rate=None)
    assert fit(unknown, [Ceiling(D.COST, 1, Exhaustion.PARK)], NOTHING, cheaper=False) == Unpriced()
    assert isinstance(fit(unknown, [Ceiling(D.TOKENS, 9_999, Exhaustion.PARK)], NOTHING, cheaper=False), Fits)


@given(
    st.integers(0, 10_000), st.integers(0, 5_000), st.none() | st.integers(1, 5_000), st.integers(0, 10_000),
    st.sampled_from([D.TOKENS, D.PREFIX_TOKENS, D.GENERATED_TOKENS, D.COST]),
)  # fmt: skip
def test_whatever_is_admitted_stays_within_the_ceiling(
    limit: int, prefix: int, most: int | None, used: int, dimension: Dimension
) -> None:
    found = fit(
        call(prefix, most, 1), [Ceiling(dimension, limit, Exhaustion.STOP)], spent(dimension, used), cheaper=False
    )
    if isinstance(found, Fits):
        assert used + found.amounts[dimension] <= limit
