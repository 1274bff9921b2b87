"""Which workspace a store belongs to, and which folders are no workspace at all.

A store in its workspace goes where that goes: moved, it goes on; copied, there are two from then on. One that lies
elsewhere belongs to the folder that it was made for.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from proctor.checkpoint.seed.origin import origin_of
from proctor.checkpoint.store.plumbing import Git, write_file
from proctor.errors import UsageError
from proctor.text import safe_line

NOTE = "workspace"
"""The file in a store that says whose it is."""
MOUNTS = "/proc/self/mountinfo"
_TOP = "bin boot dev etc home lib lib32 lib64 libx32 lost+found media mnt opt proc root run sbin srv sys tmp usr var"
_BELOW = {
    "usr": "bin games include lib lib32 lib64 libexec libx32 local sbin share src",
    "var": "cache lib log mail opt run spool tmp www",
    "dev": "shm",
    "run": "user",
}
_SYSTEM = {"/", *(f"/{name}" for name in _TOP.split())}
_SYSTEM.update(f"/{top}/{name}" for top, names in _BELOW.items() for name in names.split())
_WITHIN = ("/proc/", "/sys/", "/boot/")
_MINE = (".git", "proctor.yaml")
"""What makes the top of a disk a project all the same."""


class Bond(StrEnum):
    """How a store and a workspace stand to each other."""

    NEW = "new"
    SAME = "same"
    MOVED = "moved"
    COPIED = "copied"
    """It is a copy's, and the workspace that it was made for is still there with its own."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A workspace as a store notes it: its real path, which folder that is, and the folder of its repository ("" for
    none)."""

    path: str
    device: int
    inode: int
    repository: str

    @classmethod
    def of(cls, workspace: Path) -> Self:
        found = os.stat(workspace)
        origin = origin_of(workspace)
        return cls(os.path.realpath(workspace), found.st_dev, found.st_ino, str(origin.git) if origin else "")

    @classmethod
    def load(cls, gitdir: Path) -> Self | None:
        """What a store notes; None for nothing that can be read."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return cls(**json.loads((gitdir / NOTE).read_bytes()))
        return None


def bond(git: Git) -> Bond:
    """How a store stands to the workspace it is used for. UsageError if it is another's, which is still there."""
    noted = Bound.load(git.gitdir)
    if noted is None:
        return Bond.NEW
    here = os.path.realpath(git.workspace)
    if noted.path == here:
        return Bond.SAME
    store = os.path.realpath(git.gitdir)
    found, there = _folder(here), _folder(noted.path)
    if found == (noted.device, noted.inode):  # by another name
        return Bond.MOVED
    if store.startswith(here + "/"):
        own = Bound.load(Path(noted.path, os.path.relpath(store, here)))
        return Bond.COPIED if there and own is not None and own.path == noted.path else Bond.MOVED
    if there == (noted.device, noted.inode):
        other, this = safe_line(os.fsencode(noted.path)), safe_line(os.fsencode(here))
        raise UsageError(f"{git.gitdir}: holds the checkpoints of {other}, not of {this}; give each a store of its own")
    return Bond.MOVED


def bind(git: Git) -> None:
    """Note that a store is its workspace's from here on. Wants the store's lock held."""
    write_file(git.gitdir / NOTE, json.dumps(asdict(Bound.of(git.workspace))).encode())


def refuse(workspace: Path) -> None:
    """UsageError for a folder that is no project: `/`, a home, one of the system's, the top of a whole disk.

    A folder that is mounted into place, as containers have it, is a project like any other; so is the top of a disk
    that holds a repository or a contract itself.
    """
    real = os.path.realpath(workspace)
    if real in _SYSTEM or real.startswith(_WITHIN):
        what = "a workspace is neither `/` nor a folder of the system"
    elif real in _homes(real):
        what = "a workspace is no home folder"
    elif _is_disk(real) and not any(os.path.lexists(os.path.join(real, name)) for name in _MINE):
        what = "it is the top of a whole disk; make it a git repository if it is one project"
    else:
        return
    raise UsageError(f"{workspace}: not a project folder: {what}; name a project's folder")


def _folder(path: str) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


def _homes(path: str) -> set[str]:
    """The homes that a folder could be: this user's, and that of its owner."""
    homes = {os.path.expanduser("~")}
    with contextlib.suppress(OSError):
        for user in (os.geteuid(), os.stat(path).st_uid):
            with contextlib.suppress(KeyError):
                homes.add(pwd.getpwuid(user).pw_dir)
    return {os.path.realpath(home) for home in homes if home.startswith("/")}


def _is_disk(path: str) -> bool:
    """Whether the whole file system of a device is mounted there."""
    if not os.path.ismount(path):
        return False
    with contextlib.suppress(OSError), open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            head, _, tail = line.partition(" - ")
            root, point = head.split(" ")[3:5]
            if re.sub(r"\\(\d{3})", lambda one: chr(int(one[1], 8)), point) == path:
                return root == "/" and tail.split(" ")[1].startswith("/dev/")
    return False
