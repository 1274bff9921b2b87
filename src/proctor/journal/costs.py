"""What verdicts cost beside the work that they judge. Pure."""

from __future__ import annotations

import msgspec

from proctor.journal import events as ev
from proctor.words import Phase

TASKS = 3
"""Tasks over which the two are held against each other."""


class Cost(msgspec.Struct, frozen=True):
    """What a task's verdicts took, and what its workers took, in seconds."""

    task: ev.TaskId
    check: float = 0.0
    act: float = 0.0


def added(costs: tuple[Cost, ...], judged: ev.Judged, at_hand: ev.TaskId | None) -> tuple[Cost, ...]:
    """The last tasks' costs after one more verdict. Old checks that are run again cost the task at hand; where there
    is none, at the end of a session, they are no task's."""
    if at_hand is None or judged.phase in (Phase.BASELINE, Phase.FINAL):
        return costs
    known = next((cost for cost in costs if cost.task == at_hand), Cost(at_hand))
    now = Cost(at_hand, known.check + judged.seconds, known.act + judged.act_seconds)
    return (*(cost for cost in costs if cost.task != at_hand), now)[-TASKS:]


def dear(costs: tuple[Cost, ...]) -> tuple[float, float] | None:
    """Seconds of checks and of work over the last three tasks, where the signal costs more than the work."""
    check, act = sum(cost.check for cost in costs), sum(cost.act for cost in costs)
    return (check, act) if len(costs) == TASKS and check > act else None
