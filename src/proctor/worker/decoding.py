"""JSON as agents write it, which is not always JSON as it should be."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

HALVES = re.compile("[\ud800-\udfff]")


class Unreadable(Exception):
    """A line that is no JSON, or was cut, or is nested without end."""


def decoded(line: bytes) -> Any:
    """What a line holds. Half a character, as programs leave where they cut a text, becomes U+FFFD, which is also what
    it becomes when they pass it on."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        whole = json.dumps(json.loads(line.decode()), ensure_ascii=False)
        return msgspec.json.decode(HALVES.sub("\ufffd", whole))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Unreadable from None
