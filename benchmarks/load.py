"""A process of its own that asks. Each line on its input is a piece of work, each line it prints what came of it.

Work: `{port, model, size, connections, calls}`, and with `rate` so many requests a second are begun whether others have
ended or not. `times` are milliseconds to the first byte of the first event, `seconds` what all took together.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import count
from typing import Any

TURN = 2_000
NEW = 1_000
"""Characters of a turn of a conversation, and of the end of it that no earlier request had."""
TEXT = "The quick brown fox jumps over the lazy dog, reads a file, runs the tests and reports what failed. " * 21
_numbers = count()


def request(model: str, size: int) -> bytes:
    """A conversation of that many bytes; its beginning is always the same, its end never."""
    turns = [{"role": "user", "content": TEXT[:TURN]} for _ in range((size - NEW) // TURN)]
    number = next(_numbers)
    new = " ".join(f"{number * 7919 + n}" for n in range(NEW))[: max(100, min(NEW, size - 500))]
    body = {"model": model, "stream": True, "max_tokens": 200, "messages": [*turns, {"role": "user", "content": new}]}
    raw = json.dumps(body).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: models\r\nAuthorization: Bearer sk-placeholder\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw


class Connection(asyncio.Protocol):
    """Asks one thing at a time."""

    def __init__(self) -> None:
        self._done: asyncio.Future[float] | None = None
        self._held = b""
        self._first = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    async def ask(self, raw: bytes) -> float:
        """Seconds to the first event."""
        self._done, self._held, self._first = asyncio.get_running_loop().create_future(), b"", 0.0
        begun = time.perf_counter()
        self.transport.write(raw)
        return await self._done - begun

    def data_received(self, data: bytes) -> None:
        if not self._first and b"data:" in data:
            self._first = time.perf_counter()
        self._held += data
        if self._held.endswith(b"0\r\n\r\n") and self._done:
            if self._held.startswith(b"HTTP/1.1 200") and b"[DONE]" in self._held[-200:]:
                self._done.set_result(self._first)
            else:
                self._done.set_exception(RuntimeError(self._held[:2_000].decode(errors="replace")))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(exc or ConnectionError(self._held[:2_000].decode(errors="replace") or "closed"))


async def work(given: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    idle: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(given["connections"]):
        idle.put_nowait((await loop.create_connection(Connection, "127.0.0.1", given["port"]))[1])
    raws = [request(given["model"], given["size"]) for _ in range(given["calls"])]
    times: list[float] = []

    async def one(raw: bytes, connection: Connection) -> None:
        times.append(await connection.ask(raw) * 1000)
        idle.put_nowait(connection)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number, raw in enumerate(raws):
            if rate := given.get("rate"):
                await asyncio.sleep(begun + number / rate - time.perf_counter())
            group.create_task(one(raw, await idle.get()))
    seconds = time.perf_counter() - begun
    while not idle.empty():
        idle.get_nowait().transport.close()
    return {"times": times, "seconds": seconds}


async def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(await work(json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
