"""An internet on loopback for the host door: names with addresses, hosts behind them, and an owner who decides."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from harness import PATIENCE
from proctor.doors import door
from proctor.doors.front import Front
from proctor.doors.gateway.port import Admitted, Denied, Rules, Wanted
from proctor.doors.hosts import Bounds, HostDoor
from proctor.doors.network import Streams
from proctor.journal.events import ModelCall

HERE = "93.184.216.34"
Host = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class World:
    """The network that the host door sees. What has no place in it cannot be reached."""

    names: dict[str, list[str]] = field(default_factory=dict)
    ports: dict[tuple[str, int], int] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    """What the hosts of `answering` got."""

    async def addresses(self, name: str) -> list[str]:
        self.looked_up.append(name)
        try:
            return self.names[name]
        except KeyError:
            raise OSError("no such name") from None

    async def connect(self, address: str, port: int) -> Streams:
        self.connected.append((address, port))
        try:
            return await asyncio.open_connection("127.0.0.1", self.ports[address, port])
        except KeyError:
            raise ConnectionRefusedError from None

    @contextlib.asynccontextmanager
    async def host(self, serve: Host, name: str, port: int, address: str = HERE) -> AsyncIterator[None]:
        async def then_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, EOFError):
                await serve(reader, writer)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(then_close, "127.0.0.1", 0)
        self.names.setdefault(name, [address])
        self.ports[address, port] = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    def answering(self, answer: bytes) -> Host:
        """A host that keeps the head of a request, answers, and hangs up when the other side does."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await reader.read()

        return serve


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()


@dataclass
class Owner:
    """A Steward that lets every call go and grants the hosts that it has, or is told to grant when asked."""

    hosts: tuple[str, ...] = ()
    grants: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)
    withdrawn: list[tuple[str, int]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    answer: asyncio.Event | None = None
    broken: Exception | None = None
    held_by: str | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    more: dict[str, object] = field(default_factory=dict)
    """Of the rules, beside the hosts."""

    def rules(self) -> Rules:
        if self.broken:
            raise self.broken
        return Rules(hosts=self.hosts, **self.more)  # type: ignore[arg-type]

    async def asks_host(self, host: str, port: int) -> bool:
        self.asked.append((host, port))
        try:
            if self.answer:
                await self.answer.wait()
        except asyncio.CancelledError:
            self.withdrawn.append((host, port))
            raise
        return self.grants

    def held(self) -> str | None:
        return self.held_by

    async def settled(self) -> None:
        await self.changed.wait()
        self.changed.clear()

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        return Admitted()

    async def settle(self, call: ModelCall) -> None: ...

    def limited(self, upstream: str, why: str, until: float | None) -> None: ...

    def unlimited(self, upstream: str) -> None: ...

    def holding(self, calls: int, since: float) -> None: ...

    def log(self, text: str) -> None:
        self.said.append(text)

    log_once = log


@dataclass
class Street:
    """A worker's socket with the front behind it; the gateway answers every request with `gateway`."""

    socket: Path
    world: World
    owner: Owner
    front: Front
    hosts: HostDoor

    async def connect(self) -> Streams:
        return await asyncio.open_unix_connection(str(self.socket))

    async def say(self, *parts: bytes, end: bool = False) -> bytes:
        """Everything that comes back on a connection of its own."""
        reader, writer = await self.connect()
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            if end:
                writer.write_eof()
            return await asyncio.wait_for(reader.read(), PATIENCE)
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def street(folder: Path, owner: Owner, world: World, bounds: Bounds | None = None) -> AsyncIterator[Street]:
    async def gateway(request: web.BaseRequest) -> web.Response:
        return web.Response(text="gateway")

    made = door.make(folder)
    behind = web.Server(gateway)
    hosts = HostDoor(owner, world, bounds)
    front = Front(behind, hosts)
    server = await asyncio.get_running_loop().create_unix_server(front, sock=door.listen(made.folder))
    try:
        yield Street(made.folder / door.SOCKET, world, owner, front, hosts)
    finally:
        server.close()
        await hosts.stop()
        await behind.shutdown(1)
        front.stop()
        made.remove()


async def until(condition: Callable[[], object]) -> None:
    """Waits, giving way to everything else each time, until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
