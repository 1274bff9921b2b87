"""The watch over the disk: what runs is ended before the disk is full, and the journal can still be written."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from proctor.errors import Unrecoverable
from proctor.sandbox import space
from proctor.units import format_size

RESERVED, RESERVE = "reserve", 8 << 20
"""A file of our own, and the bytes that it keeps until the disk is short; as many are kept for the journal alone."""
CLOCK_SLACK = 1.0
"""Seconds by which a file system's clock may be behind ours."""
FASTEST = 4 << 30
"""Bytes a second that a disk may take."""
SHORTEST, LONGEST = 0.005, 0.1
"""Seconds between looks at the disk."""
AGAIN = 10
"""A walk that found less is repeated when a further such part of the limit is gone."""


class Full(Exception):
    """The disk is short; the text says what, where, and what to do."""


def refuse_full(*paths: Path) -> None:
    """Unrecoverable where there is too little room to begin with; each path, or the nearest folder above it."""
    for path in paths:
        place = next(place for place in (path, *path.parents) if place.exists())
        now = space.free(place)
        if lacking := space.shortage(now, space.low_water(now)):
            raise Unrecoverable(f"{nearly_full(path, lacking)}. Make room there, then try again", "disk")


def nearly_full(path: Path, lacking: str) -> str:
    """Which disk it is, and what is short."""
    return f"the disk of {path} is nearly full: {lacking}"


def spare(folder: Path) -> int:
    """How many bytes to keep there: no great part of what is left."""
    return max(1, min(RESERVE, space.free(folder).bytes // 16))


def release(state_dir: Path) -> None:
    """Give back the room that was kept in a file."""
    with contextlib.suppress(OSError):
        (state_dir / RESERVED).unlink()


def written_to(workspace: Path, state_dir: Path) -> tuple[Path, ...]:
    """Where a session writes."""
    return workspace, state_dir, Path(tempfile.gettempdir())


class Watch:
    """Looks after the file systems that a session writes to. `growth`: bytes one worker may add to the workspace.

    `then` says how to go on once there is room again.
    """

    def __init__(self, workspace: Path, state_dir: Path, growth: int, then: str = "") -> None:
        self._workspace = workspace
        self._then = then or f"then `proctor resume {workspace}` goes on"
        self._growth = growth
        self._state_dir = state_dir
        self._hold()
        self._marks: dict[Path, space.Free] = {}
        devices = set()
        for path in written_to(workspace, state_dir):
            device = os.stat(path).st_dev
            if device not in devices:
                devices.add(device)
                self._marks[path] = space.low_water(space.free(path))
        self._began = 0.0
        self._base = 0
        self._suspect = 0
        self._walk: asyncio.Task[None] | None = None
        self.said = ""

    def begin(self) -> None:
        """A worker begins: what it writes counts from here. Full where there is no room for it to begin with."""
        self.check()
        self._began = time.time() - CLOCK_SLACK
        self._base = space.free(self._workspace).bytes
        self._suspect = self._growth

    def check(self) -> None:
        """Raise Full if the disk is short now, or was found so."""
        if self.short():
            raise Full(self.said)

    def short(self) -> bool:
        """Whether to end what runs."""
        self._look()
        return bool(self.said)

    @contextlib.contextmanager
    def over(self, kill: Callable[[], object]) -> Iterator[None]:
        """Calls `kill`, from a thread of its own, when the disk gets short within the block.

        The loop may be busy for as long as a fast worker needs to fill what is left, and then not even the journal
        could be written.
        """
        enough = threading.Event()

        def look() -> None:
            while not enough.wait(self._look() / FASTEST):
                if self.said:
                    kill()
                    self.release()

        thread = threading.Thread(target=look, name="disk", daemon=True)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()

    def _look(self) -> float:
        """Says what is short, and returns the bytes that may be written before the next look."""
        least = math.inf
        for path, mark in self._marks.items():
            with contextlib.suppress(OSError):  # a workspace that is gone is told elsewhere
                now = space.free(path)
                least = min(least, now.bytes - mark.bytes)
                if (lacking := space.shortage(now, mark)) and not self.said:
                    self.said = f"{nearly_full(path, lacking)}. Make room there, {self._then}"
        return min(max(least, FASTEST * SHORTEST), FASTEST * LONGEST)

    def watch_growth(self) -> None:
        """See whether the running worker wrote too much; a walk, off the loop, confirms what free space suggests."""
        if self._walk is not None and not self._walk.done():
            return
        with contextlib.suppress(OSError):
            if self._base - space.free(self._workspace).bytes > self._suspect:
                self._walk = asyncio.create_task(self._confirm())

    async def _confirm(self) -> None:
        began = self._began
        written = await asyncio.to_thread(space.written, self._workspace, began)
        if began != self._began:
            return
        if written > self._growth:
            sizes = f"{format_size(written)} in {self._workspace}, and limits.growth is {format_size(self._growth)}"
            self.said = f"the worker wrote {sizes}. See what it is; delete it or raise the limit, then `proctor resume`"
        else:
            self._suspect += max(self._growth // AGAIN, 1)

    def _hold(self) -> None:
        """Keep some room for what is written at the end."""
        with contextlib.suppress(OSError):
            fd = os.open(self._state_dir / RESERVED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.posix_fallocate(fd, 0, spare(self._state_dir))
            finally:
                os.close(fd)

    def release(self) -> None:
        """Give the room back, once what runs has ended."""
        release(self._state_dir)
