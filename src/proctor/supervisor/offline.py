"""Checkpoint verbs without a supervisor: they take the lock themselves, and say what they took."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.checkpoint.repository import Store
from proctor.contract.load import load_state_only
from proctor.journal import events as ev
from proctor.journal.store import Journal, Reader, journal_path
from proctor.supervisor import handles, obey, process, toll
from proctor.supervisor.authors import KINDS
from proctor.supervisor.papers import Papers
from proctor.supervisor.store import opened
from proctor.supervisor.sweeping import OPERATOR, Sweeper
from proctor.supervisor.timeline import Timeline
from proctor.supervisor.toll import Toll
from proctor.supervisor.whereabouts import settle_in
from proctor.words import CheckpointKind, SessionStatus

VERBS = ("checkpoint", "prune", "rollback", "undo")


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
            store = opened(workspace, folder, names, journal.state().sandbox)
            settle_in(journal, store, workspace)
            timeline = Timeline(journal, store, Papers(workspace, names).revisions)
            sweeper = Sweeper(journal, timeline, store, folder)
            return asyncio.run(_one(journal, timeline, sweeper, verb, args))
        finally:
            journal.close()


async def _one(journal: Journal, timeline: Timeline, sweeper: Sweeper, verb: str, args: Mapping[str, Any]) -> str:
    await timeline.resume()
    if verb == "prune":
        return (await sweeper.sweep(int(args["keep"]), OPERATOR)).describe()
    if verb == "checkpoint":
        note, name = (str(args.get(key) or "") for key in ("note", "name"))
        taken = await timeline.checkpoint(CheckpointKind.ASKED, note, name)
        return handles.described(taken)
    if verb == "undo":
        back = await timeline.undo(redo=bool(args.get("redo")))
    else:
        keep_mine = bool(args.get("keep_mine"))
        back = await timeline.rollback(args.get("to") or None, tuple(args.get("paths") or ()), keep_mine=keep_mine)
    if journal.state().iteration:
        journal.append(ev.StatusChanged(status=SessionStatus.PAUSED, why="operator"))
    return obey.describe(back)


def preview(workspace: Path, to: str | None = None, *, paths: Sequence[str] = (), keep_mine: bool = False) -> Toll:
    """What a rollback would take; nothing is touched. With or without a supervisor."""
    with _reading(workspace) as (store, reader):
        return toll.before(store, reader.state(), _rows(reader), to, paths=paths, keep_mine=keep_mine)


def taken(workspace: Path) -> Toll:
    """What the last rollback took."""
    with _reading(workspace) as (store, reader):
        state = reader.state()
        return toll.after(store, state, _rows(reader), state.rollbacks[-1])


@contextlib.contextmanager
def _reading(workspace: Path) -> Iterator[tuple[Store, Reader]]:
    folder = process.state_dir_of(workspace)
    names = load_state_only(workspace)
    with Reader(journal_path(folder)) as reader:
        yield opened(workspace, folder, names, reader.state().sandbox), reader


def _rows(reader: Reader) -> toll.Rows:
    return lambda: reader.rows(kinds=KINDS)
