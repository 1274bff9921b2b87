"""What of a session's past may go once it is old: checkpoints and iterations that nothing needs any more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from proctor.checkpoint import history
from proctor.journal.state import GOOD, CheckpointState, State
from proctor.words import CheckpointKind, TaskStatus


@dataclass(frozen=True, slots=True)
class Dispensable:
    """What may go: checkpoints by id, iterations by number."""

    checkpoints: tuple[str, ...] = ()
    iterations: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.iterations)


def dispensable(state: State, ended: Mapping[int, datetime], before: datetime) -> Dispensable:
    """What is older than `before` and needed by nothing. `ended` says when the iterations that left something did."""
    needed = needed_checkpoints(state)
    old = (one for one in state.checkpoints if one.at < before)
    return Dispensable(
        tuple(one.id for one in old if one.id not in needed),
        tuple(sorted(n for n, at in ended.items() if at < before and n < state.iteration)),
    )


def needed_checkpoints(state: State) -> frozenset[str]:
    """The checkpoints that stay, however old: the start, the last good one, what has a name, what undo, redo and a
    pending rollback go to, the newest of each task, what the session branch begins and ends with; and whatever
    these rest on."""
    if not state.checkpoints:
        return frozenset()
    before_work = [c.id for c in state.checkpoints if c.taken.iteration == 0 and c.taken.checkpoint in GOOD]
    found = {state.checkpoints[0].id, state.checkpoints[-1].id, state.good, *before_work[-1:]}
    found |= {c.id for c in state.checkpoints if c.taken.name or c.taken.checkpoint is CheckpointKind.START}
    found |= history.stack_from(state.rollbacks).held
    if state.rollback is not None:
        found |= {state.rollback.safety, state.rollback.target}
    found |= {task.checkpoint for task in state.tasks if task.checkpoint}
    found |= set({c.taken.task: c.id for c in state.checkpoints if c.taken.checkpoint is CheckpointKind.TASK}.values())
    found |= set(list(state.committed)[-1:])
    return _closed(state, found)


def needed_logs(state: State) -> frozenset[str]:
    """The logs that a screen still names: those of the newest verdicts, and of checks before the work."""
    judged = (row for task in state.tasks for row in (task.last, task.baseline) if row is not None)
    return frozenset(row.log for row in judged if row.log)


def open_baselines(state: State) -> frozenset[str]:
    """The tasks whose judgement before the work a later verdict is held against."""
    return frozenset(str(task.id) for task in state.tasks if task.status is not TaskStatus.DONE)


def shelved(path: Path, commits: Iterable[str]) -> bool:
    """Whether a shelf, by its name, belongs to one of the commits."""
    return any(commit.startswith(path.name.partition(".")[0]) for commit in commits)


def _closed(state: State, found: set[str]) -> frozenset[str]:
    """With the good checkpoint as of each, and those on which the tasks were verified that each holds as done."""
    verified = {
        (mark.id, mark.verified_by): c.id
        for c in state.checkpoints
        if c.taken.checkpoint is CheckpointKind.TASK
        for mark in c.taken.marks
        if mark.id == c.taken.task
    }
    there = {c.id: c for c in state.checkpoints}
    closed: set[str] = set()
    while fresh := {one for one in found if one in there} - closed:
        closed |= fresh
        found = {need for one in fresh for need in _rests_on(there[one], verified)}
    return frozenset(closed)


def _rests_on(one: CheckpointState, verified: Mapping[tuple[int | str, int | None], str]) -> set[str]:
    done = (mark for mark in one.taken.marks if mark.status is TaskStatus.DONE)
    return {one.good, *(verified.get((mark.id, mark.verified_by), "") for mark in done)}
