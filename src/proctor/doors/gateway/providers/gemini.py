"""Gemini's generateContent, at once or as a stream: of events, or of one long list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from proctor.budget.dimensions import Usage
from proctor.doors.gateway.providers import body, paths
from proctor.doors.gateway.providers.base import Asked, Limited, Refusal
from proctor.doors.gateway.providers.counted import Counted
from proctor.doors.gateway.providers.limits import later
from proctor.doors.gateway.providers.reading import Answer, dearer, decoded, nonsense, record, rows, tokens, word
from proctor.words import Api

_VERBS: Final = {"generatecontent": False, "streamgeneratecontent": True, "counttokens": False}
_CONFIG: Final = ("generationConfig", "generation_config")
_LIMIT: Final = ("maxOutputTokens", "max_output_tokens")
_CANDIDATES: Final = ("candidateCount", "candidate_count")
_MOST_CANDIDATES: Final = 128
_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Gemini:
    family = "gemini"
    ping: bytes | None = None
    """Its clients take no comment between two events."""

    def asked(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Asked | None:
        parts = paths.segments(path)
        model, _, verb = parts[-1].rpartition(":") if parts else ("", "", "")
        if not model or verb.lower() not in _VERBS or not paths.posts(method, headers):
            return None
        read = body.load(paths.plain(headers, raw))
        body.clear(read, "model", _CONFIG[0], "contents", "tools")
        _, config = _config(read)
        if read.get("model") and body.text(read, "model").rpartition("/")[2] != model:
            raise ValueError("the body names another model than the path")
        most = body.whole(config, _written(config, _LIMIT))
        return Asked(
            Api.COUNT_TOKENS if verb.lower() == "counttokens" else Api.GEMINI,
            model,
            _VERBS[verb.lower()],
            None if most is None else most * _candidates(config),
            read,
            raw,
            paths.agent(headers),
            path,
            dearer(read.get("serviceTier") or read.get("service_tier")),
        )

    def rewritten(
        self, asked: Asked, model: str | None = None, most_output: int | None = None
    ) -> tuple[str | None, bytes]:
        path, raw = None, asked.raw
        if model is not None and model != asked.model:
            parts = paths.segments(asked.path)
            verb = parts[-1].rpartition(":")[2]
            path = paths.rebuilt([*parts[:-1], f"{model}:{verb}"], asked.path)
        if most_output is not None and most_output != asked.most_output and asked.api is Api.GEMINI:
            name, config = _config(asked.body)
            each = max(1, most_output // _candidates(config))
            raw = body.put(raw, (name, _written(config, _LIMIT)), each)
        return path, raw

    def prompt(self, asked: Asked) -> list[str]:
        names = ("tools", "systemInstruction", "system_instruction", "contents")
        return body.counted(asked.body.get(name) for name in names)

    def reading(self, asked: Asked) -> Answer:
        return Counted(asked) if asked.api is Api.COUNT_TOKENS else _Content(asked)

    def refusal(self, asked: Asked, message: str) -> Refusal:
        return self._said(400, message, {"x-should-retry": "false"})

    def failure(self, asked: Asked, status: int, message: str) -> Refusal:
        return self._said(status, message, {})

    def limited(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> Limited | None:
        return later(status, headers, body, now)

    def _said(self, status: int, message: str, headers: Mapping[str, str]) -> Refusal:
        said = {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}
        return Refusal(
            status, json.dumps({"error": said}).encode(), {"content-type": "application/json; charset=UTF-8", **headers}
        )


def _written(read: Mapping[str, Any], names: tuple[str, str]) -> str:
    """Which of a field's two spellings is used, both of which its servers read. ValueError if both are."""
    if all(name in read for name in names):
        raise ValueError(f"{names[0]} stands twice in the body")
    return names[1] if names[1] in read else names[0]


def _config(read: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name = _written(read, _CONFIG)
    return name, body.section(read, name)


def _candidates(config: Mapping[str, Any]) -> int:
    return max(1, body.whole(config, _written(config, _CANDIDATES), _MOST_CANDIDATES) or 1)


class _Part(msgspec.Struct):
    candidates: Any = None
    usageMetadata: Any = None
    modelVersion: Any = None
    responseId: Any = None
    promptFeedback: Any = None
    response: Any = None
    error: Any = None


_PART: Final = msgspec.json.Decoder(_Part)


class _Content(Answer):
    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._wanted = _candidates(_config(asked.body)[1])
        self._begun: set[int] = set()
        self._finished: set[int] = set()
        """Candidates, by their index."""

    def event(self, data: bytes) -> None:
        part = decoded(_PART, data)
        if part is not None:
            self._part(part)

    def document(self, value: Any) -> None:
        said = record(value)
        self._part(_Part(**{name: said[name] for name in _Part.__struct_fields__ if name in said}))

    def _part(self, part: _Part) -> None:
        self.message = self.message or word(part.responseId)
        self.model = self.model or word(part.modelVersion)
        for candidate in rows(part.candidates):
            index = candidate.get("index")
            which = index if isinstance(index, int) and 0 <= index < _MOST_CANDIDATES else 0
            (self._finished if candidate.get("finishReason") else self._begun).add(which)
            for one in rows(record(candidate.get("content")).get("parts")):
                self.wrote(one.get("text"))
                call = record(one.get("functionCall"))
                if call:
                    self.wrote_all(call)
                    # A call whose arguments stream has its name in the first part only.
                    if call.get("name"):
                        self.called(call["name"])
        if part.error is not None:
            self.failed(part.error)
        if len(self._finished) >= self._wanted or record(part.promptFeedback).get("blockReason"):
            self.ended()
        said = record(part.usageMetadata)
        self.served(said.get("serviceTier"))
        usage = _usage(said)
        if usage is not None:
            self.usage, self.final = usage, self.complete

    def end(self) -> None:
        super().end()
        if not self.complete and self._finished and self._begun <= self._finished:  # fewer came than were wanted
            self.ended()
            self.final = self.complete and self.usage is not None


def _usage(said: Mapping[str, Any]) -> Usage | None:
    """The input includes what was read from the cache; thoughts and what tools put in are beside, not within."""
    prompt, candidates = said.get("promptTokenCount"), said.get("candidatesTokenCount")
    if nonsense(prompt, candidates) or (prompt is None and candidates is None):
        return None
    given, thoughts = tokens(prompt) or 0, tokens(said.get("thoughtsTokenCount")) or 0
    read = min(tokens(said.get("cachedContentTokenCount")) or 0, given)
    return Usage(
        input=given - read + (tokens(said.get("toolUsePromptTokenCount")) or 0),
        output=(tokens(candidates) or 0) + thoughts,
        cache_read=read,
        reasoning=thoughts,
    )
