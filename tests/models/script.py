"""What a scripted model says: turns, what it wants done, what it counts, and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Where = Literal["headers", "start", "text", "tool", "usage", "stop"]
"""A place in an answer: before its headers, after its first event, in the middle of its text or of a tool's arguments,
before its usage, before the event that ends it."""


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Read:
    path: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file as it shall be, whole."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Agent:
    """A sub-agent."""

    prompt: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by the API's own name for it, untranslated."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Action = Shell | Read | Write | Edit | Agent | Tool


@dataclass(frozen=True, slots=True)
class Tokens:
    """One call's tokens by kind, each apart from the others; `reasoning` is a part of `output`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error instead of an answer. `reset` (seconds) is said in the API's own headers or details."""

    status: int
    retry_after: str | None = None
    reset: float | None = None
    code: str = ""
    message: str = "scripted"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is aborted there."""

    where: Where = "text"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """A stream that began well says there that it failed, and ends."""

    where: Where = "text"
    kind: str = "overloaded"


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more comes from there on until the gate of this name is released."""

    gate: str
    where: Where = "headers"


@dataclass(frozen=True, slots=True)
class Slow:
    """Few bytes at a time, `pause` seconds apart."""

    size: int = 7
    pause: float = 0.0


Fault = Refuse | Cut | ErrorEvent | Stall | Slow


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. `faults` are those of the first try, the second, …; later tries go well. `usage`: `once` where the
    API has it, `none`, or on `every` chunk. With an `id` the answer has it, whoever had it before."""

    say: str = ""
    do: tuple[Action, ...] = ()
    think: str = ""
    tokens: Tokens | None = None
    usage: Literal["once", "none", "every"] = "once"
    faults: tuple[Fault | None, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A request as the script sees it: `prompt` is the last that a person said, `nth` the number of answers since,
    `heard` what the tools returned since. `agent` is the sub-agent that asks, `tools` what it may call."""

    api: str
    model: str
    stream: bool
    system: str
    prompt: str
    nth: int
    heard: tuple[str, ...]
    tools: Mapping[str, Mapping[str, Any]]
    most_output: int | None
    schema: Mapping[str, Any] | None
    agent: str
    body: Mapping[str, Any]
    raw: bytes
    path: str
    headers: Mapping[str, str]


Script = Callable[[View], Turn]


def steps(*turns: Turn, then: Turn | None = None) -> Script:
    """The turns of one conversation in order, then `then` for ever. A client without tools is told all at once."""
    last = then or Turn("Done.")
    every = Turn("\n\n".join(turn.say for turn in turns), tuple(action for turn in turns for action in turn.do))

    def choose(view: View) -> Turn:
        if not view.tools and len(turns) > 1:
            return replace(every, faults=turns[0].faults)
        return turns[view.nth] if view.nth < len(turns) else last

    return choose


def by_prompt(cases: Mapping[str, Script], otherwise: Script | None = None) -> Script:
    """The script whose pattern is found in the prompt."""

    def choose(view: View) -> Turn:
        for pattern, script in cases.items():
            if re.search(pattern, view.prompt):
                return script(view)
        return (otherwise or steps())(view)

    return choose


def from_json(data: Mapping[str, Any]) -> Script:
    """`{"conversations": [{"when": REGEX, "turns": [TURN, …]}, …]}`, for a server of its own process."""
    return by_prompt({str(one.get("when", "")): steps(*map(_turn, one["turns"])) for one in data["conversations"]})


_ACTIONS = {"shell": Shell, "read": Read, "write": Write, "edit": Edit, "agent": Agent, "tool": Tool}
_FAULTS = {"refuse": Refuse, "cut": Cut, "error": ErrorEvent, "stall": Stall, "slow": Slow}


def _turn(data: Mapping[str, Any]) -> Turn:
    given = dict(data)
    given["do"] = tuple(_made(_ACTIONS, one) for one in given.get("do", ()))
    given["faults"] = tuple(_made(_FAULTS, one) if one else None for one in given.get("faults", ()))
    if given.get("tokens"):
        given["tokens"] = Tokens(**given["tokens"])
    return Turn(**given)


def _made(kinds: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    ((kind, fields),) = data.items()
    return kinds[kind](**fields)
