"""The file system of a sandbox as bubblewrap's arguments.

Bubblewrap is never asked to create a mount point below a folder that a worker can write: a planted link would
make it create the file on the host. Everything below the workspace is opened without following links, must
exist, and is bound by descriptor. What a descriptor cannot do, keep a path from being renamed, the pins do:
each folder above a protected path is bound onto itself in a first bind of the workspace that a second one
buries, so that nothing can be reached by them and the kernel refuses to rename them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from proctor.errors import UsageError
from proctor.sandbox import host, private
from proctor.sandbox.below import (
    REPOSITORY,
    content,
    is_folder,
    make_below,
    open_below,
    open_folder,
    open_plain,
    refused,
)
from proctor.sandbox.policy import DOOR, Policy, Repository, relative_parts
from proctor.sandbox.programs import within

STATE = ".proctor"
NOTHING = "/dev/null"
"""Bound over a file to hide it: on a mount without devices it cannot even be opened."""

LATCH = "/run/.latch"
"""A file without a use but that bubblewrap waits for what is to be in it."""

Parts = tuple[str, ...]


class Mounts:
    """A growing argument list, and the descriptors it names; close it when bubblewrap has started.

    `own` is what the sandbox itself is made with, as its bwrap: a worker that could write it is not given it so.
    Bubblewrap mounts, and waits with the rest until `latch`, the reading end of a pipe, comes to its end.
    Bubblewrap closes each of `fds` once it is used; no other descriptor may be passed on.
    """

    def __init__(self, policy: Policy, own: Iterable[Path] = (), latch: int | None = None) -> None:
        self.words: list[str] = []
        self.fds: list[int] = []
        self._policy = policy
        self._view = host.view(policy.workspace, policy.programs)
        self._own = _below(policy.workspace, frozenset((*host.own(), *own)))
        self._hidden = private.hidden()
        self._scratch = str(policy.limits.scratch)
        top = open_folder(policy.folder)
        try:
            self._host()
            self._tools()
            self._workspace(top)
            if policy.repository:
                self._repository(top, policy.repository)
            self._extras(top)
            if latch is not None:
                self._add("--file", str(latch), LATCH)
            for mask in (*self._view.masks, Path("/")):
                if mask != self._view.home:
                    self._add("--remount-ro", mask)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(top)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()

    def _add(self, *words: str | Path) -> None:
        self.words += map(str, words)

    def _bind(self, fd: int, target: str | Path, writable: bool = False) -> None:
        """Binds a path descriptor, which is no longer the caller's."""
        self.fds.append(fd)
        self._add("--bind-fd" if writable else "--ro-bind-fd", str(fd), target)

    def _empty(self, folder: str | Path) -> None:
        self._add("--tmpfs", folder, "--remount-ro", folder)

    def _file(self, target: Path, text: str) -> None:
        """A read-only file that is nowhere on the host."""
        fd = content(os.fsencode(text))
        self.fds.append(fd)
        self._add("--ro-bind-data", str(fd), target)

    def _sized(self, folder: str | Path, mode: str = "0755") -> None:
        self._add("--perms", mode, "--size", self._scratch, "--tmpfs", folder)

    def _hide(self, target: str | Path, folder: bool) -> None:
        if folder:
            self._empty(target)
        else:
            self._add("--ro-bind", NOTHING, target)

    def _host(self) -> None:
        self._add(*_system(host.SYSTEM))
        self._add("--dev", "/dev", "--proc", "/proc", "--dir", "/run")
        for folder in (*host.SCRATCH, "/dev/shm"):  # noqa: S108
            self._sized(folder, "1777")
        self._add("--remount-ro", "/dev")
        if os.geteuid():
            for name in filter(os.path.exists, private.SETTINGS):
                self._add("--ro-bind", name, name)
        else:  # what the host's root can write there is no list to be kept
            self._add("--remount-ro", "/proc")
        # Through its memory a worker could take over the process that ends it: it is the same user's.
        self._empty("/proc/1")
        for path, as_folder in self._hidden:
            self._hide(path, as_folder)

    def _tools(self) -> None:
        view, workspace = self._view, self._policy.workspace
        for mask in view.masks:
            self._add("--tmpfs", mask)
        for other in view.homes:
            if other != view.home:
                self._add("--perms", "0111", "--dir", other)  # tools below it can be reached, nothing listed
        self._sized(view.home)
        for text, place in view.links:
            if not place.is_relative_to(workspace):
                self._add("--symlink", text, place)
        # What lies in the workspace comes with it: opened by name here, it could be a worker's link to elsewhere.
        tools = [tool for tool in view.tools if not tool.is_relative_to(workspace)]
        for tool in tools:
            self._add("--ro-bind-try", tool, tool)
        covered = (*view.masks, workspace, *(path for path, _ in self._hidden))
        for socket in private.sockets([*host.SYSTEM, *map(str, tools)]):
            if within(socket, tools) or not within(socket, covered):
                self._hide(socket, False)

    def _workspace(self, top: int) -> None:
        policy, place = self._policy, self._policy.workspace
        hidden = host.outermost({Path(STATE), *_paths(policy.hide)})
        blank = _outside(_paths(policy.blank), hidden)
        protected: set[Path] = set()
        if policy.writable:
            protected = {*_paths(policy.protect), *self._own}
            if not policy.repository:
                protected.add(Path(REPOSITORY))
            protected = _outside(protected, hidden | blank)
        covered = hidden | blank | protected
        self._bind(os.dup(top), place, policy.writable)
        if policy.writable:
            self._pin(top, covered)
        for path in _downward(covered):
            fd = open_below(top, path.parts)
            if fd is None:
                continue
            if path in protected:
                self._bind(fd, place / path)
                continue
            folder = is_folder(fd)
            os.close(fd)
            if path in hidden or folder:
                self._hide(place / path, folder)
            else:
                self._file(place / path, "{}\n" if path.suffix == ".json" else "")

    def _pin(self, top: int, paths: set[Path]) -> None:
        """Keeps the folders above these paths from being renamed."""
        above = {folder for path in paths for folder in path.parents if folder.parts}
        opened = (
            (path, open_below(top, path.parts)) for path in sorted(above, key=lambda path: (len(path.parts), path))
        )
        found = [(path, fd) for path, fd in opened if fd is not None]
        for path, fd in found:
            self._bind(fd, self._policy.workspace / path, writable=True)
        if found:
            self._bind(os.dup(top), self._policy.workspace, writable=True)

    def _repository(self, top: int, repository: Repository) -> None:
        """The private repository at its place, what it borrows, and the file that names the place."""
        fd = open_plain(repository.folder)
        self._need(top, repository.place, folder=True)
        self._bind(os.dup(fd), repository.place, writable=True)
        try:
            for source, target in repository.borrowed:
                self._borrow(fd, repository, self._open(source), target)
        finally:
            os.close(fd)
        if repository.pointer:
            self._need(top, repository.pointer, folder=False)
            self._file(repository.pointer, f"gitdir: {repository.place}\n")

    def _borrow(self, fd: int, repository: Repository, borrowed: int, target: Path) -> None:
        if target.is_relative_to(repository.place):  # its mount point lies where a worker has written
            parts = target.relative_to(repository.place).parts
            there = open_below(fd, parts)
            if there is None:
                make_below(fd, parts, is_folder(borrowed))
            else:
                os.close(there)
        self._bind(borrowed, target)
        alternates = open_below(borrowed, ("info", "alternates"))
        if alternates is not None:  # it names paths of the host, of which git would complain
            os.close(alternates)
            self._file(target / "info" / "alternates", "")

    def _extras(self, top: int) -> None:
        policy = self._policy
        binds = list(policy.readonly)
        if policy.source:
            binds += [(policy.workspace / path,) * 2 for path in sorted(self._own)]
        for source, target in binds:
            fd = self._open(source)
            self._bind(fd, target)
            if target.is_relative_to(policy.workspace):
                self._need(top, target, is_folder(fd))
        if policy.door:
            self._bind(self._open(policy.door), DOOR)

    def _open(self, source: Path) -> int:
        """A path descriptor of something to be shown; below the workspace no link is followed to it."""
        if not source.is_relative_to(self._policy.workspace) or source == self._policy.workspace:
            return open_plain(source)
        top = open_folder(self._policy.workspace)
        try:
            fd = open_below(top, source.relative_to(self._policy.workspace).parts)
        finally:
            os.close(top)
        if fd is None:
            raise refused(f"{source} cannot be shown in the sandbox: No such file or directory")
        return fd

    def _need(self, top: int, target: Path, folder: bool) -> None:
        """Sees to it that a mount point exists where bubblewrap could not or must not make it.

        Below the workspace it must be there; in a throwaway copy, where no worker runs, it is made. Elsewhere
        bubblewrap makes it, except in what is the host's.
        """
        workspace = self._policy.workspace
        if not target.is_relative_to(workspace):
            if host.is_closed(target, self._view, (inside for _, inside in self._policy.readonly)):
                raise refused(
                    f"{target.parent} is a read-only folder of the host, so that {target} cannot be made there: "
                    "move the workspace to a folder of its own, or work at the top of its repository"
                )
            return
        parts = target.relative_to(workspace).parts
        fd = open_below(top, parts)
        if fd is not None:
            same = is_folder(fd) == folder
            os.close(fd)
            if not same:
                raise refused(f"{target} is not the {'folder' if folder else 'file'} that it has to be: restore it")
        elif self._policy.source:
            make_below(top, parts, folder)
        else:
            raise UsageError(f"{target}: nothing is there to bind over, and nothing is made there: create it first")


@cache
def _system(names: tuple[str, ...]) -> tuple[str, ...]:
    """The system's folders, looked at once; one that goes away later is left out."""
    words: list[str] = []
    for name in names:
        if os.path.islink(name):
            words += ("--symlink", os.readlink(name), name)
        elif os.path.isdir(name):
            words += ("--ro-bind-try", name, name)
    return tuple(words)


def _paths(names: Iterable[str]) -> set[Path]:
    return {Path(*relative_parts(name)) for name in names}


def _downward(paths: set[Path]) -> list[Path]:
    """The paths, folders before what lies in them."""
    return sorted(paths, key=lambda path: (len(path.parts), path))


def _outside(paths: set[Path], others: set[Path]) -> set[Path]:
    """The paths that are, and lie in, none of the others."""
    return {path for path in paths if path not in others and others.isdisjoint(path.parents)}


@cache
def _below(workspace: Path, paths: frozenset[Path]) -> frozenset[Path]:
    """What of our own lies below the workspace; looked at once, before a worker has written there."""
    found = (path.resolve() for path in paths)
    inside = (path.relative_to(workspace) for path in found if path.is_relative_to(workspace) and path != workspace)
    return frozenset(host.outermost(inside))
