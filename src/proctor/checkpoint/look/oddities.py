"""Which of many files are more than git can say: a mode, further names, attributes. Standard library only.

Two calls to the system for each file: for a large tree that is most of a first checkpoint, so it is done by a process
of its own, beside the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

MANY = 5_000
"""Files from which on a process of its own is worth starting."""


def odd_among(top: bytes, paths: Iterable[bytes], umask: int) -> Iterator[bytes]:
    """Those of the paths below `top` of which there may be something to say; too many rather than too few."""
    common = {0o100666 & ~umask, 0o100777 & ~umask, 0o120777}
    status, attributes = os.lstat, os.listxattr
    for path in paths:
        place = top + path
        try:
            state = status(place)
            if state.st_mode not in common or state.st_nlink > 1 or attributes(place, follow_symlinks=False):
                yield path
        except OSError:  # gone, or it may not be asked: the look that follows says
            yield path


class Oddities:
    """The same, on its way."""

    def __init__(self, top: bytes, paths: list[bytes], umask: int) -> None:
        self._top, self._paths, self._umask = top + b"/", paths, umask
        self._process: subprocess.Popen[bytes] | None = None
        if len(paths) >= MANY:
            told = os.fdopen(os.memfd_create("paths"), "r+b")
            told.write(b"\0".join(paths))
            told.seek(0)
            self._said = os.fdopen(os.memfd_create("odd"), "r+b")
            with told:
                argv = [sys.executable, "-I", "-S", __file__, os.fsdecode(self._top), str(umask)]
                self._process = subprocess.Popen(argv, stdin=told, stdout=self._said, cwd="/", env={})

    def found(self) -> set[bytes]:
        """Wait for the end; what there is."""
        if self._process is not None:
            with self._said:
                failed = self._process.wait()
                self._said.seek(0)
                said = self._said.read()
            self._process = None
            if not failed:
                return set(said.split(b"\0")[:-1])
        return set(odd_among(self._top, self._paths, self._umask))

    def forget(self) -> None:
        """Leave it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._said.close()
            self._process = None


if __name__ == "__main__":
    odd = odd_among(os.fsencode(sys.argv[1]), sys.stdin.buffer.read().split(b"\0"), int(sys.argv[2]))
    sys.stdout.buffer.write(b"".join(path + b"\0" for path in odd))
