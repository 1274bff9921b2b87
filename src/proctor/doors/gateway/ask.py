"""Asking a provider: tries that a limit or a passing failure ended are made again, before anything is passed on."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ConnectionTimeoutError
from yarl import URL

from proctor.doors.gateway.hold import Limit
from proctor.doors.gateway.keys import Mask
from proctor.doors.gateway.providers.base import Asked, Limited, Provider, Reading
from proctor.doors.gateway.trouble import why
from proctor.text import safe_line

PAUSES = (0.0, 0.5, 2.0)
"""Seconds before each further try after a failure; the first is for a connection that had gone stale."""
LONG = 30_000
"""Milliseconds of silence after which a try that breaks off may have cost something, and another would as well."""
MOST_ERROR = 1024 * 1024
"""Bytes read of an upstream's error."""
MOST_AT_ONCE = 1024 * 1024
"""Bytes of a body that are sent in one piece."""
PACKED = "its answer is compressed, which was not asked for"
REQUEST_IDS = ("request-id", "x-request-id")
SKIPPED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that the client library would make up."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it goes to the upstream."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes
    proxy: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Error:
    """An upstream's answer that is an error, or leads elsewhere; read whole."""

    status: int
    reason: str | None
    headers: Mapping[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"it answered {self.status}: {safe_line(self.body, 200)}"


class Broken(Exception):
    """The upstream gives no answer; why, in one safe line."""


class Incoming:
    """An answer as it comes, read while it passes."""

    def __init__(self, response: ClientResponse, reading: Reading, first: int) -> None:
        self.response = response
        self.reading = reading
        self.first = first
        """Milliseconds from the question to the first byte."""
        self.streams = response.content_type == "text/event-stream"
        self.request = next((response.headers[name] for name in REQUEST_IDS if name in response.headers), "")
        self.free = 0
        """How many bytes of the chunk that was read last do not end a stream."""

    def feed(self, chunk: bytes) -> None:
        reading, tail, head = self.reading, chunk, b""
        if self.streams and not reading.complete:
            at = _last_event(tail)
            head, tail = tail[:at], tail[at:]
        reading.feed(head)
        free = 0 if reading.complete else len(head)
        reading.feed(tail)
        self.free = free if reading.complete else len(chunk)

    @property
    def began_badly(self) -> bool:
        return self.streams and bool(self.reading.error) and not self.reading.generated()


class Asking:
    """The tries of one call. `working` says whether the provider may be at work on it now."""

    def __init__(self, session: ClientSession, provider: Provider, asked: Asked, limit: Limit, mask: Mask) -> None:
        self._session = session
        self._provider = provider
        self._asked = asked
        self._limit = limit
        self._mask = mask
        self.began = time.monotonic()
        self.retries = 0
        self.working = False

    async def answer(
        self,
        outgoing: Outgoing,
        clear: Callable[[], Awaitable[None]],
        patiently: Callable[[Awaitable[None]], Awaitable[None]],
    ) -> tuple[Incoming, bytes] | Error:
        """The answer that counts and its first bytes, or an error that a further try would not change. Before each
        try `clear` returns when calls may go, and waits for the provider's limit are made `patiently`."""
        failures = limits = 0
        with self._limit.waits() as mine:
            while True:
                while self._limit.on:
                    await patiently(self._limit.over(mine))
                await clear()
                found = await self._try(outgoing)
                if isinstance(found, tuple):
                    return found
                self.working = False
                if isinstance(found, Error):
                    if later := self._later(found):
                        limits += 1
                        self.retries += 1
                        self._limit.hit(later, limits)
                        continue
                    if found.status < 500:
                        return found
                if failures == len(PAUSES):
                    raise Broken(str(found))
                await asyncio.sleep(PAUSES[failures])
                failures += 1
                self.retries += 1

    def _later(self, error: Error) -> Limited | None:
        found = self._provider.limited(error.status, error.headers, error.body, time.time())
        return found and replace(found, why=self._mask.text(found.why))

    async def _try(self, outgoing: Outgoing) -> tuple[Incoming, bytes] | Error | str:
        """An answer and its first bytes, an error of the upstream's, or why there is neither."""
        self.began = time.monotonic()
        self.working = True
        response = None
        try:
            response = await send(self._session, outgoing)
            if packed(response):
                raise Broken(PACKED)
            if response.status >= 300:
                held = await at_most(response.content.iter_any(), MOST_ERROR)
                return Error(response.status, response.reason, response.headers, held)
            first = await response.content.readany()
            incoming = Incoming(response, self._provider.reading(self._asked), self.ms())
            incoming.feed(first)
            if not incoming.began_badly:
                response = None
                return incoming, first
            return f"its answer began with an error: {safe_line(incoming.reading.error, 200)}"
        except (ClientError, OSError, ValueError) as error:
            said = why(error, self._session.timeout)
            unsent = isinstance(error, ClientConnectorError | ConnectionTimeoutError)
            if not unsent and (isinstance(error, TimeoutError) or self.ms() >= LONG):
                raise Broken(said) from None  # it thought for long: it would again
            return said
        finally:
            if response is not None:
                response.release()

    def ms(self) -> int:
        """Since the last try began."""
        return round((time.monotonic() - self.began) * 1000)


def packed(response: ClientResponse) -> bool:
    """Whether an answer is compressed though nobody asked for it: neither usage nor a key can be seen in it."""
    return response.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity")


async def send(session: ClientSession, outgoing: Outgoing) -> ClientResponse:
    return await session.request(
        outgoing.method,
        outgoing.url,
        headers=outgoing.headers,
        data=io.BytesIO(outgoing.body) if len(outgoing.body) > MOST_AT_ONCE else outgoing.body or None,
        allow_redirects=False,
        skip_auto_headers=SKIPPED,
        proxy=outgoing.proxy or None,
    )


async def at_most(chunks: AsyncIterator[bytes], most: int) -> bytes:
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        if len(held) >= most:
            break
    return bytes(held[:most])


def _last_event(chunk: bytes) -> int:
    """Where the last event in a piece of a stream begins; 0 if that is not in this piece."""
    end = len(chunk.rstrip())
    return max(at + len(gap) if (at := chunk.rfind(gap, 0, end)) >= 0 else 0 for gap in (b"\n\n", b"\r\n\r\n"))
