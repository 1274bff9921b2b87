"""What clients ask for beside the conversation: titles, probes, answers after a schema, lists of models."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from models.script import Tokens, Turn, View

MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5.5", "gpt-5-mini", "gemini-2.5-flash")

_ASIDES = (
    (r"title generator|generate .{0,40}title|session title|\btitle for\b", "Scripted work"),
    (r"git commit message", "chore: scripted change"),
    (r"summari[sz]", "Scripted summary."),
)


def side(view: View) -> tuple[str, Turn] | None:
    """The kind of a request that is not the script's business, and its answer."""
    if view.schema is not None:
        return "schema", Turn(json.dumps(_instance(view.schema)))
    if view.tools:
        return None
    if view.most_output == 1:
        return "probe", Turn(".", tokens=Tokens(8, 1))
    for pattern, text in _ASIDES:
        if re.search(pattern, view.system[:3000], flags=re.I):
            return "title", Turn(text)
    return None


def _instance(schema: Mapping[str, Any]) -> Any:
    """The smallest thing that a schema allows."""
    if "enum" in schema:
        return "user" if "user" in schema["enum"] else schema["enum"][0]
    match str(schema.get("type", "object")).lower():
        case "object":
            return {key: _instance(one) for key, one in (schema.get("properties") or {}).items()}
        case "array":
            return []
        case "boolean":
            return False
        case "integer" | "number":
            return 0
    return "none"


def listed(path: str) -> dict[str, Any] | None:
    """A list of models, in the form that the path is asked in."""
    bare = path.partition("?")[0].rstrip("/")
    if not bare.endswith("/models"):
        return None
    if "v1beta" in bare:
        return {"models": [{"name": f"models/{name}", "inputTokenLimit": 1_000_000} for name in MODELS]}
    return {"object": "list", "data": [{"id": name, "object": "model", "type": "model"} for name in MODELS]}
