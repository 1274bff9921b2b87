"""What a request tells of the tools that were called since the last answer: each call with what it came to. Pure.

A conversation travels whole with every request; only its end is read here, and whatever has another form is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.words import Api

MOST = 100
"""Calls of one answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool call as the model made it, and its result as the client gave it back: None where it is not all text. `id`
    is the same when the client sends both once more. `ok` is False only where the client says that it failed."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    output: str | None = ""
    ok: bool = True


def exchanged(api: Api, body: Mapping[str, Any]) -> tuple[Exchange, ...]:
    """The calls of the last answer in a conversation, in their order, as far as their results follow it."""
    match api:
        case Api.MESSAGES:
            found = _messages(_dicts(body.get("messages")))
        case Api.CHAT:
            found = _chat(_dicts(body.get("messages")))
        case Api.RESPONSES:
            found = _responses(_dicts(body.get("input")))
        case Api.GEMINI:
            found = _gemini(_dicts(body.get("contents")))
        case _:
            return ()
    return tuple(one for _, one in zip(range(MOST), found, strict=False))


def _messages(said: list[Mapping[str, Any]]) -> Iterator[Exchange]:
    answer, after = _end(said, "role", "assistant")
    results = {_text(part.get("tool_use_id")): part for one in after for part in _dicts(one.get("content"))}
    for part in _dicts(answer.get("content")):
        name = _text(part.get("id"))
        if name and part.get("type") == "tool_use" and (result := results.get(name)) is not None:
            ok = result.get("is_error") is not True
            yield Exchange(name, *_called(part, "input"), _said(result.get("content")), ok)


def _chat(said: list[Mapping[str, Any]]) -> Iterator[Exchange]:
    answer, after = _end(said, "role", "assistant")
    results = {_text(one.get("tool_call_id")): one for one in after}
    for call in _dicts(answer.get("tool_calls")):
        name = _text(call.get("id"))
        if name and (result := results.get(name)) is not None:
            function = call.get("function")
            called = function if isinstance(function, Mapping) else {}
            yield Exchange(name, *_called(called, "arguments"), _said(result.get("content")))


def _responses(said: list[Mapping[str, Any]]) -> Iterator[Exchange]:
    begin = next((at for at in range(len(said), 0, -1) if "output" not in said[at - 1]), 0)
    results = {_text(one.get("call_id")): one.get("output") for one in said[begin:]}
    for call in said[:begin]:
        name = _text(call.get("call_id"))
        if name in results and name:
            given = next((key for key in ("arguments", "input", "action") if key in call), "")
            yield Exchange(name, *_called({"name": call.get("type"), **call}, given), _said(results[name]))


def _gemini(said: list[Mapping[str, Any]]) -> Iterator[Exchange]:
    answer, after = _end(said, "role", "model")
    calls = [call for part in _dicts(answer.get("parts")) if isinstance(call := part.get("functionCall"), Mapping)]
    results = [
        result
        for one in after
        for part in _dicts(one.get("parts"))
        if isinstance(result := part.get("functionResponse"), Mapping)
    ]
    for at, (call, result) in enumerate(zip(calls, results, strict=False)):
        yield Exchange(f"{len(said)}.{at}", *_called(call, "args"), _said(result.get("response")))


def _end(said: list[Mapping[str, Any]], key: str, who: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The last answer, and what follows it."""
    at = next((at for at in range(len(said) - 1, -1, -1) if said[at].get(key) == who), None)
    return ({}, []) if at is None else (said[at], said[at + 1 :])


def _called(call: Mapping[str, Any], key: str) -> tuple[str, Mapping[str, Any]]:
    """The name of a tool and what it was given, which some send as text."""
    given = call.get(key)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {"input": given}
    return _text(call.get("name")), given if isinstance(given, Mapping) else {"input": given} if given else {}


def _said(content: Any) -> str | None:
    if isinstance(content, list):
        texts = [part.get("text") for part in _dicts(content)]
        return "\n".join(map(_text, texts)) if all(isinstance(text, str) for text in texts) else None
    if isinstance(content, Mapping):
        return json.dumps(content, sort_keys=True)
    return content if isinstance(content, str) else "" if content is None else None


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
