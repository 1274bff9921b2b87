"""The folders of a stored tree, read and rewritten in this process: what a change costs is what it touches."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from proctor.checkpoint.record import FOLDER, tree_body, tree_entries
from proctor.checkpoint.store.objects import library
from proctor.checkpoint.store.plumbing import Git

if TYPE_CHECKING:
    from git.db import GitDB

Entry = tuple[bytes, str]
"""Git's mode of a file or folder, and the id of its content."""
_CACHE = 100_000
"""Names that are kept in memory, some 250 bytes for each."""


class Unread(Exception):
    """A folder cannot be read here: it is missing or damaged."""


class TreeObjects:
    """The folders of one store. The ones used last are kept in memory."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._databases: list[GitDB] = []
        self._folders: OrderedDict[str, Mapping[bytes, Entry]] = OrderedDict()
        self._size = 0

    def entries(self, oid: str) -> Mapping[bytes, Entry]:
        """What a folder holds. Raises `Unread`."""
        entries = self._folders.get(oid)
        if entries is None:
            entries = tree_entries(self._read(oid))
            self._remember(oid, entries)
        else:
            self._folders.move_to_end(oid)
        return entries

    def find(self, root: str, path: bytes) -> Entry | None:
        """What stands at a path of a tree."""
        entry: Entry | None = (FOLDER, root)
        for name in path.split(b"/"):
            if entry is None or entry[0] != FOLDER:
                return None
            entry = self.entries(entry[1]).get(name)
        return entry

    def files(self, oid: str, prefix: bytes) -> Iterator[bytes]:
        """The paths of all files in a folder."""
        for name, (mode, inner) in self.entries(oid).items():
            if mode == FOLDER:
                yield from self.files(inner, prefix + name + b"/")
            else:
                yield prefix + name

    def rewritten(
        self, root: str | None, edits: Mapping[bytes, Entry | None], write: Callable[[bytes], str]
    ) -> tuple[str | None, int]:
        """The tree with other files at some paths, None for nothing; and how many files it has more than before.

        A folder that would be empty is none, and then the id is None. New folders are given to `write`.
        """
        entries = dict(self.entries(root)) if root else {}
        inner: dict[bytes, dict[bytes, Entry | None]] = {}
        more = 0
        for path, entry in edits.items():
            name, _, rest = path.partition(b"/")
            if rest:
                inner.setdefault(name, {})[rest] = entry
            else:
                more += (entry is not None) - self._count(entries.pop(name, None))
                if entry:
                    entries[name] = entry
        for name, below in inner.items():
            before = entries.get(name)
            is_folder = before is not None and before[0] == FOLDER
            oid, added = self.rewritten(before[1] if before and is_folder else None, below, write)
            if oid:
                more += added - (0 if is_folder else self._count(before))
                entries[name] = FOLDER, oid
            elif is_folder:
                more += added
                del entries[name]
        if not entries:
            return None, more
        oid = write(tree_body(entries))
        self._remember(oid, entries)
        return oid, more

    def _count(self, entry: Entry | None) -> int:
        if entry is None:
            return 0
        return sum(1 for _ in self.files(entry[1], b"")) if entry[0] == FOLDER else 1

    def _remember(self, oid: str, entries: Mapping[bytes, Entry]) -> None:
        if oid not in self._folders:
            self._size += len(entries)
            self._folders[oid] = entries
            while self._size > _CACHE:
                self._size -= len(self._folders.popitem(last=False)[1])

    def _read(self, oid: str) -> bytes:
        for again in (True, False):
            if not self._databases:
                places = [self._git.gitdir / "objects", *self._git.lenders]
                self._databases = [library().db.GitDB(str(place)) for place in places]
            from git.exc import ODBError

            for database in self._databases:
                with contextlib.suppress(ODBError, OSError):
                    return bytes(database.stream(bytes.fromhex(oid)).read())
            if again:  # packs were put together meanwhile, or are elsewhere
                self._databases = []
        raise Unread(oid)
