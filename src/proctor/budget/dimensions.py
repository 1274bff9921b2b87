"""What is counted: ceilings, tokens, and figures that say where they came from.

Amounts are integers in their dimension's unit: milliseconds, tokens, micro-dollars, bytes or counts.
`ITERATIONS` counts iterations that have ended, so that the last one allowed runs to its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion, Source

DEFAULT_RESERVE = 10
"""Per cent of the limit that `degrade` may still spend when the contract names no reserve."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A limit and what happens at it.

    `per_task` and `per_iteration` limit one task (over all its iterations) and one iteration. `reserve`
    is a percentage of the limit and lies beyond it: at the limit `degrade` begins, and at `end` it is over.
    """

    dimension: Dimension
    limit: int
    action: Exhaustion
    per_task: int | None = None
    per_iteration: int | None = None
    reserve: int | None = None

    @property
    def end(self) -> int:
        """The amount at which nothing more is admitted: the limit, or under `degrade` limit and reserve."""
        if self.action is not Exhaustion.DEGRADE:
            return self.limit
        percent = DEFAULT_RESERVE if self.reserve is None else self.reserve
        return self.limit + self.limit * percent // 100

    def raised(self, by: int) -> Ceiling:
        """The ceiling after an extension. What was used is not its business and stays. ValueError unless `by` > 0."""
        if by <= 0:
            raise ValueError(f"{self.dimension}: a ceiling can only be raised, not changed by {by}")
        return replace(self, limit=self.limit + by)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of model calls. `input` is without what was read from or written to the provider's cache.

    `cache_write` lives for five minutes, or as long as the provider says; `cache_write_1h`, apart from it, for an hour.
    `reasoning` is a part of `output`.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0

    @property
    def prefix(self) -> int:
        """What the model was given."""
        return self.input + self.cache_read + self.cache_write + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prefix + self.output

    @property
    def amounts(self) -> dict[Dimension, int]:
        """What it adds to the three dimensions that count tokens."""
        return {
            Dimension.TOKENS: self.total,
            Dimension.PREFIX_TOKENS: self.prefix,
            Dimension.GENERATED_TOKENS: self.output,
        }

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
            self.reasoning + other.reasoning,
        )


def larger(reported: int | None, estimated: int | None) -> Figure:
    """The larger of what a worker reports and what was estimated from its brief and output.

    Silence (None) and a report below the estimate lose; neither known is `unknown`, with 0 as a lower bound.
    """
    if reported is None and estimated is None:
        return Figure(0, Source.UNKNOWN)
    if reported is not None and reported >= (estimated or 0):
        return Figure(reported, Source.REPORTED)
    return Figure(estimated or 0, Source.ESTIMATED)


def merge_tokens(reported: Usage | None, estimated: Usage) -> dict[Dimension, Figure]:
    """The three token figures of one iteration, each the larger of the two sides by itself.

    Both sides only grow while a worker runs, so each figure only grows; none is below either side. `tokens`
    may be less than prefix and generated together, when each side is larger in one of them.
    """
    said = reported.amounts if reported else {}
    return {dimension: larger(said.get(dimension), amount) for dimension, amount in estimated.amounts.items()}


def add(figures: Iterable[Figure]) -> Figure:
    """The sum; its source is the least certain one that contributed. The sum of nothing is a measured 0."""
    return sum(figures, Figure(0))
