"""The front of a worker's sockets: the first line of a connection says whether the gateway or the host door serves it.

Requests for a path are the gateway's; CONNECT and requests for anything but a path are the host door's. A connection
stays with the one that it went to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from proctor.doors.hosts import HostDoor

SECONDS: Final = 60
"""Until the first line has to have come."""
MOST: Final = 256
"""Connections of one worker, the gateway's among them: each is an open file of the supervisor."""
_LONGEST_METHOD: Final = 32


class Front:
    """Makes the protocol of each new connection, for `loop.create_server` and `loop.create_unix_server`."""

    def __init__(
        self,
        gateway: Callable[[], asyncio.Protocol],
        hosts: HostDoor,
        *,
        most: int = MOST,
        seconds: float = SECONDS,
    ) -> None:
        self._gateway = gateway
        self._hosts = hosts
        self._most = most
        self._seconds = seconds
        self._open: set[asyncio.Transport] = set()

    def __call__(self) -> asyncio.Protocol:
        return _First(self)

    def admit(self, transport: asyncio.Transport) -> float | None:
        """How long to wait for the first line, in seconds; None when there are too many connections."""
        if len(self._open) >= self._most:
            self._open = {one for one in self._open if not one.is_closing()}
        if len(self._open) >= self._most:
            return None
        self._open.add(transport)
        return self._seconds

    def hand_over(self, transport: asyncio.Transport, seen: bytes, *, to_gateway: bool) -> None:
        if not to_gateway:
            self._hosts.accept(transport, seen)
            return
        protocol = self._gateway()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        protocol.data_received(seen)

    def stop(self) -> None:
        """Ends the connections that went nowhere yet, and all others that are still open."""
        for transport in self._open:
            # One that closed once its last bytes were out would raise: asyncio takes it for open.
            if not transport.is_closing() or transport.get_write_buffer_size():
                transport.abort()
        self._open.clear()


class _First(asyncio.Protocol):
    """A connection whose first line has not come yet."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._seen = b""
        self._transport: asyncio.Transport | None = None
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        seconds = self._front.admit(transport)
        if seconds is None:
            transport.abort()
            return
        self._transport = transport
        self._clock = asyncio.get_running_loop().call_later(seconds, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        to_gateway = for_gateway(self._seen)
        if to_gateway is None or self._transport is None:
            return
        self._forget()
        self._front.hand_over(self._transport, self._seen, to_gateway=to_gateway)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._clock:
            self._clock.cancel()


def for_gateway(seen: bytes) -> bool | None:
    """Whether a connection that begins like this is the gateway's; None: more must come. What is no request at all is
    the gateway's, which says so."""
    method, space, target = seen.partition(b" ")
    if len(method) > _LONGEST_METHOD or b"\n" in method:
        return True
    if not space or not target:
        return None
    return method != b"CONNECT" and target.startswith(b"/")
