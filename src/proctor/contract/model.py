"""The contract as a frozen value: every key of `proctor.yaml`, typed, in base units.

Durations are milliseconds (a check's timeout: seconds), sizes bytes, money micro-dollars. Everything
but the goal, the worker, one ceiling and one check has a default. Keys that this release knows and
does not run yet stand here too: `built.py` refuses them when they are set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, PrivateAttr, Tag

from proctor import units
from proctor.contract.budget import Budget
from proctor.contract.document import Place
from proctor.contract.gateway import Gateway
from proctor.contract.progress import Progress, Termination
from proctor.contract.section import Section
from proctor.contract.state import State
from proctor.contract.values import (
    AgentSettings,
    Amount,
    Argv,
    BriefWay,
    Channel,
    Duration,
    Git,
    Goal,
    Hosts,
    OneOrMany,
    SandboxKind,
    Text,
    ToolPatterns,
    WorkerKind,
    never,
)


class Cheaper(Section):
    model: Text
    """The model that is used under `degrade` and by `at_soft: [cheaper_model]`."""


class Worker(Section):
    kind: WorkerKind
    command: Argv | None = None
    """For `kind: command`: the program and its arguments; no shell reads them."""
    agent: Text | None = None
    """A program that is known and started as it has to be: for `kind: acp` opencode, gemini or qwen, for
    `kind: command` aider or mini. `command` may name another program of the same kind."""
    model: Text | None = None
    """The model's name: handed to the worker as `$PROCTOR_MODEL`, and what prices are looked up by."""
    cheaper: Cheaper | None = None
    idle: Annotated[int, Amount(units.parse_duration, "1s", "7d")] = 15 * 60_000
    """No output, no file change and no CPU for so long: the iteration is ended."""
    brief: BriefWay = BriefWay.STDIN
    terminal: bool = False
    """The worker's output goes to a terminal of its own, for programs that say nothing into a pipe."""


class Approvals(Section):
    """Patterns of the form `tool(glob)`; deny weighs more than ask, ask more than allow, and the rest is asked."""

    allow: ToolPatterns = ()
    ask: ToolPatterns = ()
    deny: ToolPatterns = ()
    expire: Annotated[Duration | None, BeforeValidator(never)] = None
    """A request that nobody answers for so long is denied; `never` waits."""


def _size(least: str) -> Amount:
    return Amount(units.parse_size, least, "1024T", why=_LEAST)


def _number(least: str, most: str) -> Amount:
    return Amount(units.parse_count, least, most, why=_LEAST)


_LEAST = "a shell, a runtime and git need as much"


class Limits(Section):
    """The least of each is what a shell, a runtime and git need to work at all; the most what a kernel can count."""

    memory: Annotated[int, _size("64M")] = 4 << 30
    processes: Annotated[int, _number("16", "4,194,304")] = 512
    file_size: Annotated[int, _size("1M")] = 2 << 30
    open_files: Annotated[int, _number("64", "1,048,576")] = 4096
    scratch: Annotated[int, _size("1M")] = 512 << 20
    growth: Annotated[int, _size("1M")] = 20 << 30
    """What one worker may add to the workspace before it is ended."""


class Sandbox(Section):
    kind: SandboxKind = SandboxKind.BWRAP
    hosts: Hosts = ()
    git: Git = Git.AUTO
    """The worker's private repository: borrowed from the workspace's own, or an empty one where there is none."""
    unix_sockets: bool = True
    agent_settings: AgentSettings = AgentSettings.IGNORE
    limits: Limits = Limits()


class NotifyCommand(Section):
    run: Argv


def _form(notice: Any) -> str:
    return "command" if isinstance(notice, dict | NotifyCommand) else "channel"


Notice = Annotated[Annotated[Channel, Tag("channel")] | Annotated[NotifyCommand, Tag("command")], Discriminator(_form)]


class Contract(Section):
    """The whole contract, as loaded. Four parts: state, budget, progress, termination."""

    goal: Goal
    worker: Worker
    state: State = State()
    budget: Budget
    progress: Progress = Progress()
    termination: Termination = Termination()
    approvals: Approvals = Approvals()
    sandbox: Sandbox = Sandbox()
    gateway: Gateway = Gateway()
    actions: Any = None
    notify: Annotated[tuple[Notice, ...], OneOrMany()] = (Channel.BELL,)
    """What one notice goes to: every level crossing, every request, every stop."""

    _hash: str = PrivateAttr(default="")
    _lines: Mapping[Place, int] = PrivateAttr(default_factory=dict)

    @property
    def hash(self) -> str:
        """SHA-256 of the file that this contract was read from; empty where there was none."""
        return self._hash

    @property
    def lines(self) -> Mapping[Place, int]:
        """The line of every key and item of that file."""
        return self._lines
