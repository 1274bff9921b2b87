"""The gateway: a worker's only way to a model, and where the key is.

A plain pass-through. Requests come from the worker's own sockets, go to one configured upstream with the key put
in, and answers stream back as they come. Which worker asks is known by the socket, not by anything it says.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from multidict import CIMultiDict
from yarl import URL

from proctor.doors import door

logger = logging.getLogger(__name__)

HOP_BY_HOP: Final = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer")
    + ("transfer-encoding", "upgrade")
)
"""Headers of one connection, not of the message (RFC 9110, 7.6.1)."""

KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
TIMEOUT: Final = ClientTimeout(total=None, sock_connect=30, sock_read=900)
"""Seconds. A model may think long between two bytes."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider: `name` as in the contract, `base_url` up to the path that clients add, and the key itself."""

    name: str
    base_url: str
    key: str | None = None


class Gateway:
    """Serves one worker. `start` and `stop` belong to one event loop; requests never raise into it."""

    def __init__(self) -> None:
        self._upstream: Upstream | None = None
        self._runner: web.ServerRunner | None = None
        self._session: ClientSession | None = None

    async def start(self, folder: Path, listener: socket.socket | None, upstream: Upstream | None) -> None:
        """Serves the socket in the door folder and, if there is one, the listener on the sandbox's loopback."""
        self._upstream = upstream
        self._session = ClientSession(timeout=TIMEOUT, auto_decompress=False, cookie_jar=None)
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None, max_line_size=1 << 16))
        await self._runner.setup()
        for server in (door.listen(folder), *([listener] if listener else [])):
            await web.SockSite(self._runner, server).start()

    async def listen(self, listener: socket.socket) -> None:
        """Serves one more socket: the listener on the sandbox's loopback."""
        assert self._runner is not None
        await web.SockSite(self._runner, listener).start()

    async def stop(self) -> None:
        """Ends every request and closes the sockets. Does nothing the second time."""
        runner, session = self._runner, self._session
        self._runner = self._session = None
        if runner:
            await runner.cleanup()
        if session:
            await session.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._upstream is None:
            return _refusal(502, "no model upstream is configured: set gateway.upstream in proctor.yaml")
        if not request.raw_path.startswith("/") or request.headers.get("upgrade"):
            return _refusal(400, "only plain HTTP requests for a path are passed on")
        try:
            return await self._pass_on(request, self._upstream)
        except (ClientError, TimeoutError, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            return _refusal(502, f"the upstream {self._upstream.name} did not answer: {reason}")

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
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=_end_to_end(answer.headers))
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
    kept = ((name, text) for name, text in headers.items() if name.lower() not in HOP_BY_HOP | named | {"host"})
    return CIMultiDict(kept)


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
