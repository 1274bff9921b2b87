"""How one kind of agent is started and spoken to.

A dialect holds no process, no descriptor and no clock: lines come in, events and bytes go out, so that recorded streams
test it as they were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from proctor.words import Api
from proctor.worker.base import WorkerEvent

Tell = Callable[[WorkerEvent], None]
Send = Callable[[bytes], None]


class Stdin(StrEnum):
    """What a program's stdin is: the brief and then its end, nothing, or a pipe that stays open to speak through."""

    BRIEF = "brief"
    NOTHING = "nothing"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a dialect is told of the iteration. `base` is the gateway's address inside, such as `http://127.0.0.1:8377`;
    `token` stands where a key would, and is none."""

    brief: str
    model: str | None
    base: str
    token: str
    workspace: str
    instructions: str = ""
    """The project's own instructions (CLAUDE.md, AGENTS.md), for an agent that is kept from reading them by itself."""
    apis: tuple[Api, ...] = ()
    """What the model can be asked through, for an agent that can do several; any if none is named."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program as it is started. `files` are written into the scratch home first, by path relative to it: only `argv`
    and `environment` may name the gateway's address, which is another where there are no namespaces. `home`: its home
    is never the operator's, even if it has no files. `programs` are those that must be found, with what they are
    installed with."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    home: bool = False
    stdin: Stdin = Stdin.NOTHING
    terminal: bool = False
    programs: tuple[str, ...] = ()


class Dialect(ABC):
    """One conversation with one worker process. Made anew for each iteration; every method is called on the loop."""

    suspends = False
    """Whether an unanswered question stops the agent by itself. It is frozen all the same."""
    asks = True
    """Whether it puts questions at all; one that does not is held by its sandbox alone."""

    @abstractmethod
    def launch(self, setting: Setting) -> Launch:
        """What to start. UsageError, one line, where the program is not there."""

    def begin(self, send: Send, tell: Tell) -> None:
        """The process runs: say what is to be said first. `send` writes to its stdin where that is open, else to the
        answers' FIFO, in order, never blocking."""
        self.send, self.tell = send, tell

    @abstractmethod
    def heard(self, source: str, line: bytes) -> None:
        """One line of `stdout` or `stderr`, without its end; tells what it means. Never raises."""

    @abstractmethod
    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        """The operator's answer to a question, `changed` the input granted instead. Unknown ids are ignored."""

    @abstractmethod
    def interrupt(self) -> None:
        """Ask the agent to stop by itself, as it does cleanly; it is ended a moment later in any case."""
