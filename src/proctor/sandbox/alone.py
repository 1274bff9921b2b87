"""One worker at a time in a workspace: what is looked at and mounted while none runs must not move meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from proctor.errors import UsageError
from proctor.sandbox.below import open_own


class Busy(UsageError):
    """Another sandbox is at work there."""


@contextlib.contextmanager
def alone(workspace: Path) -> Iterator[None]:
    """Keeps other sandboxes out of a workspace; Busy where one is at work. Given back by this process's end, too."""
    fd = open_own(workspace)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                f"{workspace}: another worker is at work there, and one could undo the other's walls: "
                "wait for its end, or pause and stop that session"
            ) from None
        yield
    finally:
        os.close(fd)
