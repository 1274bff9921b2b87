"""The gateway: a worker's only way to a model, and where the key is.

A plain pass-through. Requests come from the worker's own sockets, go to one configured upstream with the key put
in, and answers stream back as they come. Which worker asks is known by the socket, not by anything it says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Mapping
from typing import Final, Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, web
from multidict import CIMultiDict
from yarl import URL

from proctor.doors.door import Door

logger = logging.getLogger(__name__)

# fmt: off
HOP_BY_HOP: Final = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
))
"""Headers of one connection, not of the message (RFC 9110, 7.6.1)."""
# fmt: on

KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
LONGEST_LINE: Final = 1 << 16
TIMEOUT: Final = ClientTimeout(total=None, sock_connect=30, sock_read=900)
"""Seconds. A model may think long between two bytes."""


class Upstream(Protocol):
    """A provider: its address up to the path that clients add, and `env:NAME` of the variable with the key."""

    @property
    def base_url(self) -> str: ...
    @property
    def key(self) -> str | None: ...


class Gateway:
    """Serves one worker, on one event loop. No request ever raises into its caller."""

    def __init__(self, upstream: Upstream | None) -> None:
        self._base = upstream.base_url.rstrip("/") if upstream else None
        named = upstream.key if upstream else None
        self._key = os.environ.get(named.removeprefix("env:")) if named else None
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None, max_line_size=LONGEST_LINE))
        self._session: ClientSession | None = None
        self._joining: set[asyncio.Task[None]] = set()

    async def start(self, door: Door) -> None:
        """Serves the socket in the door folder."""
        self._session = ClientSession(timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())
        await self._runner.setup()
        await web.SockSite(self._runner, door.listen()).start()

    def listen(self, listener: socket.socket | None) -> None:
        """Serves the listener on the sandbox's own loopback too, by a copy of it; until then its clients wait."""
        if listener is not None:
            self._joining.add(asyncio.ensure_future(web.SockSite(self._runner, listener.dup()).start()))

    async def stop(self) -> None:
        """Ends every request and closes the sockets. Does nothing the second time."""
        await asyncio.gather(*self._joining, return_exceptions=True)
        await self._runner.cleanup()
        if self._session:
            await self._session.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._base is None or self._session is None:
            return _refusal(502, "no model is reachable: gateway.upstream in proctor.yaml names none")
        if not request.raw_path.startswith("/") or "upgrade" in request.headers:
            return _refusal(400, "only plain requests for a path are passed on")
        try:
            return await self._pass_on(request, self._session, URL(self._base + request.raw_path, encoded=True))
        except (ClientError, TimeoutError, OSError, ValueError) as error:
            return _refusal(502, f"{self._base} did not answer: {error or type(error).__name__}")

    async def _pass_on(self, request: web.BaseRequest, session: ClientSession, url: URL) -> web.StreamResponse:
        async with session.request(
            request.method,
            url,
            headers=self._with_key(_end_to_end(request.headers)),
            data=request.content if request.body_exists else None,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            headers = _end_to_end(answer.headers)
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            except (ClientError, TimeoutError, OSError) as error:
                # The head is out: a broken connection is the only honest way left to say it.
                logger.info("an answer of %s broke off: %s", self._base, error)
                if request.transport:
                    request.transport.abort()
            return response

    def _with_key(self, headers: CIMultiDict[str]) -> CIMultiDict[str]:
        """Puts the key where the client put its placeholder, or else where this kind of provider wants it."""
        used = [name for name in KEY_HEADERS if name in headers]
        for name in used:
            del headers[name]
        if self._key is not None:
            for name in used or ["x-api-key" if "anthropic-version" in headers else "authorization"]:
                headers[name] = f"Bearer {self._key}" if name == "authorization" else self._key
        return headers


def _end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers that belong to the message, without those that the connection names as its own."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    dropped = HOP_BY_HOP | named | {"host"}
    return CIMultiDict((name, text) for name, text in headers.items() if name.lower() not in dropped)


def _refusal(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"type": "proctor", "message": message}}, status=status)
