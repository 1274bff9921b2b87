"""Anthropic Messages, and the counting of its tokens, which costs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from proctor.budget.dimensions import Usage
from proctor.doors.gateway.providers import body, paths
from proctor.doors.gateway.providers.base import Asked, Limited, Refusal
from proctor.doors.gateway.providers.counted import Counted
from proctor.doors.gateway.providers.limits import later
from proctor.doors.gateway.providers.reading import Answer, dearer, decoded, nonsense, record, rows, tokens, word
from proctor.words import Api

_LEAST_THINKING: Final = 1_024
_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Anthropic:
    family = "anthropic"
    ping: bytes | None = b'event: ping\ndata: {"type": "ping"}\n\n'

    def asked(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Asked | None:
        parts = paths.segments(path)
        counts = paths.ends(parts, "messages", "count_tokens")
        if not (counts or paths.ends(parts, "messages")) or not paths.posts(method, headers) or "threads" in parts:
            return None
        read = body.load(paths.plain(headers, raw))
        body.clear(read, "model", "max_tokens", "stream", "thinking")
        body.one_model(read)
        model = body.text(read, "model")
        if not model:
            raise ValueError("the body names no model")
        body.section(read, "thinking")
        api = Api.COUNT_TOKENS if counts else Api.MESSAGES
        most = body.whole(read, "max_tokens")
        return Asked(
            api,
            model,
            body.flag(read, "stream"),
            most,
            read,
            raw,
            paths.agent(headers),
            path,
            dearer(read.get("speed") or read.get("service_tier")),
        )

    def rewritten(
        self, asked: Asked, model: str | None = None, most_output: int | None = None
    ) -> tuple[str | None, bytes]:
        raw = asked.raw
        if model is not None and model != asked.model:
            raw = body.put(raw, ("model",), model)
        if most_output is not None and most_output != asked.most_output and asked.api is Api.MESSAGES:
            raw = body.put(raw, ("max_tokens",), most_output)
            budget = record(asked.body.get("thinking")).get("budget_tokens")
            if isinstance(budget, int) and budget >= most_output:
                raw = body.put(raw, ("thinking",), _thinking(asked.body["thinking"], most_output))
        return None, raw

    def prompt(self, asked: Asked) -> list[str]:
        return body.counted(asked.body.get(name) for name in ("tools", "system", "messages"))

    def reading(self, asked: Asked) -> Answer:
        return Counted(asked) if asked.api is Api.COUNT_TOKENS else _Message(asked)

    def refusal(self, asked: Asked, message: str) -> Refusal:
        return self._said(402, message, {"x-should-retry": "false"})

    def failure(self, asked: Asked, status: int, message: str) -> Refusal:
        return self._said(status, message, {})

    def limited(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> Limited | None:
        return later(status, headers, body, now)

    def _said(self, status: int, message: str, headers: Mapping[str, str]) -> Refusal:
        error = {"type": _KINDS.get(status, "api_error"), "message": message}
        said = json.dumps({"type": "error", "error": error}).encode()
        return Refusal(status, said, {"content-type": "application/json", **headers})


def _thinking(asked: Mapping[str, Any], most_output: int) -> dict[str, Any]:
    """As much thinking as leaves room for an answer, or none where not even the least that is allowed would."""
    if most_output <= _LEAST_THINKING:
        return {"type": "disabled"}
    return {**asked, "budget_tokens": max(_LEAST_THINKING, most_output // 2)}


class _Event(msgspec.Struct):
    type: Any = None
    message: Any = None
    index: Any = None
    content_block: Any = None
    delta: Any = None
    usage: Any = None
    error: Any = None


_LIGHT: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"content_block_delta"')
_EVENT: Final = msgspec.json.Decoder(_Event)


class _Message(Answer):
    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._said: dict[str, Any] = {}
        self._open: dict[int, Any] = {}
        """Calls of tools that have begun, by their block."""

    def event(self, data: bytes) -> None:
        event = decoded(_EVENT, data)
        if event is None:
            return
        match event.type:
            case "message_start":
                message = record(event.message)
                self.message = word(message.get("id"))
                self.model = word(message.get("model"))
                self._report(message.get("usage"))
            case "content_block_start":
                block = record(event.content_block)
                self.wrote(block.get("text"))
                if block.get("type") == "tool_use" and isinstance(event.index, int) and len(self._open) < 4_096:
                    self._open[event.index] = block.get("name")
            case "content_block_stop":
                if isinstance(event.index, int) and event.index in self._open:
                    self.called(self._open.pop(event.index))
            case "content_block_delta":
                self.wrote_light(data)
            case "message_delta":
                self._report(event.usage)
                # What the start says of the output is no more than that it began.
                self.final = self.final or (
                    bool(record(event.delta).get("stop_reason"))
                    and tokens(record(event.usage).get("output_tokens")) is not None
                )
            case "message_stop":
                self.ended()
            case "error":
                self.failed(event.error)

    def light(self, data: bytes) -> bool:
        return _LIGHT.match(data) is not None

    def delta(self, data: bytes) -> Iterator[Any]:
        event = decoded(_EVENT, data)
        piece = record(event.delta) if event else {}
        for name in ("text", "thinking", "partial_json"):
            if name in piece:
                yield piece[name]

    def document(self, value: Any) -> None:
        message = record(value)
        if message.get("type") == "error" or "error" in message:
            self.failed(message.get("error"))
            return
        self.message, self.model = word(message.get("id")), word(message.get("model"))
        for block in rows(message.get("content")):
            if block.get("type") == "tool_use":
                self.called(block.get("name"))
            self.wrote_all(block)
        self._report(message.get("usage"))
        self.final = self.usage is not None
        if "content" in message:
            self.ended()

    def _report(self, reported: Any) -> None:
        """Later reports are of the whole so far; what one leaves out, or has as zero where it was not, stays."""
        said = record(reported)
        self.served(said.get("speed") or said.get("service_tier"))
        for name, value in said.items():
            if name == "output_tokens" or value or name not in self._said:
                self._said[name] = value
        self.usage = exclusive(self._said) or self.usage


def exclusive(said: Mapping[str, Any]) -> Usage | None:
    """A report of Anthropic's kind: the input is without what was read from and written to a cache."""
    if nonsense(said.get("input_tokens"), said.get("output_tokens")):
        return None
    given, output = tokens(said.get("input_tokens")), tokens(said.get("output_tokens"))
    if given is None and output is None:
        return None
    usage = _one(said)
    # Steps that compact a conversation, or in which another model advises, are billed, and not in the sums above them.
    for step in rows(said.get("iterations")):
        if step.get("type") not in (None, "message"):
            usage += _one(step)
    return usage


def _one(said: Mapping[str, Any]) -> Usage:
    split = record(said.get("cache_creation"))
    hour, minutes = tokens(split.get("ephemeral_1h_input_tokens")) or 0, tokens(split.get("ephemeral_5m_input_tokens"))
    written = tokens(said.get("cache_creation_input_tokens")) or 0
    output = tokens(said.get("output_tokens")) or 0
    reasoning = tokens(record(said.get("output_tokens_details")).get("thinking_tokens")) or 0
    return Usage(
        input=tokens(said.get("input_tokens")) or 0,
        output=output,
        cache_read=tokens(said.get("cache_read_input_tokens")) or 0,
        cache_write=max(written - hour, minutes or 0),
        cache_write_1h=hour,
        reasoning=min(reasoning, output),
    )
