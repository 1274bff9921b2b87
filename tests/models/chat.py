"""OpenAI Chat Completions."""

from __future__ import annotations

from typing import Any

from models.script import Refuse, Tokens
from models.wire import Answer, Piece, arguments, event, parts

KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def usage(tokens: Tokens) -> dict[str, Any]:
    prefix = tokens.input + tokens.cache_read + tokens.write_5m + tokens.write_1h
    return {
        "prompt_tokens": prefix,
        "completion_tokens": tokens.output,
        "total_tokens": prefix + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
        for id, call in answer.calls
    ]


def _base(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": answer.id, "object": kind, "created": 1764000000, "model": answer.model}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def whole(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    made = {**_base(answer, "chat.completion"), "choices": [choice]}
    return made if answer.usage == "none" else {**made, "usage": usage(answer.tokens)}


def asks_usage(body: Any) -> bool:
    """Whether a stream's request asks for its usage: without it there is none."""
    return bool((body.get("stream_options") or {}).get("include_usage"))


def stream(answer: Answer) -> list[Piece]:
    told = answer.usage != "none" and asks_usage(answer.view.body)
    every = answer.usage == "every"
    base = _base(answer, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], mark: str = "", finish: str | None = None) -> Piece:
        made = {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        if told:
            made["usage"] = usage(answer.tokens) if every else None
        return event(made, mark=mark)

    pieces = [chunk({"role": "assistant", "content": ""})]
    pieces += [chunk({"content": part}, "text") for part in parts(answer.text)]
    for index, call in enumerate(_calls(answer)):
        text = call["function"]["arguments"]
        first = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        pieces.append(chunk({"tool_calls": [first]}))
        pieces += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]}, "tool") for part in parts(text)
        ]
    pieces.append(chunk({}, finish=_finish(answer)))
    if told:
        pieces.append(event({**base, "choices": [], "usage": usage(answer.tokens)}, mark="usage"))
    return [*pieces, Piece(b"data: [DONE]\n\n", "stop")]


def failed(kind: str, id: str) -> Piece:
    """An error inside a stream."""
    return event({"error": {"message": "scripted", "type": f"{kind}_error", "code": None}})


def openai_error(fault: Refuse) -> tuple[dict[str, Any], dict[str, str]]:
    kind = KINDS.get(fault.status, "invalid_request_error" if fault.status < 500 else "server_error")
    body = {"error": {"message": fault.message, "type": kind, "param": None, "code": fault.code or None}}
    return body, {} if fault.reset is None else {"x-ratelimit-reset-requests": f"{fault.reset:g}s"}


def error(fault: Refuse, request: str) -> tuple[dict[str, Any], dict[str, str]]:
    return openai_error(fault)
