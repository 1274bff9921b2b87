"""The scripted model server: a thread with a loop of its own, or a process (`python -m models`)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any

from aiohttp import web

from models import asked, chat, gemini, messages, responses, sides, tools, truth
from models.script import Cut, ErrorEvent, Fault, Refuse, Script, Slow, Stall, Tokens, Turn, View, steps
from models.truth import Served
from models.wire import Answer, Piece, joined, place, share

APIS: dict[str, ModuleType] = {"messages": messages, "responses": responses, "chat": chat, "gemini": gemini}
IDS = {"messages": "msg_", "responses": "resp_", "chat": "chatcmpl-", "gemini": "gem-"}
CALL_IDS = {"messages": "toolu_", "responses": "call_", "chat": "call_", "gemini": "call_"}
LARGEST = 1 << 26
ENOUGH = 300
"""Tries of one and the same request after which a client is taken for one that never stops."""


class Models:
    """Serves a script on `port`, any free one by default, and keeps `rows`, the truth of every request.

    `root` is the workspace as the clients know it. Every public method may be called from any thread.
    """

    def __init__(self, script: Script | None = None, *, root: str = "/workspace", port: int = 0) -> None:
        self.script = script or steps()
        self.root = root
        self.port = port
        self.rows: list[Served] = []
        self.bodies: list[bytes] = []
        self.failures: list[str] = []
        self._tries: Counter[str] = Counter()
        self._gates: dict[str, asyncio.Event] = {}
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Models:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._over is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def release(self, gate: str) -> None:
        """Let those go on that stall at this gate, now and later."""
        self._loop.call_soon_threadsafe(lambda: self._gate(gate).set())

    def wait(self, condition: Callable[[Sequence[Served]], Any], seconds: float = 60) -> Any:
        """The first true value of a condition on the rows; fails when it does not come."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not (value := condition(self.rows)):
                left = deadline - time.monotonic()
                assert left > 0, f"did not come within {seconds:.0f} s; served: {self.rows[-5:]}"
                self._changed.wait(left)
        return value

    def calls(self) -> list[Served]:
        """The script's own calls, without titles and the like."""
        return [row for row in self.rows if not row.side]

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = web.Server(self._answer, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=512).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path
        if path.startswith("/_script/"):
            return await self._control(request)
        api = asked.path_api(path)
        if api is None:
            found = sides.listed(path)
            return web.json_response(found or {"error": {"message": "no such path"}}, status=200 if found else 404)
        request._client_max_size = LARGEST
        raw = await request.read()
        try:
            view = asked.view(api, path, {k.lower(): v for k, v in request.headers.items()}, raw)
        except (ValueError, KeyError, TypeError) as error:
            self.failures.append(f"{path}: {error!r}")
            return web.json_response({"error": {"message": f"not understood: {error!r}"}}, status=400)
        if api == "count_tokens":
            return web.json_response({"input_tokens": len(raw) // 4})
        return await self._serve_call(request, view)

    async def _serve_call(self, request: web.BaseRequest, view: View) -> web.StreamResponse:
        aside = sides.side(view)
        what = f"{view.api}|{view.model}|{view.agent}|{view.prompt}|{view.nth}|{view.heard}"
        key = hashlib.sha256((what + (aside[0] if aside else "")).encode()).hexdigest()
        row = Served(
            number=len(self.rows) + 1,
            api=view.api,
            model=view.model,
            path=view.path,
            stream=view.stream,
            digest=hashlib.sha256(view.raw).hexdigest(),
            tries=self._tries[key],
            agent=view.agent,
            side=aside[0] if aside else "",
            request=f"req_{len(self.rows) + 1:06}",
        )
        self._tries[key] += 1
        self.rows.append(row)
        self.bodies.append(view.raw)
        try:
            assert row.tries < ENOUGH, "a client that never stops"
            turn = aside[1] if aside else self.script(view)
            answer = self._made(turn, view, row)
        except Exception as error:
            self.failures.append(f"{view.path}: {error!r}")
            row.status = 500
            self._notify()
            raise
        fault = turn.faults[row.tries] if row.tries < len(turn.faults) else None
        row.fault = repr(fault) if fault else ""
        self._notify()
        try:
            return await self._deliver(request, answer, fault, row)
        finally:
            self._notify()

    def _made(self, turn: Turn, view: View, row: Served) -> Answer:
        text, calls = tools.translated(turn.say, turn.do, view, self.root)
        seen = len(text) + len(turn.think) + sum(len(str(call.arguments)) for call in calls)
        tokens = turn.tokens or Tokens(len(view.raw) // 4, seen // 4 + 1, reasoning=len(turn.think) // 4)
        row.tokens, row.tools = tokens, tuple(call.name for call in calls)
        row.message = turn.id or f"{IDS[view.api]}{row.number:06}"
        ids = [f"{CALL_IDS[view.api]}{row.message[-12:]}_{index}" for index in range(len(calls))]
        named = tuple(zip(ids, calls, strict=True))
        return Answer(row.message, view.model, text, turn.think, named, tokens, turn.usage, view)

    async def _deliver(
        self, request: web.BaseRequest, answer: Answer, fault: Fault | None, row: Served
    ) -> web.StreamResponse:
        api = APIS[row.api]
        if isinstance(fault, Stall) and fault.where == "headers":
            await self._gate(fault.gate).wait()
        if isinstance(fault, Cut) and fault.where == "headers":
            row.tokens, row.tools = Tokens(), ()
            assert request.transport
            request.transport.abort()
            return web.Response()
        headers = {"x-request-id": row.request, "request-id": row.request}
        if isinstance(fault, Refuse):
            row.tokens, row.tools, row.status = Tokens(), (), fault.status
            body, more = api.error(fault, row.request)
            if fault.retry_after is not None:
                more = {**more, "Retry-After": fault.retry_after}
            return web.json_response(body, status=fault.status, headers={**headers, **more})
        row.status = 200
        if not row.stream:
            return await self._deliver_whole(request, answer, fault, row, headers)
        response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        await self._deliver_stream(request, response, api, answer, fault, row)
        return response

    async def _deliver_whole(
        self, request: web.BaseRequest, answer: Answer, fault: Fault | None, row: Served, headers: dict[str, str]
    ) -> web.StreamResponse:
        body = json.dumps(APIS[row.api].whole(answer)).encode()
        response = web.StreamResponse(headers={**headers, "Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request)
        if isinstance(fault, Cut | Stall):
            await response.write(body[: len(body) // 2])
            if isinstance(fault, Cut):
                assert request.transport
                request.transport.abort()
                return response
            await self._gate(fault.gate).wait()
            body = body[len(body) // 2 :]
        await self._finish(response, body, answer, row)
        return response

    async def _deliver_stream(
        self,
        request: web.BaseRequest,
        response: web.StreamResponse,
        api: ModuleType,
        answer: Answer,
        fault: Fault | None,
        row: Served,
    ) -> None:
        pieces: list[Piece] = api.stream(answer)
        here = place(pieces, fault.where) if isinstance(fault, Cut | ErrorEvent | Stall) else len(pieces)
        if isinstance(fault, Slow):
            data = joined(pieces[:-1])
            for at in range(0, len(data), fault.size):
                await response.write(data[at : at + fault.size])
                await asyncio.sleep(fault.pause)
        else:
            for piece in pieces[: min(here, len(pieces) - 1)]:
                await response.write(piece.data)
        if isinstance(fault, Stall):
            await self._gate(fault.gate).wait()
            await response.write(joined(pieces[here:-1]))
        elif isinstance(fault, Cut | ErrorEvent):
            made, all_made = share(pieces, here)
            row.tokens = _cut_short(row.tokens, made, all_made)
            if isinstance(fault, ErrorEvent):
                await response.write(api.failed(fault.kind, answer.id).data)
                await response.write_eof()
            else:
                assert request.transport
                await asyncio.sleep(0)  # what was written leaves before the connection goes
                request.transport.abort()
            return
        await self._finish(response, pieces[-1].data, answer, row)

    async def _finish(self, response: web.StreamResponse, data: bytes, answer: Answer, row: Served) -> None:
        """The last bytes. The row says so first: whoever has them may look at it."""
        asked_for = row.api != "chat" or not row.stream or chat.asks_usage(answer.view.body)
        row.whole, row.told = True, answer.usage != "none" and asked_for
        try:
            await response.write(data)
        except ConnectionError:
            row.whole = row.told = False
            raise
        await response.write_eof()

    async def _control(self, request: web.BaseRequest) -> web.StreamResponse:
        """For a server in a process of its own: its rows, and its gates."""
        if request.path == "/_script/ledger":
            return web.json_response(ledger(self))
        self._gate(request.query["gate"]).set()
        return web.json_response({})


def _cut_short(tokens: Tokens, made: int, all_made: int) -> Tokens:
    """What is billed of an answer that broke off: the prefix, and its share of what was generated."""
    output = tokens.output * made // max(1, all_made)
    reasoning = min(tokens.reasoning, output)
    return Tokens(tokens.input, output, tokens.cache_read, tokens.write_5m, tokens.write_1h, reasoning)


def ledger(models: Models) -> dict[str, Any]:
    """The rows as plain data, with their prices and the sum."""
    from dataclasses import asdict

    rows = [{**asdict(row), "micro": row.micro} for row in models.rows]
    return {"rows": rows, "total": asdict(truth.total(models.rows)), "failures": models.failures}
