"""What a request's path comes to, however it is spelt: a server may decode what a gateway took for another path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

from proctor.text import safe_id

_TIMES_DECODED = 3
_LONGEST = 8_192
_AGENT_HEADERS = ("x-claude-code-agent-id", "x-openai-subagent", "x-parent-session-id")
"""Who a request says it comes from, if from a sub-agent: Claude Code, Codex, opencode."""


@lru_cache(maxsize=64)
def segments(path: str) -> tuple[str, ...]:
    """The parts of a path without its query, decoded, with `.`, `..`, empty parts and parameters resolved. ValueError
    if it is too long for one."""
    if len(path) > _LONGEST:
        raise ValueError("the path is too long")
    bare = path.partition("?")[0].partition("#")[0]
    for _ in range(_TIMES_DECODED):
        if "%" not in bare:
            break
        bare = unquote(bare)
    found: list[str] = []
    for part in bare.replace("\\", "/").split("/"):
        name = part.partition(";")[0].strip()
        if name == "..":
            del found[-1:]
        elif name not in ("", "."):
            found.append(name)
    return tuple(found)


def ends(parts: tuple[str, ...], *names: str) -> bool:
    """Whether a path ends so; case does not matter to some servers, and so not here."""
    return [part.lower() for part in parts[-len(names) :]] == list(names)


def rebuilt(parts: Iterable[str], path: str) -> str:
    """A path of these parts with the query of another."""
    _, mark, query = path.partition("?")
    return "/" + "/".join(quote(part, safe=":@!$&'()*+,=~") for part in parts) + mark + query


def asks_models(method: str, path: str) -> bool:
    """Whether a request only asks which models there are, or what one of them is."""
    parts = segments(path)
    return method in ("GET", "HEAD") and (ends(parts, "models") or ends(parts[:-1], "models")) and ":" not in parts[-1]


def posts(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request is a POST, or a server may take it for one."""
    return "POST" in (method.upper(), headers.get("x-http-method-override", "").strip().upper())


def plain(headers: Mapping[str, str], raw: bytes) -> bytes:
    """A body as it is. ValueError if it is packed: what cannot be read is not passed on."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise ValueError("a compressed body cannot be metered")
    return raw


def agent(headers: Mapping[str, str]) -> str:
    """The sub-agent that asks, as its client calls it; made fit for a word."""
    for name in _AGENT_HEADERS:
        said = headers.get(name)
        if said:
            # opencode names the parent and, apart from it, the session that asks.
            return safe_id(headers.get("x-session-id", said) if name == "x-parent-session-id" else said)
    return ""
