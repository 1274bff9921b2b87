"""OpenAI Responses."""

from __future__ import annotations

from typing import Any

from models.chat import openai_error
from models.script import Refuse, Tokens
from models.wire import Answer, Piece, arguments, event, parts


def usage(tokens: Tokens) -> dict[str, Any]:
    prefix = tokens.input + tokens.cache_read + tokens.write_5m + tokens.write_1h
    details = {"cached_tokens": tokens.cache_read}
    if tokens.write_5m:
        details["cache_write_tokens"] = tokens.write_5m
    return {
        "input_tokens": prefix,
        "input_tokens_details": details,
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": prefix + tokens.output,
    }


def _items(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if answer.think:
        summary = [{"type": "summary_text", "text": answer.think}]
        found.append(
            {"type": "reasoning", "id": f"rs_{answer.id}", "summary": summary, "encrypted_content": "c2VhbGVk"}
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        found.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    for id, call in answer.calls:
        base = {"id": f"fc_{id}", "call_id": id, "name": call.name, "status": "completed"}
        if isinstance(call.arguments, str):
            found.append({"type": "custom_tool_call", **base, "input": call.arguments})
        else:
            found.append({"type": "function_call", **base, "arguments": arguments(call)})
    return found


def _response(answer: Answer, status: str, output: list[dict[str, Any]], told: bool) -> dict[str, Any]:
    return {
        "id": answer.id,
        "object": "response",
        "created_at": 1764000000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": answer.model,
        "output": output,
        "usage": usage(answer.tokens) if told and answer.usage != "none" else None,
    }


def whole(answer: Answer) -> dict[str, Any]:
    return _response(answer, "completed", _items(answer), True)


def stream(answer: Answer) -> list[Piece]:
    every = answer.usage == "every"
    pieces: list[Piece] = []

    def add(kind: str, mark: str = "", **fields: Any) -> None:
        pieces.append(event({"type": kind, "sequence_number": len(pieces), **fields}, kind, mark))

    add("response.created", response=_response(answer, "in_progress", [], every))
    add("response.in_progress", response=_response(answer, "in_progress", [], every))
    items = _items(answer)
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        add("response.output_item.added", output_index=index, item={**item, **_empty(item)})
        for kind, mark, deltas, done in _parts(item):
            for delta in deltas:
                add(f"{kind}.delta", mark, **place, **_inside(kind), delta=delta)
            add(f"{kind}.done", **place, **_inside(kind), **done)
        add("response.output_item.done", output_index=index, item=item)
    add("response.completed", "stop", response=_response(answer, "completed", items, True))
    return pieces


def _inside(kind: str) -> dict[str, int]:
    if kind.endswith("output_text"):
        return {"content_index": 0}
    return {"summary_index": 0} if "summary" in kind else {}


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    """What an item does not have yet when it is added."""
    blank: dict[str, Any] = {"status": "in_progress"} if "status" in item else {}
    return blank | {key: type(item[key])() for key in ("content", "summary", "arguments", "input") if key in item}


def _parts(item: dict[str, Any]) -> list[tuple[str, str, list[str], dict[str, str]]]:
    match item["type"]:
        case "reasoning":
            text = item["summary"][0]["text"]
            return [("response.reasoning_summary_text", "text", parts(text), {"text": text})]
        case "message":
            text = item["content"][0]["text"]
            return [("response.output_text", "text", parts(text), {"text": text})]
        case "custom_tool_call":
            return [("response.custom_tool_call_input", "tool", parts(item["input"]), {"input": item["input"]})]
    given = item["arguments"]
    return [("response.function_call_arguments", "tool", parts(given), {"arguments": given})]


def failed(kind: str, id: str) -> Piece:
    """A response that failed after it began."""
    code = {"overloaded": "server_is_overloaded"}.get(kind, kind)
    response = {"id": id, "status": "failed", "error": {"code": code, "message": "scripted"}, "usage": None}
    return event({"type": "response.failed", "response": response}, "response.failed")


def error(fault: Refuse, request: str) -> tuple[dict[str, Any], dict[str, str]]:
    return openai_error(fault)
