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


def added(costs: tuple[Cost, ...], judged: ev.Judged, intent: ev.IterationStarted | None) -> tuple[Cost, ...]:
    """The last tasks' costs after one more verdict. Old checks that are run again cost the task at hand."""
    task = intent.task if intent else judged.task
    if task is None or judged.phase in (Phase.BASELINE, Phase.FINAL):
        return costs
    known = next((cost for cost in costs if cost.task == task), Cost(task))
    now = Cost(task, known.check + judged.seconds, known.act + judged.act_seconds)
    return (*(cost for cost in costs if cost.task != task), now)[-TASKS:]


def dear(costs: tuple[Cost, ...]) -> tuple[float, float] | None:
    """Seconds of checks and of work over the last three tasks, where the signal costs more than the work."""
    check, act = sum(cost.check for cost in costs), sum(cost.act for cost in costs)
    return (check, act) if len(costs) == TASKS and check > act else None
