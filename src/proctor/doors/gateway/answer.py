"""The worker's side of one request: an answer that begins once, is bounded, and holds no key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web
from aiohttp.http import StreamWriter
from multidict import CIMultiDict

from proctor.doors.gateway.keys import Mask
from proctor.doors.gateway.providers.base import Refusal
from proctor.words import Api

MOST_BUFFERED = 64 * 1024 * 1024
"""Bytes of answers that wait for a worker which does not read them, frozen or hostile; beyond them it is cut off."""
LOOK_FROM = 1024 * 1024
"""Bytes that wait on one connection before all are added up."""
EARLY = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class _Response(web.StreamResponse):
    _send_headers_immediately = False
    """The head goes out with the first bytes, not alone."""


class Answer:
    """What the worker gets. Nothing here raises when the worker is gone: then `gone` says so and bytes go nowhere."""

    def __init__(self, request: web.BaseRequest, waiting: Callable[[], int]) -> None:
        self._request = request
        self._waiting = waiting
        self._response: web.StreamResponse | None = None
        self._writer: StreamWriter | None = None
        self._early = False
        self.mask = Mask(())
        self.last = False
        """Whether the connection ends with this answer."""

    @property
    def gone(self) -> bool:
        transport = self._request.transport
        return transport is None or transport.is_closing()

    @property
    def begun(self) -> bool:
        return self._response is not None

    def response(self) -> web.StreamResponse:
        """For the server, once all is over."""
        return self._response or web.Response(status=499)

    async def begin(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        """The head, unless a ping has sent one already."""
        if self._response is not None:
            return
        masked = CIMultiDict((name, self.mask.text(text)) for name, text in headers.items())
        reason = None if reason is None else self.mask.text(reason)
        self._response = _Response(status=status, reason=reason, headers=masked)
        if self.last:
            self._response.force_close()
        try:
            writer = await self._response.prepare(self._request)
            assert isinstance(writer, StreamWriter)
            self._writer = writer
        except (OSError, RuntimeError):
            self.abort()

    async def ping(self, ping: bytes) -> None:
        """A sign of life in a stream that has nothing to say yet."""
        self._early = self._early or not self.begun
        await self.begin(200, None, CIMultiDict(EARLY))
        await self._write(ping, False)

    async def write(self, chunk: bytes, drain: bool = False) -> None:
        """Pass bytes on. Without `drain` they never wait for the worker."""
        chunk = self.mask(chunk)
        if chunk:
            await self._write(chunk, drain)

    async def _write(self, chunk: bytes, drain: bool) -> None:
        if self._writer is None or self.gone:
            return
        try:
            await self._writer.write(chunk, drain=drain)
        except OSError:
            return
        transport = self._request.transport
        if transport and transport.get_write_buffer_size() > LOOK_FROM and self._waiting() > MOST_BUFFERED:
            self.abort()

    async def finish(self) -> None:
        """The answer ends here, well."""
        if (rest := self.mask.end()) and not self.gone:
            await self._write(rest, False)
        if self._response is not None and not self.gone:
            try:
                await self._response.write_eof()
            except OSError:
                return

    def abort(self) -> None:
        """Break the connection: what was passed on is not the whole answer, and nothing else would say so."""
        if self._request.transport:
            self._request.transport.abort()

    async def say(self, refusal: Refusal, api: Api = Api.OTHER, reason: str | None = None) -> None:
        """An answer of the gateway's own: as an error inside the stream where pings have begun one."""
        if self.begun and not self._early:
            self.abort()
        elif self._early:
            await self.write(in_stream(api, refusal))
            await self.finish()
        else:
            headers = CIMultiDict(refusal.headers)
            headers["Content-Length"] = str(len(refusal.body))
            await self.begin(refusal.status, reason, headers)
            await self.write(refusal.body)
            await self.finish()


def in_stream(api: Api, refusal: Refusal) -> bytes:
    """A refusal as what a stream ends with that had begun well."""
    if api is Api.RESPONSES:
        try:
            error = json.loads(refusal.body)["error"]
            said = {"code": error.get("code") or "invalid_request_error", "message": error.get("message")}
        except (ValueError, KeyError, TypeError, AttributeError):
            said = {"code": "server_error", "message": "the upstream refused"}
        failed = {"type": "response.failed", "response": {"object": "response", "status": "failed", "error": said}}
        return b"event: response.failed\ndata: " + json.dumps(failed).encode() + b"\n\n"
    return b"event: error\ndata: " + b" ".join(refusal.body.splitlines()) + b"\n\n"


def plain(status: int, message: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """An error in a form that each family's clients can read, where no language is known."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    error = {"type": kind, "message": message, "code": status, "param": None, "status": kind.upper()}
    body = json.dumps({"type": "error", "error": error}).encode()
    return Refusal(status, body, {"content-type": "application/json", "x-should-retry": "false", **(headers or {})})


def waiting(transports: Iterable[web.RequestHandler]) -> int:
    """Bytes that wait to be read by a worker on all of its connections."""
    return sum(one.transport.get_write_buffer_size() for one in transports if one.transport)
