"""Giving files and folders what git could not: links, FIFOs, attributes, modes. The bytes are there already."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from proctor.checkpoint.back.shelf import reached
from proctor.checkpoint.look.extras import attributes_of
from proctor.checkpoint.record import Manifest, common_mode, grouped
from proctor.errors import ProctorError
from proctor.text import safe_line

_CHUNK = 1 << 16


class Unlike(ProctorError):
    """Names that are to be one file have different bytes: somebody has written one of them meanwhile."""


@dataclass(frozen=True, slots=True)
class Dresser:
    """Makes what lies at `top` what a manifest says. What is gone, or of another kind, is passed over."""

    top: bytes
    umask: int

    def dress(self, then: Manifest, paths: Set[bytes], made: Mapping[bytes, int]) -> None:
        """Bring files and folders at `paths` to the words of a manifest; what only a link leads to is passed over.
        `made` are files that were just written, with git's mode. Raises `Unlike`, and whatever the file system says."""
        paths = reached(self.top, paths)
        self._part(then, paths)
        for names in grouped(then.links):
            if not paths.isdisjoint(names):
                self._join(names, made)
        for path in sorted(paths, reverse=True):  # the innermost first: a folder may become one that lets nobody in
            if path in then.fifos:
                with contextlib.suppress(FileExistsError):
                    os.mkfifo(self._place(path))
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._say(path, then, made)

    def _say(self, path: bytes, then: Manifest, made: Mapping[bytes, int]) -> None:
        place = self._place(path)
        now = os.lstat(place).st_mode
        if stat.S_ISREG(now):
            mode = then.modes.get(path, common_mode(made.get(path, now), self.umask))
        elif stat.S_ISDIR(now):
            mode = then.folders.get(path, 0o777 & ~self.umask)
        elif stat.S_ISFIFO(now) and path in then.fifos:
            mode = then.fifos[path]
        else:
            return
        if not stat.S_ISFIFO(now):
            wanted, found = dict(then.attributes.get(path, ())), dict(attributes_of(place))
            if wanted != found:
                os.chmod(place, stat.S_IMODE(now) | stat.S_IWUSR)
                for name in found.keys() - wanted.keys():
                    os.removexattr(place, name, follow_symlinks=False)
                for name, value in wanted.items():
                    if found.get(name) != value:
                        os.setxattr(place, name, value, follow_symlinks=False)
                now = os.lstat(place).st_mode  # an access list has a word on the mode
        if stat.S_IMODE(now) != mode:
            os.chmod(place, mode)

    def _part(self, then: Manifest, paths: Iterable[bytes]) -> None:
        """Give each name that is to be a file of its own one."""
        first: dict[tuple[int, int], bytes] = {}
        for path in sorted(paths):
            if (state := self._file(path)) and state.st_nlink > 1:
                label = then.links.get(path, path)
                if first.setdefault((state.st_dev, state.st_ino), label) != label:
                    self._copy(path)

    def _join(self, names: tuple[bytes, ...], made: Mapping[bytes, int]) -> None:
        """Make names one file again: one that was not written now, and never one with a name that is not kept."""
        states = {path: state for path in names if (state := self._file(path))}
        if len({(state.st_dev, state.st_ino) for state in states.values()}) < 2:
            return
        held: dict[int, int] = {}
        for state in states.values():
            held[state.st_ino] = held.get(state.st_ino, 0) + 1
        best = min(states, key=lambda path: (states[path].st_nlink > held[states[path].st_ino], path in made, path))
        if states[best].st_nlink > held[states[best].st_ino]:
            self._copy(best)
        at = os.lstat(self._place(best))
        for path, state in states.items():
            if path != best and state.st_dev == at.st_dev and state.st_ino != at.st_ino:
                if not self._alike(path, best):
                    raise Unlike(f"{safe_line(path)}: written meanwhile")
                if os.geteuid() not in (0, at.st_uid):  # the system might not allow it, and then the name is gone
                    raise PermissionError(errno.EPERM, "another user's file gets no further name", self._place(path))
                os.unlink(self._place(path))
                os.link(self._place(best), self._place(path))

    def _copy(self, path: bytes) -> None:
        """Let a name have a file of its own, with the same bytes, holes and times."""
        place = self._place(path)
        with open(place, "rb") as source:
            state, attributes = os.fstat(source.fileno()), attributes_of(place)
            os.unlink(place)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as target:
                while chunk := source.read(_CHUNK):
                    if chunk.count(0) == len(chunk):
                        target.seek(len(chunk), os.SEEK_CUR)
                    else:
                        target.write(chunk)
                target.truncate()
        for name, value in attributes:
            os.setxattr(place, name, value)
        os.chmod(place, stat.S_IMODE(state.st_mode))
        os.utime(place, ns=(state.st_atime_ns, state.st_mtime_ns))

    def _alike(self, one: bytes, other: bytes) -> bool:
        with open(self._place(one), "rb") as left, open(self._place(other), "rb") as right:
            while (chunk := left.read(_CHUNK)) == right.read(_CHUNK):
                if not chunk:
                    return True
        return False

    def _file(self, path: bytes) -> os.stat_result | None:
        with contextlib.suppress(OSError):
            state = os.lstat(self._place(path))
            return state if stat.S_ISREG(state.st_mode) else None
        return None

    def _place(self, path: bytes) -> bytes:
        return self.top + b"/" + path


def is_fifo(place: bytes) -> bool:
    """Whether a FIFO stands there."""
    with contextlib.suppress(OSError):
        return stat.S_ISFIFO(os.lstat(place).st_mode)
    return False
