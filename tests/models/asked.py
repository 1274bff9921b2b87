"""Requests of the four APIs as the script sees them. A reader of its own, not the product's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from models.script import View

Message = tuple[str, str]
"""Who (`user`, `model`, `tool`) and the text."""


def path_api(path: str) -> str | None:
    """The API that a path belongs to."""
    bare = path.partition("?")[0].rstrip("/")
    for ending, api in (
        ("/messages", "messages"),
        ("/messages/count_tokens", "count_tokens"),
        ("/responses", "responses"),
        ("/chat/completions", "chat"),
    ):
        if bare.endswith(ending):
            return api
    return "gemini" if re.search(r"/models/[^/]+:(stream)?[gG]enerateContent$", bare) else None


def view(api: str, path: str, headers: Mapping[str, str], raw: bytes) -> View:
    body = json.loads(raw)
    system, messages, tools = _READERS[api](body)
    prompt = max((at for at, (who, text) in enumerate(messages) if who == "user" and _said(text)), default=-1)
    since = messages[prompt + 1 :]
    turns = sum(
        who == "model" and (at == 0 or since[at - 1][0] != "model" or api in ("messages", "chat"))
        for at, (who, _) in enumerate(since)
    )
    config = body.get("generationConfig") or {}
    return View(
        api=api,
        model=_gemini_model(path) if api == "gemini" else str(body.get("model", "")),
        stream=":stream" in path if api == "gemini" else bool(body.get("stream")),
        system=system,
        prompt=messages[prompt][1] if prompt >= 0 else "",
        nth=turns,
        heard=tuple(text for who, text in since if who == "tool"),
        tools=tools,
        most_output=body.get("max_tokens") or body.get("max_output_tokens") or config.get("maxOutputTokens"),
        schema=_schema(body, config),
        agent=headers.get("x-claude-code-agent-id", ""),
        body=body,
        raw=raw,
        path=path,
        headers=headers,
    )


def _said(text: str) -> bool:
    """Whether a person said it: what agents add for themselves is in such tags."""
    return bool(
        re.sub(r"<(system-reminder|environment_context|session_context)>.*?</\1>", "", text, flags=re.S).strip()
    )


def _gemini_model(path: str) -> str:
    found = re.search(r"/models/([^/:?]+):", path)
    return found[1] if found else ""


def _schema(body: Mapping[str, Any], config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema that the answer must have, if the request names one."""
    named = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    found = config.get("responseJsonSchema") or config.get("responseSchema") or named.get("schema")
    return found or (named.get("json_schema") or {}).get("schema")


def _text(content: Any) -> str:
    """All text of a content field, whatever its form."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text(content.get("text") or content.get("content") or content.get("output") or "")
    return "\n".join(filter(None, map(_text, content or ())))


def _messages(body: Mapping[str, Any]) -> tuple[str, list[Message], dict[str, Any]]:
    found: list[Message] = []
    for message in body["messages"]:
        blocks = (
            message["content"]
            if isinstance(message["content"], list)
            else [{"type": "text", "text": message["content"]}]
        )
        results = [_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
        said = _text([block for block in blocks if block.get("type") == "text"])
        if message["role"] == "assistant":
            found.append(("model", said))
        elif results:
            found += [("tool", text) for text in results]
        elif message["role"] == "user":
            found.append(("user", said))
    return (
        _text(body.get("system")),
        found,
        {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or ()},
    )


def _responses(body: Mapping[str, Any]) -> tuple[str, list[Message], dict[str, Any]]:
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    found: list[Message] = []
    system = [str(body.get("instructions") or "")]
    tools = list(body.get("tools") or ())
    for item in items:
        kind = item.get("type", "message")
        if kind == "additional_tools":
            tools += item.get("tools") or ()
        elif kind.endswith("_output"):
            found.append(("tool", _text(item.get("output"))))
        elif kind.endswith("_call") or kind == "reasoning":
            found.append(("model", ""))
        elif item.get("role") == "assistant":
            found.append(("model", _text(item.get("content"))))
        elif item.get("role") == "user":
            found.append(("user", _text(item.get("content"))))
        else:
            system.append(_text(item.get("content")))
    named = {tool["name"]: tool.get("parameters") or {} for tool in tools if tool.get("name")}
    customs = {tool["name"]: {"custom": True} for tool in tools if tool.get("type") == "custom"}
    return "\n".join(system), found, {**named, **customs}


def _chat(body: Mapping[str, Any]) -> tuple[str, list[Message], dict[str, Any]]:
    roles = {"assistant": "model", "tool": "tool", "user": "user"}
    found = [(roles[one["role"]], _text(one.get("content"))) for one in body["messages"] if one["role"] in roles]
    system = "\n".join(_text(one.get("content")) for one in body["messages"] if one["role"] in ("system", "developer"))
    tools = [tool.get("function") or {} for tool in body.get("tools") or ()]
    return system, found, {tool["name"]: tool.get("parameters") or {} for tool in tools if tool.get("name")}


def _gemini(body: Mapping[str, Any]) -> tuple[str, list[Message], dict[str, Any]]:
    found: list[Message] = []
    for content in body["contents"]:
        parts = content.get("parts") or []
        results = [json.dumps(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]
        if content.get("role") == "model":
            found.append(("model", _text(parts)))
        elif results:
            found += [("tool", text) for text in results]
        else:
            found.append(("user", _text(parts)))
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") or {} for one in declared}
    return _text((body.get("systemInstruction") or {}).get("parts")), found, tools


_READERS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, list[Message], dict[str, Any]]]] = {
    "messages": _messages,
    "count_tokens": _messages,
    "responses": _responses,
    "chat": _chat,
    "gemini": _gemini,
}
