"""The folders of a stored tree, read and rewritten in this process: what a change costs is what it touches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.checkpoint.objects import library
from proctor.checkpoint.record import FOLDER, tree_body, tree_entries

if TYPE_CHECKING:
    from git.db import GitDB

Entry = tuple[bytes, str]
"""Git's mode of a file or folder, and the id of its content."""
_CACHE = 32 << 20
"""Bytes of folders that are kept in memory."""


class TreeObjects:
    """The folders of one store. The ones used last are kept in memory."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._database: GitDB | None = None
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def entries(self, oid: str) -> dict[bytes, Entry]:
        """What a folder holds. Raises an error of gitdb's or an OSError if it is not there."""
        body = self._bodies.get(oid)
        if body is None:
            body = self._read(oid)
            self._remember(oid, body)
        else:
            self._bodies.move_to_end(oid)
        return tree_entries(body)

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
        entries = self.entries(root) if root else {}
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
        body = tree_body(entries)
        oid = write(body)
        self._remember(oid, body)
        return oid, more

    def _count(self, entry: Entry | None) -> int:
        if entry is None:
            return 0
        return sum(1 for _ in self.files(entry[1], b"")) if entry[0] == FOLDER else 1

    def _remember(self, oid: str, body: bytes) -> None:
        if oid not in self._bodies:
            self._size += len(body)
            self._bodies[oid] = body
            while self._size > _CACHE:
                self._size -= len(self._bodies.popitem(last=False)[1])

    def _read(self, oid: str) -> bytes:
        for again in (True, False):
            try:
                if self._database is None:
                    self._database = library().db.GitDB(str(self._objects))
                return bytes(self._database.stream(bytes.fromhex(oid)).read())
            except Exception:  # packs were put together meanwhile
                self._database = None
                if not again:
                    raise
        raise AssertionError("unreachable")
