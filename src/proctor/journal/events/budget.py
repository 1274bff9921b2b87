"""Events of budgets and plateaus, and what the loop decided."""

from __future__ import annotations

from proctor.journal.events.base import Event, TaskId
from proctor.words import Dimension, Level, Light, LoopRule, Response, Rule, Source


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
    """A rule that holds after an iteration. `advice` is for the operator and the next brief; older rows have none."""

    rule: Rule
    window: int
    evidence: tuple[str, ...]
    task: TaskId | None = None
    iteration: int = 0
    advice: str = ""


class PlateauFired(Event, frozen=True, tag="plateau_fired"):
    """A plateau, what is done about it, and `why` what held is more than a suspicion; older rows do not say."""

    rule: Rule
    window: int
    evidence: tuple[str, ...]
    response: Response
    task: TaskId | None = None
    iteration: int = 0
    advice: str = ""
    why: str = ""


class PlateauCleared(Event, frozen=True, tag="plateau_cleared"):
    """No rule holds any more after an iteration that counts; the counters go on."""

    iteration: int


class LoopSeen(Event, frozen=True, tag="loop_seen"):
    """A worker runs in circles inside its iteration: it is warned of (`suspect`) or ended for it (`firing`)."""

    iteration: int
    task: TaskId
    rule: LoopRule
    light: Light
    window: int
    evidence: tuple[str, ...]


class PlateauReset(Event, frozen=True, tag="plateau_reset"):
    """Only the operator resets the counters."""

    by: str = ""


class Decided(Event, frozen=True, tag="decided"):
    """What the loop made of an iteration; written last, so that a restart knows whether it still has to decide."""

    iteration: int
    move: str
    why: str | None = None
