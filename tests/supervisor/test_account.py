"""The live account: totals never fall, and what the gateway measured is what counts."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.dimensions import Usage
from proctor.journal.events import Figure, ModelCall
from proctor.supervisor.account import Account
from proctor.words import CallEnd, Dimension, Source


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def account(clock: Clock | None = None, **used: int) -> Account:
    figures = {Dimension(name): Figure(amount) for name, amount in used.items()}
    return Account(figures, datetime.now(UTC), {}, clock or Clock())


def call(**fields: object) -> ModelCall:
    return ModelCall(call="a", iteration=1, model="claude-sonnet-4-5", **fields)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=30))
def test_the_active_clock_never_falls_and_loses_no_more_than_a_millisecond(steps: list[tuple[float, bool]]) -> None:
    clock = Clock()
    made, before, active, running = account(clock), 0, 0.0, False
    for seconds, go in steps:
        clock.now += seconds
        active += seconds * running
        running = go
        for _ in range(2):
            made.clock(go)
            assert made.active_ms >= before
            before = made.active_ms
    assert abs(made.active_ms - active * 1000) < 2


def test_measured_calls_count_and_neither_reports_nor_estimates_beside_them() -> None:
    made = account(tokens=1000)
    made.begin("claude-sonnet-4-5", gateway=True)
    made.estimate(prefix=5000)
    made.report("claude-sonnet-4-5", Usage(input=9000))
    assert made.figures()[Dimension.TOKENS] == Figure(1000)
    made.meter(call(input=70, output=30, micro=660))
    assert made.figures()[Dimension.TOKENS] == Figure(1100)
    used = made.end()
    assert (used[Dimension.TOKENS], used[Dimension.COST]) == (100, 660)
    assert made.figures()[Dimension.COST].used == 660


def test_a_worker_that_asks_no_model_through_the_gateway_is_estimated_at_its_end() -> None:
    made = account()
    made.begin("claude-sonnet-4-5", gateway=True)
    made.estimate(prefix=500)
    assert Dimension.TOKENS not in made.figures()
    assert made.end()[Dimension.TOKENS] == 500
    assert made.figures()[Dimension.TOKENS] == Figure(500, Source.ESTIMATED)


def test_d4_what_an_agent_says_of_its_own_spending_never_counts() -> None:
    made = account()
    made.begin("claude-sonnet-4-5", gateway=True, agent=True)
    made.report("claude-sonnet-4-5", Usage(input=9000))
    made.estimate(prefix=500)
    assert Dimension.TOKENS not in made.end()


def test_calls_that_cost_nothing_or_were_counted_add_nothing() -> None:
    made = account()
    made.begin(None, gateway=True)
    made.meter(call(input=5, duplicate=True))
    made.meter(call(input=5, end=CallEnd.FAILED))
    assert made.figures().get(Dimension.TOKENS) is None


def test_tool_calls_are_those_of_the_answers_or_what_the_worker_tells_where_that_is_more() -> None:
    made = account()
    made.begin(None, gateway=True, agent=True)
    made.meter(call(tools=2))
    made.tools(1)
    assert made.figures()[Dimension.TOOL_CALLS] == Figure(2)
    made.tools(4)
    assert made.figures()[Dimension.TOOL_CALLS] == Figure(5, Source.REPORTED)
