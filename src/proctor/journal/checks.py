"""How much the checks catch, over all verified tasks. Pure."""

from __future__ import annotations

from proctor.journal.events import Audited
from proctor.journal.state import State
from proctor.words import TaskStatus


def audits(state: State) -> tuple[Audited, ...]:
    """What was found of each task's checks, as far as it still holds, in the tasks' order."""
    known = {one.task: one for one in state.audited}
    found = []
    for task in state.tasks:
        one = known.get(task.id)
        verified_on = task.checkpoint if task.status is TaskStatus.DONE else None
        if one is not None and one.checkpoint == (verified_on or ""):
            found.append(one)
    return tuple(found)


def share(state: State) -> float | None:
    """The share of what was taken out of verified changes that the checks caught; None where nothing is measured."""
    told = [one for one in audits(state) if one.checkpoint]
    measured = sum(one.measured for one in told)
    return sum(one.caught for one in told) / measured if measured else None


def said(state: State) -> str:
    """The share in words."""
    found = share(state)
    return "checks unmeasured" if found is None else f"checks catch {int(found * 100)}%"
