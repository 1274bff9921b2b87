"""The file system of a sandbox as bubblewrap's arguments.

Bubblewrap is never asked to create a mount point below a folder that a worker can write: a planted link would
make it create the file on the host. Everything below the workspace is opened without following links, must
exist, and is bound by descriptor. What a descriptor cannot do, keep a path from being renamed, the pins do:
each folder above a protected path is bound onto itself in a first bind of the workspace that a second one
buries, so that nothing can be reached by them and the kernel refuses to rename them.
"""

from __future__ import annotations

import os
from pathlib import Path

from proctor.errors import UsageError
from proctor.sandbox import host
from proctor.sandbox.below import REPOSITORY, is_folder, make_below, open_below, open_folder, open_plain
from proctor.sandbox.policy import DOOR, Policy, relative_parts

STATE = ".proctor"
NOTHING = "/dev/null"
"""Bound over a file to hide it: on a mount without devices it cannot even be opened."""

Parts = tuple[str, ...]


class Mounts:
    """A growing argument list, and the descriptors it names; close it when bubblewrap has started.

    Bubblewrap closes each of `fds` once it is used; no other descriptor may be passed on.
    """

    def __init__(self, policy: Policy) -> None:
        self.words: list[str] = []
        self.fds: list[int] = []
        self._policy = policy
        self._view = host.view()
        self._scratch = str(policy.limits.scratch)
        top = open_folder(policy.folder)
        try:
            self._host()
            self._workspace(top)
            self._extras(top)
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

    def _sized(self, folder: str | Path, mode: str = "0755") -> None:
        self._add("--perms", mode, "--size", self._scratch, "--tmpfs", folder)

    def _host(self) -> None:
        for name in host.SYSTEM:
            if os.path.islink(name):
                self._add("--symlink", os.readlink(name), name)
            elif os.path.isdir(name):
                self._add("--ro-bind", name, name)
        self._add("--dev", "/dev", "--proc", "/proc", "--dir", "/run")
        for folder in (*host.SCRATCH, "/dev/shm"):  # noqa: S108
            self._sized(folder, "1777")
        self._add("--remount-ro", "/dev")
        for name in filter(os.path.exists, host.kernel_files()):
            self._add("--ro-bind", name, name)
        for path in host.root_only():
            self._hide(path, path.is_dir())
        for mask in self._view.masks:
            self._add("--tmpfs", mask)
        for other in self._view.homes:
            if other != self._view.home:
                self._add("--perms", "0111", "--dir", other)  # tools below it can be reached, nothing listed
        self._sized(self._view.home)
        for source, target in self._view.tools:
            self._add("--ro-bind", source, target)

    def _hide(self, target: str | Path, folder: bool) -> None:
        if folder:
            self._empty(target)
        else:
            self._add("--ro-bind", NOTHING, target)

    def _workspace(self, top: int) -> None:
        policy, place = self._policy, self._policy.workspace
        hidden = _outermost({(STATE,), *map(relative_parts, policy.hide)})
        protected: set[Parts] = set()
        if policy.writable:
            protected = {(REPOSITORY,), *map(relative_parts, policy.protect), *_own_parts(policy)}
            protected = {parts for parts in protected if not any(parts[: len(other)] == other for other in hidden)}
        self._bind(os.dup(top), place, policy.writable)
        if policy.writable:
            self._pin(top, hidden | protected)
        for parts in sorted(hidden | protected, key=lambda parts: (len(parts), parts)):
            fd = open_below(top, parts)
            if fd is None:
                continue
            target = place.joinpath(*parts)
            if parts in hidden:
                self._hide(target, is_folder(fd))
                os.close(fd)
            else:
                self._bind(fd, target)

    def _pin(self, top: int, paths: set[Parts]) -> None:
        """Keeps the folders above these paths from being renamed."""
        above = {parts[:depth] for parts in paths for depth in range(1, len(parts))}
        found = [(parts, fd) for parts in sorted(above, key=len) if (fd := open_below(top, parts)) is not None]
        for parts, fd in found:
            self._bind(fd, self._policy.workspace.joinpath(*parts), writable=True)
        if found:
            self._bind(os.dup(top), self._policy.workspace, writable=True)

    def _extras(self, top: int) -> None:
        policy = self._policy
        binds = list(policy.readonly)
        if policy.source:
            binds += [(policy.workspace.joinpath(*parts),) * 2 for parts in _own_parts(policy)]
        for source, target in binds:
            fd = open_plain(source)
            self._bind(fd, target)
            if target.is_relative_to(policy.workspace):
                self._need_mount_point(top, target, is_folder(fd))
        if policy.door:
            self._bind(open_folder(policy.door), DOOR)
        for mask in (*self._view.masks, Path("/")):
            if mask != self._view.home:
                self._add("--remount-ro", mask)

    def _need_mount_point(self, top: int, target: Path, folder: bool) -> None:
        """Below the workspace a mount point must exist; in a throwaway copy, where no worker runs, it is made."""
        parts = target.relative_to(self._policy.workspace).parts
        fd = open_below(top, parts)
        if fd is not None:
            os.close(fd)
        elif self._policy.source:
            make_below(top, parts, folder)
        else:
            raise UsageError(f"{target}: nothing is there to bind over, and nothing is made there: create it first")


def _outermost(paths: set[Parts]) -> set[Parts]:
    return {parts for parts in paths if not any(parts[:depth] in paths for depth in range(1, len(parts)))}


def _own_parts(policy: Policy) -> set[Parts]:
    """Our interpreter and program, where they lie below the workspace."""
    folders = (folder.resolve() for folder in host.OWN)
    return {
        folder.relative_to(policy.workspace).parts
        for folder in folders
        if folder.is_relative_to(policy.workspace) and folder != policy.workspace
    }
