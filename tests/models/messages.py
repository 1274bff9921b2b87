"""Anthropic Messages."""

from __future__ import annotations

from typing import Any

from models.script import Refuse, Tokens
from models.wire import Answer, Piece, arguments, event, parts

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def usage(tokens: Tokens, output: int) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.write_5m + tokens.write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.write_5m,
            "ephemeral_1h_input_tokens": tokens.write_1h,
        },
        "output_tokens": output,
        "service_tier": "standard",
    }


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.think:
        found.append({"type": "thinking", "thinking": answer.think, "signature": "c2lnbmVk"})
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    for id, call in answer.calls:
        found.append({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments})
    return found


def _message(answer: Answer, content: list[dict[str, Any]], stop: str | None, output: int) -> dict[str, Any]:
    message = {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }
    return message if answer.usage == "none" else {**message, "usage": usage(answer.tokens, output)}


def _stop(answer: Answer) -> str:
    return "tool_use" if answer.calls else "end_turn"


def whole(answer: Answer) -> dict[str, Any]:
    return _message(answer, _blocks(answer), _stop(answer), answer.tokens.output)


def stream(answer: Answer) -> list[Piece]:
    pieces = [_event("message_start", message=_message(answer, [], None, 1)), _event("ping")]
    for index, block in enumerate(_blocks(answer)):
        empty, deltas = _opened(block, answer)
        pieces.append(_event("content_block_start", index=index, content_block=empty))
        mark = "tool" if block["type"] == "tool_use" else "text"
        pieces += [_event("content_block_delta", mark, index=index, delta=delta) for delta in deltas]
        pieces.append(_event("content_block_stop", index=index))
        if answer.usage == "every":
            pieces.append(_delta(answer, None, 1 + index))
    return [*pieces, _delta(answer, _stop(answer), answer.tokens.output), _event("message_stop", "stop")]


def _delta(answer: Answer, stop: str | None, output: int) -> Piece:
    said = {} if answer.usage == "none" else {"usage": {"output_tokens": output}}
    return _event("message_delta", "usage", delta={"stop_reason": stop, "stop_sequence": None}, **said)


def _opened(block: dict[str, Any], answer: Answer) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and its deltas."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in parts(block["text"])]
    if block["type"] == "thinking":
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": part} for part in parts(block["thinking"])
        ]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    call = next(call for id, call in answer.calls if id == block["id"])
    return {**block, "input": {}}, [
        {"type": "input_json_delta", "partial_json": part} for part in parts(arguments(call))
    ]


def _event(kind: str, mark: str = "", **fields: Any) -> Piece:
    return event({"type": kind, **fields}, kind, mark)


def failed(kind: str, id: str) -> Piece:
    """An error inside a stream."""
    return _event("error", error={"type": f"{kind}_error", "message": "scripted"})


def error(fault: Refuse, request: str) -> tuple[dict[str, Any], dict[str, str]]:
    kind = KINDS.get(fault.status, "api_error")
    body = {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": request}
    return body, {}
