"""OpenAI Chat Completions, which so many servers speak, each a little differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from proctor.doors.gateway.providers import body, paths
from proctor.doors.gateway.providers.base import Asked
from proctor.doors.gateway.providers.openai import OpenAI
from proctor.doors.gateway.providers.reading import Answer, dearer, decoded, inclusive, record, rows, word
from proctor.words import Api

_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_NEWER: Final = re.compile(r"(?:.*/)?(?:o\d|gpt-(?:[5-9]|\d\d))")
"""OpenAI's models that know the first name of the limit only; other servers know the second best."""
_MOST_CHOICES: Final = 128
_MOST_OPEN: Final = 4_096
_TEXTS: Final = ("content", "reasoning_content", "reasoning", "refusal")
_HEAVY: Final = (b'"tool_calls"', b'"function_call"', b'"error"', b'"x_groq"')
"""Keys of what is more than text. In a text they could not stand so: its quotes are escaped."""


class Chat(OpenAI):
    def asked(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Asked | None:
        parts = paths.segments(path)
        if not paths.ends(parts, "chat", "completions") or not paths.posts(method, headers):
            return None
        read = body.load(paths.plain(headers, raw))
        body.clear(read, "model", "stream", "stream_options", "n", *_LIMITS)
        body.one_model(read)
        body.section(read, "stream_options")
        limits = [found for name in _LIMITS if (found := body.whole(read, name)) is not None]
        return Asked(
            Api.CHAT,
            _deployment(parts) or body.text(read, "model"),
            body.flag(read, "stream"),
            max(limits) * _choices(read) if limits else None,
            read,
            raw,
            paths.agent(headers),
            path,
            dearer(read.get("service_tier")),
        )

    def rewritten(
        self, asked: Asked, model: str | None = None, most_output: int | None = None
    ) -> tuple[str | None, bytes]:
        path, raw = None, asked.raw
        if asked.stream and record(asked.body.get("stream_options")).get("include_usage") is not True:
            if "stream_options" in asked.body:
                raw = body.put(raw, ("stream_options", "include_usage"), True)
            else:
                raw = body.put_new(raw, "stream_options", {"include_usage": True})
        if model is not None and model != asked.model:
            parts = paths.segments(asked.path)
            if _deployment(parts):
                path = paths.rebuilt([*parts[:-3], model, *parts[-2:]], asked.path)
            else:
                raw = body.put(raw, ("model",), model)
        if most_output is not None and most_output != asked.most_output:
            named = [name for name in _LIMITS if asked.body.get(name) is not None]
            for name in named or [_LIMITS[not _NEWER.match(model or asked.model)]]:
                raw = body.put(raw, (name,), max(1, most_output // _choices(asked.body)))
        return path, raw

    def prompt(self, asked: Asked) -> list[str]:
        return body.counted(asked.body.get(name) for name in ("tools", "functions", "response_format", "messages"))

    def reading(self, asked: Asked) -> Answer:
        return _Completion(asked)


def _deployment(parts: tuple[str, ...]) -> str:
    """The model that a path names, as Azure's and LiteLLM's do."""
    return parts[-3] if len(parts) > 3 and parts[-4].lower() in ("deployments", "engines") else ""


def _choices(read: Mapping[str, Any]) -> int:
    """How many answers are asked for: a limit holds for each of them."""
    return max(1, body.whole(read, "n", _MOST_CHOICES) or 1)


class _Chunk(msgspec.Struct):
    id: Any = None
    model: Any = None
    choices: Any = None
    usage: Any = None
    error: Any = None
    service_tier: Any = None
    x_groq: Any = None


_CHUNK: Final = msgspec.json.Decoder(_Chunk)


class _Completion(Answer):
    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._open: dict[tuple[int, int], tuple[str, str]] = {}
        """Calls that have begun, by choice and index: id and name."""
        self._running: set[int] = set()
        self._finished: set[int] = set()
        """Choices with a reason to have finished."""

    def event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self._over()
            return
        chunk = decoded(_CHUNK, data)
        if chunk is None:
            return
        self._named(chunk.id, chunk.model, chunk.service_tier)
        choices = rows(chunk.choices)
        for choice in choices:
            self._choice(choice)
        usage = (
            chunk.usage
            or record(chunk.x_groq).get("usage")
            or next((one["usage"] for one in choices if one.get("usage")), None)
        )
        if usage is not None:
            self._report(usage)
        if chunk.error is not None:
            self.failed(chunk.error)

    def light(self, data: bytes) -> bool:
        data = data.replace(b'": ', b'":')  # as servers in Python write it
        return (
            0 in self._running
            and b'"finish_reason":null' in data
            and b'"index":0' in data
            and (b'"usage"' not in data or b'"usage":null' in data)
            and not any(mark in data for mark in _HEAVY)
        )

    def delta(self, data: bytes) -> Iterator[Any]:
        chunk = decoded(_CHUNK, data)
        for choice in rows(chunk.choices) if chunk else ():
            delta = record(choice.get("delta"))
            yield from (delta.get(name) for name in _TEXTS)

    def end(self) -> None:
        super().end()
        if self._finished and not self._running and not self.complete:
            self._over()

    def document(self, value: Any) -> None:
        said = record(value)
        self._named(said.get("id"), said.get("model"), said.get("service_tier"))
        for choice in rows(said.get("choices")):
            self._choice({**choice, "delta": choice.get("message"), "finish_reason": "stop"})
        self._report(said.get("usage"))
        if said.get("error") is not None:
            self.failed(said["error"])
        elif "choices" in said:
            self._over()

    def _named(self, message: Any, model: Any, service: Any) -> None:
        self.served(service)
        self.message = self.message or word(message)
        self.model = self.model or word(model)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        which = choice.get("index")
        which = which if isinstance(which, int) and 0 <= which < _MOST_CHOICES else 0
        delta = record(choice.get("delta"))
        for name in _TEXTS:
            self.wrote(delta.get(name))
        calls = delta.get("tool_calls")
        if calls:
            for at, call in enumerate(rows(calls)):
                self._call(which, at, call)
        old = record(delta.get("function_call"))
        if old:
            self._call(which, -1, {"function": old, "index": -1})
        if choice.get("finish_reason") is not None:
            self._running.discard(which)
            self._finished.add(which)
            for key in [key for key in self._open if key[0] == which]:
                self.called(self._open.pop(key)[1])
        elif which not in self._finished:
            self._running.add(which)

    def _call(self, which: int, at: int, call: Mapping[str, Any]) -> None:
        """A piece of a call. Its first one has the name; one with another id and a name is another call, even at the
        same index, where a server does not count."""
        index = call.get("index")
        key = which, index if isinstance(index, int) else at
        said = record(call.get("function")) or record(call.get("custom"))
        mark, name = word(call.get("id")), word(said.get("name"))
        self.wrote(said.get("arguments") or said.get("input"))
        known = self._open.get(key)
        if known is not None and mark and known[0] and mark != known[0] and name:
            self.called(known[1])
            known = None
        if known is None:
            if len(self._open) < _MOST_OPEN:
                self._open[key] = mark, name
        elif not known[1]:
            self._open[key] = known[0], name

    def _report(self, reported: Any) -> None:
        usage = inclusive(reported, "prompt", "completion")
        if usage is not None:
            self.usage = usage
            self.final = bool(self._finished) and not self._running

    def _over(self) -> None:
        """The answer has ended."""
        self.ended()
        self.final = self.usage is not None
        for _, name in self._open.values():
            self.called(name)
        self._open.clear()
