"""The gateway: a worker's only way to a model, and where the key is.

Requests come from the worker's own sockets. Those for a model are admitted, metered and settled with the `Steward`;
answers stream back as they come. Which worker asks is known by the socket, not by anything it says.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

from proctor.doors import door
from proctor.doors.front import Front
from proctor.doors.gateway import providers, upstream
from proctor.doors.gateway.answer import Answer, plain, waiting
from proctor.doors.gateway.ask import Outgoing
from proctor.doors.gateway.call import FAILED_STATUS, Call, House
from proctor.doors.gateway.hold import Hold
from proctor.doors.gateway.keys import Mask
from proctor.doors.gateway.meter import Meter
from proctor.doors.gateway.passing import Passing
from proctor.doors.gateway.port import Rules, Steward
from proctor.doors.gateway.providers import paths
from proctor.doors.gateway.providers.base import Asked, Provider, Refusal
from proctor.doors.gateway.providers.body import marks
from proctor.doors.gateway.record import Recorder
from proctor.doors.hosts import HostDoor
from proctor.journal.events import TaskId
from proctor.text import safe_line
from proctor.words import Api

logger = logging.getLogger(__name__)

LONGEST_LINE: Final = 1 << 16
MOST_BODY: Final = 64 * 1024 * 1024
"""Bytes of one request; a clear refusal beyond."""
MOST_BODIES: Final = 256 * 1024 * 1024
"""Bytes of all requests that are being read or under way."""
BIG: Final = 64 * 1024
WEIGHT: Final = 200
"""Bytes that a value in a body of more than `BIG` may take once it is read."""
MOST_CONNECTIONS: Final = 128
MOST_CALLS: Final = 2 * MOST_CONNECTIONS
"""Requests under way, those among them whose worker has hung up and whose answer is read on."""
MOST_HEAD: Final = 1 << 20
"""Bytes of a request before its headers are whole."""
SWEEP: Final = 30.0
MOST_IDLE: Final = 10
"""Sweeps in which nothing more came of a request that had begun, before its connection is closed. While calls are held
the worker may be frozen, and none counts."""
STOP_WAIT: Final = 5.0
"""Seconds that calls have to be settled in when a gateway stops."""
SHUT_WAIT: Final = 0.1
"""Seconds for what serves a connection that is closed already."""
TIMEOUT: Final = ClientTimeout(total=None, sock_connect=30, sock_read=900)
"""Seconds. A model may think long between two bytes."""


class Connection(web.RequestHandler):
    """A worker's connection, which says when it is gone."""

    def __init__(self, server: Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            auto_decompress=False,
        )
        self._server = server
        self.call: Call | Passing | None = None
        self._head = 0
        self.partial = False
        """Whether a request has begun to come and is not whole."""
        self.idle = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.make_room()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.call is not None:
            self.call.left()

    def data_received(self, data: bytes) -> None:
        self.idle = 0
        self.partial = self.partial or self.call is None
        super().data_received(data)
        still_waiting = self._waiter is not None and not self._waiter.done()
        self._head = self._head + len(data) if still_waiting else 0
        if self._head > MOST_HEAD:
            self.force_close()


class Server(web.Server):
    """Makes the connections: the protocol factory of every listening socket."""

    def __call__(self) -> Connection:
        return Connection(self)

    @property
    def all(self) -> list[Connection]:
        """The open ones, oldest first."""
        return [one for one in self.connections if isinstance(one, Connection) and one.transport is not None]

    def make_room(self) -> None:
        """No more than so many: the oldest without a call goes, else the newest."""
        connections = self.all
        if len(connections) > MOST_CONNECTIONS:
            next((one for one in connections if one.call is None), connections[-1]).force_close()

    def sweep(self) -> None:
        for one in self.all:
            if one.call is None and one.partial:
                one.idle += 1
                if one.idle > MOST_IDLE:
                    one.force_close()


