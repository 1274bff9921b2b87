"""The names under which rules, screens and logs know a tool, whoever calls it what, and what it is given.

A canonical input has `path` where agents have keys of their own, and a `diff` for an edit that names what goes and what
comes; whatever else the agent gives stays beside them. Rules judge it and the agent acts on the whole, so nothing is
cut that could decide; what is too large for that is not to be put to anybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import msgspec

from proctor.worker.base import Result

HEAD = 2_000
"""Characters of a result that are kept beside the raw stream."""
MOST_TEXT = 16_000
"""Characters of a text that goes into a file or to a model."""
MOST_INPUT = 1 << 20
"""Bytes of an input that can be judged and shown."""
DEEPEST = 20
MOST_NAME = 100

# fmt: off
NAMES: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("Bash", "Monitor", "bash", "run_shell_command", "exec_command", "local_shell"), "shell"),
    **dict.fromkeys(("Read", "NotebookRead", "read_file", "read_many_files", "view_image"), "read"),
    **dict.fromkeys((
        "Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace", "edit", "patch", "apply_patch",
    ), "write"),
    **dict.fromkeys((
        "Grep", "Glob", "LS", "grep", "glob", "list", "list_directory", "search_file_content", "grep_search",
    ), "search"),
    **dict.fromkeys((
        "WebFetch", "WebSearch", "webfetch", "websearch", "web_fetch", "web_search", "google_web_search",
    ), "fetch"),
    **dict.fromkeys(("Agent", "Task", "Workflow", "task"), "agent"),
    **dict.fromkeys(("AskUserQuestion", "ask_user_question", "request_user_input"), "question"),
})
"""What agents call their tools. A name that is not here stays the agent's own."""
# fmt: on

CANONICAL = frozenset(NAMES.values()) | {"host"}
PATHS = frozenset({"file_path", "filePath", "filepath", "notebook_path", "absolute_path"})
TEXTS = frozenset({"content", "old_string", "new_string", "new_source", "prompt"})


def canonical(name: str, names: Mapping[str, str] = NAMES) -> str:
    """The canonical name of an agent's tool, or its own in plain letters. None of its own passes for a canonical one:
    what is allowed to `read` is not allowed to any tool that calls itself so."""
    if name in names:
        return names[name]
    own = re.sub(r"[^\w.-]+", "_", name[:MOST_NAME].lower(), flags=re.ASCII).strip("_") or "tool"
    return f"own.{own}" if own in CANONICAL else own


def canonical_input(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool is given, under canonical keys, with long texts cut."""
    shown = {_key(key, given): _cut(key, value) for key, value in given.items()}
    if "diff" not in shown and (diff := _diff(given)):
        shown["diff"] = diff
    return shown


def result(call: str, ok: bool, said: str) -> Result:
    """What a call came to, cut to its beginning."""
    whole = sha256(said.encode(errors="surrogatepass")).hexdigest()[:16] if len(said) > HEAD else ""
    return Result(call, ok, said[:HEAD], whole)


def is_too_large(shown: Mapping[str, Any]) -> bool:
    """Whether an input is too large, or nested too deeply, to be judged and shown."""
    return _is_deep(shown, DEEPEST) or len(msgspec.json.encode(shown)) > MOST_INPUT


def is_sound(given: Mapping[str, Any]) -> bool:
    """Whether a worker can be given an input: small enough, and text throughout."""
    try:
        return not is_too_large(given)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return False


def _is_deep(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most <= 0 or _is_deep(item, most - 1) for item in inner)


def regiven(given: Mapping[str, Any], granted: Mapping[str, Any]) -> dict[str, Any]:
    """What was granted under canonical keys, in the agent's own; what was not changed is as it was given, whole."""
    shown = canonical_input(given)
    own = {_key(key, given): key for key in given}
    return {**given} | {
        own.get(key, key): value
        for key, value in granted.items()
        if key not in shown or (key in own and shown[key] != value)
    }


def _key(key: str, given: Mapping[str, Any]) -> str:
    return "path" if key in PATHS and "path" not in given and len(PATHS & given.keys()) == 1 else key


def _cut(key: str, value: Any) -> Any:
    if isinstance(value, str) and key in TEXTS and len(value) > MOST_TEXT:
        return f"{value[:MOST_TEXT]}…"
    if isinstance(value, list):
        return [canonical_input(item) if isinstance(item, dict) else item for item in value]
    return value


def _diff(given: Mapping[str, Any]) -> str:
    """What goes and what comes, of an edit that names both."""
    old, new = given.get("old_string"), given.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return ""
    return "\n".join([*(f"-{line}" for line in _lines(old)), *(f"+{line}" for line in _lines(new))])


def _lines(text: str) -> list[str]:
    return text[:MOST_TEXT].splitlines()
