"""A process of its own that answers as a model provider does: chat completions, streamed, with usage.

`provider.py` prints its port. A model named `wait-20` begins to answer after 20 ms and takes as long to end.
"""

from __future__ import annotations

import asyncio
import json
import re
from itertools import count

WORDS = 20
"""Pieces of an answer."""
PROMPT, OUTPUT = 700, 60
"""Tokens that every answer reports."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_WAIT = re.compile(rb'"model": ?"[^"]*?wait-(\d+)"')
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_numbers = count()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(**more: object) -> bytes:
    base = {"id": "chatcmpl-ID", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-mini"}
    return b"data: " + json.dumps({**base, **more}).encode() + b"\n\n"


def piece(**delta: str) -> bytes:
    return event(choices=[{"index": 0, "delta": delta, "finish_reason": None}])


FIRST = piece(role="assistant", content="")
REST = [
    *[piece(content=f"word{n} ") for n in range(WORDS)],
    event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
    event(choices=[], usage={"prompt_tokens": PROMPT, "completion_tokens": OUTPUT, "total_tokens": PROMPT + OUTPUT}),
    b"data: [DONE]\n\n",
]


class Connection(asyncio.Protocol):
    """One client's connection: requests one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._held = bytearray()
        self._whole = 0

    def data_received(self, data: bytes) -> None:
        self._held += data
        if not self._whole:
            at = self._held.find(b"\r\n\r\n")
            length = _LENGTH.search(self._held, 0, at) if at >= 0 else None
            self._whole = at + 4 + (int(length[1]) if length else 0) if at >= 0 else 0
        if self._whole and len(self._held) >= self._whole:
            found = _WAIT.search(self._held)
            wait = int(found[1]) / 1000 if found else 0
            del self._held[: self._whole]
            self._whole = 0
            asyncio.get_running_loop().call_later(wait, self._begin, wait)

    def _begin(self, wait: float) -> None:
        own = b"chatcmpl-%d" % next(_numbers)
        first = _HEAD + chunk(FIRST.replace(b"chatcmpl-ID", own))
        rest = b"".join(chunk(one.replace(b"chatcmpl-ID", own)) for one in REST) + b"0\r\n\r\n"
        if wait:
            self._write(first)
            asyncio.get_running_loop().call_later(wait, self._write, rest)
        else:
            self._write(first + rest)

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
