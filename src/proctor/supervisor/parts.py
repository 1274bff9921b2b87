"""What a verified task changed, in parts, and copies of what was verified without one of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint.repository import Change, ChangeKind, Entry, Store
from proctor.errors import UsageError
from proctor.journal.events import CheckpointTaken
from proctor.journal.state import State, TaskState
from proctor.oracle import audit
from proctor.oracle.audit import KeyOf, Part
from proctor.oracle.frozen import Frozen, is_within
from proctor.oracle.tamper import clear
from proctor.supervisor import record

MOST_READ, LARGEST = 500, 1 << 20
"""Files of a change that are looked into, and the bytes of one; others are taken out as a whole."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a verified task changed: its trees, what can be taken out, and how its runs are named."""

    before: str
    after: str
    tree: str
    parts: list[Part]
    key: KeyOf
    entries: dict[str, Entry]
    """The files of the tree before, by path."""


@dataclass(frozen=True, slots=True)
class Without:
    """A store whose copies lack one part of a change."""

    store: Store
    change: Work | None = None
    part: Part | None = None

    def materialise(self, commit: str, dest: Path, exclude: tuple[str, ...] = ()) -> None:
        self.store.materialise(commit, dest, exclude)
        self._take_out(commit, dest)

    def refresh(self, commit: str, dest: Path, exclude: tuple[str, ...] = ()) -> None:
        self.store.refresh(commit, dest, exclude)
        self._take_out(commit, dest)

    def not_kept(self, commit: str) -> frozenset[str]:
        return self.store.not_kept(commit)

    def _take_out(self, commit: str, dest: Path) -> None:
        if self.part is None or self.change is None:
            return
        part = self.part
        if part.hunk is not None:
            place = dest / part.path
            mode = stat.S_IMODE(place.lstat().st_mode)
            content = audit.without(self.store.read(commit, part.path), part.hunk)
            clear(dest, part.path).write_bytes(content)
            place.chmod(mode)
            return
        for path in filter(None, (part.path, part.was)):
            self._put_back(dest, path)

    def _put_back(self, dest: Path, path: str) -> None:
        """The file as it was before the change, or nothing, and no folder that is empty for that."""
        assert self.change is not None
        place, entry = clear(dest, path), self.change.entries.get(path)
        if entry is None:
            for folder in place.parents:
                if folder == dest or any(folder.iterdir()):
                    return
                folder.rmdir()
            return
        content = self.store.read(self.change.before, path)
        if stat.S_ISLNK(entry.mode):
            os.symlink(content, os.fsencode(place))
        else:
            place.write_bytes(content)
            place.chmod(stat.S_IMODE(entry.mode))


def ends(store: Store, state: State, task: TaskState) -> tuple[CheckpointTaken, CheckpointTaken]:
    """The checkpoint that a verified task's work began on, and its own. UsageError where one is no more."""
    taken = state.checkpoint(task.checkpoint or "")
    known = record.decode(store.meta(taken.taken.commit)) if taken else None
    began = state.checkpoint(known.work.since) if known and known.work else None
    if taken is None or began is None:
        raise UsageError("the checkpoint that it began with is kept no more")
    return began.taken, taken.taken


def work_of(
    store: Store, began: CheckpointTaken, taken: CheckpointTaken, key: KeyOf, *, frozen: Frozen, hidden: Collection[str]
) -> Work:
    """The change between two checkpoints, in parts. What is frozen, hidden or ignored is no part of it; a file that is
    frozen by a part is."""
    before, after = began.commit, taken.commit
    whole = frozen.by_path.keys() - {*frozen.documents, *frozen.supports}
    changes = [
        change
        for change in store.diff(before, after)
        if change.path not in whole
        and not is_within(change.path, (*frozen.roots, *frozen.borrowed, *(path.rstrip("/") for path in hidden)))
    ]
    old = {entry.path: entry for entry in store.entries(before)}
    new = {entry.path: entry for entry in store.entries(after)}
    parts: list[Part] = []
    moved = _moved(changes, old, new)
    for number, change in enumerate(changes):
        path = change.path
        if path in moved.values() or not (path in old or path in new):
            continue
        if path in moved:
            parts.append(Part(path, was=moved[path]))
        elif number < MOST_READ and _is_text(change, new.get(path)):
            patch = store.patch(before, after, [path])
            content = store.read(after, path)
            more = path in old and old[path].mode != new[path].mode
            one_file = patch.count(b"\ndiff --git ") == 0
            told = audit.parts_of(path, content, patch, added=path not in old, more=more) if one_file else [Part(path)]
            parts += told
        else:
            parts.append(Part(path))
    return Work(before, after, taken.tree, parts, key, {c.path: old[c.path] for c in changes if c.path in old})


def _is_text(change: Change, now: Entry | None) -> bool:
    plain = now is not None and stat.S_ISREG(now.mode) and change.kind is not ChangeKind.RETYPED
    return plain and not change.binary and change.size <= LARGEST


def _moved(changes: list[Change], old: dict[str, Entry], new: dict[str, Entry]) -> dict[str, str]:
    """Files that only have another name than before: now and then."""
    gone = {old[c.path].oid: c.path for c in changes if c.path in old and c.path not in new}
    came = [c.path for c in changes if c.path in new and c.path not in old]
    return {path: gone.pop(new[path].oid) for path in came if new[path].oid in gone}
