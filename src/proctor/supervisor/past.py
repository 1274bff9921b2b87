"""Looking at a session's checkpoints: what one holds, and what differs between two. Changes nothing."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from proctor.checkpoint import history
from proctor.checkpoint.export import Exported
from proctor.checkpoint.record import text
from proctor.checkpoint.repository import Change, Store, Verified
from proctor.journal.events import OracleFrozen, PlanRevised, Suspected, Tampered, kind_of
from proctor.journal.state import CheckpointState, State
from proctor.journal.store import Reader, journal_path
from proctor.supervisor import handles, process, record
from proctor.text import safe_line
from proctor.trees import scratch_folder
from proctor.units import counted
from proctor.words import CheckpointKind

if TYPE_CHECKING:
    from proctor.contract.state import State as Names


_WRAPPED = 74


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs: `before` and `after` are ids of checkpoints or `present`, `said` one line about the two."""

    before: str
    after: str
    said: str
    changes: tuple[Change, ...]
    patch: str


class Past:
    """The checkpoints of one workspace. Raises `NoJournal` where no session ever was."""

    def __init__(self, workspace: Path) -> None:
        folder = process.state_dir_of(workspace)
        with Reader(journal_path(folder)) as reader:
            self.state: State = reader.state()
            self._seen = tuple(reader.rows(kinds=("tampered", "suspected", "plan_revised", "oracle_frozen")))
        self._workspace = workspace
        self._folder = folder

    @cached_property
    def store(self) -> Store:
        """The checkpoint store."""
        from proctor.supervisor.store import opened

        return opened(self._workspace, self._folder, self._names, self.state.sandbox)

    @cached_property
    def _stack(self) -> history.UndoStack:
        return history.stack_from(self.state.rollbacks)

    @cached_property
    def _names(self) -> Names:
        from proctor.contract.load import load_state_only  # heavy, and a list wants no store

        return load_state_only(self._workspace)

    @property
    def _hidden(self) -> tuple[str, ...]:
        """What stays at home: what workers may not read, and the harness's own files."""
        from proctor.supervisor.terms import owned

        return (*self._names.hide, *owned(self._names))

    def compare(self, start: str | None, end: str | None, paths: tuple[str, ...] = ()) -> Compared:
        """The change between two checkpoints, by default since the last good one until now; where that is nothing
        and neither was named, that of the whole session."""
        after = self._point(end or handles.PRESENT)
        before = self._point(start or self.state.good)
        changes = self.store.diff(before[1], after[1], ignored=True)
        said = ""
        if not (start or end or changes or before[0] == self.state.checkpoints[0].id):
            said = f"nothing has changed since {self._words(before[0])}; all of the session: "
            before = self._point(handles.START)
            changes = self.store.diff(before[1], after[1], ignored=True)
        added, removed = sum(c.added for c in changes), sum(c.removed for c in changes)
        said += f"from {self._words(before[0])} to {self._words(after[0])}: "
        said += f"{counted(len(changes), 'path')}, {counted(added, 'line')} added, {removed:,} removed"
        patch = self.store.patch(before[1], after[1], paths).decode("utf-8", "replace")
        return Compared(before[0], after[0], said, changes, patch)

    def verify(self) -> Verified:
        """Prove every checkpoint that the journal lists. Slow: it reads the whole store."""
        proof = self.store.verify({one.id: one.taken.commit for one in self.state.checkpoints})
        names = self.store.names()
        astray = {
            one.id: "no ref keeps it any more: the next `proctor prune` would drop it"
            for one in self.state.checkpoints
            if one.id in proof.whole and one.taken.commit not in names.values()
        }
        whole = tuple(name for name in proof.whole if name not in astray)
        return Verified(whole, {**proof.lost, **astray}, proof.files)

    def facts(self, one: CheckpointState) -> dict[str, Any]:
        """A checkpoint of the list, as data."""
        stack = self._stack
        marks = {
            "last_good": one.id == self.state.good,
            "undo": one.id == stack.undo_target,
            "redo": one.id == stack.redo_target,
        }
        return {**msgspec.to_builtins(one), "name": one.taken.name or None, **marks}

    def show(self, handle: str | None = None) -> dict[str, Any]:
        """One checkpoint whole, the last good one if none is named: its row, its record, what it holds and does not,
        what changed since the one before."""
        one = handles.good(self.state, handle)
        held = self.store.held(one.taken.commit)
        known = record.decode(self.store.meta(one.taken.commit))
        at = self.state.checkpoints.index(one)
        before = self.state.checkpoints[at - 1] if at else None
        changed = self.store.diff(before.taken.commit, one.taken.commit, ignored=True) if before else ()
        notes = held.notes
        stirred = notes.stirred(self.store.held(before.taken.commit).notes) if before else frozenset[bytes]()
        return {
            **self.facts(one),
            "said": words(one),
            "took": handles.took(one).removeprefix(", "),
            "record": msgspec.to_builtins(known) if known else None,
            "kept_although_ignored": sorted(map(text, notes.ignored)),
            "not_kept": {
                "ignored_folders": sorted(map(text, notes.closed)),
                "ignored_files": sorted(map(text, notes.left)),
                "skipped": {text(path): why for path, why in sorted(notes.skipped.items())},
                "attributes": sorted(map(text, notes.bare)),
                "of_repositories": list(held.partly),
            },
            "tampering": self._tampering(before, one),
            "revised": self._revised(before, one),
            "unstable": sorted(map(text, notes.unstable)),
            "repositories": sorted(map(text, notes.repositories)),
            "changed": {
                "since": before.id if before else None,
                "files": [as_data(change) for change in changed],
                "folders_not_kept": sorted(map(text, stirred)),
            },
        }

    def _tampering(self, before: CheckpointState | None, one: CheckpointState) -> list[dict[str, Any]]:
        """What was found in the changes that came between two checkpoints."""
        rows = (row for row in self._seen if (before is None or before.at < row.at) and row.at <= one.at)
        return [
            {"iteration": row.event.iteration, "row": kind_of(row.event), **msgspec.to_builtins(finding)}
            for row in rows
            if isinstance(row.event, Tampered | Suspected)
            for finding in row.event.findings
        ]

    def _revised(self, before: CheckpointState | None, one: CheckpointState) -> list[dict[str, Any]]:
        """What the operator changed of what is asked for, and of what checks rest on, between two checkpoints."""
        rows = (row for row in self._seen if (before is None or before.at < row.at) and row.at <= one.at)
        return [
            {"at": row.at.isoformat(), "row": kind_of(row.event), **msgspec.to_builtins(row.event)}
            for row in rows
            if isinstance(row.event, PlanRevised | OracleFrozen) and row.event.changed
        ]

    def bundle(self, handle: str | None, file: Path) -> tuple[CheckpointState, Exported]:
        """Write a checkpoint's files, the last good one's if none is named, into a git bundle."""
        one = handles.good(self.state, handle)
        name = f"checkpoint-{one.taken.name or one.id}"
        made = self.store.bundle(one.taken.commit, file, name=name, message=self._message(one), hidden=self._hidden)
        return one, made

    def branch(self, handle: str | None, name: str) -> tuple[CheckpointState, Exported]:
        """Make a branch of them in the operator's repository, one commit ahead of HEAD, checked out nowhere."""
        from proctor.repository import exported
        from proctor.repository.layout import find

        one, start = handles.good(self.state, handle), self.state.checkpoints[0]
        with scratch_folder("proctor-export-") as scratch:
            made = exported.branch(
                find(self._workspace),
                self.store,
                one.taken.commit,
                start=start.taken.commit,
                scratch=scratch / "branch",
                name=name,
                message=self._message(one),
                hidden=self._hidden,
            )
            return one, made

    def _message(self, one: CheckpointState) -> str:
        # Without the trailers by which the session branch knows its own commits.
        return f"Checkpoint {safe_line(f'{one.id}: {words(one)}', 100)}\n\nOf session {self.state.session}.\n"

    def _point(self, handle: str) -> tuple[str, str]:
        """The id and the commit of a checkpoint, or of what is there now."""
        if handle == handles.PRESENT:
            return handle, self.store.tree_of_working_tree().commit
        found = handles.find(self.state, handle)
        return found.id, found.taken.commit

    def _words(self, handle: str) -> str:
        found = self.state.checkpoint(handle)
        return f"{handle} ({words(found)})" if found else f"the {handle}"


def words(one: CheckpointState) -> str:
    """What a checkpoint is, in a few words."""
    taken = one.taken
    match taken.checkpoint:
        case CheckpointKind.START:
            said = "the start"
        case CheckpointKind.TASK:
            said = f"task {taken.task} verified"
        case CheckpointKind.SAFETY:
            said = taken.note or "before a rollback"
        case _:
            said = taken.note or ("changed by you" if taken.edited else "kept by you")
    return f"{taken.name}: {said}" if taken.name else said


def as_data(change: Change) -> dict[str, Any]:
    """A difference, as data."""
    fields = ("path", "kind", "added", "removed", "binary", "size", "ignored")
    return {name: getattr(change, name) for name in fields}


def patch(workspace: Path) -> str:
    """The change that the screen shows, since the last good checkpoint, below what is compared; "" if there is none."""
    found = Past(workspace).compare(None, None)
    said = textwrap.wrap(found.said[:1].upper() + found.said[1:], _WRAPPED)
    return "\n".join([*said, "", found.patch]) if found.patch else ""
