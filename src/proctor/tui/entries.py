"""An entry of the log: the form that a worker's stream (`stream`) and the journal's rows (`rows`) are told in. Pure;
everything is made safe.

The stream and the journal say some things twice (a claim, a request); the journal's word is shown, because it is
the one that counts.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from proctor.tui.spans import Role

BODY = 1_000
"""Characters shown of one line; the file keeps the rest."""
BATCH = 200
"""Plain lines shown of one batch of a stream: what comes faster than this is counted, not shown."""
MOST_HUNK_LINES = 6
_MAIN_ARGUMENTS = ("command", "cmd", "path", "file_path", "file", "pattern", "url", "query", "name")


class Kind(StrEnum):
    """What a log line is: a break between iterations, the harness's word, the worker's protocol, plain output."""

    BREAK = "break"
    HARNESS = "harness"
    WORKER = "worker"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the log. `word` names it in a narrow column; `rows` is how many rows it may take."""

    at: datetime
    kind: Kind
    word: str
    text: str
    role: Role = Role.TEXT
    rows: int = 2


Told = tuple[str, str] | tuple[str, str, Role] | None
"""What a row comes to: the entry's word, its text, its role. None for one that is no news to a reader."""


def main_argument(arguments: dict[str, Any]) -> tuple[str, str]:
    """The name and text of a tool call's main argument; `("", all as JSON)` when none stands out."""
    for name in _MAIN_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return name, value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return name, " ".join(value)
    texts = [(name, value) for name, value in arguments.items() if isinstance(value, str)]
    if len(texts) == 1 == len(arguments):
        return texts[0]
    return "", json.dumps(arguments, ensure_ascii=False, default=str) if arguments else ""


def merge(log: Sequence[Entry], news: Sequence[Entry]) -> tuple[int, list[Entry]]:
    """Weave news into the end of a log by time: how many of the log's entries stay, and what follows them.

    The stream comes a little later than the journal, so what is new may belong before what is shown.
    """
    ordered = sorted(news, key=lambda entry: entry.at)
    keep = len(log)
    while keep and ordered and log[keep - 1].at > ordered[0].at and len(log) - keep < BATCH:
        keep -= 1
    return keep, list(heapq.merge(log[keep:], ordered, key=lambda entry: entry.at))


def some(paths: tuple[str, ...]) -> str:
    """The first few of them, and how many more."""
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def hunk(diff: str) -> str:
    """The changed lines of a diff, on one line; `proctor show` has them whole."""
    lines = [line for line in diff.splitlines() if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]
    return "".join(f" · {line}" for line in lines[:MOST_HUNK_LINES]) + (" …" if len(lines) > MOST_HUNK_LINES else "")
