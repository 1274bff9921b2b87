"""Names looked up and connections made from this side of the sandbox, for the host door."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import Protocol

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

READ_AHEAD = 1 << 16
"""Bytes that wait for a slow reader, in each direction; twice as many at most."""


class Network(Protocol):
    async def addresses(self, name: str) -> list[str]:
        """Every address of a name, the one to try first before the others; OSError when it has none."""

    async def connect(self, address: str, port: int) -> Streams:
        """A connection to exactly this address; OSError."""


class Internet:
    """The real one. Few names are looked up at once, in threads that hold up nobody else's work nor the program's end:
    the servers that answer for a name may be the worker's friends, and slow."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(4)

    async def addresses(self, name: str) -> list[str]:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def done(found: list[str] | OSError) -> None:
            self._free.release()
            if answer.done():
                return
            if isinstance(found, OSError):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def look_up() -> None:
            found: list[str] | OSError
            try:
                rows = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
                found = list(dict.fromkeys(str(row[4][0]) for row in rows))
            except (OSError, UnicodeError) as error:
                found = error if isinstance(error, OSError) else OSError(str(error))
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done, found)

        threading.Thread(target=look_up, name="name lookup", daemon=True).start()
        return await answer

    async def connect(self, address: str, port: int) -> Streams:
        # An address is never looked up: asyncio goes straight to it.
        return await asyncio.open_connection(address, port, limit=READ_AHEAD)
