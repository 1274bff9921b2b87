"""OpenAI Responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from proctor.doors.gateway.providers import body, paths
from proctor.doors.gateway.providers.base import Asked
from proctor.doors.gateway.providers.counted import Counted
from proctor.doors.gateway.providers.openai import OpenAI
from proctor.doors.gateway.providers.reading import MOST_NAMED, Answer, dearer, decoded, inclusive, record, rows, word
from proctor.words import Api

_CALLS: Final = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "tool_search_call": "tool_search",
}
"""The calls that a client carries out, and what they are called where they name nothing. The rest is the provider's."""


class Responses(OpenAI):
    def asked(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Asked | None:
        parts = paths.segments(path)
        counts = paths.ends(parts, "responses", "input_tokens")
        if not (counts or paths.ends(parts, "responses")) or not paths.posts(method, headers):
            return None
        read = body.load(paths.plain(headers, raw))
        body.clear(read, "model", "max_output_tokens", "stream", "background")
        body.one_model(read)
        if body.flag(read, "background"):
            raise ValueError("a response in the background cannot be metered")
        return Asked(
            Api.COUNT_TOKENS if counts else Api.RESPONSES,
            body.text(read, "model"),
            body.flag(read, "stream"),
            body.whole(read, "max_output_tokens"),
            read,
            raw,
            paths.agent(headers),
            path,
            dearer(read.get("service_tier")),
        )

    def rewritten(
        self, asked: Asked, model: str | None = None, most_output: int | None = None
    ) -> tuple[str | None, bytes]:
        raw = asked.raw
        if model is not None and model != asked.model:
            raw = body.put(raw, ("model",), model)
        if most_output is not None and most_output != asked.most_output and asked.api is Api.RESPONSES:
            raw = body.put(raw, ("max_output_tokens",), most_output)
        return None, raw

    def prompt(self, asked: Asked) -> list[str]:
        return body.counted(asked.body.get(name) for name in ("tools", "instructions", "text", "input"))

    def reading(self, asked: Asked) -> Answer:
        return Counted(asked) if asked.api is Api.COUNT_TOKENS else _Response(asked)


class _Body(msgspec.Struct):
    """Of a response only what counts: its echo of the request is long, and passed over."""

    id: Any = None
    model: Any = None
    status: Any = None
    usage: Any = None
    error: Any = None
    service_tier: Any = None


class _Event(msgspec.Struct):
    type: Any = None
    response: _Body | None = None


class _Detail(msgspec.Struct):
    item: Any = None
    delta: Any = None
    error: Any = None
    code: Any = None
    message: Any = None


_LIGHT: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"response\.[\w.]{1,80}\.delta"')
_EVENT: Final = msgspec.json.Decoder(_Event)
_DETAIL: Final = msgspec.json.Decoder(_Detail)


class _Response(Answer):
    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._done: set[str] = set()

    def event(self, data: bytes) -> None:
        event = decoded(_EVENT, data)
        if event is None or not isinstance(event.type, str):
            return
        response = event.response
        if event.type == "response.output_item.done":
            detail = decoded(_DETAIL, data)
            self._item(record(detail.item) if detail else {})
        elif event.type.endswith(".delta"):
            self.wrote_light(data)
        elif event.type == "error":
            detail = decoded(_DETAIL, data) or _Detail()
            self.failed(detail.error or {"code": detail.code, "message": detail.message})
        elif response is not None and event.type.startswith("response."):
            self._response(response, ended=event.type in _ENDS)

    def light(self, data: bytes) -> bool:
        return _LIGHT.match(data) is not None

    def delta(self, data: bytes) -> Iterator[Any]:
        detail = decoded(_DETAIL, data)
        if detail is not None:
            yield detail.delta

    def document(self, value: Any) -> None:
        said = record(value)
        for item in rows(said.get("output")):
            self._item(item)
            self.wrote_all(item)
        self._response(_Body(*(said.get(name) for name in _Body.__struct_fields__)), ended="status" in said)

    def _item(self, item: Mapping[str, Any]) -> None:
        kind = item.get("type")
        if not isinstance(kind, str) or kind not in _CALLS:
            return
        key = word(item.get("call_id")) or word(item.get("id"))
        if key not in self._done and len(self._done) < MOST_NAMED:
            self._done.update(filter(None, (key,)))
            self.called(item.get("name") or _CALLS[kind])

    def _response(self, said: _Body, ended: bool) -> None:
        self.message = word(said.id) or self.message
        self.model = word(said.model) or self.model
        self.served(said.service_tier)
        usage = inclusive(said.usage, "input", "output")
        if usage is not None:
            self.usage, self.final = usage, ended
        if said.error is not None or said.status == "failed":
            self.failed(said.error)
        elif ended and said.status not in ("queued", "in_progress"):
            self.ended()


_ENDS: Final = ("response.completed", "response.incomplete", "response.failed", "response.done")
