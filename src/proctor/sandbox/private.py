"""What lies within the visible system and is not for a worker: looked for at launch, then covered.

The system's folders are shown as they are, read-only. Some of what is in them could be read by this user alone,
tells of the host, can be written by the host's root, or is a socket: a read-only mount keeps nobody from connecting.
What cannot change while this process lives is looked at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

KERNEL = ("asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")
"""Of /proc: devices, timing and keys of the host; covered where this user can read them."""

SETTINGS = ("/proc/sys", "/proc/pressure")
"""What a user can write of a fresh /proc beside what belongs to processes: settings of the own namespaces."""

SEARCHED = ("/etc", "/opt", "/usr/local")
"""Where a system has sockets and private files of other hands than its packages'."""
UPPER = 3
"""So many levels of them are looked through for files, where they are not settings; for sockets all."""
MOST_ENTRIES = 200_000

OF_PACKAGES = ("/bin", "/gnu", "/lib", "/nix", "/sbin", "/snap", "/sys", "/usr/bin", "/usr/include", "/usr/lib",
               "/usr/sbin", "/usr/share")  # fmt: skip
"""A mount below these (also /lib64 and the like) is part of the system; elsewhere it is somebody's data."""


def hidden() -> tuple[tuple[Path, bool], ...]:
    """Files and folders (True) to be covered: the kernel's, and of the system's what is not open to all its users."""
    found = ((path, _mode(str(path))) for path in (*_kernel(), *_searched()[0]))
    return tuple((path, stat.S_ISDIR(mode)) for path, mode in found if stat.S_ISDIR(mode) or stat.S_ISREG(mode))


def sockets(shown: Iterable[str]) -> tuple[Path, ...]:
    """The sockets below the folders that are shown: those of this network, and older ones found by looking."""
    inside = tuple(f"{folder}/" for folder in shown)
    found = {path for path in (*_searched()[1], *_listening()) if path.startswith(inside)}
    return tuple(Path(path) for path in sorted(found) if stat.S_ISSOCK(_mode(path)))


@cache
def _kernel() -> tuple[Path, ...]:
    places = (Path("/proc", name) for name in KERNEL)
    return tuple(path for path in places if os.access(path, os.R_OK))


def _listening() -> Iterator[str]:
    """The real paths of sockets that the kernel knows by name, but for those where no sandbox shows anything of it."""
    with open("/proc/net/unix", errors="surrogateescape") as lines:
        for line in lines:
            name = line.rstrip("\n").partition(" /")[2]
            if name and not name.startswith(("run/", "var/run/", "dev/")):
                yield os.path.realpath(f"/{name}")


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


@cache
def _searched() -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Private files and folders, and sockets, of the folders that are searched; upper levels first."""
    private: list[Path] = []
    found: list[str] = []
    looked = 0
    queue = deque((folder, 0) for folder in SEARCHED)
    while queue and looked < MOST_ENTRIES:
        folder, level = queue.popleft()
        settings = folder.startswith("/etc")
        with contextlib.suppress(OSError):  # closed to this user too, or gone meanwhile
            for entry in list(os.scandir(folder)):
                looked += 1
                if entry.is_symlink():
                    continue
                if entry.is_dir():
                    if settings and _is_private(entry.stat(), folder=True):
                        private.append(Path(entry.path))
                    else:
                        queue.append((entry.path, level + 1))
                elif not entry.is_file():
                    found.append(entry.path)
                elif (settings or level < UPPER) and _is_private(entry.stat(), folder=False):
                    private.append(Path(entry.path))
    return tuple(sorted(private)), tuple(found)


def _is_private(about: os.stat_result, folder: bool) -> bool:
    """Whether this user may read it and not everybody may. A program is no secret; an empty file holds none."""
    if not folder and (not about.st_size or about.st_mode & 0o111):
        return False
    others = stat.S_IXOTH if folder else stat.S_IROTH
    if about.st_mode & others:
        return False
    mine = about.st_uid == os.geteuid() and about.st_mode & others << 6
    return bool(mine or (about.st_mode & others << 3 and about.st_gid in (os.getegid(), *os.getgroups())))


def mounted(system: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders below the system's on which something else is mounted that is no part of it."""
    with open("/proc/self/mountinfo", "rb") as file:
        return _mounted(file.read(), system)


@lru_cache(maxsize=8)
def _mounted(table: bytes, system: tuple[str, ...]) -> tuple[Path, ...]:
    below = tuple(f"{folder}/" for folder in system)
    lines = table.splitlines()
    places = {os.fsdecode(re.sub(rb"\\(\d{3})", _octal, line.split(b" ", 5)[4])) for line in lines}
    data = (place for place in places if place.startswith(below) and place != "/usr/local")
    return tuple(sorted(Path(place) for place in data if not _of_packages(place) and os.path.isdir(place)))


def _octal(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)])


def _of_packages(place: str) -> bool:
    return any(re.match(rf"{folder}\w*(/|$)", place) for folder in OF_PACKAGES)
