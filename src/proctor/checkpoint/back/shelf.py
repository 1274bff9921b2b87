"""Where a rollback puts what is in no checkpoint and stands in its way: moved aside, never deleted.

Each checkpoint that a rollback left has its own shelf, so that going back there can put everything in its place
again. Paths on a shelf are as they were in the workspace.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from proctor.checkpoint.record import parents


class Shelf:
    """The shelf of one checkpoint. Moves are renames, so that a kill leaves a thing here or there, never both."""

    def __init__(self, parked: Path, commit: str, top: bytes) -> None:
        self._place = os.fsencode(parked / commit[:12])
        self._top = top

    def park(self, path: bytes) -> None:
        """Move whatever stands at a path of the workspace to the shelf; or beside it, where it stays, if the shelf
        holds something from there already."""
        shelves = itertools.chain([self._place], (b"%s.%d" % (self._place, number) for number in itertools.count(1)))
        target = next(place for shelf in shelves if not os.path.lexists(place := shelf + b"/" + path))
        os.makedirs(os.path.dirname(self._place), mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        _move(self._top + b"/" + path, target)

    def holds(self, path: bytes) -> bool:
        """Whether something from this path is on the shelf."""
        return os.path.lexists(self._place + b"/" + path)

    def put_back(self, chosen: Callable[[bytes], bool]) -> None:
        """Return the chosen paths that fit: one that is taken by something else meanwhile stays on the shelf."""
        self._put_back(b"", chosen)
        with contextlib.suppress(OSError):
            os.rmdir(self._place)

    def _put_back(self, folder: bytes, chosen: Callable[[bytes], bool]) -> None:
        try:
            names = os.listdir(self._place + b"/" + folder)
        except OSError:
            return
        for name in names:
            path = folder + b"/" + name if folder else name
            source, target = self._place + b"/" + path, self._top + b"/" + path
            if not os.path.lexists(target):
                if chosen(path) and all(is_folder(self._top + b"/" + parent) for parent in parents(path)):
                    _move(source, target)
            elif name != b".git" and is_folder(source) and is_folder(target):
                self._put_back(path, chosen)
                with contextlib.suppress(OSError):
                    os.rmdir(source)


def is_folder(path: bytes) -> bool:
    """Whether a real folder stands there, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def reached(top: bytes, paths: Iterable[bytes]) -> set[bytes]:
    """The paths below `top` whose folders are all real ones: what a link leads to is none of ours."""
    known = {b"": True}

    def is_real(folder: bytes) -> bool:
        if folder not in known:
            known[folder] = is_real(folder.rpartition(b"/")[0]) and is_folder(top + b"/" + folder)
        return known[folder]

    return {path for path in paths if is_real(path.rpartition(b"/")[0])}


def _move(source: bytes, target: bytes) -> None:
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(os.fsdecode(source), os.fsdecode(target))
