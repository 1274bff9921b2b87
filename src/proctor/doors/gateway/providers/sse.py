"""Server-sent events, out of chunks that are cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

LONGEST: Final = 1 << 25
"""Bytes of a line, and of an event's data, that are kept. What is longer is passed over: no event of a model is."""


class Events:
    """Takes bytes, gives the data of events as they end. No byte is looked at more than a fixed number of times."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The line that has begun, in pieces."""
        self._begun = 0
        """The length of that line, of which the pieces are given up once it is too long."""
        self._data: list[bytes] = []
        self._size = 0
        self._returned = False
        """Whether the last byte was a carriage return: a line feed after it belongs to it."""
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that end in this chunk."""
        if self._returned and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._returned = False
        if not chunk:
            return
        self._returned = chunk.endswith(b"\r")
        lines = chunk.splitlines()  # of bytes: at \n, \r and \r\n, as events want it
        rest = lines.pop() if chunk[-1] not in b"\r\n" else b""
        for piece in lines:
            line = piece
            if self._begun:
                self._begin(piece)
                line = self._whole_line()
            if line:
                self._take(line)
            elif self._data:
                yield self._event()
        if rest:
            self._begin(rest)

    def end(self) -> Iterator[bytes]:
        """The event that the connection's end left unfinished, for what can be read of it."""
        if self._begun:
            self._take(self._whole_line())
        if self._data:
            yield self._event()

    def _begin(self, piece: bytes) -> None:
        self._begun += len(piece)
        if self._begun <= LONGEST:
            self._line.append(piece)
        else:
            self._line.clear()

    def _whole_line(self) -> bytes:
        line = b"".join(self._line)
        self._line.clear()
        self._begun = 0
        return line

    def _take(self, line: bytes) -> None:
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            self._size += len(line)
            if self._size <= LONGEST:
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])

    def _event(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        self._size = 0
        return data
