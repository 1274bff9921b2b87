"""What is remembered of the folders of a tree, so that those that did not change are not read again.

A folder's status says whether a name was added, removed or replaced in it; about the files themselves the index says
more. So nothing that is remembered is believed on its own: the names of a folder hold for its status, which of them
are in the index for exactly that index, and what ignore rules say for exactly those rules.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from proctor.checkpoint.look.extras import attributes_of
from proctor.checkpoint.look.known import FRESH
from proctor.checkpoint.record import Attributes
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.plumbing import Git, write_file
from proctor.checkpoint.store.plumbing import split as parted
from proctor.trees import file_system

TRUSTED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "bcachefs"})
"""File systems that give a folder a new time whenever a name in it changes."""

UNKNOWN = b""
"""Stands for an index or for rules that nothing is remembered for."""

RULES = b".gitignore"

_VERSION = 2


class Folder(msgspec.Struct, frozen=True, array_like=True):
    """One folder as it was read; `mode` and `signature` as it was just before, None if it may have changed since
    without a sign. Names are joined by slashes: of `folders`, of files and links that are in the index (`files`) and
    that are not (`beside`), of `special` files. `count` is how many there are but for the last. `.git` and what the
    harness owns are left out."""

    mode: int
    signature: tuple[int, int, int, int] | None
    folders: bytes
    files: bytes
    beside: bytes
    special: bytes
    count: int
    is_repository: bool
    attributes: Attributes = ()

    @classmethod
    def unseen(cls, indexed: Iterable[bytes]) -> Folder:
        """A folder of which no more is known than what of it is in the index."""
        return cls(0, None, b"", b"/".join(sorted(indexed)), b"", b"", 0, is_repository=False)

    def split_by(self, indexed: Collection[bytes]) -> Folder:
        """The same folder, beside an index that holds these names in it."""
        beside = {*split(self.files), *split(self.beside)}.difference(indexed)
        return replace(self, files=b"/".join(sorted(indexed)), beside=b"/".join(sorted(beside)))


class Memory(msgspec.Struct, frozen=True):
    """What one look leaves for the next. `index`, of which `tree` is the tree, and `rules` are what `Folder.files` and
    `judged` hold for; `judged` has, of what is not in the index, whether rules leave it out (a file that git tracks
    they do not)."""

    of: tuple[int, int, tuple[bytes, ...]] = (_VERSION, -1, ())
    index: bytes = UNKNOWN
    tree: str = ""
    rules: bytes = UNKNOWN
    judged: dict[bytes, bool] = {}
    folders: dict[bytes, Folder] = {}

    def indexed(self, path: bytes) -> set[bytes]:
        """The names in a folder that are in the index."""
        return set(split(self.folders[path].files)) if path in self.folders else set()

    def among(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of some paths that are in the index."""
        names: dict[bytes, set[bytes]] = {}
        for path in paths:
            names.setdefault(path.rpartition(b"/")[0], set()).add(path)
        return {
            path
            for folder in names.keys() & self.folders
            for path in below(folder, self.folders[folder].files)
            if path in names[folder]
        }


class Remembered:
    """The memory in its file beside the index, and in this process while no other one wrote it."""

    def __init__(self, place: Path, owned: Iterable[bytes]) -> None:
        self._place = place
        self._of = (_VERSION, os.geteuid(), tuple(sorted(owned)))
        self._memory = Memory()
        self._seen: tuple[int, ...] = ()

    def load(self) -> Memory:
        """What is remembered; nothing, if it cannot be read or is not about the same paths and the same user."""
        seen = self._signature()
        if seen != self._seen or not seen:
            self._memory, self._seen = Memory(), seen
            with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
                content = self._place.read_bytes()
                if zlib.crc32(content[4:]) == int.from_bytes(content[:4], "big"):
                    self._memory = msgspec.msgpack.decode(memoryview(content)[4:], type=Memory)
        if self._memory.of != self._of:
            self._memory = Memory()
        return self._memory

    def save(self, memory: Memory) -> None:
        """Write it down. It may be there before the index that it is about, or without it: it names its index."""
        memory = replace(memory, of=self._of)
        if memory != self._memory or not self._seen:
            body = msgspec.msgpack.encode(memory)
            write_file(self._place, zlib.crc32(body).to_bytes(4, "big") + body, durable=False)
            self._memory, self._seen = memory, self._signature()

    def _signature(self) -> tuple[int, ...]:
        try:
            found = os.lstat(self._place)
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class Survey:
    """One look at the folders of a tree. `folders` are those entered, `read` those of them that were not as
    remembered, `unreadable` those that may not be entered. `is_whole` is False if one was gone when its turn came."""

    def __init__(
        self,
        top: bytes,
        owned: Iterable[bytes],
        before: Mapping[bytes, Folder],
        indexed: Callable[[bytes], Collection[bytes]],
        now: int,
    ) -> None:
        """`before` is what is remembered, `indexed` gives the names in a folder that are in the index, `now` (ns) is
        when the look began."""
        self._top = top
        self._before = before
        self._indexed = indexed
        self._now = now
        self._device = os.lstat(top + b"/").st_dev if file_system(Path(os.fsdecode(top))) in TRUSTED else -1
        self._owned: dict[bytes, set[bytes]] = {}
        for path in owned:
            folder, _, name = path.rpartition(b"/")
            self._owned.setdefault(folder, set()).add(name)
        self.folders: dict[bytes, Folder] = {}
        self.read: set[bytes] = set()
        self.unreadable: set[bytes] = set()
        self.is_whole = True

    def walk(self, is_open: Collection[bytes]) -> list[bytes]:
        """Enter all folders that are open, from the top; the others that were met."""
        others: list[bytes] = []
        todo = [b""]
        while todo:
            path = todo.pop()
            if folder := self.enter(path):
                for child in below(path, folder.folders):
                    (todo if child in is_open else others).append(child)
        return others

    def enter(self, path: bytes) -> Folder | None:
        """A folder as it is now, from memory if its status says that it is as it was; None if it cannot be entered."""
        if path in self.folders:
            return self.folders[path]
        old = self._before.get(path)
        place = self._top + b"/" + path
        try:
            state = os.lstat(place)
            if old is not None and old.mode == state.st_mode and old.signature == _signature(state):
                self.folders[path] = old
                return old
            self.read.add(path)
            if not stat.S_ISDIR(state.st_mode):
                raise NotADirectoryError
            if not os.access(place, os.X_OK):
                raise PermissionError  # its names could be read, and nothing else of what is in it
            names = self._names(place, path)
        except OSError as error:  # else gone since it was listed
            if isinstance(error, PermissionError) or error.errno == errno.ENAMETOOLONG:
                self.unreadable.add(path)
        else:
            is_lasting = state.st_dev == self._device and state.st_ctime_ns <= self._now - FRESH
            signature = _signature(state) if is_lasting else None
            folder = Folder(state.st_mode, signature, *names, attributes_of(place))
            self.folders[path] = folder
            return folder
        self.is_whole = False
        return None

    def _names(self, place: bytes, path: bytes) -> tuple[bytes, bytes, bytes, bytes, int, bool]:
        indexed, owned = self._indexed(path), self._owned.get(path, ())
        folders: list[bytes] = []
        files: list[bytes] = []
        beside: list[bytes] = []
        special: list[bytes] = []
        is_repository = False
        with os.scandir(place) as entries:
            for entry in entries:
                name = entry.name
                if name == b".git":
                    is_repository = bool(path)
                elif name in owned:
                    continue
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    (files if name in indexed else beside).append(name)
                else:
                    special.append(name)
        count = len(folders) + len(files) + len(beside)
        joined = [b"/".join(sorted(found)) for found in (folders, files, beside, special)]
        return joined[0], joined[1], joined[2], joined[3], count, is_repository


