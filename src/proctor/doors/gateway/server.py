"""The gateway: a worker's only way to a model, and where the key is.

A plain pass-through. Requests come from the worker's own sockets, go to one configured upstream with the key put
in, and answers stream back as they come. Which worker asks is known by the socket, not by anything it says.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, web
from multidict import CIMultiDict
from yarl import URL

from proctor.doors import door
from proctor.doors.gateway.port import Upstream

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


class Gateway:
    """Serves one worker, on one event loop. No request ever raises into its caller."""

    def __init__(self) -> None:
        self._upstream: Upstream | None = None
        self._runner: web.ServerRunner | None = None
        self._session: ClientSession | None = None

    async def start(self, folder: Path, listener: socket.socket | None, upstream: Upstream | None) -> None:
        """Serves the socket in the door folder and, if there is one, the listener on the sandbox's own loopback."""
        self._upstream = upstream
        self._session = ClientSession(timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None, max_line_size=LONGEST_LINE))
        await self._runner.setup()
        await web.SockSite(self._runner, door.listen(folder)).start()
        if listener is not None:
            await self.listen(listener)

    async def listen(self, listener: socket.socket) -> None:
        """Serves one more socket, by a copy of it; those who connected before are answered now."""
        assert self._runner is not None
        await web.SockSite(self._runner, listener.dup()).start()

    async def stop(self) -> None:
        """Ends every request and closes the sockets. Does nothing the second time."""
        runner, session = self._runner, self._session
        self._runner = self._session = None
        if runner:
            await runner.cleanup()
        if session:
            await session.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        upstream = self._upstream
        if upstream is None:
            return _refusal(502, "no model is reachable: gateway.upstream in proctor.yaml names none")
        if not request.raw_path.startswith("/") or "upgrade" in request.headers:
            return _refusal(400, "only plain requests for a path are passed on")
        try:
            return await self._pass_on(request, upstream)
        except (ClientError, TimeoutError, OSError, ValueError) as error:
            return _refusal(502, f"the upstream {upstream.name} did not answer: {error or type(error).__name__}")

    async def _pass_on(self, request: web.BaseRequest, upstream: Upstream) -> web.StreamResponse:
        assert self._session is not None
        url = URL(upstream.base_url.rstrip("/") + request.raw_path, encoded=True)
        async with self._session.request(
            request.method,
            url,
            headers=_with_key(_end_to_end(request.headers), upstream),
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
                logger.info("an answer of %s broke off: %s", upstream.name, error)
                if request.transport:
                    request.transport.abort()
            return response


def _end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers that belong to the message, without those that the connection names as its own."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    dropped = HOP_BY_HOP | named | {"host"}
    return CIMultiDict((name, text) for name, text in headers.items() if name.lower() not in dropped)


def _with_key(headers: CIMultiDict[str], upstream: Upstream) -> CIMultiDict[str]:
    """Puts the key where the client put its placeholder, or else where this provider wants it."""
    used = [name for name in KEY_HEADERS if name in headers]
    for name in used:
        del headers[name]
    if upstream.key is not None:
        for name in used or ["x-api-key" if upstream.name == "anthropic" else "authorization"]:
            headers[name] = f"Bearer {upstream.key}" if name == "authorization" else upstream.key
    return headers


def _refusal(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"type": "proctor", "message": message}}, status=status)
