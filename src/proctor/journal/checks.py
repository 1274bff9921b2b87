"""How much the checks catch, over all verified tasks. Pure."""

from __future__ import annotations

from typing import Any

from proctor.journal.events import Audited
from proctor.journal.state import State, TaskState
from proctor.words import TaskStatus

PASSES = "the check passes without it"
"""What is said of a part that nothing verifies, where nothing else is."""


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


def unmeasured(task: TaskState) -> Audited:
    """What stands for a task of whose check nothing is known, and why that is so."""
    if not task.checks:
        return Audited(task=task.id, why="no check to measure")
    done = task.status is TaskStatus.DONE
    return Audited(task=task.id, why="not measured yet" if done else "measured once verified")


def share(state: State) -> float | None:
    """The share of what was taken out of verified changes that the checks caught; None where nothing is measured."""
    told = [one for one in audits(state) if one.checkpoint]
    measured = sum(one.measured for one in told)
    return sum(one.caught for one in told) / measured if measured else None


def said(state: State) -> str:
    """The share in words."""
    found = share(state)
    return "checks unmeasured" if found is None else f"checks catch {percent(found)}"


def hint(state: State, where: str = "") -> str:
    """The command that says how far a finished session's checks can be trusted; "" where there is no need of it."""
    command = f"proctor audit {where}".rstrip()
    found = share(state)
    if found is None:
        return f"`{command}` measures whether the checks would notice missing work"
    if found < 1:
        return f"the {said(state)} of what is taken out: `{command}` names what they miss"
    return ""


def percent(found: float | None) -> str:
    """A share in words, never more than it is; nothing for none."""
    return "" if found is None else f"{int(round(found * 100, 6))}%"


def caught(one: Audited) -> float | None:
    """The share of one task; None where nothing of it is measured."""
    return round(one.caught / one.measured, 4) if one.measured else None


def report(state: State) -> dict[str, Any]:
    """What `audit --json` prints."""
    known = {one.task: one for one in audits(state)}
    total = share(state)
    return {
        "caught": None if total is None else round(total, 4),
        "tasks": [_entry(known.get(task.id) or unmeasured(task), task.task, task.status) for task in state.tasks],
    }


def _entry(one: Audited, task: str, status: TaskStatus) -> dict[str, Any]:
    return {
        "id": one.task,
        "task": task,
        "status": status,
        "caught": caught(one),
        "unverified": [
            {"file": place.file, "lines": list(place.lines), "why": place.why or PASSES} for place in one.unverified
        ],
        "unverified_more": one.more,
        "parts": one.parts,
        "measured": one.measured,
        "flaky": one.flaky,
        "vacuous": one.vacuous,
        "why": one.why,
        "seconds": one.seconds,
    }
