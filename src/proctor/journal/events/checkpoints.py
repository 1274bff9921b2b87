"""Events of checkpoints and of going back to them."""

from __future__ import annotations

import msgspec

from proctor.journal.events.base import Event, Figure, TaskId, TaskMark
from proctor.words import Certainty, CheckpointKind, Dimension


class CheckpointTaken(Event, frozen=True, tag="checkpoint_taken"):
    """One atomic record; this row is its commit point. `commit` and `tree` are ids in `checkpoints.git`.

    `marks`, `used`, `plan`, `rules` (revisions) and `position` (journal row) are what was true then. `edited`: the
    operator changed the tree since the last iteration. `state` identifies the repositories beside the tree, `ms` is
    what taking it took. The last three fields belong to rooms that fill them later.
    """

    id: str
    checkpoint: CheckpointKind
    commit: str
    tree: str
    iteration: int = 0
    task: TaskId | None = None
    marks: tuple[TaskMark, ...] = ()
    used: dict[Dimension, Figure] = msgspec.field(default_factory=dict)
    plan: str = ""
    position: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    skipped: tuple[str, ...] = ()
    note: str = ""
    edited: bool = False
    name: str = ""
    state: str = ""
    rules: str = ""
    certainty: Certainty = Certainty.CONFIRMED
    borrowed: bool = False
    ms: int = 0
    environment: str | None = None
    continuation: str | None = None
    ledger: int | None = None


class CheckpointConfirmed(Event, frozen=True, tag="checkpoint_confirmed"):
    """A walk of the whole tree bore a provisional checkpoint out. `commit`, `tree`, `state` and `files` hold from here
    on: they differ from the row's where `missed` paths had changed and no event had said so. `ms`: the walk."""

    id: str
    commit: str
    tree: str
    state: str = ""
    files: int = 0
    ms: int = 0
    missed: tuple[str, ...] = ()


class CheckpointsPruned(Event, frozen=True, tag="checkpoints_pruned"):
    """These checkpoints are dropped: their objects may go. `why` is `keep` (the contract's time) or `operator`.

    `iterations` are those whose raw streams go, and all else of them that no verdict needs.
    """

    ids: tuple[str, ...]
    why: str = ""
    iterations: tuple[int, ...] = ()


class RollbackBegun(Event, frozen=True, tag="rollback_begun"):
    """The intent: `safety` holds everything present, the tree is about to become `target`, but for the operator's own
    edits in `mine`, which stay."""

    safety: str
    target: str
    way: str  # rollback | undo | redo | failed_verdict
    paths: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()


class RolledBack(Event, frozen=True, tag="rolled_back"):
    """The tree equals the target, proved by its id. Tasks are again what they were at the target."""

    safety: str
    target: str
    way: str
    changed: int = 0
    parked: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    failed: str = ""
    mine: tuple[str, ...] = ()
    """Edits of the operator that stayed."""
    said: tuple[str, ...] = ()
    """Lines about paths and repositories that need the operator's eye: open files, refs that others moved."""
    tree: str = ""
    """What was proved: the target's id, but where only paths went back or edits stayed. Older rows have none."""
