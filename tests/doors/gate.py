"""A gateway between a client on its socket, a steward that keeps all it is told, and a provider that does as it is
scripted."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, UnixConnector, web

from harness import PATIENCE
from proctor.doors import door
from proctor.doors.gateway.port import Admitted, Denied, Rules, Upstream, Wanted
from proctor.doors.gateway.server import Gateway
from proctor.journal.events import ModelCall

KEY = "sk-the-real-key-0123456789"
SSE = {"Content-Type": "text/event-stream"}
Reply = Callable[[web.BaseRequest, bytes], Awaitable[web.StreamResponse]]


class Owner:
    """A steward. `admission` decides, `hold` says why calls wait, and `row` is set with each settled call."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.current = rules or Rules()
        self.admission: Callable[[Wanted], Admitted | Denied] = lambda wanted: Admitted()
        self.hold: str | None = None
        self.changed = asyncio.Event()
        self.wanted: list[Wanted] = []
        self.calls: list[ModelCall] = []
        self.row = asyncio.Event()
        self.settling: Callable[[ModelCall], Awaitable[None]] | None = None
        self.limits: list[tuple[str, str, float | None] | str] = []
        self.held_calls: list[int] = []
        self.said: list[str] = []
        self.heard = asyncio.Event()

    def rules(self) -> Rules:
        return self.current

    def held(self) -> str | None:
        return self.hold

    async def settled(self) -> None:
        self.changed.clear()
        await self.changed.wait()

    def release(self) -> None:
        self.hold = None
        self.changed.set()

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        self.wanted.append(wanted)
        return self.admission(wanted)

    async def settle(self, call: ModelCall) -> None:
        if self.settling:
            await self.settling(call)
        self.calls.append(call)
        self.row.set()

    def limited(self, upstream: str, why: str, until: float | None) -> None:
        self.limits.append((upstream, why, until))
        self.heard.set()

    def unlimited(self, upstream: str) -> None:
        self.limits.append(upstream)

    def holding(self, calls: int, since: float) -> None:
        self.held_calls.append(calls)
        self.heard.set()

    async def asks_host(self, host: str, port: int) -> bool:
        return False

    def log(self, text: str) -> None:
        self.said.append(text)

    log_once = log


@dataclass
class Provider:
    """A provider on loopback. Each request takes the next of `replies`, or else the last one again."""

    replies: list[Reply] = field(default_factory=list)
    port: int = 0
    seen: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(request)
        self.bodies.append(body)
        self.asked.set()
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request, body)

    def upstream(self, name: str = "main", **given: Any) -> Upstream:
        return replace(Upstream(name, f"http://127.0.0.1:{self.port}", KEY), **given)


@dataclass
class Gate:
    gateway: Gateway
    owner: Owner
    provider: Provider
    client: ClientSession
    socket: Path

    async def post(self, body: Any, path: str = "/v1/messages", **more: Any) -> tuple[int, bytes]:
        async with self.client.post(path, json=body, **more) as answer:
            return answer.status, await answer.read()

    async def rows(self, count: int) -> list[ModelCall]:
        """The settled calls, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while len(self.owner.calls) < count:
                self.owner.row.clear()
                await self.owner.row.wait()
        return self.owner.calls


@contextlib.asynccontextmanager
async def gate(folder: Path, *replies: Reply, record_to: Path | None = None, **rules: Any) -> AsyncIterator[Gate]:
    provider = Provider(list(replies))
    runner = web.ServerRunner(web.Server(provider.answer, access_log=None), shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.port = runner.addresses[0][1]
    owner = Owner(Rules(**{"upstreams": (provider.upstream(),), **rules}))
    made = door.make(folder)
    gateway = Gateway(owner, iteration=7, task="t1", record_to=record_to)
    await gateway.start(made.folder, None)
    socket = made.folder / door.SOCKET
    client = ClientSession("http://gateway", connector=UnixConnector(str(socket)), auto_decompress=False)
    try:
        yield Gate(gateway, owner, provider, client, socket)
    finally:
        await client.close()
        await gateway.stop()
        await gateway.stop()
        await runner.cleanup()
        made.remove()


# --- what providers say ---------------------------------------------------------------------------


def messages(text: str = "hi", **more: Any) -> dict[str, Any]:
    """A request in Anthropic's language."""
    return {"model": "m-1", "max_tokens": 100, "messages": [{"role": "user", "content": text}], **more}


def message(text: str = "hello", answer_id: str = "msg_1", **usage: int) -> dict[str, Any]:
    """An answer to it."""
    used = {"input_tokens": 11, "output_tokens": 7, **usage}
    content = [{"type": "text", "text": text}]
    return {"id": answer_id, "type": "message", "role": "assistant", "model": "m-1", "content": content, "usage": used}


def event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def stream(text: str = "hello", answer_id: str = "msg_1", tool: str | None = None) -> list[bytes]:
    """The events of an answer that streams, the one that ends it last."""
    begun = {"id": answer_id, "model": "m-1", "usage": {"input_tokens": 11, "output_tokens": 1}}
    block = {"type": "tool_use", "id": "t", "name": tool} if tool else {"type": "text", "text": ""}
    return [
        event("message_start", message=begun),
        event("content_block_start", index=0, content_block=block),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
        event("message_stop"),
    ]


def says(body: Any, status: int = 200, **headers: str) -> Reply:
    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        if isinstance(body, bytes):
            return web.Response(body=body, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    return reply


def streams(
    pieces: Iterable[bytes], *, after: dict[int, asyncio.Event] | None = None, cut: bool = False, **headers: str
) -> Reply:
    """The pieces one by one; `after` holds back those with an index until its event. `cut`: then the line breaks."""

    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={**SSE, **headers})
        await response.prepare(request)
        for index, piece in enumerate(pieces):
            if after and index in after:
                await after[index].wait()
            await response.write(piece)
        if cut:
            assert request.transport
            request.transport.abort()
        return response

    return reply
