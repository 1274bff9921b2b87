"""Checkpoint verbs without a supervisor: they take the lock themselves, and say what they took."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.checkpoint.repository import Store
from proctor.contract.load import load_state_only
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal.store import Journal, Reader, journal_path
from proctor.supervisor import obey, process
from proctor.supervisor.timeline import Timeline
from proctor.words import CheckpointKind, SessionStatus

VERBS = ("checkpoint", "rollback", "undo")


def carry_out(workspace: Path, verb: str, args: Mapping[str, Any]) -> str:
    """Take a checkpoint, go back, or undo; one line that says what was done."""
    process.check_workspace(workspace)
    names = load_state_only(workspace)
    with process.Lock(process.state_dir_of(workspace)) as lock:
        folder = lock.path.parent
        process.own_folder(folder)
        journal = Journal(journal_path(folder))
        lock.name(journal.token)
        try:
            if not journal.state().session:
                journal.append(ev.SessionStarted(session=uuid.uuid4().hex[:12], workspace=str(workspace), goal=""))
            timeline = Timeline(journal, Store(workspace, folder / "checkpoints.git", names.owned))
            return asyncio.run(_one(journal, timeline, verb, args))
        finally:
            journal.close()


async def _one(journal: Journal, timeline: Timeline, verb: str, args: Mapping[str, Any]) -> str:
    await timeline.resume()
    if verb == "checkpoint":
        taken = await timeline.checkpoint(CheckpointKind.ASKED, str(args.get("note") or ""))
        return f"checkpoint {taken.id}: {taken.files} files"
    if verb == "undo":
        back = await timeline.undo(redo=bool(args.get("redo")))
    else:
        back = await timeline.rollback(args.get("to") or None, tuple(args.get("paths") or ()))
    if journal.state().iteration:
        journal.append(ev.StatusChanged(status=SessionStatus.PAUSED, why="operator"))
    return obey.describe(back)


def patch(workspace: Path, start: str | None = None, end: str | None = None, paths: tuple[str, ...] = ()) -> str:
    """The change between two checkpoints; the last good one and the present where none is named."""
    folder = process.state_dir_of(workspace)
    names = load_state_only(workspace)
    store = Store(workspace, folder / "checkpoints.git", names.owned)
    with Reader(journal_path(folder)) as reader:
        state = reader.state()

    def commit(name: str) -> str:
        found = state.checkpoint(name)
        if found is None:
            known = ", ".join(c.id for c in state.checkpoints[-8:]) or "none yet"
            raise UsageError(f"no checkpoint {name!r}; there are: {known}")
        return found.taken.commit

    first = commit(start or state.good)
    second = commit(end) if end else store.tree_of_working_tree().commit
    return store.patch(first, second, paths).decode("utf-8", "replace")
