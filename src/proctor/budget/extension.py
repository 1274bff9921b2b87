"""How much more of a ceiling is worth to be offered. Pure; amounts in their dimension's unit."""

from __future__ import annotations

from proctor.words import Dimension

LEAST = {
    Dimension.WALL_CLOCK: 60_000,
    Dimension.ELAPSED: 60_000,
    Dimension.TOKENS: 20_000,
    Dimension.PREFIX_TOKENS: 20_000,
    Dimension.GENERATED_TOKENS: 2_000,
    Dimension.COST: 100_000,
    Dimension.TOOL_CALLS: 20,
    Dimension.FILES_TOUCHED: 5,
    Dimension.LINES_CHANGED: 50,
    Dimension.BYTES_WRITTEN: 1 << 20,
}
"""Less than this buys nothing: a brief is longer, a worker calls more tools before its first edit."""


def suggested(dimension: Dimension, used: int, limit: int, wanted: int = 0) -> int:
    """A sensible extension in a round number: about a quarter of the limit, a tenth beyond what is used, no less than
    what was `wanted`, and enough to go on with."""
    found = max(limit // 4, used - limit + max(limit // 10, wanted, 1), LEAST.get(dimension, 1))
    unit = {Dimension.COST: 1_000_000, Dimension.BYTES_WRITTEN: 1 << 20}.get(dimension, 1)
    if dimension in (Dimension.WALL_CLOCK, Dimension.ELAPSED):
        unit = 60_000 if found >= 60_000 else 1_000
    if found < unit:
        unit = max(1, unit // 100)
    count = -(-found // unit)
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step * unit
