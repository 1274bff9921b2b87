"""Paths below a folder that a worker may have written: opened one component at a time, never through a link.

While no worker runs, what was found so is what a mount will find.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from proctor.errors import Unrecoverable

REPOSITORY = ".git"
MOST_FOLDERS = 50_000


def open_below(top: int, parts: tuple[str, ...]) -> int | None:
    """A path descriptor of `parts` below the folder `top`, None if nothing is there; Unrecoverable at a link."""
    here = os.dup(top)
    try:
        for part in parts:
            try:
                following = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            except (FileNotFoundError, NotADirectoryError):
                return None
            os.close(here)
            here = following
            if stat.S_ISLNK(os.fstat(here).st_mode):
                raise Unrecoverable(
                    f"{'/'.join(parts)}: {part!r} is a symbolic link, and a link can be turned elsewhere: "
                    "replace it by what it points to, or leave it out of the contract",
                    "sandbox",
                )
        found, here = here, -1
        return found
    finally:
        if here >= 0:
            os.close(here)


def is_folder(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def make_below(top: int, parts: tuple[str, ...], folder: bool) -> None:
    """Makes an empty folder or file at `parts`, with the folders on the way."""
    here = os.dup(top)
    try:
        for depth, part in enumerate(parts, 1):
            if depth == len(parts) and not folder:
                os.close(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=here))
                return
            if open_existing := open_below(here, (part,)):
                following = open_existing
            else:
                os.mkdir(part, dir_fd=here)
                following = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = following
    finally:
        os.close(here)


def nested_repositories(workspace: Path) -> tuple[str, ...]:
    """The `.git` of every repository below the workspace's own, relative to it; looks at no more than 50,000 folders.

    A worker that could write them would have its commands run by the operator's next git.
    """
    return tuple(sorted(_repositories(workspace)))


def _repositories(workspace: Path) -> Iterator[str]:
    queue = [""]
    looked = 0
    while queue and looked < MOST_FOLDERS:
        folder = queue.pop()
        looked += 1
        try:
            entries = list(os.scandir(workspace / folder))
        except OSError:
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name == REPOSITORY:
                if folder and not entry.is_symlink():
                    yield name
            elif name != ".proctor" and entry.is_dir(follow_symlinks=False):
                queue.append(name)
