"""What is kept, and the way back: their folds. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.folds.base import LOOKED, Changes, on, unseen
from proctor.journal.state import (
    GOOD,
    CheckpointState,
    State,
    TaskState,
)
from proctor.words import (
    Certainty,
    CheckpointKind,
    TaskStatus,
)


@on(ev.CheckpointTaken)
def _checkpoint_taken(state: State, row: ev.Row, e: ev.CheckpointTaken) -> Changes:
    good = e.id if e.checkpoint in GOOD and e.certainty is Certainty.CONFIRMED else state.good
    taken = CheckpointState(id=e.id, at=row.at, taken=e, good=good)
    changes: Changes = {"checkpoints": (*state.checkpoints, taken), "good": good, "tree": e.tree}
    return {**changes, "tasks": unseen(state.tasks)} if e.edited else changes


@on(ev.CheckpointConfirmed)
def _checkpoint_confirmed(state: State, _: ev.Row, e: ev.CheckpointConfirmed) -> Changes:
    def confirmed(one: CheckpointState) -> CheckpointState:
        found = {"commit": e.commit, "tree": e.tree, "state": e.state, "files": e.files}
        taken = replace(one.taken, certainty=Certainty.CONFIRMED, **found)
        good = one.id if taken.checkpoint in GOOD else one.good
        return replace(one, taken=taken, good=good, confirmed=e)

    checkpoints = tuple(confirmed(one) if one.id == e.id else one for one in state.checkpoints)
    changes: Changes = {"checkpoints": checkpoints}
    if checkpoints and checkpoints[-1].id == e.id:
        changes |= {"good": checkpoints[-1].good, "tree": e.tree}
    return changes


@on(ev.CheckpointsPruned)
def _checkpoints_pruned(state: State, row: ev.Row, e: ev.CheckpointsPruned) -> Changes:
    left = tuple(c for c in state.checkpoints if c.id not in e.ids)
    return {"checkpoints": left, "pruned": state.pruned | dict.fromkeys(e.ids, row.at)}


@on(ev.RollbackBegun)
def _rollback_begun(_: State, __: ev.Row, e: ev.RollbackBegun) -> Changes:
    return {"rollback": e}


@on(ev.RolledBack)
def _rolled_back(state: State, _: ev.Row, e: ev.RolledBack) -> Changes:
    if e.failed:
        return {"rollback": None}
    changes: Changes = {"rollback": None, "rollbacks": (*state.rollbacks, e)}
    target = state.checkpoint(e.target)
    if e.tree:
        changes["tree"] = e.tree
    if target is None or e.paths:
        return changes
    changes |= {"good": target.good, "tree": e.tree or target.taken.tree}
    if int(target.id[1:]) <= state.unlooked_after:
        changes |= LOOKED
    if e.way == "failed_verdict":
        return changes
    marks = {mark.id: mark for mark in target.taken.marks}

    def returned(task: TaskState) -> TaskState:
        mark = marks.get(task.id)
        status = mark.status if mark else TaskStatus.PENDING
        if mark is not None and status is TaskStatus.DONE:
            kept = task.checkpoint if task.verified_by == mark.verified_by else _checkpoint_of(state, mark)
            return replace(task, status=status, verified_by=mark.verified_by, checkpoint=kept, taken_back=False)
        taken_back = task.taken_back or task.status is TaskStatus.DONE
        return replace(task, status=status, verified_by=None, checkpoint=None, taken_back=taken_back)

    tasks = unseen(tuple(returned(task) for task in state.tasks))
    return {**changes, "tasks": tasks, "intent": None, "intent_end": None}


def _checkpoint_of(state: State, mark: ev.TaskMark) -> str | None:
    """The checkpoint of a verification."""
    taken = (c.taken for c in state.checkpoints if c.taken.task == mark.id and mark in c.taken.marks)
    return next((t.id for t in taken if t.checkpoint is CheckpointKind.TASK), None)
