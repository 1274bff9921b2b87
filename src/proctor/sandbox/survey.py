"""What a workspace holds that a sandbox has to know of: one walk, without following links.

Folders are opened one component at a time below the one above, so that a name of any kind, any depth and any race
lead nowhere else. Few descriptors are held at once: deeper down, the way back up is `..`, and is checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import Unrecoverable
from proctor.sandbox import agents
from proctor.sandbox.below import open_own
from proctor.text import safe_line

STATE = ".proctor"
MOST_FOLDERS = 300_000
"""Folders that are looked at; a survey of more is not whole, and says so."""

MOST_NAMED = 16 << 20
"""Characters of the paths that a survey names; one that would name more is not whole."""

UNFINISHED = ".proctor-own-"
"""How the name of a copy begins that is to take a file's place."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = 64
_SPECIAL = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "FIFO", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


@dataclass(frozen=True, slots=True)
class Special:
    """Neither file, folder nor link: `kind` is socket, FIFO or device."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Files with more than one name: `bytes` is the sum of their sizes; each name counts.

    `unfinished` are copies that were to take the place of such files when their maker died.
    """

    files: int = 0
    bytes: int = 0
    paths: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """Paths are relative to the workspace and sorted; its own `.git` and `.proctor` are left out.

    `repositories` are the `.git` below it, of whatever type. `linked` is empty unless asked for, and says nothing of
    files in those. `unread` are folders that could not be opened: what they hold is unknown. `whole` is False when
    the walk ended at `folders` of them, or, if `abundant`, as it had too much to name. `configured` are the folders
    that may hold settings of agents.
    """

    repositories: tuple[str, ...]
    specials: tuple[Special, ...]
    linked: Linked
    unread: tuple[str, ...]
    folders: int
    whole: bool
    configured: tuple[str, ...] = ()
    abundant: bool = False

    def must_be_whole(self, workspace: Path) -> None:
        """Unrecoverable when there are more folders than are looked at: what they hold could not be protected."""
        if self.whole:
            return
        what = f"more than {self.folders:,} folders, too many to look through for what a worker must not write"
        fix = "work in a folder below it, or take some away"
        if self.abundant:
            what = "too many repositories, sockets, FIFOs and closed folders, or too deep, to keep them from a worker"
            fix = f"take them away; most are in {safe_line(os.path.commonpath(self._named()) or '.', 300)}"
        raise Unrecoverable(f"{workspace}: {what}; {fix}", "sandbox")

    def _named(self) -> list[str]:
        return [*self.repositories, *self.unread, *(special.path for special in self.specials), *self.configured]


def survey(workspace: Path, *, links: bool = False, most: int = MOST_FOLDERS) -> Survey:
    """Walk the workspace once. `links` also looks for files with several names, which costs an `lstat` for each file.

    OSError when the workspace itself cannot be read.
    """
    walk = _Walk(open_own(workspace), links, most)
    try:
        walk.run()
    finally:
        walk.close()
    return Survey(
        repositories=tuple(sorted(walk.repositories)),
        specials=tuple(sorted(walk.specials, key=lambda special: special.path)),
        linked=Linked(len(walk.linked), walk.bytes, tuple(sorted(walk.linked)), tuple(sorted(walk.unfinished))),
        unread=tuple(sorted(walk.unread)),
        folders=walk.folders,
        whole=walk.whole,
        configured=tuple(sorted(walk.configured)),
        abundant=walk.room < 0,
    )


@dataclass(slots=True)
class _Place:
    """A folder on the way down. `fd` is -1 while it is not held; `inside` is its repository's own folder or below."""

    name: str
    fd: int
    identity: tuple[int, int]
    inside: bool
    todo: list[str] = field(default_factory=list)


