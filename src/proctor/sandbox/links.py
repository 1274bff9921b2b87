"""Files that have a second name: each name gets a file of its own before a worker starts.

Through one name of a file everything is written that the others show, wherever they are: a worker would change an
oracle by its alias, or what a package manager shares between projects.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from proctor.errors import Unrecoverable
from proctor.sandbox.survey import UNFINISHED, Linked
from proctor.text import safe_line
from proctor.units import counted, format_size

MOST_FILES = 1_000
MOST_BYTES = 500 << 20
"""Beyond either, the operator is asked before anything is copied."""

_BATCH = 500
_CHUNK = 1 << 30
_FICLONE = 0x40049409
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNCOPIABLE = {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


class Question(NamedTuple):
    """What is asked, and what follows from either answer."""

    what: str
    why: str


def asks(linked: Linked) -> Question | None:
    """What the operator has to say yes to first; None when the files are few and small."""
    if linked.files <= MOST_FILES and linked.bytes <= MOST_BYTES:
        return None
    one = safe_line(linked.paths[0], 120)
    return Question(
        f"copy {counted(linked.files, 'file')} ({format_size(linked.bytes)}) that have a second name?",
        f"a worker that writes one would write it wherever its other names are, as with a package store; {one} is one. "
        f"Yes: each is copied in place before a worker starts, up to {format_size(linked.bytes)} more on disk. "
        "No: nothing is changed, and no worker starts",
    )


def separate(workspace: Path, linked: Linked) -> int:
    """Give each of the files an inode of its own, contents, owner, mode, times and attributes kept; how many it were.

    Each path names the old file or the new one at any time; what a crash leaves of unfinished copies is removed when
    it is called again. Unrecoverable, naming the path, when a file changes meanwhile or cannot be copied as it is.
    """
    top = os.open(workspace, _FOLDER)
    try:
        for path in linked.unfinished:
            with contextlib.suppress(OSError), _folder(top, path) as (folder, name):
                os.unlink(name, dir_fd=folder)
        done = 0
        for start in range(0, linked.files, _BATCH):
            done += _separate(top, linked.paths[start : start + _BATCH])
        return done
    finally:
        os.close(top)


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of `path`: `name` in the same folder."""

    path: str
    name: str
    source: os.stat_result


def _separate(top: int, paths: tuple[str, ...]) -> int:
    copies: list[_Copy] = []
    path = ""
    done = 0
    try:
        for path in paths:
            with _folder(top, path) as (folder, name):
                if copy := _copied(folder, path, name):
                    copies.append(copy)
        ctypes.CDLL(None).syncfs(top)  # all of them at once: only what is on the disk takes the old file's place
        while copies:
            path = copies[-1].path
            with _folder(top, path) as (folder, name):
                done += _put(folder, copies[-1], name)
            copies.pop()
    except OSError as error:
        raise _cannot(path, error) from None
    finally:
        for copy in copies:
            with contextlib.suppress(OSError), _folder(top, copy.path) as (folder, _):
                os.unlink(copy.name, dir_fd=folder)
    return done


@contextlib.contextmanager
def _folder(top: int, path: str) -> Iterator[tuple[int, str]]:
    """The folder of a path, opened without following a link, writable meanwhile if it is ours; and the last name."""
    *above, name = path.split("/")
    here = os.dup(top)
    try:
        for part in above:
            following = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = following
        about = os.fstat(here)
        mode = stat.S_IMODE(about.st_mode)
        closed = about.st_uid == os.geteuid() and mode & 0o300 != 0o300
        if closed:
            os.fchmod(here, mode | 0o300)
        try:
            yield here, name
        finally:
            if closed:
                os.fchmod(here, mode)
    finally:
        os.close(here)


def _copied(folder: int, path: str, name: str) -> _Copy | None:
    """A copy beside the file; None where nothing has to be done any more."""
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink == 1 or not _writable(folder, name, about):
        return None
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not _same(os.fstat(source), about):
            raise OSError(errno.EAGAIN, "it changed")
        fresh = UNFINISHED + secrets.token_hex(8)
        target = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            _fill(source, target, about.st_size)
            _attributes(source, target, about)
            if not _same(os.fstat(source), about) or os.fstat(target).st_size != about.st_size:
                raise OSError(errno.EAGAIN, "it changed")
        except BaseException:
            os.unlink(fresh, dir_fd=folder)
            raise
        finally:
            os.close(target)
    finally:
        os.close(source)
    return _Copy(path, fresh, about)


def _writable(folder: int, name: str, about: os.stat_result) -> bool:
    """Whether a worker, who is this user without privileges, could write it or let himself."""
    ours = os.geteuid() in (0, about.st_uid)
    return ours or os.access(name, os.W_OK, dir_fd=folder, effective_ids=True, follow_symlinks=False)


def _put(folder: int, copy: _Copy, name: str) -> bool:
    """Rename a copy over its file, unless that is the only one left of its names."""
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not _same(about, copy.source):
        raise OSError(errno.EAGAIN, "it changed")
    if about.st_nlink == 1:
        os.unlink(copy.name, dir_fd=folder)
        return False
    os.rename(copy.name, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether it is the same file, not written since. Not by ctime: that changes when another name goes."""
    return all(
        getattr(one, field) == getattr(other, field)
        for field in ("st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns")
    )


def _fill(source: int, target: int, size: int) -> None:
    """The contents: shared blocks where the file system can, else copied, holes left out."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, _FICLONE, source)
        return
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole to the end
                return
            raise
        end = os.lseek(source, at, os.SEEK_HOLE)
        at = _range(source, target, at, end)


def _range(source: int, target: int, at: int, end: int) -> int:
    while at < end:
        try:
            count = os.copy_file_range(source, target, min(end - at, _CHUNK), at, at)
        except OSError as error:
            if error.errno not in _UNCOPIABLE:
                raise
            count = os.pwrite(target, os.pread(source, min(end - at, 1 << 20), at), at)
        if not count:
            return end  # it became shorter, which the comparison afterwards finds
        at += count
    return at


def _attributes(source: int, target: int, about: os.stat_result) -> None:
    os.fchown(target, about.st_uid, about.st_gid)
    os.fchmod(target, stat.S_IMODE(about.st_mode))
    for name in _names(source):
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError:
            if name.startswith(("user.", "system.posix_acl")):
                raise
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _names(source: int) -> list[str]:
    try:
        return os.listxattr(source)
    except OSError:
        return []


def _cannot(path: str, error: OSError) -> Unrecoverable:
    where = safe_line(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unrecoverable(f"{where}: no room to copy it, which has a second name: make some on this disk", "disk")
    if error.errno in (errno.EAGAIN, errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        what = "it changed while it was copied, having a second name: end whatever writes there, and start again"
        return Unrecoverable(f"{where}: {what}", "workspace")
    why = (error.strerror or str(error)).lower()
    what = f"it has a second name, by which a worker could write elsewhere, and cannot be copied ({why})"
    return Unrecoverable(f"{where}: {what}: replace it by a copy, or take it away", "workspace")
