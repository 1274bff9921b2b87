"""The host door: a worker's way to the hosts that the contract names, by CONNECT and by plain HTTP.

A name is looked up once, here. All its addresses must be public and somebody else's, and the connection goes to one
of those very addresses. The rules are read anew for each request; where they cannot be read, nothing passes. TLS
is not opened. A connection carries one request and then ends, here and beyond, so that there is no second one to be
mistaken for a first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from proctor.contract import hosts as names
from proctor.doors import addresses, wire
from proctor.doors.gateway.port import Steward
from proctor.doors.network import READ_AHEAD, Internet, Network, Streams
from proctor.doors.relay import Near, Relay
from proctor.text import safe_line

logger = logging.getLogger(__name__)

NO_PROXY: Final = "127.0.0.1,localhost,::1"
_REQUEST: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) (HTTP/1\.[01])")
_TARGET: Final = re.compile(r"http://([^/?#]*)([/?][^#]*)?", re.IGNORECASE)


def environment(proxy: str) -> dict[str, str]:
    """The variables by which programs find the door at that `host:port`, and leave alone what is local."""
    told = {"http_proxy": f"http://{proxy}", "https_proxy": f"http://{proxy}", "no_proxy": NO_PROXY}
    return {**told, **{name.upper(): value for name, value in told.items()}, "NODE_USE_ENV_PROXY": "1"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Counts, and times in seconds."""

    connections: int = 128
    questions: int = 16
    """Hosts that are asked for at the same time."""
    unawaited: int = 16
    """Questions that were withdrawn, from which on there is one every `again` seconds: each calls the operator."""
    attempts: int = 8
    """Addresses of one name that are tried."""
    lines: int = 60
    """What is logged within a minute."""
    head: float = 20
    look_up: float = 10
    connect: float = 5
    idle: float = 900
    half_closed: float = 60
    again: float = 60


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted. `path` is None for a tunnel, `length` for a body in chunks."""

    head: wire.Head
    method: str
    version: str
    host: str
    port: int
    path: str | None
    length: int | None

    @property
    def place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def expects(self) -> bool:
        """Whether the body is sent only after it was asked for."""
        return bool(self.head.all("expect"))

    def passed_on(self) -> bytes:
        """The head as the host gets it."""
        fields = [("Host", self.place.removesuffix(":80"))]
        fields += (f for f in self.head.end_to_end() if f[0].lower() not in {"host", "expect"})
        if self.length is None:
            fields.append(("Transfer-Encoding", "chunked"))
        elif self.head.all("content-length"):
            fields.append(("Content-Length", str(self.length)))
        return wire.write_head(f"{self.method} {self.path} {self.version}", [*fields, ("Connection", "close")])


def understand(head: wire.Head) -> Request:
    """The request in the one form that decisions are made on; Malformed says what is wrong with it."""
    match = _REQUEST.fullmatch(head.first)
    if not match:
        raise wire.Malformed("the first line is not well formed")
    method, target, version = match.groups()
    given = head.all("host")
    if len(given) > 1 or (not given and version == "HTTP/1.1"):
        raise wire.Malformed("there must be one Host")
    if head.all("upgrade") or head.all("http2-settings"):
        raise wire.Malformed("no other protocol is spoken here", HTTPStatus.NOT_IMPLEMENTED)
    if any(value.lower() != "100-continue" for value in head.all("expect")):
        raise wire.Malformed("nothing but 100-continue can be expected", HTTPStatus.EXPECTATION_FAILED)
    length = head.length()
    if method == "CONNECT":
        if length != 0:
            raise wire.Malformed("CONNECT has no body")
        host, port = _authority(target)
        if port is None:
            raise wire.Malformed("CONNECT needs a port")
        return Request(head, method, version, host, port, None, 0)
    absolute = _TARGET.fullmatch(target)
    if not absolute:
        raise wire.Malformed("only http:// addresses are fetched, and tunnels made by CONNECT")
    if method == "TRACE" or (length is None and version == "HTTP/1.0"):
        raise wire.Malformed(f"{method} is not passed on like this")
    host, port = _authority(absolute[1])
    path = absolute[2] or "/"
    return Request(head, method, version, host, port or 80, path if path[0] == "/" else f"/{path}", length)


def _authority(text: str) -> tuple[str, int | None]:
    try:
        return names.authority(text)
    except ValueError:
        raise wire.Malformed("the host is not written as a plain name or address") from None


class Refused(Exception):
    """A request that is understood and does not pass; the status and the reason are the answer to it."""

    def __init__(self, reason: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True)
class _Question:
    answer: asyncio.Future[bool]
    waiting: int = 0


class HostDoor:
    """Serves one worker, on one event loop. What a host sends goes to the connection that asked for it."""

    def __init__(self, steward: Steward, network: Network | None = None, bounds: Bounds | None = None) -> None:
        self._steward = steward
        self._network = network or Internet()
        self._bounds = bounds or Bounds()
        self._serving: set[asyncio.Task[None]] = set()
        self._questions: dict[tuple[str, int], _Question] = {}
        self._unawaited = 0
        self._again = 0.0
        self._minute = 0
        self._lines = 0

    def accept(self, transport: asyncio.Transport, seen: bytes) -> None:
        """Takes a connection over, with what has been read from it."""
        if len(self._serving) >= self._bounds.connections:
            transport.abort()
            return
        near = Near(asyncio.StreamReader(READ_AHEAD))
        transport.set_protocol(near)
        near.connection_made(transport)
        near.data_received(seen)
        task = asyncio.create_task(self._serve(near))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def stop(self) -> None:
        """Ends every connection."""
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, near: Near) -> None:
        what = "a request"
        try:
            request = await self._read(near)
            what = f"{request.method} {request.place}"
            await self._permit(request, near)
            await self._stand_still(near)
            far = await self._reach(request)
            self._log(f"{what}: passed")
            try:
                await self._carry(request, near, far)
            finally:
                far[1].transport.abort()
        except (Refused, wire.Malformed) as refusal:
            self._log(f"{what}: refused: {refusal}")
            await _refuse(near, refusal.status, str(refusal))
        except (OSError, EOFError) as error:
            self._log(f"{what}: broke off: {type(error).__name__}")
        except Exception:
            logger.exception("a request for a host failed")
        finally:
            near.writer.transport.abort()

    async def _read(self, near: Near) -> Request:
        try:
            async with asyncio.timeout(self._bounds.head):
                return understand(await wire.read_head(near.reader))
        except TimeoutError:
            raise wire.Malformed("the headers did not come in time", HTTPStatus.REQUEST_TIMEOUT) from None

    async def _permit(self, request: Request, near: Near) -> None:
        """Returns if the request may go; Refused. Nothing is looked up before, for a name can carry a message."""
        where = (request.host, request.port)
        try:
            granted = names.granted(self._steward.rules().hosts, *where)
        except Exception as error:
            self._log(f"the rules cannot be read: {type(error).__name__}")
            raise Refused("what is granted cannot be told now") from None
        if not granted and not await self._ask(where, near):
            raise Refused(f"{request.place} is not granted: sandbox.hosts does not have it")

    async def _ask(self, where: tuple[str, int], near: Near) -> bool:
        """The steward's answer; one question a host, withdrawn when all who wait for it have hung up."""
        host = where[0]
        if names.is_address(host) or "." not in host:
            return False
        question = self._questions.get(where)
        if question is None:
            if len(self._questions) >= self._bounds.questions:
                raise Refused("too many hosts are being asked for", HTTPStatus.SERVICE_UNAVAILABLE)
            if self._unawaited >= self._bounds.unawaited and asyncio.get_running_loop().time() < self._again:
                raise Refused("too many hosts were asked for and not waited for", HTTPStatus.SERVICE_UNAVAILABLE)
            question = _Question(asyncio.ensure_future(self._steward.asks_host(*where)))
            self._questions[where] = question
        question.waiting += 1
        try:
            await near.outlasting(question.answer)
            if question.answer.cancelled() or question.answer.exception():
                raise Refused("what is granted cannot be told now")
            return question.answer.result() is True
        finally:
            question.waiting -= 1
            if not question.waiting:
                if question.answer.cancel():
                    self._unawaited += 1
                    self._again = asyncio.get_running_loop().time() + self._bounds.again
                del self._questions[where]

    async def _stand_still(self, near: Near) -> None:
        """Nothing goes out while the session is paused or waits for an answer."""
        while self._steward.held() is not None:
            changed = asyncio.ensure_future(self._steward.settled())
            try:
                await near.outlasting(changed)
            finally:
                changed.cancel()

    async def _reach(self, request: Request) -> Streams:
        """A connection to the host; Refused."""
        found = [request.host]
        if not names.is_address(request.host):
            try:
                async with asyncio.timeout(self._bounds.look_up):
                    found = await self._network.addresses(request.host)
            except OSError:
                raise Refused(f"{request.host} could not be looked up", HTTPStatus.BAD_GATEWAY) from None
        if not found or not all(addresses.public(one) and not addresses.own(one) for one in found):
            raise Refused(f"{request.host} is not a host on the public internet")
        for address in found[: self._bounds.attempts]:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(self._bounds.connect):
                    return await self._network.connect(address, request.port)
        raise Refused(f"{request.place} does not answer", HTTPStatus.BAD_GATEWAY)

    async def _carry(self, request: Request, near: Near, far: Streams) -> None:
        relay = Relay(near, far, idle=self._bounds.idle, half_closed=self._bounds.half_closed)
        if request.path is None:
            await relay.tunnel()
        else:
            if request.expects:
                near.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            try:
                await relay.exchange(request.passed_on(), request.length, request.method, request.version)
            except (wire.Malformed, EOFError) as error:
                if relay.begun:
                    raise ConnectionAbortedError from error
                if isinstance(error, EOFError):
                    raise Refused("the host hung up", HTTPStatus.BAD_GATEWAY) from None
                raise
        await near.finish()

    def _log(self, line: str) -> None:
        minute = int(asyncio.get_running_loop().time() // 60)
        if minute != self._minute:
            left_out = self._lines - self._bounds.lines
            self._minute, self._lines = minute, 0
            if left_out > 0:
                self._steward.log(f"host door: {left_out} more requests were not written down")
        self._lines += 1
        if self._lines <= self._bounds.lines:
            self._steward.log(safe_line(f"host door: {line}", 300))


async def _refuse(near: Near, status: HTTPStatus, reason: str) -> None:
    text = f"proctor: {reason}\n".encode()
    head = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(text))), ("Connection", "close")]
    near.writer.write(wire.write_head(f"HTTP/1.1 {status.value} {status.phrase}", head) + text)
    await near.finish()
