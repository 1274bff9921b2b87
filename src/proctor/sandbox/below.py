"""Paths below a folder that a worker may have written: opened one component at a time, never through a link.

While no worker runs, what was found so is what a mount will find.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from proctor.errors import Unrecoverable

REPOSITORY = ".git"
MOST_FOLDERS = 50_000


PLAIN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(path: Path) -> int:
    """A path descriptor of a folder; OSError if it is none, or a link."""
    return os.open(path, PLAIN | os.O_DIRECTORY)


def open_plain(path: Path) -> int:
    """A path descriptor of a file or folder that is no link itself; Unrecoverable otherwise."""
    try:
        fd = os.open(path, PLAIN)
    except OSError as error:
        raise Unrecoverable(f"{path} cannot be shown in the sandbox: {error.strerror}", "sandbox") from None
    return _no_link(fd, str(path), path.name)


def open_below(top: int, parts: tuple[str, ...]) -> int | None:
    """A path descriptor of `parts` below the folder `top`, None if nothing is there; Unrecoverable at a link."""
    here = os.dup(top)
    for part in parts:
        try:
            following = os.open(part, PLAIN, dir_fd=here)
        except (FileNotFoundError, NotADirectoryError):
            return None
        finally:
            os.close(here)
        here = _no_link(following, "/".join(parts), part)
    return here


def _no_link(fd: int, path: str, name: str) -> int:
    if not stat.S_ISLNK(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise Unrecoverable(
        f"{path}: {name!r} is a symbolic link, and a link can be turned elsewhere: replace it by what it points to, "
        "or leave it out of the contract",
        "sandbox",
    )


def is_folder(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def make_below(top: int, parts: tuple[str, ...], folder: bool) -> None:
    """Makes an empty folder or file at `parts`, with the folders on the way."""
    *above, last = parts
    here = os.dup(top)
    try:
        for part in above:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=here)
            following = os.open(part, PLAIN | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = following
        if folder:
            os.mkdir(last, dir_fd=here)
        else:
            os.close(os.open(last, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=here))
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
