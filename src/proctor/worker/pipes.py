"""The two ends of a worker's pipes: lines are cut out of what it says, and what is said to it waits for it to read.

Lines are cut at `MAX_LINE`, so that a program that never ends a line costs no memory; what a worker does not read costs
no more than `MAX_UNSENT`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

MAX_LINE = 8 * 1024 * 1024
"""Bytes: agents put whole files into a line, and half a line means nothing."""
MAX_UNSENT = 2 * MAX_LINE
"""Bytes that wait for a worker to read them: room for an answer that holds all that was asked."""


class Lines:
    """Cuts a stream of chunks into lines."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            self._cut()
            self._skipping = False
        self._add(rest)
        if self._size > MAX_LINE:
            self._cut()
            self._skipping = True

    def end(self) -> None:
        if self._size:
            self._cut()

    def _add(self, part: bytes) -> None:
        if not self._skipping and part:
            self._parts.append(part)
            self._size += len(part)

    def _cut(self) -> None:
        if not self._skipping:
            self._on_line(b"".join(self._parts).removesuffix(b"\r"))
        self._parts, self._size = [], 0


class Channel:
    """Writes to a pipe in order and never waits; what is more than `MAX_UNSENT` is dropped."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self.dropped = 0
        """Messages that no room was left for."""
        self._finished = False

    def send(self, data: bytes) -> None:
        if not self._finished and len(self._unsent) + len(data) <= MAX_UNSENT:
            self._unsent += data
            self._write()
        else:
            self.dropped += 1

    def finish(self) -> None:
        """Close it once all is written."""
        self._finished = True
        self._write()

    def close(self) -> None:
        self._finished = True
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _write(self) -> None:
        """Write what fits, the rest when there is room: never half a message and no more."""
        if self._fd < 0:
            return
        try:
            sent = os.write(self._fd, self._unsent) if self._unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:  # nobody reads any more
            return self.close()
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._fd, self._write)
        elif self._finished:
            self.close()
        else:
            self._loop.remove_writer(self._fd)
