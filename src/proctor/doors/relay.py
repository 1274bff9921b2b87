"""Bytes between a worker and a host: a tunnel as it is, or one exchange of plain HTTP read and written anew."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any, Final

from proctor.doors import wire
from proctor.doors.network import Streams

_STATUS: Final = re.compile(r"HTTP/1\.[01] ([1-9][0-9][0-9]( .*)?)")
_MOST_IGNORED: Final = 1 << 20


class Near(asyncio.StreamReaderProtocol):
    """The worker's end of a connection, which tells when the worker has hung up."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.reader = reader
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.WriteTransport)
        self.writer = asyncio.StreamWriter(transport, self, self.reader, asyncio.get_running_loop())

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)

    async def outlasting(self, other: asyncio.Future[Any]) -> None:
        """Returns when the other is done; ConnectionAbortedError if the worker hangs up before."""
        gone = asyncio.ensure_future(self.gone.wait())
        try:
            await asyncio.wait((other, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not other.done():
            raise ConnectionAbortedError

    async def finish(self) -> None:
        """Says that no more comes, and lets the worker read it all: a socket closed with something unread takes back
        what was sent."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(2):
                self.writer.write_eof()
                await self.writer.drain()
                ignored = 0
                while ignored < _MOST_IGNORED and (piece := await self.reader.read(wire.PIECE)):
                    ignored += len(piece)


class Relay:
    """Between two ends. TimeoutError ends it when nothing has passed for `idle` seconds, or for `half_closed` once one
    side has said that it is done."""

    def __init__(self, near: Near, far: Streams, *, idle: float, half_closed: float) -> None:
        self._near = near
        self._reader, self._writer = far
        self._idle = idle
        self._half_closed = half_closed
        self._clock = asyncio.timeout(idle)
        self.begun = False
        """Whether a part of the answer is on its way to the worker."""

    async def tunnel(self) -> None:
        async with self._clock:
            await self._send(self._near.writer, b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _together(
                self._copy(self._near.reader, self._writer),
                self._copy(self._reader, self._near.writer),
            )

    async def exchange(self, head: bytes, length: int | None, method: str, version: str) -> None:
        """Sends a request, with the body of that length that follows from the worker, and brings the answer back.
        Malformed and EOFError as in `wire`; ConnectionAbortedError when the worker hangs up."""

        async def send() -> None:
            with contextlib.suppress(OSError):  # a host may answer and hang up before it has read it all
                await self._send(self._writer, head)
                await self._pass_body(self._near.reader, length, self._writer, chunked=length is None)

        async def answer() -> None:
            await self._answer(method, version)
            sending.cancel()

        async with self._clock:
            sending = asyncio.ensure_future(send())
            both = asyncio.ensure_future(_together(sending, answer()))
            try:
                await self._near.outlasting(both)
                both.result()
            finally:
                both.cancel()

    async def _answer(self, method: str, version: str) -> None:
        status, head, length = await self._answer_head()
        fields = [*head.end_to_end(), ("Connection", "close")]
        stated = head.all("content-length")
        fields += [("Content-Length", value) for value in stated]
        chunked = length is None and version == "HTTP/1.1"
        if chunked:
            fields.append(("Transfer-Encoding", "chunked"))
        await self._send(self._near.writer, wire.write_head(f"HTTP/1.1 {status}", fields))
        if method == "HEAD" or status[:3] in {"204", "304"}:
            return
        if length is None or stated:
            await self._pass_body(self._reader, length, self._near.writer, chunked=chunked)
        else:
            while piece := await self._reader.read(wire.PIECE):
                await self._send(self._near.writer, piece)

    async def _answer_head(self) -> tuple[str, wire.Head, int | None]:
        """The final answer's status with its reason, its head, and the length that it states."""
        try:
            while True:
                head = await wire.read_head(self._reader)
                status = _STATUS.fullmatch(head.first)
                if not status or status[1].startswith("101"):
                    raise wire.Malformed("another protocol")
                if not status[1].startswith("1"):
                    return status[1], head, head.length()
        except wire.Malformed as error:
            raise wire.Malformed(f"the host's answer is not understood: {error}", HTTPStatus.BAD_GATEWAY) from None

    async def _pass_body(
        self, reader: asyncio.StreamReader, length: int | None, writer: asyncio.StreamWriter, *, chunked: bool
    ) -> None:
        async for piece in wire.body(reader, length):
            await self._send(writer, wire.chunk(piece) if chunked else piece)
        if chunked:
            await self._send(writer, wire.LAST_CHUNK)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(wire.PIECE):
            await self._send(writer, piece)
        writer.write_eof()
        self._idle = self._half_closed
        self._alive()

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        self.begun |= writer is self._near.writer
        writer.write(data)
        await writer.drain()
        self._alive()

    def _alive(self) -> None:
        self._clock.reschedule(asyncio.get_running_loop().time() + self._idle)


async def _together(*parts: Coroutine[None, None, None] | asyncio.Future[None]) -> None:
    """Waits for all; the first that fails ends the others."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            if not task.cancelled():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
