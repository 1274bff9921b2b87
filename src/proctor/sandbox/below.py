"""Paths below a folder that a worker may have written: opened one component at a time, never through a link.

While no worker runs, what was found so is what a mount will find.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from proctor.errors import Unrecoverable

REPOSITORY = ".git"

PLAIN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(path: Path) -> int:
    """A path descriptor of a folder; OSError if it is none, or a link."""
    return os.open(path, PLAIN | os.O_DIRECTORY)


def open_own(path: Path, need: int = stat.S_IRUSR | stat.S_IXUSR) -> int:
    """A descriptor to read a folder with; its owner gets the permissions of `need` back, where a worker took them.

    OSError if it is none, or a link, or another user's and closed.
    """
    place = open_folder(path)
    try:
        mode = stat.S_IMODE(os.fstat(place).st_mode)
        if mode & need != need:
            with contextlib.suppress(OSError):  # opening it tells whether that was needed
                os.chmod(f"/proc/self/fd/{place}", mode | stat.S_IRWXU)
        return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(place)


def open_plain(path: Path) -> int:
    """A path descriptor of a file or folder that is no link itself; Unrecoverable otherwise."""
    try:
        fd = os.open(path, PLAIN)
    except OSError as error:
        raise refused(f"{path} cannot be shown in the sandbox: {error.strerror}") from None
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
    raise refused(
        f"{path}: {name!r} is a symbolic link, and a link can be turned elsewhere: replace it by what it points to, "
        "or leave it out of the contract"
    )


def refused(sentence: str) -> Unrecoverable:
    return Unrecoverable(sentence, "sandbox")


def content(text: bytes) -> int:
    """A descriptor that reads as this text, and is no file of the host."""
    fd = os.memfd_create("content", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(text)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


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
