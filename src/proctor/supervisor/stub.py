"""A model for trials: in every language it asks once for one shell command, if it is offered a shell.

Then it says that it is done. It costs nothing, needs no key, and counts what it was asked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

COMMAND = "touch asked-by-proctor"
"""Changes something, so that no agent takes it for harmless."""
DONE = "Done."
_SHELLS = ("Bash", "bash", "shell", "exec_command", "run_shell_command")

Event = tuple[str, dict[str, Any]]


class StubModel:
    """The model; `calls` are the calls it answered."""

    def __init__(self) -> None:
        self.calls = 0
        self.asked = False
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[StubModel]:
        """Listens on a port of loopback while the block runs."""
        runner = web.ServerRunner(web.Server(self._answer, access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            body = {}
        if "count_tokens" in request.path:
            return web.json_response({"input_tokens": 1})
        if request.method != "POST":
            return web.json_response({"data": [], "models": []})
        self.calls += 1
        tool = None if self.asked else _shell(body)
        self.asked = self.asked or tool is not None
        if "/messages" in request.path:
            return _stream(_messages(body, tool), named=True)
        if "/responses" in request.path:
            return _stream(_responses(tool), named=True)
        if ":streamGenerateContent" in request.path or ":generateContent" in request.path:
            part = _gemini(tool)
            return _stream([part], named=False) if "stream" in request.path else web.json_response(part[1])
        if body.get("stream"):
            return _stream(_chat(body, tool), named=False, end="data: [DONE]\n\n")
        message = {"role": "assistant", "content": DONE}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"id": "stub", "object": "chat.completion", "choices": [choice], "usage": usage})


Tool = tuple[str, dict[str, str]]


def _shell(body: Mapping[str, Any]) -> Tool | None:
    """The shell among the tools that are offered, with the command in the argument that it takes."""
    for name, schema in _offered(body):
        if name in _SHELLS:
            known = schema.get("properties", {})
            key = "cmd" if "cmd" in known else "command"
            wanted = {key: COMMAND}
            return name, wanted | ({"description": "try"} if "description" in known else {})
    return None


def _offered(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in body.get("tools") or ():
        if not isinstance(tool, dict):
            continue
        for one in (tool, tool.get("function"), *(tool.get("functionDeclarations") or ())):
            if isinstance(one, dict) and "name" in one:
                schema = one.get("input_schema") or one.get("parameters") or one.get("parametersJsonSchema") or {}
                yield one["name"], schema


def _messages(body: Mapping[str, Any], tool: Tool | None) -> Iterator[Event]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_stub", "type": "message", "role": "assistant", "model": body.get("model", "")}
    begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield "message_start", {"message": begun}
    if tool:
        name, wanted = tool
        yield "content_block_start", {
            "index": 0, "content_block": {"type": "tool_use", "id": "toolu_stub", "name": name, "input": {}},
        }  # fmt: skip
        delta = {"type": "input_json_delta", "partial_json": json.dumps(wanted)}
    else:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "text_delta", "text": DONE}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    why = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": why, "usage": {"output_tokens": 1}}
    yield "message_stop", {}


def _responses(tool: Tool | None) -> Iterator[Event]:
    if tool:
        name, wanted = tool
        call = {"type": "function_call", "id": "fc_stub", "call_id": "call_stub"}
        item = {**call, "name": name, "arguments": json.dumps(wanted)}
    else:
        said: Any = [{"type": "output_text", "text": DONE}]
        item = {"type": "message", "id": "msg_stub", "role": "assistant", "content": said}
    usage = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    }  # fmt: skip
    yield "response.created", {"response": {"id": "resp_stub"}}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": {"id": "resp_stub", "output": [item], "usage": usage}}


def _chat(body: Mapping[str, Any], tool: Tool | None) -> Iterator[Event]:
    def chunk(delta: dict[str, Any], why: str | None = None) -> Event:
        head = {"id": "stub", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "")}
        return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}

    if tool:
        name, wanted = tool
        function = {"name": name, "arguments": json.dumps(wanted)}
        call = {"index": 0, "id": "call_stub", "type": "function", "function": function}
        yield chunk({"role": "assistant", "tool_calls": [call]})
    else:
        yield chunk({"role": "assistant", "content": DONE})
    yield chunk({}, "tool_calls" if tool else "stop")
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield "", {**chunk({})[1], "choices": [], "usage": usage}


def _gemini(tool: Tool | None) -> Event:
    part = {"functionCall": {"name": tool[0], "args": tool[1]}} if tool else {"text": DONE}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return "", {"candidates": [candidate], "usageMetadata": usage}


def _stream(events: Iterator[Event] | list[Event], *, named: bool, end: str = "") -> web.Response:
    lines = []
    for kind, data in events:
        head = f"event: {kind}\n" if named else ""
        lines.append(f"{head}data: {json.dumps({'type': kind, **data} if named else data)}\n\n")
    return web.Response(text="".join(lines) + end, content_type="text/event-stream")
