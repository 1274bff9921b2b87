"""JSON for the journal and the streams: always valid UTF-8, whatever a file name or a line holds."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()
_ESCAPED = re.compile(r"\\u(dc[89a-f][0-9a-f])")


def encode_json(value: Any) -> bytes:
    """The value as JSON. What is not text (a file name's odd bytes) is written as a backslash escape."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_as_text(msgspec.to_builtins(value)))


def unescaped(text: str) -> str:
    """What a text was before `encode_json` escaped a file name's odd bytes in it, if it did."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    return value
