"""Reading and writing the workspace's own files, without trusting what a worker may have put in their place.

No symlink is followed anywhere below the workspace, so a path never leads outside; only plain UTF-8 files of a
sane size are read, and a FIFO or a device never blocks. A write is old or new, never half.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from proctor.errors import ProctorError, Unrecoverable, UsageError
from proctor.text import safe_line

READ_LIMIT = 1024 * 1024
"""Bytes of a file that a person wrote and a brief can hold."""
LOG_LIMIT = 8 * 1024 * 1024
"""Bytes of the progress log, which grows."""

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_WORDS = {errno.ENOSPC: "disk", errno.EDQUOT: "disk", errno.EROFS: "workspace"}


class Missing(UsageError):
    """Nothing is there, or not even its folder."""


def read(workspace: Path, name: str, limit: int = READ_LIMIT) -> str:
    """The text of a file in the workspace. UsageError, naming it, when it is missing or no plain text file."""
    with _parent(workspace, name) as (folder, leaf), open(_open_plain(leaf, os.O_RDONLY, folder), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"{safe_line(name)}: larger than {limit // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{safe_line(name)}:{line}: not UTF-8 text") from error


def read_optional(workspace: Path, name: str, limit: int = READ_LIMIT) -> str | None:
    """Like `read`, but None when nothing is there."""
    try:
        return read(workspace, name, limit)
    except Missing:
        return None


def write(workspace: Path, name: str, text: str, *, in_place: bool = False) -> None:
    """Replace a file's text, keeping its mode: a new file renamed over the old, on disk before the return.

    A symlink that stands there is replaced, not followed. `in_place` overwrites the bytes of an existing file
    instead, which is not atomic: for a file that is a mount point, where a rename is refused or parts the two.
    UsageError when it cannot be written, Unrecoverable when the disk is full or the workspace read-only.
    """
    data = text.encode("utf-8")
    with _parent(workspace, name) as (folder, leaf):
        if in_place:
            fd = _open_plain(leaf, os.O_WRONLY, folder)
            os.ftruncate(fd, 0)
            _flush(fd, data)
        else:
            _replace(folder, leaf, data)


def set_aside(workspace: Path, name: str, store: Path) -> Path:
    """Move whatever stands at `name` into the folder `store` and say where: nothing is thrown away."""
    with _parent(workspace, name) as (folder, leaf):
        store.mkdir(parents=True, exist_ok=True)
        names = (store / f"{number:03d}-{leaf}" for number in itertools.count(1))
        target = next(target for target in names if not os.path.lexists(target))
        shutil.move(f"/proc/self/fd/{folder}/{leaf}", target)
    return target


def _replace(folder: int, leaf: str, data: bytes) -> None:
    mode = 0o644
    with contextlib.suppress(FileNotFoundError):
        before = os.stat(leaf, dir_fd=folder, follow_symlinks=False)
        mode = before.st_mode & 0o777 if stat.S_ISREG(before.st_mode) else mode
    temporary = f".{leaf}.{secrets.token_hex(6)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        os.fchmod(fd, mode)
        _flush(fd, data)
        os.rename(temporary, leaf, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def _flush(fd: int, data: bytes) -> None:
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def _open_plain(leaf: str, flags: int, folder: int) -> int:
    """Open a regular file and nothing else."""
    fd = os.open(leaf, flags | _SAFE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file")
    return fd


@contextlib.contextmanager
def _parent(workspace: Path, name: str) -> Iterator[tuple[int, str]]:
    """The open folder that holds `name`, reached without a symlink, and the last part of the name.

    Every OSError of the block leaves as the one clear line it means.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or not _can_be_a_path(name):
        raise UsageError(f"{safe_line(name) or '(empty path)'}: must be a path inside the workspace")
    try:
        folder = os.open(workspace, _FOLDER)
    except OSError as error:
        raise Unrecoverable(f"{safe_line(str(workspace))}: {_why(error)}", "workspace") from error
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, parts[-1]
    except OSError as error:
        raise _refusal(name, error) from error
    finally:
        os.close(folder)


def _can_be_a_path(name: str) -> bool:
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _refusal(name: str, error: OSError) -> ProctorError:
    line = f"{safe_line(name)}: {_why(error)}"
    if isinstance(error, FileNotFoundError):
        return Missing(line)
    word = _WORDS.get(error.errno or 0)
    return Unrecoverable(line, word) if word else UsageError(line)


def _why(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "not found"
        case errno.ELOOP:
            return "a symlink, which is not followed"
        case errno.ENOTDIR:
            return "leads through a symlink or a file, which is not followed"
        case _:
            return (error.strerror or str(error)).lower()
