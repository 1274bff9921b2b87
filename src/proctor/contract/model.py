"""The contract as a frozen value: every key of `proctor.yaml`, typed, in base units.

Durations are milliseconds (a check's timeout: seconds), sizes bytes, money micro-dollars. Everything
but the goal, the worker, one ceiling and one check has a default. Keys that this release knows and
does not run yet stand here too: `built.py` refuses them when they are set.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, PrivateAttr, Tag

from proctor.contract.budget import Budget
from proctor.contract.gateway import Gateway
from proctor.contract.progress import Progress, Termination
from proctor.contract.section import Section
from proctor.contract.state import State
from proctor.contract.values import (
    AgentSettings,
    Argv,
    AtLeast,
    BriefWay,
    Channel,
    Duration,
    Git,
    Hosts,
    Number,
    OneOrMany,
    SandboxKind,
    Size,
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
    idle: Duration = 15 * 60_000
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


class Limits(Section):
    """The least of each is what a shell, a runtime and git need to work at all."""

    memory: Annotated[Size, AtLeast(64 << 20, "64M")] = 4 << 30
    processes: Annotated[Number, AtLeast(16, "16")] = 512
    file_size: Annotated[Size, AtLeast(1 << 20, "1M")] = 2 << 30
    open_files: Annotated[Number, AtLeast(64, "64")] = 4096
    scratch: Annotated[Size, AtLeast(1 << 20, "1M")] = 512 << 20
    growth: Annotated[Size, AtLeast(1 << 20, "1M")] = 20 << 30
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

    goal: Text
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

    @property
    def hash(self) -> str:
        """SHA-256 of the file that this contract was read from; empty where there was none."""
        return self._hash
