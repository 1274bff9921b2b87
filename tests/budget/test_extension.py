"""How much more is offered at a ceiling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from proctor.budget.extension import suggested
from proctor.words import Dimension


@given(
    dimension=some.sampled_from(Dimension),
    limit=some.integers(1, 10**13),
    over=some.floats(0, 2),
)
def test_a_suggested_extension_lets_the_session_go_on(dimension: Dimension, limit: int, over: float) -> None:
    used = int(limit * over)
    by = suggested(dimension, used, limit)
    assert by > 0
    assert limit + by > used


def test_a_suggested_extension_is_a_round_number() -> None:
    assert suggested(Dimension.TOKENS, 2_004_000, 2_000_000) == 500_000
    assert suggested(Dimension.COST, 20_400_000, 20_000_000) == 5_000_000
    assert suggested(Dimension.WALL_CLOCK, 0, 4 * 3_600_000) == 3_600_000
    assert suggested(Dimension.ITERATIONS, 12, 12) == 3


def test_a_suggested_extension_buys_something() -> None:
    assert suggested(Dimension.TOOL_CALLS, 6, 6) == 20
    assert suggested(Dimension.TOKENS, 900, 1_000) == 20_000
    assert suggested(Dimension.TOKENS, 2_000_000, 2_000_000, wanted=700_000) == 700_000
