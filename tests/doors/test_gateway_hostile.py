"""A worker that does not read, does not finish, or asks for too much at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from doors.gate import event, gate, message, messages, says, stream, streams
from doors.world import until
from harness import PATIENCE
from proctor.words import CallEnd, Source


def request(**more: object) -> bytes:
    body = json.dumps(messages(**more)).encode()
    return b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def long(pieces: int) -> list[bytes]:
    """A stream of so many pieces of 64 kB."""
    delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 65_000})
    whole = stream()
    return [*whole[:2], *[delta] * pieces, *whole[3:]]


async def test_a_worker_that_does_not_read_is_settled_and_gets_all_when_it_does(tmp_path: Path) -> None:
    pieces = long(100)
    async with gate(tmp_path, streams(pieces)) as made:
        reader, writer = await asyncio.open_unix_connection(str(made.socket), limit=1024)
        writer.write(request(stream=True))
        (call,) = await made.rows(1)
        assert (call.end, call.source, call.output) == (CallEnd.ANSWERED, Source.MEASURED, 7)
        await reader.readuntil(b"\r\n\r\n")
        got = 0
        while got < sum(map(len, pieces)):
            size = int((await reader.readline()).strip(), 16)
            await reader.readexactly(size + 2)
            got += size
        writer.close()


async def test_more_than_fits_for_a_worker_that_does_not_read_is_given_up_but_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.doors.gateway.answer.MOST_BUFFERED", 2 << 20)
    async with gate(tmp_path, streams(long(100))) as made:
        reader, writer = await asyncio.open_unix_connection(str(made.socket), limit=1024)
        writer.write(request(stream=True))
        (call,) = await made.rows(1)
        assert (call.end, call.output) == (CallEnd.ANSWERED, 7)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(4 << 20)
        writer.close()


async def test_half_requests_take_no_room_from_whole_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.doors.gateway.server.MOST_CONNECTIONS", 8)
    async with gate(tmp_path, says(message())) as made:
        halves = [await asyncio.open_unix_connection(str(made.socket)) for _ in range(20)]
        for _, writer in halves:
            writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        await until(lambda: sum(bool(reader.at_eof() or reader.exception()) for reader, _ in halves) >= 12)
        assert (await made.post(messages()))[0] == 200
        for _, writer in halves:
            writer.close()


async def test_a_request_that_does_not_go_on_is_closed_unless_the_worker_may_be_frozen(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message())) as made:
        assert (await made.post(messages()))[0] == 200
        reader, writer = await asyncio.open_unix_connection(str(made.socket))
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        await until(lambda: any(one.partial for one in made.gateway.server.all))
        made.owner.hold = "a request is open"
        for _ in range(50):
            made.gateway._sweep()
        assert not reader.at_eof()
        assert not reader.exception()
        made.owner.release()
        for _ in range(50):
            made.gateway._sweep()
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
        assert (await made.post(messages()))[0] == 200


async def test_all_bodies_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.doors.gateway.server.MOST_BODIES", 1 << 20)
    go = asyncio.Event()
    async with gate(tmp_path, streams(stream(), after={0: go}), says(message())) as made:
        first = asyncio.create_task(made.post(messages("x" * 700_000)))
        await made.provider.asked.wait()
        assert (await made.post(messages("x" * 700_000)))[0] == 413
        go.set()
        assert (await first)[0] == 200
        assert (await made.post(messages("x" * 700_000)))[0] == 200


async def test_pipelined_requests_are_each_judged(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message())) as made:
        reader, writer = await asyncio.open_unix_connection(str(made.socket))
        writer.write(request() + request() + b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        assert (answer.count(b"HTTP/1.1 200 "), answer.count(b"HTTP/1.1 404 ")) == (2, 1)
        assert len(made.owner.calls) == 2
        writer.close()
