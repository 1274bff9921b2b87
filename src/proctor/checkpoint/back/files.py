"""Giving files their bytes, one by one: each is replaced only if it still is what it was said to be.

Git does the same by its index, at the cost of reading and writing all of that; here a rollback costs what it changes.
No link is followed on the way to a file, whatever happens to the folders meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import TracebackType

from proctor.checkpoint.back.dress import Unlike
from proctor.checkpoint.record import common_mode, id_of
from proctor.checkpoint.store.command import Command, GitFailed
from proctor.checkpoint.store.plumbing import Git
from proctor.checkpoint.view import NOTHING, Delta
from proctor.text import safe_line

_CHUNK = 1 << 16
_OTHERWISE = (errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)
"""What the system says where something else stands than did a moment ago."""
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

Seen = tuple[int, int, int, int]
"""What is compared of a file right before it goes: mode, size, time of its content, inode."""


def bring(git: Git, changes: Collection[Delta], modes: Mapping[bytes, int], hollow: Collection[bytes]) -> None:
    """Make the changes. `modes` has permission bits that are not the common ones, `hollow` are folders that stay when
    nothing is in them any more.

    Raises `Unlike` where an old file is another one by now, or something is where a file is to come: before anything
    is touched, unless it came after that. Killed or failed half way, each file is the old or the new one or gone, but
    for one that may be there in part.
    """
    with contextlib.ExitStack() as open_now, _Way(git.top, git.umask) as way:
        old = {change.path: seen for change in changes if (seen := way.seen(change))}
        for change in changes:
            if change.new == NOTHING and change.path in old:
                way.remove(change.path, old[change.path])
                way.leave(change.path, hollow)
        coming = [change for change in changes if change.new != NOTHING]
        if coming:
            told = "".join(f"{change.new}\n" for change in coming).encode()
            bodies = open_now.enter_context(git.start("cat-file", "--batch", input=told, piped=True))
            for change in coming:
                body = _body(bodies, change)
                if change.path in old:
                    way.remove(change.path, old[change.path])
                common = common_mode(change.new_mode, git.umask)
                way.write(change, body, common & modes.get(change.path, common))


def _body(bodies: Command, change: Delta) -> Iterator[bytes]:
    """The content of a file, in pieces. Raises `GitFailed` if it is lost."""
    head = bodies.line().split()
    if len(head) != 3 or head[1] != b"blob":
        raise GitFailed(f"{safe_line(change.path)}: its content is lost")

    def pieces(left: int) -> Iterator[bytes]:
        while left:
            yield bodies.read(min(left, _CHUNK))
            left -= min(left, _CHUNK)
        bodies.read(1)

    return pieces(int(head[2]))


class _Way:
    """The way to the files below a folder. The folder that was used last stays open."""

    def __init__(self, top: bytes, umask: int) -> None:
        self._umask = umask
        self._top = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._path = b""
        self._folder = os.dup(self._top)

    def __enter__(self) -> _Way:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._folder)
        os.close(self._top)

    def seen(self, change: Delta) -> Seen | None:
        """How the old file looks, None if there is none; it is proved to be what the change says of it: kind, content,
        and whether it may be executed."""
        with _expected(change.path):
            try:
                folder, name = self._to(change.path)
                state = os.lstat(name, dir_fd=folder)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if change.old == NOTHING and stat.S_ISDIR(state.st_mode):
                return None  # it may be empty when its turn comes
            is_kind = stat.S_IFMT(state.st_mode) == stat.S_IFMT(change.old_mode)
            if not is_kind or self._id_of(folder, name, state) != change.old:
                raise _unlike(change.path)
            if stat.S_ISREG(state.st_mode) and (state.st_mode ^ change.old_mode) & stat.S_IXUSR:
                raise _unlike(change.path)
            return _look_of(state)

    def remove(self, path: bytes, seen: Seen) -> None:
        """Remove a file that was seen, if it still looks the same."""
        with _expected(path):
            folder, name = self._to(path)
            if _look_of(os.lstat(name, dir_fd=folder)) != seen:
                raise _unlike(path)
            os.unlink(name, dir_fd=folder)

    def leave(self, path: bytes, hollow: Collection[bytes]) -> None:
        """Remove the folders above a path that nothing is in any more."""
        with contextlib.suppress(OSError):
            while (path := path.rpartition(b"/")[0]) and path not in hollow:
                folder, name = self._to(path)
                os.rmdir(name, dir_fd=folder)

    def write(self, change: Delta, body: Iterable[bytes], mode: int) -> None:
        """Make a file where nothing is, with the folders above it. Where it is all zeros it gets holes."""
        with _expected(change.path):
            folder, name = self._to(change.path, make=True)
            if stat.S_ISLNK(change.new_mode):
                return os.symlink(b"".join(body), name, dir_fd=folder)
            with open(os.open(name, _MAKE, mode & 0o777, dir_fd=folder), "wb") as file:
                for piece in body:
                    if piece.count(0) == len(piece):
                        file.seek(len(piece), os.SEEK_CUR)
                    else:
                        file.write(piece)
                file.truncate()

    def _id_of(self, folder: int, name: bytes, state: os.stat_result) -> str:
        if stat.S_ISLNK(state.st_mode):
            return id_of("blob", os.readlink(name, dir_fd=folder))
        digest = hashlib.sha1(b"blob %d\0" % state.st_size, usedforsecurity=False)
        with open(os.open(name, _READ, dir_fd=folder), "rb", buffering=0) as file:
            while piece := file.read(_CHUNK):
                digest.update(piece)
        return digest.hexdigest()

    def _to(self, path: bytes, *, make: bool = False) -> tuple[int, bytes]:
        """The folder that a path lies in, open, and the name there."""
        above, _, name = path.rpartition(b"/")
        if above != self._path:
            folder = os.dup(self._top)
            for part in above.split(b"/") if above else ():
                try:
                    if make:
                        with contextlib.suppress(FileExistsError):
                            os.mkdir(part, 0o777 & ~self._umask, dir_fd=folder)
                    inner = os.open(part, _FOLDER, dir_fd=folder)
                finally:
                    os.close(folder)
                folder = inner
            os.close(self._folder)
            self._path, self._folder = above, folder
        return self._folder, name


def _look_of(state: os.stat_result) -> Seen:
    return state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino


def _unlike(path: bytes) -> Unlike:
    return Unlike(f"{safe_line(path)}: written meanwhile")


@contextlib.contextmanager
def _expected(path: bytes) -> Iterator[None]:
    """Turn what the system says of something unexpected into one word."""
    try:
        yield
    except OSError as error:
        if error.errno in _OTHERWISE:
            raise _unlike(path) from error
        error.filename = path
        raise
