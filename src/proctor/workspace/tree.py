"""The files of a workspace as last seen, and what differs now: found by a walk, or by looking where told."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from proctor.workspace.ignore import MARKERS, Ignore

Fingerprint = tuple[int, int, int]
"""Time of the last change in nanoseconds, size in bytes, inode."""


class Kind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that differs from when it was last seen: path relative to the workspace, size now in bytes."""

    path: str
    kind: Kind
    size: int = 0


@dataclass(slots=True)
class _Folder:
    inode: int
    files: dict[str, Fingerprint] = field(default_factory=dict)


@dataclass(slots=True)
class Tree:
    """What is known of a workspace. Folders are not reported, ignored ones not entered, symlinks not followed.

    Paths are relative, the root's is empty; a name that is not UTF-8 holds surrogates. Not safe for two threads.
    """

    root: Path
    ignore: Ignore
    fresh: set[str] = field(default_factory=set)
    """Folders that are new or other ones than before, until the reader empties it."""
    _known: dict[str, _Folder] = field(default_factory=dict)

    @property
    def folders(self) -> list[str]:
        """Every folder that is not ignored."""
        return list(self._known)

    def walk(self) -> list[Touch]:
        """Everything that differs; the first walk finds every file."""
        unseen = set(self._known)
        return self._scan([""], unseen) + self._forget(unseen)

    def look(self, paths: Iterable[str]) -> list[Touch]:
        """What differs at these paths, and below those that are folders."""
        touches: list[Touch] = []
        gone: set[str] = set()
        for path in paths:
            folder, _, name = path.rpartition("/")
            try:
                found = os.lstat(self.root / path)
            except OSError:
                found = None
            is_folder = found is not None and stat.S_ISDIR(found.st_mode)
            if not name or folder not in self._known or self.ignore(path, is_folder):
                continue
            touches += self._note(folder, name, None if is_folder or not found else _fingerprint(found))
            if is_folder:
                # Perhaps another folder under an old name: whatever is below needs a new watch, or is gone.
                unseen = self._below({path})
                self.fresh |= unseen
                touches += self._scan([path], unseen)
                touches += self._forget(unseen)
            elif path in self._known:
                gone.add(path)
        return touches + self._forget(self._below(gone))

    def _scan(self, todo: list[str], unseen: set[str]) -> list[Touch]:
        """Compare these folders and all below them; strike from `unseen` those that are there."""
        touches: list[Touch] = []
        while todo:
            folder = todo.pop()
            try:
                inode, files, inner = self._list(folder)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:  # unreadable is not gone
                unseen -= self._below({folder})
                continue
            known = self._known.get(folder)
            if known is None and MARKERS & files.keys() and folder:
                continue
            unseen.discard(folder)
            if known is None or known.inode != inode:
                self.fresh.add(folder)
                known = self._known[folder] = _Folder(inode, known.files if known else {})
            for name in [*(known.files.keys() - files.keys()), *files]:
                touches += self._note(folder, name, files.get(name))
            todo += inner
        return touches

    def _list(self, folder: str) -> tuple[int, dict[str, Fingerprint], list[str]]:
        """A folder's inode and what it holds that is not ignored: its files, and the paths of its folders."""
        files: dict[str, Fingerprint] = {}
        inner: list[str] = []
        symlinks = os.O_NOFOLLOW if folder else 0  # the workspace itself may be one
        fd = os.open(self.root / folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | symlinks)
        try:
            with os.scandir(fd) as listing:
                for item in listing:
                    path = f"{folder}/{item.name}" if folder else item.name
                    is_folder = item.is_dir(follow_symlinks=False)
                    if self.ignore(path, is_folder):
                        continue
                    if is_folder:
                        inner.append(path)
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        files[item.name] = _fingerprint(item.stat(follow_symlinks=False))
            return os.fstat(fd).st_ino, files, inner
        finally:
            os.close(fd)

    def _note(self, folder: str, name: str, now: Fingerprint | None) -> list[Touch]:
        """Take over what a file is now; what that changes, if anything."""
        files = self._known[folder].files
        before = files.get(name)
        if now == before:
            return []
        path = f"{folder}/{name}" if folder else name
        if now is None:
            del files[name]
            return [Touch(path, Kind.REMOVED)]
        files[name] = now
        return [Touch(path, Kind.CHANGED if before else Kind.ADDED, now[1])]

    def _forget(self, folders: set[str]) -> list[Touch]:
        """Folders that are gone, and so are their files."""
        touches: list[Touch] = []
        for folder in folders:
            for name in list(self._known[folder].files):
                touches += self._note(folder, name, None)
            del self._known[folder]
            self.fresh.discard(folder)
        return touches

    def _below(self, tops: set[str]) -> set[str]:
        """The known folders that are one of these or below one."""
        if not tops:
            return set()
        return {folder for folder in self._known if not tops.isdisjoint(_lineage(folder))}


def _lineage(folder: str) -> list[str]:
    """The folder and all above it: `a/b` is `a/b`, `a` and the root."""
    parts = folder.split("/")
    return ["", *("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))]


def _fingerprint(found: os.stat_result) -> Fingerprint:
    return found.st_mtime_ns, found.st_size, found.st_ino