def _signature(state: os.stat_result) -> tuple[int, int, int, int]:
    return state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev


def split(names: bytes) -> list[bytes]:
    """The names that one field of a folder holds."""
    return names.split(b"/") if names else []


def below(folder: bytes, names: bytes) -> Iterator[bytes]:
    """The paths of names in a folder."""
    return (folder + b"/" + name for name in split(names)) if folder else iter(split(names))


def mark_of(index: Path) -> bytes:
    """What tells one content of an index from all others: the sum that git writes at its end."""
    with contextlib.suppress(OSError), index.open("rb") as file:
        file.seek(-20, os.SEEK_END)
        mark = file.read()
        return mark if any(mark) else UNKNOWN
    return UNKNOWN


def fitted(git: Git, memory: Memory, env: Mapping[str, str]) -> Memory:
    """What is remembered, beside the index that the environment names: if it is another, that is asked."""
    index = Path(env.get("GIT_INDEX_FILE") or git.gitdir / "index")
    if memory.index == UNKNOWN or not index.exists():
        return _anew(git, memory, env, index)
    if memory.index == mark_of(index):
        return memory
    command = ("diff-index", "-z", "--cached", "--name-status", "--no-renames", memory.tree)
    try:
        said = parted(git.run(*command, env=env))
    except GitFailed:  # that tree is gone
        return _anew(git, memory, env, index)
    into, out_of = (
        [path for path, what in zip(said[1::2], said[::2], strict=True) if what == kind] for kind in (b"A", b"D")
    )
    return shifted(memory, into, out_of, any(map(is_rules, said[1::2])))


def shifted(memory: Memory, into: Collection[bytes], out_of: Collection[bytes], has_rules: bool) -> Memory:
    """What is remembered, beside an index that has taken some paths in since and let others go; `has_rules`: among what
    changed are rules."""
    new = {path.rpartition(b"/")[0] for path in into} - memory.folders.keys()
    folders = settled(memory.folders | dict.fromkeys(new, Folder.unseen(())), into, out_of)
    left = {path.rpartition(b"/")[0] for path in out_of}
    is_ruled = not has_rules and all(folders[path].files for path in left if path in folders)
    return replace(memory, index=UNKNOWN, rules=memory.rules if is_ruled else UNKNOWN, folders=folders)


def _anew(git: Git, memory: Memory, env: Mapping[str, str], index: Path) -> Memory:
    """What is remembered, with all names of the index."""
    names: dict[bytes, list[bytes]] = {}
    for path in parted(git.run("ls-files", "-z", env=env)) if index.exists() else ():
        folder, _, name = path.rpartition(b"/")
        names.setdefault(folder, []).append(name)
    folders = {path: folder.split_by(names.pop(path, ())) for path, folder in memory.folders.items()}
    return Memory(folders=folders | {path: Folder.unseen(inner) for path, inner in names.items()})


def is_rules(path: bytes) -> bool:
    """Whether a file holds ignore rules."""
    return path.rpartition(b"/")[2] == RULES


def settled(folders: Mapping[bytes, Folder], into: Iterable[bytes], out_of: Iterable[bytes]) -> dict[bytes, Folder]:
    """The folders beside an index that has taken some paths in and let others go."""
    changes: dict[bytes, tuple[set[bytes], set[bytes]]] = {}
    for which, paths in enumerate((into, out_of)):
        for path in paths:
            folder, _, name = path.rpartition(b"/")
            changes.setdefault(folder, (set(), set()))[which].add(name)
    after = dict(folders)
    for path, (taken, gone) in changes.items():
        if old := after.get(path):
            after[path] = old.split_by((set(split(old.files)) | taken) - gone)
    return after