class Gateway:
    """Serves one worker, on one event loop. No request ever raises into its caller.

    Requests for models go to the providers, those for other hosts to the host door. Bodies are kept in the folder
    `record_to` while the rules say so. `server` makes the protocol of a connection that the gateway serves.
    """

    server: Server

    def __init__(self, steward: Steward, *, iteration: int, task: TaskId | None, record_to: Path | None = None) -> None:
        self._steward = steward
        self._iteration = iteration
        self._task = task
        self._record_to = record_to
        self._house: House | None = None
        self._listening: list[asyncio.AbstractServer] = []
        self._calls: set[Call | Passing] = set()
        self._fewer = asyncio.Event()
        self._bodies = 0
        self._sweeping: asyncio.TimerHandle | None = None

    async def start(self, folder: Path, listener: socket.socket | None) -> None:
        """Serves the socket in the door folder and, if there is one, the listener on the sandbox's own loopback."""
        connector = TCPConnector(limit=0, ttl_dns_cache=60)
        session = ClientSession(
            timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar(), connector=connector
        )
        recorder = Recorder(self._record_to) if self._record_to else None
        hold = Hold(self._steward)
        self._house = House(self._steward, session, Meter(), hold, self._iteration, self._task, recorder)
        self._house.meter.warm()
        self.server = Server(self._answer)
        self._hosts = HostDoor(self._steward)
        self._front = Front(self.server, self._hosts)
        self._sweep()
        loop = asyncio.get_running_loop()
        self._listening.append(await loop.create_unix_server(self._front, sock=door.listen(folder)))
        if listener is not None:
            await self.listen(listener)

    async def listen(self, listener: socket.socket) -> None:
        """Serves one more socket, by a copy of it; those who connected before are answered now."""
        loop = asyncio.get_running_loop()
        self._listening.append(await loop.create_server(self._front, sock=listener.dup()))

    @property
    def in_flight(self) -> int:
        """Calls that were admitted and are not settled."""
        return sum(call.in_flight for call in self._calls)

    async def drained(self) -> None:
        """Returns when no call is in flight."""
        while self.in_flight:
            await self._wait_for_fewer()

    async def stop(self) -> None:
        """Ends every request, settles what is in flight for what was seen of it, and closes the sockets. Does nothing
        the second time."""
        house, self._house = self._house, None
        if house is None:
            return
        if self._sweeping:
            self._sweeping.cancel()
        for listening in self._listening:
            listening.close()
        for call in self._calls:
            call.give_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_WAIT):
                while self._calls:
                    await self._wait_for_fewer()
        for connection in self.server.all:
            connection.force_close()
        await self.server.shutdown(SHUT_WAIT)
        await self._hosts.stop()
        self._front.stop()
        await house.session.close()
        house.meter.close()
        if house.recorder:
            await asyncio.to_thread(house.recorder.close)

    async def _wait_for_fewer(self) -> None:
        self._fewer.clear()
        await self._fewer.wait()

    def _sweep(self) -> None:
        if self._steward.held() is None:
            self.server.sweep()
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP, self._sweep)

    # --- requests -----------------------------------------------------------------------------

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = Answer(request, lambda: waiting(self.server.all))
        connection = request.protocol
        assert isinstance(connection, Connection)
        try:
            await self._serve(request, connection, answer)
        except ConnectionError:
            answer.abort()  # it went away with half a request
        except Exception:
            logger.exception("a request failed")
            await answer.say(plain(500, "the gateway itself failed: its log says how"))
        return answer.response()

    async def _serve(self, request: web.BaseRequest, connection: Connection, answer: Answer) -> None:
        if why := upstream.improper(request.method, request.raw_path, request.headers):
            answer.last = True
            await answer.say(plain(400, why))
            return
        taken = 0
        try:
            if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
                request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            pieces = []
            async for piece in request.content.iter_any():
                taken += len(piece)
                self._bodies += len(piece)
                if taken > MOST_BODY or self._bodies > MOST_BODIES:
                    raise _TooLarge
                pieces.append(piece)
            connection.partial = False
            raw = b"".join(pieces)
            del pieces
            if len(raw) > BIG:
                values = len(raw) // 2 * WEIGHT
                if self._bodies + values > MOST_BODIES // 2:  # only then is it worth the time to count them
                    values = marks(raw) * WEIGHT
                taken += values
                self._bodies += values
                if self._bodies > MOST_BODIES:
                    raise _TooLarge
            await self._route(_Came(request.method, request.raw_path, request.headers, raw, connection, answer))
        except _TooLarge:
            answer.last = True
            await answer.say(plain(413, f"a request may have {MOST_BODY >> 20} MB, and {MOST_BODIES >> 20} MB in all"))
        except web.RequestPayloadError as error:
            answer.last = True
            await answer.say(plain(400, safe_line(f"the body cannot be read: {error}", 200)))
        finally:
            self._bodies -= taken

    async def _route(self, came: _Came) -> None:
        """To the provider whose language it speaks, metered; or, by the rules, past it."""
        house = self._house
        if house is None or came.answer.gone:
            came.answer.abort()
            return
        if len(self._calls) >= MOST_CALLS:
            await came.answer.say(plain(400, f"more than {MOST_CALLS} requests are under way"))
            return
        rules = self._steward.rules()
        came.answer.mask = Mask(one.key for one in rules.upstreams)
        try:
            found = providers.of(came.method, came.path, came.headers, came.raw)
        except ValueError as error:
            await came.answer.say(plain(400, safe_line(str(error), 300)))
            return
        if found is None or found[1].api is Api.COUNT_TOKENS:
            await self._pass_on(house, came, rules, found)
            return
        provider, asked = found
        chosen = upstream.choose(rules.upstreams, provider.family)
        if chosen is None:
            await came.answer.say(_failure(provider, asked, _nowhere(provider.family)), asked.api)
            return
        call = Call(house, provider, asked, chosen, came.answer, record=rules.record)
        with self._under_way(came.connection, call):
            await call.run(came.headers)

    async def _pass_on(self, house: House, came: _Came, rules: Rules, found: tuple[Provider, Asked] | None) -> None:
        """What is no call of a model: counting tokens, which costs nothing, and unknown paths by the rules."""
        asks_models = rules.model_lists and paths.asks_models(came.method, came.path)
        if found is None and not (rules.unknown_paths or asks_models):
            why = "this path is no call of a model, and gateway.unknown_paths refuses others"
            await came.answer.say(plain(404, why))
            return

        def failure(why: str) -> Refusal:
            return _failure(*found, why) if found else plain(502, why)

        family = found[0].family if found else upstream.family_of(came.path, came.headers)
        chosen = upstream.choose(rules.upstreams, family) or (None if found else next(iter(rules.upstreams), None))
        if chosen is None:
            await came.answer.say(failure(_nowhere(family)))
            return
        if found is None and not asks_models:
            bare = safe_line(came.path.partition("?")[0], 100)
            house.log_once(f"passed on, and not counted: {came.method} {bare}", house.steward.log_once)
        headers = upstream.asking(came.headers, chosen, family)
        outgoing = Outgoing(came.method, upstream.address(chosen, came.path), headers, came.raw, chosen.proxy)
        passing = Passing(house.session, house.hold, came.answer, chosen, failure)
        with self._under_way(came.connection, passing):
            await passing.run(outgoing)

    @contextlib.contextmanager
    def _under_way(self, connection: Connection, call: Call | Passing) -> Iterator[None]:
        connection.call = call
        self._calls.add(call)
        try:
            yield
        finally:
            connection.call = None
            self._calls.discard(call)
            self._fewer.set()


class _TooLarge(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Came:
    """A request with all of its body, and where it came from."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    connection: Connection
    answer: Answer


def _failure(provider: Provider, asked: Asked, why: str) -> Refusal:
    said = provider.failure(asked, FAILED_STATUS.get(provider.family, 400), why)
    return Refusal(said.status, said.body, {**said.headers, "x-should-retry": "false"})


def _nowhere(family: str) -> str:
    return f"no model is reachable: gateway.upstream in proctor.yaml names none that speaks {family}"
