"""Taking checkpoints and going back to them, with or without a supervisor.

Order is everything here: objects are durable before the row that names them, what is present is a checkpoint
before anything is taken away, and the intent of a rollback is a row before the first file changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import ParamSpec, TypeVar

from msgspec.structs import replace

from proctor.checkpoint import history
from proctor.checkpoint.repository import ChangeKind, Moved, Snapshot, Store
from proctor.errors import ProctorError, Unrecoverable, UsageError
from proctor.journal import events as ev
from proctor.journal.encoding import unescaped
from proctor.journal.port import JournalPort
from proctor.journal.state import MOST_PATHS, CheckpointState
from proctor.supervisor import handles
from proctor.supervisor import record as rec
from proctor.supervisor.authors import KINDS, story
from proctor.supervisor.toll import whose
from proctor.supervisor.touched import Touched
from proctor.text import safe_line
from proctor.words import Certainty, CheckpointKind
from proctor.workspace.autorun import autorun

P = ParamSpec("P")
T = TypeVar("T")
TRIES = 4
"""Rollbacks tried in a row while something outside the session goes on writing into the workspace."""


class Timeline:
    """A session's checkpoints. One operation at a time."""

    def __init__(
        self, journal: JournalPort, store: Store, revisions: Callable[[], tuple[str, str]] = lambda: ("", "")
    ) -> None:
        """`revisions` gives those of the plan and of the rules as they are now."""
        self._journal = journal
        self._store = store
        self._revisions = revisions
        self._proved: set[str] = set()
        self.touched = Touched()
        self._busy = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """While this lasts nobody takes a checkpoint or goes back to one."""
        async with self._busy:
            yield

    async def snapshot(self, name: str) -> Snapshot:
        """Store the present tree under a ref; no row, so no checkpoint yet."""
        async with self._busy:
            return await self._look(self._store.snapshot, name, self._parent(), b"")

    async def present(self) -> Snapshot:
        """The present tree, without a name: good for comparing."""
        async with self._busy:
            return await self._look(self._store.tree_of_working_tree)

    async def checkpoint(
        self, kind: CheckpointKind, note: str = "", name: str = "", *, at_once: bool = False
    ) -> CheckpointState:
        """Take a checkpoint of everything present. `name` is the operator's own word for it; UsageError if taken.

        `at_once` keeps it before everything is looked at, where the watcher has a list of what changed, or where git
        knows the tree of the first one: it has its row then, and another one once the look has borne it out.
        """
        async with self._busy:
            if name:
                handles.check_name(self._journal.state(), name)
            parent = self._parent()
            listed = self.touched.paths if parent else ()
            taken = await self._take(kind, note, listed if at_once else None)
            self._journal.append(replace(taken, name=name))
            if taken.certainty is Certainty.PROVISIONAL:
                await self._confirm(taken, parent)
            return self._journal.state().checkpoints[-1]

    async def _confirm(self, taken: ev.CheckpointTaken, parent: str | None) -> None:
        """Hold a provisional checkpoint against everything present."""
        began = time.monotonic()
        meta = await asyncio.to_thread(self._store.meta, taken.commit)
        found = await self._look(self._store.confirm, taken.id, taken.commit, parent, meta)
        confirmed = ev.CheckpointConfirmed(
            id=taken.id, commit=found.commit, tree=found.tree, state=found.state, files=found.files, ms=_since(began)
        )
        if found.tree != taken.tree:
            missed = await asyncio.to_thread(self._store.diff, taken.commit, found.commit, ignored=True)
            confirmed = replace(confirmed, missed=tuple(change.path for change in missed[:MOST_PATHS]))
        self._journal.append(confirmed)

    async def pack(self) -> bool:
        """Put what was stored together, unless something is going on; whatever begins meanwhile ends it."""
        if self._busy.locked():
            return False
        try:
            return await asyncio.to_thread(self._store.pack)
        except asyncio.CancelledError:
            self._store.give_way()
            raise

    async def _look(self, look: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have the store record the tree, so that what was touched before counts no more."""
        with self.touched.recording():
            return await asyncio.to_thread(look, *args, **kwargs)

    async def adopt(self) -> ev.CheckpointTaken | None:
        """Where the operator changed the tree since it was last seen, what is there is a good checkpoint of his."""
        async with self._busy:
            present = await self._look(self._store.tree_of_working_tree)
            if present.tree == self._journal.state().tree:
                return None
            # Ignored files that are kept are part of a tree, but programs of all kinds write them.
            seen = await self.seen()
            if seen and not await asyncio.to_thread(self._store.diff, seen, present.tree):
                return None
            taken = replace(await self._take(CheckpointKind.ASKED, "changed by the operator"), edited=True)
            self._journal.append(taken)
            return taken

    async def seen(self) -> str:
        """The tree as it was last seen, by an id that the store has; "" if it let go of it."""
        state = self._journal.state()
        held = next((one.taken.commit for one in reversed(state.checkpoints) if one.taken.tree == state.tree), "")
        if held or not state.tree:
            return held
        lost = await asyncio.to_thread(self._store.missing, [state.tree])
        return "" if lost else state.tree

    async def verified(
        self, snapshot: Snapshot, task: ev.TaskId, iteration: int, settled: Callable[[], tuple[ev.Event, ...]] = tuple
    ) -> None:
        """One transaction: the task, verified on `snapshot`, its checkpoint, and what is settled with it by then."""
        async with self._busy:
            taken = await self._of_task(snapshot, task, iteration)
            done = ev.TaskDone(task=task, iteration=iteration, checkpoint=taken.id)
            self._journal.append(rec.proved_by(taken, self._journal.state().seq), done, *settled())

    async def careful(self, present: Snapshot) -> None:
        """Name what the operator's tools would run by themselves and the work, so far, made or changed."""
        async with self._busy:
            await self._careful(present.commit)

    async def _careful(self, present: str) -> None:
        state = self._journal.state()
        if not state.checkpoints:
            return
        start = state.checkpoints[0].taken.commit
        changed = await asyncio.to_thread(self._store.diff, start, present, ignored=True)
        paths = autorun(change.path for change in changed if change.kind is not ChangeKind.DELETED)
        if paths != state.autorun:
            new = tuple(path for path in paths if path not in state.autorun)
            self._journal.append(ev.Autorun(iteration=state.iteration, paths=paths, new=new))

    async def _of_task(self, snapshot: Snapshot, task: ev.TaskId, iteration: int) -> ev.CheckpointTaken:
        state = self._journal.state()
        files: dict[str, str | None] = {}
        if base := rec.base(state):
            files = await asyncio.to_thread(self._store.blobs, base.taken.commit, snapshot.commit)
        work = rec.Work(task=task, since=base.id if base else "", files=files)
        one = rec.verified(self._record(), task, iteration, snapshot.tree, work)
        self._proved.clear()  # a verdict rests on it: everything is looked for again
        await self._prove(one)
        commit = await asyncio.to_thread(self._store.annotate, one.id, snapshot.commit, rec.encode(one))
        return rec.row(CheckpointKind.TASK, dataclasses.replace(snapshot, commit=commit), one, task=task)

    async def rollback(
        self, to: str | None = None, paths: Sequence[str] = (), way: str = "rollback", *, keep_mine: bool = False
    ) -> ev.RolledBack:
        """Make the tree what it was at the last good checkpoint, or at `to`; of `paths` only, if any are named; but for
        what the operator has written since, with `keep_mine`.

        Raises `UsageError` when there is no such checkpoint or nothing to take back.
        """
        return await self._go(handles.good(self._journal.state(), to).id, way, tuple(paths), keep_mine)

    async def takes_back(self, to: str | None, paths: Sequence[str] = ()) -> bool:
        """Whether a rollback would change anything; a look, without a trace."""
        target = handles.good(self._journal.state(), to).taken
        return await self._differs(target, await self.present(), paths)

    async def _differs(
        self, target: ev.CheckpointTaken, present: ev.CheckpointTaken | Snapshot, paths: Sequence[str]
    ) -> bool:
        """Whether anything is not as it is in the target: at the paths, if any are named."""
        if _same(target, present) or not paths:
            return not _same(target, present)
        found = await asyncio.to_thread(self._store.outlook, target.commit, _odd(paths))
        return bool(found.changes or found.repositories)

    async def undo(self, redo: bool = False) -> ev.RolledBack:
        """Walk back through rollbacks, or forward again."""
        stack = history.stack_from(self._journal.state().rollbacks)
        target = stack.redo_target if redo else stack.undo_target
        if target is None:
            raise UsageError(handles.nothing_to(self._journal.state(), redo))
        return await self._go(target, "redo" if redo else "undo")

    async def resume(self) -> ev.RolledBack | None:
        """Finish a rollback that was interrupted; None if there was none."""
        begun = self._journal.state().rollback
        if begun is None:
            return None
        async with self._busy:
            return await self._restore(begun)

    async def _go(self, target: str, way: str, paths: tuple[str, ...] = (), keep_mine: bool = False) -> ev.RolledBack:
        async with self._busy:
            for left in reversed(range(TRIES)):
                by = ", by a failed verdict" if way == history.Way.FAILED_VERDICT else ""
                safety = await self._take(CheckpointKind.SAFETY, f"before {'rollback' if by else way} to {target}{by}")
                aim = self._journal.state().checkpoint(target)
                assert aim is not None
                if way == history.Way.ROLLBACK and not await self._differs(aim.taken, safety, paths):
                    raise UsageError(handles.nothing_to_take(target, paths))
                mine = await self._mine(aim, safety) if keep_mine else ()
                begun = ev.RollbackBegun(safety=safety.id, target=target, way=way, paths=paths, mine=mine)
                self._journal.append(safety, begun)
                try:
                    return await self._restore(begun)
                except Moved:
                    if not left:
                        raise
            raise AssertionError("unreachable")

    async def _restore(self, begun: ev.RollbackBegun) -> ev.RolledBack:
        state = self._journal.state()
        safety, target = state.checkpoint(begun.safety), state.checkpoint(begun.target)
        assert safety is not None
        assert target is not None
        back = ev.RolledBack(safety=begun.safety, target=begun.target, way=begun.way, paths=begun.paths)
        try:
            restored = await self._look(
                self._store.restore, safety.taken.commit, target.taken.commit, _odd(begun.paths), _odd(begun.mine)
            )
        except ProctorError as error:
            self._journal.append(replace(back, failed=str(error)))
            raise
        lost = [f"{safe_line(path, 200)}: the repository that was here is gone" for path in restored.missing]
        if target.taken.certainty is Certainty.PROVISIONAL:
            lost.append(f"{target.id} was never confirmed: it holds what was seen to change, and perhaps not all")
        taken = [] if begun.paths or begun.way == history.Way.FAILED_VERDICT else handles.reopened(state, target)
        back = replace(
            back,
            changed=restored.changed,
            parked=restored.parked,
            mine=restored.mine,
            said=(*taken, *restored.said, *lost),
            tree=restored.tree,
        )
        self._journal.append(back)
        with contextlib.suppress(ProctorError):  # the tree is back already; the next iteration's end names them
            await self._careful(restored.tree)
        return back

    async def _mine(self, target: CheckpointState, safety: ev.CheckpointTaken) -> tuple[str, ...]:
        """What differs from the target and the operator has written since. UsageError if all of it is his."""
        told = story(self._journal.rows(kinds=KINDS), target.id, target.taken.tree, safety.tree)
        found = await asyncio.to_thread(whose, self._store, told, self._journal.state())
        changes = await asyncio.to_thread(self._store.diff, safety.commit, target.taken.commit, ignored=True)
        mine = found.mine | found.both
        if changes and all(change.path in mine for change in changes) and target.taken.state == safety.state:
            raise UsageError(f"all that differs from {target.id} is your own work; nothing to take back")
        return tuple(sorted(change.path for change in changes if change.path in mine))

    async def _take(self, kind: CheckpointKind, note: str, listed: Collection[str] | None = None) -> ev.CheckpointTaken:
        """Store what is present; only what is `listed`, if that will do."""
        began = time.monotonic()
        one = self._record()
        await self._prove(one)
        parent, meta = self._parent(), rec.encode(one)

        def taken() -> Snapshot:
            at_once = None if listed is None else self._store.provisional(one.id, listed, parent, meta)
            return at_once or self._store.snapshot(one.id, parent, meta)

        snapshot = await self._look(taken)
        return rec.row(kind, snapshot, one, note=note, ms=_since(began))

    def _record(self) -> rec.Record:
        return rec.record(self._journal.state(), *self._revisions())

    async def _prove(self, one: rec.Record) -> None:
        """See that what a record names is in the store, each once: a row must not promise what is not there."""
        asked = rec.hashes(one) - self._proved
        if asked and (lost := await asyncio.to_thread(self._store.missing, asked)):
            raise Unrecoverable(
                f"the checkpoint store has lost {lost[0][:12]} of verified work: see `proctor checkpoints --verify`",
                "checkpoints",
            )
        self._proved |= asked

    def _parent(self) -> str | None:
        checkpoints = self._journal.state().checkpoints
        return checkpoints[-1].taken.commit if checkpoints else None


def _since(began: float) -> int:
    """Milliseconds since a moment of the clock that never goes back."""
    return round((time.monotonic() - began) * 1000)


def _same(one: ev.CheckpointTaken, other: ev.CheckpointTaken | Snapshot) -> bool:
    """Whether two records are of the same tree, with repositories in the same state."""
    return (one.tree, one.state) == (other.tree, other.state)


def _odd(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths from a row, also as they are where a name is not UTF-8: a row has those escaped."""
    return (*paths, *(path for path in map(unescaped, paths) if path not in paths))
