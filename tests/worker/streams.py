"""Recorded streams of real agents, played to a dialect as if it spoke to them now."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.worker.base import Ask, Note, Result, Started, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.dialect import Dialect, Setting

STREAMS = Path(__file__).parents[1] / "streams"
OURS = ("->", "client->agent")
SETTING = Setting("go", "m", "http://127.0.0.1:8377", "token", "/workspace")


@dataclass
class Played:
    """What a dialect told and sent, and what had been sent when the stream was recorded, but for requests."""

    dialect: Dialect
    told: list[Any] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)

    def begin(self) -> Played:
        self.launch = self.dialect.launch(SETTING)
        self.dialect.begin(lambda data: self.sent.extend(map(json.loads, data.splitlines())), self.told.append)
        return self

    def hear(self, message: object) -> None:
        self.dialect.heard("stdout", message if isinstance(message, bytes) else json.dumps(message).encode())

    def asked(self, method: str) -> Any:
        """The last request of this method that was sent, or None."""
        return next((one for one in reversed(self.sent) if one.get("method") == method), None)

    def requested(self) -> list[str]:
        return [one["method"] for one in self.sent if "method" in one and "id" in one]

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


def played(dialect: Dialect, stream: str, said: dict[str, Any] | None = None) -> Played:
    """Play the agent's side of a conversation by JSON-RPC. `said` changes what it answers to a request, by method.

    Where the recorded client allowed or denied once, the dialect does too; where it broke off, it is interrupted.
    """
    play = Played(dialect).begin()
    methods: dict[Any, str] = {}
    for line in (STREAMS / f"{stream}.jsonl").read_text().splitlines():
        row = json.loads(line)
        message = row["msg"]
        if row["dir"] in OURS:
            if "method" in message and "id" in message:
                methods[message["id"]] = message["method"]
                if message["method"] == "turn/interrupt":
                    play.dialect.interrupt()
            elif message.get("method") == "session/cancel":
                play.dialect.interrupt()
            elif "result" in message and (allow := _decided(message["result"])) is not None:
                play.replies.append(message)
                play.dialect.answer(str(message["id"]), allow, "")
        elif "method" in message:
            play.hear(message)
        elif (method := methods.get(message["id"])) and (request := play.asked(method)):
            more = {"result": {**message["result"], **(said or {}).get(method, {})}} if "result" in message else {}
            play.hear({**message, **more, "id": request["id"]})
    return play


def _decided(result: dict[str, Any]) -> bool | None:
    """Whether a recorded answer allowed once, denied, or neither."""
    outcome = result.get("outcome") or {}
    chosen = result.get("decision") or outcome.get("optionId") or outcome.get("outcome")
    if chosen in ("accept", "allow", "allow-once", "once", "proceed_once"):
        return True
    return False if chosen in ("decline", "reject", "cancel") and result.get("decision") != "cancel" else None


def brief(told: list[Any]) -> str:
    """Events in short: S started, N said, T:tool called, A:tool asked, R+/R- its result, W withdrawn, X trouble
    (X! for good), E+/E- the turn's end. Usage is left out."""
    return " ".join(_short(event) for event in told if not isinstance(event, Usage))


def _short(event: object) -> str:
    match event:
        case Tool():
            return f"T:{event.name}"
        case Ask():
            return f"A:{event.tool}{'@' * bool(event.agent)}"
        case Result() | TurnEnded():
            return f"{'R' if isinstance(event, Result) else 'E'}{'-+'[event.ok]}"
        case Trouble():
            return "X!" if event.fatal else "X"
    return {Started: "S", Note: "N", Withdrawn: "W"}[type(event)]


def tokens(told: list[Any]) -> tuple[int, int, int, int]:
    """All that was told of tokens: input, output, read from a cache, written to one."""
    usages = [event for event in told if isinstance(event, Usage)]
    fields = ("input", "output", "cache_read", "cache_write")
    return tuple(sum(getattr(usage, name) for usage in usages) for name in fields)  # type: ignore[return-value]
