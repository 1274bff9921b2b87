"""What a worker can say, whatever kind it is. Everything here is a claim of an untrusted process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_FIGURE = 2**53
"""Largest count taken from a worker's report; more is nonsense and the line stays a log line."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as reported. `input` does not contain the cached ones."""

    model: str | None = None
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call the worker says it made, by its canonical name (see `tools.py`). `id` joins it to its result."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What the worker says a tool call came to; `output` is its beginning, `digest` names all of it where it is
    longer. Without an `id` it is that of the last call."""

    id: str
    ok: bool
    output: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """The agent is up: its own word on version, model and conversation."""

    version: str = ""
    model: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong on the worker's side, in its own words. Evidence of nothing."""

    text: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent has finished what it was told to do, or gave up: nothing more comes unless it is told more."""

    ok: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Resting:
    """The agent has ended its turn and left so many tasks running: told of their end, it goes on by itself."""

    tasks: int


@dataclass(frozen=True, slots=True)
class Claim:
    """What the worker says about a task, and why if it says so; a claim, never a verdict."""

    task: int | str | None
    status: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark for the log."""

    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that waits for the operator; `id` is the worker's own, `tool` canonical, `agent` the sub-agent that
    asks. `changeable`: another input may be granted than the one asked for."""

    id: str
    tool: str
    input: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    agent: str = ""
    changeable: bool = True


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The worker does not wait for this answer any more."""

    id: str


WorkerEvent = Usage | Tool | Result | Claim | Note | Ask | Withdrawn | Started | Trouble | Resting | TurnEnded
