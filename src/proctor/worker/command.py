"""A worker of kind `command`: any program, told its brief once. Of its lines, those of the protocol are events.

A question is answered by a line in the FIFO `$PROCTOR_ANSWERS`.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import msgspec

from proctor.worker import tools
from proctor.worker.base import MAX_FIGURE, Ask, Claim, Note, Tool, Usage, WorkerEvent
from proctor.worker.decoding import Unreadable, decoded
from proctor.worker.dialect import Dialect, Launch, Setting, Stdin

MAX_ARGUMENT = 120_000
"""Bytes of a brief that fit into one argument of a program on Linux."""


class Command(Dialect):
    """A program of the contract's. `brief` is how it is told: `stdin`, `file` (only `$PROCTOR_BRIEF`) or `argument`;
    with `terminal` its output goes to a terminal of its own, on which nothing tells errors from the rest."""

    def __init__(self, argv: tuple[str, ...], brief: str = "stdin", terminal: bool = False) -> None:
        self._argv, self._brief, self._terminal = argv, brief, terminal
        self._asked: dict[str, dict[str, Any]] = {}

    def launch(self, setting: Setting) -> Launch:
        told = (as_argument(setting.brief),) if self._brief == "argument" else ()
        stdin = Stdin.BRIEF if self._brief == "stdin" else Stdin.NOTHING
        return Launch((*self._argv, *told), stdin=stdin, terminal=self._terminal)

    def heard(self, source: str, line: bytes) -> None:
        event = parse_line(line) if source == "stdout" else None
        if isinstance(event, Ask):
            event = replace(event, id=self._free(event.id))
            self._asked[event.id] = event.input
        if event is not None:
            self.tell(event)

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        if (given := self._asked.pop(asked, None)) is None:
            return
        decision = "allow" if allow else "deny"
        answer = {
            "id": asked,
            "decision": decision,
            "reason": reason,
            "input": given if changed is None else changed,
        }
        self.send(msgspec.json.encode(answer) + b"\n")

    def interrupt(self) -> None:
        """There is no word for it."""

    def _free(self, asked: str) -> str:
        """The id of a question, or where one with that id is still open, one that no open question has."""
        ids = itertools.chain((asked,), (f"{asked}~{n}" for n in itertools.count(2)))
        return next(one for one in ids if one not in self._asked)


def as_argument(brief: str) -> str:
    """As much of the brief as an argument holds, and no byte that would end it."""
    return brief.replace("\0", "\ufffd").encode()[:MAX_ARGUMENT].decode(errors="ignore")


def plainly(brief: str) -> str:
    """The brief so that no agent takes its beginning for a command or an option of its own."""
    return f" {brief}" if brief[:1] in ("/", "!", "-") else brief


def parse_line(line: bytes) -> WorkerEvent | None:
    """The event that a line of the protocol holds; None if it is an ordinary log line.

    A known word with fields of the wrong type is a log line too: nothing is guessed.
    """
    if not line.lstrip().startswith(b"{") or b'"proctor"' not in line:
        return None
    try:
        data = decoded(line)
    except Unreadable:
        return None
    if not isinstance(data, dict):
        return None
    try:
        return _event(data)
    except (KeyError, TypeError, ValueError):
        return None


def _event(data: dict[str, Any]) -> WorkerEvent | None:
    match data.get("proctor"):
        case "usage":
            model = data.get("model")
            counts = {key: _count(data.get(key, 0)) for key in ("input", "output", "cache_read", "cache_write")}
            return Usage(model if isinstance(model, str) else None, **counts)
        case "tool":
            return Tool(_word(data["name"]), _mapping(data.get("input")), _id(data.get("id", "")))
        case "result":
            said, ok = data.get("output", ""), data["ok"]
            if not isinstance(said, str) or not isinstance(ok, bool):
                raise TypeError(said)
            return tools.result(_id(data.get("id", "")), ok, said)
        case "claim":
            task = data.get("task")
            if task is not None and (isinstance(task, bool) or not isinstance(task, int | str)):
                raise TypeError(task)
            return Claim(task, _word(data["status"]), str(data.get("why") or "")[:2000])
        case "note":
            return Note(_word(data["text"], 4000))
        case "ask":
            why = data.get("why", "")
            return Ask(_id(data["id"]), _word(data["tool"]), _mapping(data.get("input")), str(why)[:2000])
    return None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_FIGURE:
        raise ValueError(value)
    return value


def _id(value: object) -> str:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise TypeError(value)
    return str(value)[:200]


def _word(value: object, limit: int = 200) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(value)
    return value[:limit]


def _mapping(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(value)
    return value
