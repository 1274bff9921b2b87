"""A git folder that somebody else writes, read and written without ever following a link or waiting on a FIFO.

Everything is opened below one descriptor, one component at a time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proctor.checkpoint.look.known import Signature, signature_of

DEPTH = 64
"""Folders in folders that are looked into."""
MOST_FILES = 50_000
MOST_BYTES = 64 << 20
"""Of one file that is read whole."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
EXECUTABLE, PLAIN, LINK = b"100755", b"100644", b"120000"


@dataclass(slots=True)
class Survey:
    """What a git folder holds, by path relative to it: files and links with how they look, folders likewise; and what
    is not kept, with the reason."""

    files: dict[bytes, Signature] = field(default_factory=dict)
    folders: dict[bytes, Signature] = field(default_factory=dict)
    skipped: dict[bytes, str] = field(default_factory=dict)


class GitFolder:
    """One open git folder. OSError from the constructor if it is none, a link, or closed to this user."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._top = os.open(path, _FOLDER)

    def __enter__(self) -> GitFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._top)

    # --- looking ------------------------------------------------------------------------------

    def survey(self, wanted: Callable[[bytes], bool], below: bytes = b"") -> Survey:
        """Look at all files and folders of which `wanted` is true; what a folder holds is asked about one by one."""
        found = Survey()
        with contextlib.suppress(OSError), self._opened(below) as fd:
            self._walk(fd, below, wanted, found, 0)
        return found

    def _walk(self, fd: int, folder: bytes, wanted: Callable[[bytes], bool], found: Survey, depth: int) -> None:
        below = []
        with os.scandir(fd) as entries:
            for entry in entries:
                name = os.fsencode(entry.name)
                path = folder + b"/" + name if folder else name
                if not wanted(path):
                    continue
                try:
                    state = entry.stat(follow_symlinks=False)
                except OSError:  # gone meanwhile
                    continue
                if stat.S_ISDIR(state.st_mode):
                    found.folders[path] = signature_of(state)
                    below.append((name, path))
                elif not (stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)):
                    found.skipped[path] = "a FIFO, socket or device"
                elif len(found.files) >= MOST_FILES:
                    found.skipped[folder] = "too many files"
                else:
                    found.files[path] = signature_of(state)
        for name, path in below:
            if depth >= DEPTH:
                found.skipped[path] = "too deep"
                continue
            try:
                inner = os.open(name, _FOLDER, dir_fd=fd)
            except OSError:
                found.skipped[path] = "a folder that cannot be read"
                continue
            try:
                self._walk(inner, path, wanted, found, depth + 1)
            finally:
                os.close(inner)

    def names(self, folder: bytes) -> list[bytes]:
        """The names in a folder; none if it is none."""
        with contextlib.suppress(OSError), self._opened(folder) as fd:
            return [os.fsencode(name) for name in os.listdir(fd)]
        return []

    def children(self, folder: bytes) -> dict[bytes, Signature]:
        """What a folder holds, and how it looks; {} if it is none."""
        found = {}
        with contextlib.suppress(OSError), self._opened(folder) as fd, os.scandir(fd) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found[os.fsencode(entry.name)] = signature_of(entry.stat(follow_symlinks=False))
        return found

    def signature(self, path: bytes) -> Signature | None:
        """How a file, link or folder looks; None if it is not there."""
        with contextlib.suppress(OSError), self._parent(path) as (fd, name):
            return signature_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        return None

    def read(self, path: bytes, most: int = MOST_BYTES) -> bytes | None:
        """A plain file's bytes, or a link's target. None if it is neither, not there, or longer than `most`."""
        with contextlib.suppress(OSError), self._parent(path) as (fd, name):
            if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                return os.readlink(name, dir_fd=fd)
            file = os.open(name, _FILE, dir_fd=fd)
            with open(file, "rb") as stream:
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode) or about.st_size > most:
                    return None
                body = stream.read(most + 1)
                return body if len(body) <= most else None
        return None

    def tail(self, path: bytes, count: int) -> bytes:
        """The last bytes of a plain file; b"" if there is none."""
        with (
            contextlib.suppress(OSError),
            self._parent(path) as (fd, name),
            open(os.open(name, _FILE, dir_fd=fd), "rb") as stream,
        ):
            about = os.fstat(stream.fileno())
            if stat.S_ISREG(about.st_mode) and about.st_size >= count:
                stream.seek(-count, os.SEEK_END)
                return stream.read(count)
        return b""

    # --- writing ------------------------------------------------------------------------------

    def write(self, path: bytes, body: bytes, mode: bytes = PLAIN) -> None:
        """Put a file (or a link, whose target is `body`) in place: the old one or the new one, never half of it.

        Folders on the way are made; an empty folder that stands there gives way. OSError if something else does.
        """
        with self._parent(path, make=True) as (fd, name):
            draft = b".proctor-" + secrets.token_hex(8).encode()
            try:
                if mode == LINK:
                    os.symlink(body, draft, dir_fd=fd)
                else:
                    bits = 0o777 if mode == EXECUTABLE else 0o666
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                    with open(os.open(draft, flags, bits, dir_fd=fd), "wb") as file:
                        file.write(body)
                        file.flush()
                        os.fsync(file.fileno())
                self._vacate(fd, name)
                os.replace(draft, name, src_dir_fd=fd, dst_dir_fd=fd)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=fd)
                raise

    def remove(self, path: bytes) -> None:
        """Remove a file or a link; nothing if it is not there. Folders that it leaves empty stay."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._parent(path) as (fd, name):
            os.unlink(name, dir_fd=fd)

    def remove_empty(self, folder: bytes) -> None:
        """Remove a folder, if it is empty or holds nothing but empty folders."""
        with contextlib.suppress(OSError), self._parent(folder) as (fd, name):
            self._vacate(fd, name)

    def link(self, source: bytes, target: bytes) -> None:
        """Give a file a second name that nothing has; FileExistsError if something has it. Folders on the way are
        made."""
        with self._parent(source) as (fd, name), self._parent(target, make=True) as (other, place):
            os.link(name, place, src_dir_fd=fd, dst_dir_fd=other, follow_symlinks=False)

    def rename(self, source: bytes, target: bytes) -> None:
        with self._parent(source) as (fd, name), self._parent(target) as (other, place):
            os.replace(name, place, src_dir_fd=fd, dst_dir_fd=other)

    def _vacate(self, fd: int, name: bytes) -> None:
        """Remove what stands there if it is a folder of empty folders."""
        if not stat.S_ISDIR(_mode(fd, name)):
            return
        inner = os.open(name, _FOLDER, dir_fd=fd)
        try:
            for below in os.listdir(inner):
                self._vacate(inner, os.fsencode(below))
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=fd)

    # --- the way ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _opened(self, folder: bytes, make: bool = False) -> Iterator[int]:
        here = os.dup(self._top)
        try:
            for part in folder.split(b"/") if folder else ():
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                following = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = following
            yield here
        finally:
            os.close(here)

    @contextlib.contextmanager
    def _parent(self, path: bytes, make: bool = False) -> Iterator[tuple[int, bytes]]:
        folder, _, name = path.rpartition(b"/")
        with self._opened(folder, make) as fd:
            yield fd, name


def _mode(fd: int, name: bytes) -> int:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except OSError as error:
        if error.errno in _ABSENT:
            return 0
        raise
