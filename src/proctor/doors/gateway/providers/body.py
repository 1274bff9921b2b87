"""JSON bodies: read so that no second parser could read them otherwise, and changed without touching other bytes."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, Final

import jiter

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]', re.DOTALL)

_UNCOUNTED: Final = frozenset(
    ("data", "encrypted_content", "signature", "thoughtSignature", "thought_signature", "cache_control", "file_data")
)
"""Bytes of images and files, and sealed reasoning: their length says nothing about tokens."""
_MEDIUM: Final = " [attachment] " * 100
"""What an attachment is taken for: some 400 tokens."""
_MOST_DIGITS: Final = 100
_QUICK: Final = 256 * 1024
"""Bytes that are read by the quicker reader. It takes numbers of 4,300 digits, of which few fit into so much."""
_MOST_MEDIA: Final = 1_000
"""Attachments that are taken for something: more than a provider takes, and no more memory than they are worth."""


def load(raw: bytes) -> dict[str, Any]:
    """The object that a body is. ValueError, one line, if it is none, or if a key stands twice in one object."""
    value = None
    if len(raw) <= _QUICK:
        with contextlib.suppress(ValueError):  # it also refuses what is well, such as half of a surrogate pair
            value = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=True)
    if value is None:
        value = _slowly(raw)
    if not isinstance(value, dict):
        raise ValueError("the body is not a JSON object")
    return value


def marks(raw: bytes) -> int:
    """How many values a body can hold at most, by signs that may also stand in its texts."""
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def _slowly(raw: bytes) -> Any:
    try:
        return _DECODER.decode(raw.decode())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError("the body is not JSON") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object of the body")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _whole_number(digits: str) -> int:
    """Numbers of thousands of digits take seconds, and nobody's request has them."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number of the body is too long")
    return int(digits)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number, parse_int=_whole_number)


def clear(body: Mapping[str, Any], *known: str) -> None:
    """ValueError if a key is one of the known ones but for its case: some servers would take it for that one."""
    folded = {name.casefold(): name for name in known}
    for key in body:
        name = folded.get(key.casefold())
        if name is not None and name != key:
            raise ValueError(f"the key {name} is written in another way")


def one_model(body: Mapping[str, Any]) -> None:
    """ValueError if a body names further models, which routers turn to where the first one fails: the call would be
    priced as another's."""
    for name in ("models", "fallbacks"):
        if body.get(name):
            raise ValueError(f"{name} cannot be metered: a call names one model")


def whole(body: Mapping[str, Any], name: str, most: int = 1 << 40) -> int | None:
    """A number that the body may hold; None where it is absent or negative, which some servers take for "no limit".
    ValueError if it is anything else."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value > most:
        raise ValueError(f"{name} is not a whole number that can be")
    return value if value >= 0 else None


def flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")
    return bool(value)


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value or ""


def section(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    return value or {}


def put(raw: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """A body (that `load` took) with one value set, objects on the way made where there are none; all other bytes stay
    as they are."""
    at = raw.index(b"{")
    for depth, key in enumerate(path):
        found = _member(raw, at, key)
        rest = path[depth + 1 :]
        if found is None:
            member = json.dumps(key) + ":" + json.dumps(_nested(rest, value))
            empty = raw[at + 1 :].lstrip()[:1] == b"}"
            return raw[: at + 1] + member.encode() + (b"" if empty else b",") + raw[at + 1 :]
        start, end = found
        if not rest or raw[start : start + 1] != b"{":
            return raw[:start] + json.dumps(_nested(rest, value)).encode() + raw[end:]
        at = start
    raise ValueError("no path")


def put_new(raw: bytes, key: str, value: Any) -> bytes:
    """As `put`, for a key that the body, which is not empty, is known not to have: without reading it again."""
    at = raw.index(b"{") + 1
    return b"".join((raw[:at], f"{json.dumps(key)}:{json.dumps(value)},".encode(), memoryview(raw)[at:]))


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _member(raw: bytes, at: int, key: str) -> tuple[int, int] | None:
    """Where the value of a key begins and ends, in the object that begins at `at`."""
    depth, name, start = 0, None, -1
    for token in _TOKEN.finditer(raw, at):
        sign = raw[token.start()]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        if depth > 1 or (depth == 1 and sign in b"]}"):
            continue
        if sign == ord('"') and start < 0:
            name = json.loads(token[0])
        elif sign == ord(":"):
            start = token.end()
        elif sign in b",}" and start >= 0:
            if name == key:
                found = raw[start : token.start()]
                return start + len(found) - len(found.lstrip()), token.start() - len(found) + len(found.rstrip())
            start = -1
        if depth == 0:
            break
    return None


def counted(parts: Iterable[Any]) -> list[str]:
    """The texts of a request that a model reads, in order, as far as they can be counted. What is sealed or no text is
    left out or stands for a fixed amount; a longer conversation begins with the texts of the shorter one."""
    found: list[str] = []
    left: list[Iterator[tuple[str, Any]]] = [zip(repeat(""), parts)]
    """Keys, or "" for what stands in a list, with their values."""
    media = 0
    while left:
        for key, value in left[-1]:
            one = value
            if key in _UNCOUNTED:
                if not (isinstance(one, str) and "data" in key):
                    continue
                one = "data:;base64,"
            elif key:
                found.append(key)
            if isinstance(one, str):
                if one.startswith("data:") and ";base64," in one[:200]:
                    media += 1
                    one = _MEDIUM if media <= _MOST_MEDIA else ""
                found.append(one)
            elif isinstance(one, dict):
                left.append(iter(one.items()))
                break
            elif isinstance(one, list):
                left.append(zip(repeat(""), one))
                break
            elif one is not None:
                found.append(str(one))
        else:
            left.pop()
    return found
