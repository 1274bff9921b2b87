"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

from typing import Any

from models.script import Refuse, Tokens
from models.wire import Answer, Piece, event, parts

KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def usage(tokens: Tokens) -> dict[str, Any]:
    prefix = tokens.input + tokens.cache_read
    said = {
        "promptTokenCount": prefix,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "totalTokenCount": prefix + tokens.output,
    }
    if tokens.cache_read:
        said["cachedContentTokenCount"] = tokens.cache_read
    if tokens.reasoning:
        said["thoughtsTokenCount"] = tokens.reasoning
    return said


def _parts(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    if answer.think:
        found.append(("text", {"text": answer.think, "thought": True}))
    found += [("text", {"text": part}) for part in parts(answer.text)]
    for _, call in answer.calls:
        found.append(("tool", {"functionCall": {"name": call.name, "args": call.arguments}}))
    return found


def _chunk(
    answer: Answer, content: list[dict[str, Any]], finish: str = "", told: Tokens | None = None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": content, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    made = {"candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id}
    return made if told is None or answer.usage == "none" else {**made, "usageMetadata": usage(told)}


def whole(answer: Answer) -> dict[str, Any]:
    joined = [{"text": answer.text}] if answer.text else []
    others = [part for _, part in _parts(answer) if "functionCall" in part]
    return _chunk(answer, joined + others, "STOP", answer.tokens)


def stream(answer: Answer) -> list[Piece]:
    found = _parts(answer)
    tokens = answer.tokens
    chunks = []
    for at, (mark, part) in enumerate(found):
        visible = (tokens.output - tokens.reasoning) * (at + 1) // (len(found) + 1)
        running = Tokens(tokens.input, tokens.reasoning + visible, tokens.cache_read, reasoning=tokens.reasoning)
        chunks.append((mark, _chunk(answer, [part], told=running)))
    chunks.append(("stop", _chunk(answer, [{"text": ""}], "STOP", tokens)))
    if "alt=sse" in answer.view.path:
        return [event(chunk, mark=mark) for mark, chunk in chunks]
    listed = [event(chunk, mark=mark) for mark, chunk in chunks]
    bare = [Piece(piece.data[len(b"data: ") : -2], piece.mark) for piece in listed]
    return [Piece((b"," if at else b"[") + piece.data, piece.mark) for at, piece in enumerate(bare[:-1])] + [
        Piece((b"," if len(bare) > 1 else b"[") + bare[-1].data + b"]", "stop")
    ]


def failed(kind: str, id: str) -> Piece:
    """An error inside a stream."""
    return event({"error": {"code": 503, "message": "scripted", "status": "UNAVAILABLE"}})


def error(fault: Refuse, request: str) -> tuple[dict[str, Any], dict[str, str]]:
    body: dict[str, Any] = {
        "code": fault.status,
        "message": fault.message,
        "status": fault.code or KINDS.get(fault.status, "UNKNOWN"),
    }
    if fault.reset is not None:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{fault.reset:g}s"}
        body["details"] = [retry]
    return {"error": body}, {}
