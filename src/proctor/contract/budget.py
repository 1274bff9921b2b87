"""What it may cost: the contract's `budget`, a frozen value in base units (milliseconds, bytes, micro-dollars)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from proctor import units
from proctor.contract.section import Section
from proctor.contract.values import Amount, Duration, Number, OneOrMany, Percent, Size, Spend
from proctor.contract.wrong import Wrong
from proctor.words import AtSoft, Dimension, Exhaustion


class Ceiling(Section):
    """A limit in its dimension's unit, and what happens at it. There is no default action."""

    limit: Number
    on_exhaustion: Exhaustion
    per_task: Number | None = None
    per_iteration: Number | None = None
    reserve: Percent = 10
    """Per cent of the limit, beyond it, that `degrade` may spend on the cheaper model."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Ceiling:
        for name in ("per_task", "per_iteration"):
            if (share := getattr(self, name)) is not None and share > self.limit:
                raise Wrong((name,), "is more than the limit, so no task could ever start")
        return self


class TimeCeiling(Ceiling):
    limit: Duration
    per_task: Duration | None = None
    per_iteration: Duration | None = None


class IterationsCeiling(Ceiling):
    limit: Annotated[int, Amount(units.parse_count, "1", "1M")]

    @model_validator(mode="after")
    def _an_iteration_is_one(self) -> IterationsCeiling:
        if self.per_iteration is not None:
            raise Wrong(("per_iteration",), "bounds nothing: an iteration is one; bound its wall_clock, tokens or cost")
        return self


class SizeCeiling(Ceiling):
    limit: Size
    per_task: Size | None = None
    per_iteration: Size | None = None


class MoneyCeiling(Ceiling):
    limit: Spend
    per_task: Spend | None = None
    per_iteration: Spend | None = None


class Levels(Section):
    alert: Percent = 50
    soft: Percent = 70

    @model_validator(mode="after")
    def _rise(self) -> Levels:
        if not self.alert < self.soft < 100:
            raise ValueError(f"alert ({self.alert}%) must come before soft ({self.soft}%), and soft before 100%")
        return self


class Budget(Section):
    """At least one ceiling; a dimension without one is counted and not limited."""

    wall_clock: TimeCeiling | None = None
    """Active time: waits for people, rate limits and suspends do not count."""
    elapsed: TimeCeiling | None = None
    """Calendar time."""
    tokens: Ceiling | None = None
    prefix_tokens: Ceiling | None = None
    generated_tokens: Ceiling | None = None
    cost: MoneyCeiling | None = None
    tool_calls: Ceiling | None = None
    iterations: IterationsCeiling | None = None
    files_touched: Ceiling | None = None
    """Union over the session; does not fall on rollback. So are the next two."""
    lines_changed: Ceiling | None = None
    bytes_written: SizeCeiling | None = None
    records: Any = None
    money: Any = None
    actions: Any = None
    levels: Levels = Levels()
    at_soft: Annotated[tuple[AtSoft, ...], OneOrMany()] = (AtSoft.NARROW, AtSoft.SKIP_OPTIONAL_CHECKS)

    @property
    def ceilings(self) -> dict[Dimension, Ceiling]:
        """The ceilings there are, in the order of the dimensions."""
        found = ((dimension, getattr(self, dimension)) for dimension in Dimension)
        return {dimension: ceiling for dimension, ceiling in found if ceiling is not None}

    @property
    def alert(self) -> int:
        """Per cent of a limit at which the operator is told."""
        return self.levels.alert

    @property
    def soft(self) -> int:
        """Per cent of a limit at which `at_soft` begins."""
        return self.levels.soft
