"""Events of budgets and plateaus, and what the loop decided."""

from __future__ import annotations

from proctor.journal.events.base import Event, TaskId
from proctor.words import Dimension, Level, Response, Rule, Source


class LevelCrossed(Event, frozen=True, tag="level_crossed"):
    """Once per session, dimension and level."""

    dimension: Dimension
    level: Level
    used: int
    limit: int
    source: Source = Source.MEASURED


class CeilingRaised(Event, frozen=True, tag="ceiling_raised"):
    """An extension by the operator: the limit grows, what was used stays."""

    dimension: Dimension
    by: int
    limit: int
    order: str = ""


class Degraded(Event, frozen=True, tag="degraded"):
    """From here on only the cheaper model."""

    dimension: Dimension
    model: str


class PlateauSignal(Event, frozen=True, tag="plateau_signal"):
    rule: Rule
    window: int
    evidence: tuple[str, ...]
    task: TaskId | None = None
    iteration: int = 0


class PlateauFired(Event, frozen=True, tag="plateau_fired"):
    rule: Rule
    window: int
    evidence: tuple[str, ...]
    response: Response
    task: TaskId | None = None
    iteration: int = 0


class PlateauReset(Event, frozen=True, tag="plateau_reset"):
    """Only the operator resets the counters."""

    by: str = ""


class Decided(Event, frozen=True, tag="decided"):
    """What the loop made of an iteration; written last, so that a restart knows whether it still has to decide."""

    iteration: int
    move: str
    why: str | None = None