class _Walk:
    def __init__(self, top: int, links: bool, most: int) -> None:
        self.repositories: list[str] = []
        self.specials: list[Special] = []
        self.linked: list[str] = []
        self.configured: set[str] = set()
        self.unfinished: list[str] = []
        self.unread: list[str] = []
        self.bytes = 0
        self.folders = 0
        self.whole = True
        self.room = MOST_NAMED
        self._links = links
        self._most = most
        self._way: list[_Place] = []
        self._above: set[tuple[int, int]] = set()
        self._enter("", top, inside=False)

    def run(self) -> None:
        """Depth first, so that what is held is one way down."""
        while self._way:
            here = self._way[-1]
            if not here.todo:
                self._leave()
            elif self.folders >= self._most or self.room < 0:
                self.whole = False
                return
            else:
                self._descend(here, here.todo.pop())

    def close(self) -> None:
        for place in self._way:
            if place.fd >= 0:
                os.close(place.fd)
        self._way.clear()

    def _descend(self, here: _Place, name: str) -> None:
        try:
            fd = os.open(name, _FOLDER, dir_fd=here.fd)
        except FileNotFoundError:
            return
        except OSError:
            self.unread.append(self._path(name))
            return
        self._enter(name, fd, inside=here.inside or _is_repository(name))

    def _enter(self, name: str, fd: int, *, inside: bool) -> None:
        about = os.fstat(fd)
        identity = about.st_dev, about.st_ino
        if identity in self._above:  # a mount that shows a folder below itself
            os.close(fd)
            return
        self.folders += 1
        self._above.add(identity)
        self._way.append(_Place(name, fd, identity, inside))
        if len(self._way) > _HELD:
            held = self._way[-_HELD - 1]
            os.close(held.fd)
            held.fd = -1
        try:
            self._look(self._way[-1])
        except OSError:
            self.unread.append(self._path())

    def _leave(self) -> None:
        left = self._way.pop()
        self._above.discard(left.identity)
        try:
            if self._way and self._way[-1].fd < 0 and not self._climb(left, self._way[-1]):
                self.unread.append(self._path())
                self._way[-1].todo.clear()
        finally:
            os.close(left.fd)

    def _climb(self, left: _Place, above: _Place) -> bool:
        """Back into a folder that was let go; False when somebody moved the one below it meanwhile."""
        try:
            above.fd = os.open("..", _FOLDER, dir_fd=left.fd)
        except OSError:
            above.fd = os.dup(left.fd)
            return False
        about = os.fstat(above.fd)
        return (about.st_dev, about.st_ino) == above.identity

    def _look(self, here: _Place) -> None:
        is_top = len(self._way) == 1
        links = self._links and not here.inside
        with os.scandir(here.fd) as entries:
            for entry in entries:
                if is_top and entry.name in (".git", STATE):
                    continue
                if not here.inside and _is_repository(entry.name):
                    self.repositories.append(self._path(entry.name))
                if entry.name in agents.FIRST and not here.inside:
                    self.configured.add(self._path())
                if entry.is_file(follow_symlinks=False):
                    if links:
                        self._count(entry)
                elif entry.is_dir(follow_symlinks=False):
                    here.todo.append(entry.name)
                elif not entry.is_symlink():
                    self._name(entry)

    def _count(self, entry: os.DirEntry[str]) -> None:
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:  # it is gone
            return
        if entry.name.startswith(UNFINISHED):
            self.unfinished.append(self._path(entry.name))
        elif about.st_nlink > 1:
            self.linked.append(self._path(entry.name))
            self.bytes += about.st_size

    def _name(self, entry: os.DirEntry[str]) -> None:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            return
        self.specials.append(Special(self._path(entry.name), _SPECIAL.get(stat.S_IFMT(mode), "special file")))

    def _path(self, *last: str) -> str:
        path = "/".join((*self._names(), *last))
        self.room -= len(path)
        return path

    def _names(self) -> Iterator[str]:
        return (place.name for place in self._way[1:])


def _is_repository(name: str) -> bool:
    """Where names are of any case, git takes `.GIT` for its own."""
    return len(name) == 4 and name.lower() == ".git"
