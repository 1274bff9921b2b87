"""What a checkpoint remembers beside the files: where the work stood, as values. Pure.

The record is the `meta` of a checkpoint's commit; the journal's row carries its short form and is the commit point.
What is verified is named by ids, and by the hashes of what it consists of.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from proctor.checkpoint.record import FILES, Snapshot, text
from proctor.journal import events as ev
from proctor.journal.encoding import encode_json
from proctor.journal.state import CheckpointState, State, TaskState
from proctor.words import CheckpointKind, Dimension, TaskStatus, Verdict

FORMAT = 1


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A verified task: the journal row that says so, the checkpoint it was verified on, its commit on the session
    branch or "". In the record of that very checkpoint `commit` is "", and `row` 0: the row after its own."""

    task: ev.TaskId
    row: int
    checkpoint: str
    commit: str
    tree: str
    branch: str = ""


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a task from going on: its own status, or a request that waits."""

    why: str
    status: str
    task: ev.TaskId | None = None
    request: int | None = None


class LastVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The newest verdict on a task, and the tree it was given on."""

    task: ev.TaskId
    verdict: Verdict
    iteration: int
    tree: str
    reason: str = ""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the task that was just verified changed `since` a checkpoint: the hash of each file's content, None for
    one that is gone."""

    task: ev.TaskId
    since: str
    files: dict[str, str | None]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `iteration` is the last one that began, `position` the last journal row before it, `plan` and `rules`
    are the sha256 of their texts.

    The last three belong to rooms that fill them later.
    """

    id: str
    position: int
    iteration: int
    marks: tuple[ev.TaskMark, ...]
    done: tuple[Done, ...]
    work: Work | None
    blockers: tuple[Blocker, ...]
    verdicts: tuple[LastVerdict, ...]
    used: dict[Dimension, ev.Figure]
    plan: str
    rules: str
    format: int = FORMAT
    environment: str | None = None
    continuation: str | None = None
    ledger: int | None = None


def record(state: State, plan: str = "", rules: str = "") -> Record:
    """Where the work stands now. `plan` is the session's where none is given."""
    verified = [task for task in state.tasks if task.status is TaskStatus.DONE]
    return Record(
        id=state.next_checkpoint,
        position=state.seq,
        iteration=state.iteration,
        marks=state.marks,
        done=tuple(done for task in verified if (done := _done(state, task))),
        work=None,
        blockers=_blockers(state),
        verdicts=tuple(_verdict(task.id, task.last) for task in state.tasks if task.last is not None),
        used=state.used,
        plan=plan or state.plan,
        rules=rules,
    )


def verified(before: Record, task: ev.TaskId, iteration: int, tree: str, work: Work) -> Record:
    """The record of a task's own checkpoint, as of which it is done."""
    mark = ev.TaskMark(id=task, status=TaskStatus.DONE)
    done = Done(task=task, row=0, checkpoint=before.id, commit="", tree=tree)
    return replace(
        before,
        iteration=iteration,
        marks=tuple(mark if one.id == task else one for one in before.marks),
        done=(*(one for one in before.done if one.task != task), done),
        blockers=tuple(one for one in before.blockers if one.task != task or one.request is not None),
        work=work,
    )


def base(state: State) -> CheckpointState | None:
    """The checkpoint that the present task's work began on: the newest one, on the way to the last good one, that is
    the start, the operator's own change, or a task's that is still verified."""
    end = next((at for at, c in enumerate(state.checkpoints) if c.id == state.good), len(state.checkpoints) - 1)
    for one in reversed(state.checkpoints[: end + 1]):
        task = state.task(one.taken.task)
        if one.taken.edited or (task is not None and task.checkpoint == one.id):
            return one
    return state.checkpoints[0] if state.checkpoints else None


def hashes(one: Record) -> set[str]:
    """What the record says is there, as git names objects: the store must have all of it."""
    found = {oid for done in one.done if done.commit for oid in (done.commit, f"{done.commit}:{text(FILES)}")}
    return found | ({oid for oid in one.work.files.values() if oid} if one.work else set())


def row(kind: CheckpointKind, snapshot: Snapshot, one: Record, **more: Any) -> ev.CheckpointTaken:
    """The journal's row of a checkpoint with this record."""
    return ev.CheckpointTaken(
        id=one.id,
        checkpoint=kind,
        commit=snapshot.commit,
        tree=snapshot.tree,
        state=snapshot.state,
        iteration=one.iteration,
        marks=one.marks,
        used=one.used,
        plan=one.plan,
        rules=one.rules,
        position=one.position,
        files=snapshot.files,
        skipped=snapshot.skipped,
        certainty=snapshot.certainty,
        borrowed=snapshot.borrowed,
        **more,
    )


def proved_by(taken: ev.CheckpointTaken, position: int) -> ev.CheckpointTaken:
    """A task's checkpoint, whose task the row after the next one declares done: `position` is the last row there is."""

    def proved(mark: ev.TaskMark) -> ev.TaskMark:
        return replace(mark, verified_by=position + 2) if mark.id == taken.task else mark

    return replace(taken, marks=tuple(map(proved, taken.marks)))


def encode(one: Record) -> bytes:
    return encode_json(one)


def decode(meta: bytes) -> Record | None:
    """The record in a checkpoint's `meta`; None for one that was written before there were records."""
    try:
        return msgspec.json.decode(meta, type=Record)
    except msgspec.MsgspecError:
        return None


def _done(state: State, task: TaskState) -> Done | None:
    found = state.checkpoint(task.checkpoint or "")
    if found is None or task.verified_by is None:
        return None
    return Done(
        task=task.id,
        row=task.verified_by,
        checkpoint=found.id,
        commit=found.taken.commit,
        tree=found.taken.tree,
        branch=state.committed.get(found.id, ""),
    )


def _blockers(state: State) -> tuple[Blocker, ...]:
    aside = (task for task in state.tasks if task.status in (TaskStatus.BLOCKED, TaskStatus.REVIEW))
    return (
        *(Blocker(task=task.id, status=task.status, why=task.why) for task in aside),
        *(
            Blocker(task=one.opened.task, request=one.id, status=one.opened.request, why=one.opened.what)
            for one in state.open_requests
        ),
    )


def _verdict(task: ev.TaskId, last: ev.Judged) -> LastVerdict:
    return LastVerdict(task=task, verdict=last.verdict, iteration=last.iteration, tree=last.tree, reason=last.reason)
