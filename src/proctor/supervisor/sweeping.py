"""Letting go of a session's past: a row first, so that nothing lists what goes, then the space.

Killed half-way, the next sweep finds what no row or checkpoint names and finishes.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proctor.checkpoint.repository import Store
from proctor.errors import ProctorError
from proctor.journal import events as ev
from proctor.journal.port import JournalPort
from proctor.journal.state import State
from proctor.journal.store import Reader
from proctor.journal.stream import stream_path
from proctor.oracle.check import load_judgement
from proctor.supervisor import retention
from proctor.supervisor.retention import Dispensable
from proctor.supervisor.timeline import Timeline
from proctor.text import file_name, safe_line
from proctor.trees import remove_tree, walk
from proctor.units import counted, format_size

KEEP, OPERATOR = "keep", "operator"
FOREVER = 100 * 365 * 24 * 3600 * 1000
"""Milliseconds for which nothing gets old."""
_NAMED = 5
_SET_ASIDE = re.compile(r"\d{3}-.+|session-\d+\.git")
_SHELF = re.compile(r"[0-9a-f]{12}(\.\d+)?")
_CHECKPOINT = re.compile(r"c\d+")


@dataclass(frozen=True, slots=True)
class Swept:
    """What went, and how many bytes came free; `freed` is None where that comes later or was only asked about."""

    gone: Dispensable
    freed: int | None

    def describe(self) -> str:
        """One line."""
        if not self.gone:
            return "nothing to prune" + (f"; {format_size(self.freed)} of remains freed" if self.freed else "")
        parts = []
        if self.gone.checkpoints:
            parts.append(f"{counted(len(self.gone.checkpoints), 'checkpoint')} ({', '.join(self.gone.checkpoints)})")
        if self.gone.iterations:
            parts.append(f"the raw output of {counted(len(self.gone.iterations), 'iteration')}")
        return f"{' and '.join(parts)}{'' if self.freed is None else f'; {format_size(self.freed)} freed'}"


def plan(journal: JournalPort | Reader, folder: Path, keep: int) -> Dispensable:
    """What is older than `keep` milliseconds and may go. `folder` is the session's state folder."""
    rows = journal.rows(kinds=("iteration_ended",))
    ended = {row.event.iteration: row.at for row in rows if isinstance(row.event, ev.IterationEnded)}
    left = {number: at for number, at in ended.items() if stream_path(folder, number).exists()}
    return retention.dispensable(journal.state(), left, _before(keep))


class Sweeper:
    """Retention of one session. `folder` is its state folder."""

    def __init__(self, journal: JournalPort, timeline: Timeline, store: Store, folder: Path) -> None:
        self._journal = journal
        self._timeline = timeline
        self._store = store
        self._folder = folder

    async def sweep(self, keep: int, why: str, *, free: bool = True) -> Swept:
        """Drop what is older than `keep` milliseconds. Without `free` the space is left for a later sweep, for an
        iteration may rest on what no checkpoint names."""
        async with self._timeline.still():
            gone = plan(self._journal, self._folder, keep)
            if gone:
                row = ev.CheckpointsPruned(ids=gone.checkpoints, why=why, iterations=gone.iterations)
                self._journal.append(row)
            if not free:
                return Swept(gone, None)
            freed, names = await asyncio.to_thread(self._free, gone, _before(keep))
            if freed:
                what = f"{len(names):,} old files or folders removed ({_some(names)}); " if names else ""
                self._journal.append(ev.Logged(room="retention", text=f"{what}{format_size(freed)} came free again"))
            return Swept(gone, freed)

    async def tidy(self, keep: int | None) -> str:
        """In idle time, by the contract: let go of what is older than `keep` milliseconds (None: of nothing). The
        trouble that there was, or "": it is told and no more, for the space can wait."""
        try:
            await self.sweep(keep or FOREVER, KEEP)
        except (ProctorError, OSError) as error:
            return f"what is old stays for now: {safe_line(str(error))}"
        return ""

    def _free(self, gone: Dispensable, before: datetime) -> tuple[int, list[str]]:
        """Give the space back: how many bytes, and which files and folders went."""
        state = self._journal.state()
        trash = self._folder / "trash"
        remove_tree(trash)
        freed, names = 0, []
        for path in self._rubbish(state, gone, before):
            freed += _size(path)
            names.append(str(path.relative_to(self._folder)))
            trash.mkdir(mode=0o700, exist_ok=True)
            os.rename(path, trash / path.name)  # there or gone, never half
            remove_tree(trash)
        begun = self._folder / "sweeping"
        if begun.exists() or self._garbage(state):
            begun.touch()  # refs go before objects do
            objects = self._store.objects
            size = _size(objects)
            wanted = {c.taken.commit for c in state.checkpoints} | ({state.tree} if state.tree else set())
            wanted |= self._judged_before()
            self._store.gc(wanted - set(self._store.missing(wanted)))
            freed += max(0, size - _size(objects))
            begun.unlink()
        elif self._store.names():
            self._store.pack()
        return freed, names

    def _judged_before(self) -> set[str]:
        """What was judged before the work on a task: where its tests moved, they are found by it."""
        folders = (path for path in _entries(self._folder / "checks") if path.name.startswith("baseline-"))
        return {one.commit for one in map(load_judgement, folders) if one is not None and one.commit}

    def _garbage(self, state: State) -> bool:
        """Whether the store keeps a checkpoint that is none any more."""
        return any(_CHECKPOINT.fullmatch(name) and state.checkpoint(name) is None for name in self._store.names())

    def _rubbish(self, state: State, gone: Dispensable, before: datetime) -> Iterator[Path]:
        """Files and folders that belong to what is gone, or that are old and set aside."""
        logs = {part for log in retention.needed_logs(state) for part in Path(log).parts}
        for number in gone.iterations:
            stream = stream_path(self._folder, number)
            yield stream if stream.parent.name in logs else stream.parent
        commits = [c.taken.commit for c in state.checkpoints]
        for path in _entries(self._folder / "parked"):
            if _SHELF.fullmatch(path.name) and not retention.shelved(path, commits) and _is_old(path, before):
                yield path
        baselines = {f"baseline-{file_name(str(task))}" for task in retention.open_baselines(state)}
        for path in _entries(self._folder / "checks"):
            if path.name.startswith("baseline-") and path.name not in baselines | logs and _is_old(path, before):
                yield path
        for path in _entries(self._folder / "kept"):
            if _SET_ASIDE.fullmatch(path.name) and _is_old(path, before):
                yield path


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return safe_line(", ".join(names[:_NAMED]), 300) + more


def _before(keep: int) -> datetime:
    try:
        return datetime.now(UTC) - timedelta(milliseconds=keep)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_old(path: Path, before: datetime) -> bool:
    """Whether it was put there before that; a rename counts."""
    return path.lstat().st_ctime < before.timestamp()


def _size(path: Path) -> int:
    """Bytes that a file or folder takes on the disk, and that nothing else shares."""
    found = 0
    files = [path] if not path.is_dir() or path.is_symlink() else []
    files += [Path(folder, name) for folder, _, names in walk(str(path)) for name in names] if not files else []
    for file in files:
        try:
            status = file.lstat()
        except OSError:
            continue
        found += status.st_blocks * 512 if status.st_nlink == 1 else 0
    return found
