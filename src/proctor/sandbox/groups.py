"""Control groups as folders: where groups of our own may be made, and how one is made, joined, asked and removed.

Version 2, or version 1 where its `memory` and `pids` hierarchies are mounted. A group's name carries who made it, so
that those of a maker that is gone are known. Needs the standard library alone and imports nothing of the package:
`guard.py` runs it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

NEEDED = ("memory", "pids")
NAME = re.compile(r"proctor-(\d+)-(\d+)-(\d+)-\d+")
PATIENCE = 2.0
"""Seconds in which the kernel must have let go of a group whose processes have ended."""

OWN = "thread-self"
"""In /proc, not `self`: another thread may be elsewhere for a moment, to have its children born there."""

_numbers = itertools.count(1)


class Home(NamedTuple):
    """Where groups may be made: one folder in version 2, one for `memory` and one for `pids` in version 1."""

    version: int
    folders: tuple[str, ...]


class Group(NamedTuple):
    """A group that was made: its folders, as in its home."""

    version: int
    folders: tuple[str, ...]

    def limit(self, memory: int, processes: int) -> None:
        """Bounds all its processes together: bytes, swap included, and tasks. OSError where that is refused."""
        if self.version == 2:
            (folder,) = self.folders
            _write(folder, "memory.max", memory)
            _write(folder, "memory.swap.max", 0, needed=False)  # without swap there is none
            _write(folder, "memory.oom.group", 1, needed=False)
            _write(folder, "pids.max", processes)
        else:
            of_memory, of_pids = self.folders
            _write(of_memory, "memory.limit_in_bytes", memory)
            _write(of_memory, "memory.memsw.limit_in_bytes", memory, needed=False)
            _write(of_pids, "pids.max", processes)

    def join(self, pid: int) -> None:
        """Moves a process in; what it forks from then on is inside. The kernel may wait some 20 ms for all others."""
        for folder in self.folders:
            _write(folder, "cgroup.procs", pid)

    def host(self) -> None:
        """Moves the calling thread in, in version 1, without the wait of `join`; what it forks is inside from birth."""
        for folder in self.folders:
            _write(folder, "tasks", 0)

    def ooms(self) -> int:
        """How many of its processes the kernel has ended for want of memory; 0 where that cannot be read."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return next((int(line.split()[1]) for line in _lines(self.folders[0], name) if line.startswith("oom_kill ")), 0)

    def refused(self) -> int:
        """How many of its processes could not start another one; 0 where that cannot be read."""
        lines = _lines(self.folders[-1], "pids.events")
        return next((int(line.split()[1]) for line in lines if line.startswith("max ")), 0)

    def kill(self) -> None:
        """Ends whatever is inside."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                _write(folder, "cgroup.kill", 1, needed=False)
            for line in _lines(folder, "cgroup.procs"):
                with contextlib.suppress(OSError):
                    os.kill(int(line), signal.SIGKILL)

    def remove(self) -> bool:
        """Takes it away once its processes have ended; False when some of it would not go."""
        gone = [_remove(folder) for folder in self.folders]
        return all(gone)


def make(home: Home) -> Group:
    """A new and empty group of this process; OSError where that is not allowed."""
    name = f"proctor-{_pid_namespace()}-{os.getpid()}-{_started(os.getpid())}-{next(_numbers)}"
    group = Group(home.version, tuple(f"{folder}/{name}" for folder in home.folders))
    try:
        for folder in group.folders:
            os.mkdir(folder)
    except OSError:
        group.remove()
        raise
    return group


def version_2(pid: int | str = OWN) -> str | None:
    """The folder of a process's group in the hierarchy of version 2; None where that is not mounted."""
    return _folder(pid, "")


def below_own() -> Home:
    """The group this process is in, in version 2: delegated to it, or the root. OSError where nothing can be made."""
    own = version_2()
    if own is None:
        raise FileNotFoundError(errno.ENOENT, "cgroup v2 is not mounted")
    if not _gives_limits(own):
        _write(own, "cgroup.subtree_control", " ".join(f"+{name}" for name in NEEDED))
    return Home(2, (own,))


def beside_own() -> Home:
    """The group above that of this process, in version 2. OSError where nothing can be made."""
    above = os.path.dirname(version_2() or "")
    if not _gives_limits(above):
        raise FileNotFoundError(errno.ENOENT, "no memory and pids controllers in cgroup v2 here")
    return Home(2, (above,))


def below_own_in_version_1() -> Home:
    """The groups this process is in, in version 1. OSError where the two hierarchies are not mounted."""
    folders = tuple(folder for name in NEEDED if (folder := _folder(OWN, name)))
    if len(folders) != len(NEEDED):
        raise FileNotFoundError(errno.ENOENT, "cgroup v1 has no memory and pids hierarchies here")
    return Home(1, folders)


def sweep(lives: Callable[[int, int], bool]) -> None:
    """Ends and removes groups whose maker is gone; `lives` tells by pid and start time."""
    for folder in _homes():
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                found = NAME.fullmatch(name)
                if found and int(found[1]) == _pid_namespace() and not lives(int(found[2]), int(found[3])):
                    left = Group(2, (f"{folder}/{name}",))
                    left.kill()
                    left.remove()


def _homes() -> Iterator[str]:
    """Every folder in which an earlier process in our place may have made groups."""
    if own := version_2():
        yield from (own, os.path.dirname(own))
    yield from (folder for name in NEEDED if (folder := _folder(OWN, name)))


def _folder(pid: int | str, controller: str) -> str | None:
    """The folder of a process's group in a controller's hierarchy; `` is that of version 2."""
    mounted = _mounts(os.getpid()).get(controller)
    for line in _lines(f"/proc/{pid}", "cgroup"):
        controllers, path = line.split(":", 2)[1:]
        if mounted and controller in controllers.split(","):
            root, point = mounted
            inside = path == root or path.startswith(root.rstrip("/") + "/")
            return (point + "/" + path.removeprefix(root).strip("/")).rstrip("/") if inside else None
    return None


@cache
def _mounts(_: int) -> dict[str, tuple[str, str]]:
    """By controller, `` for version 2: the mount's root within the hierarchy and its mount point."""
    found: dict[str, tuple[str, str]] = {}
    for line in _lines("/proc/self", "mountinfo"):
        before, behind = line.split(" - ", 1)
        kind, options = behind.split(" ", 2)[::2]
        if kind in ("cgroup", "cgroup2"):
            root, point = before.split(" ")[3:5]
            for name in [""] if kind == "cgroup2" else options.split(","):
                found.setdefault(name, (root, point))
    return found


def _gives_limits(folder: str) -> bool:
    given = " ".join(_lines(folder, "cgroup.subtree_control")).split()
    return all(name in given for name in NEEDED)


def _remove(folder: str) -> bool:
    """The last of its processes may still be on its way out."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        else:
            return True


def _write(folder: str, name: str, value: int | str, needed: bool = True) -> None:
    """Writes one of the kernel's files, which exists; one that is not needed may be absent."""
    try:
        fd = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        if needed:
            raise
        return
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _lines(folder: str, name: str) -> list[str]:
    try:
        with open(f"{folder}/{name}", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _started(pid: int) -> int:
    """When the process started, in ticks since boot."""
    return int(_lines(f"/proc/{pid}", "stat")[0].rpartition(")")[2].split()[19])
