"""The contract as a frozen value: every key of `proctor.yaml`, typed, in base units.

Durations are milliseconds (a check's timeout: seconds), sizes bytes, money micro-dollars. Everything
but the goal, the worker, one ceiling and one check has a default. Keys that this release knows and
does not run yet stand here too: `built.py` refuses them when they are set.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from proctor.contract.check import Check
from proctor.contract.section import Section
from proctor.contract.values import (
    Address,
    AgentSettings,
    Areas,
    Argv,
    AtLeast,
    Billing,
    BriefWay,
    Channel,
    Commits,
    Count,
    Duration,
    Family,
    Git,
    Hosts,
    KeyName,
    Money,
    Number,
    OneOrMany,
    OnFailed,
    OnTampering,
    Patterns,
    Percent,
    Record,
    RelativePath,
    SandboxKind,
    Share,
    Size,
    Spend,
    Text,
    ToolPatterns,
    UnknownPaths,
    Variables,
    Words,
    WorkerKind,
    never,
)
from proctor.journal.drift import USUAL
from proctor.words import AtSoft, Dimension, Drift, Exhaustion, LoopRule, Response, Rule


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


class Checkpoint(Section):
    """What is kept of the workspace. `exclude` weighs more than `include`, and that more than ignore rules."""

    include: Patterns = ()
    """Ignored files and folders that are kept all the same; into a folder that is ignored as a whole a pattern reaches
    that names the way, such as `build/reports/`."""
    exclude: Patterns = ()
    """Files and folders that no checkpoint holds and no rollback touches, whoever tracks them."""
    max_file: Size = 64 << 20
    """A larger file is named and left alone."""
    max_total: Size = 2 << 30
    """What one checkpoint may add; never less than `max_file`. At a session's start more is refused; later the
    largest new files are named and left out."""
    keep: Annotated[Duration | None, BeforeValidator(never)] = 30 * 24 * 3600 * 1000
    """How long checkpoints that nothing needs stay, and the raw output of iterations; None for ever."""


class Environment(Section):
    tools: Words = ()
    """Programs that the work needs: `proctor check` looks for them."""
    variables: Variables = ()
    """Names of variables that the worker gets from the operator's environment."""
    secrets: Variables = ()
    setup: Argv | None = None


class State(Section):
    """What survives a restart, a context reset, a new sandbox. Paths are relative to the workspace."""

    tasks: RelativePath = "tasks.json"
    plan: RelativePath = "PLAN.md"
    progress: RelativePath = "PROGRESS.md"
    rules: RelativePath = "RULES.md"
    protect: Areas = ()
    """Files and folders that the worker can read and not write: what the checks rest on."""
    hide: Areas = ()
    """Files and folders that the worker cannot even read."""
    commits: Commits | None = None
    """A commit for each verified task on `proctor/SESSION`. Left out: in a git repository under `bwrap`, else none."""
    checkpoint: Checkpoint = Checkpoint()
    environment: Environment = Environment()

    @property
    def owned(self) -> tuple[str, ...]:
        """The files that the harness writes: no part of a tree's identity."""
        return (self.tasks, self.progress, self.rules)


class Ceiling(Section):
    """A limit in its dimension's unit, and what happens at it. There is no default action."""

    limit: Number
    on_exhaustion: Exhaustion
    per_task: Number | None = None
    per_iteration: Number | None = None
    reserve: Percent = 10
    """Per cent of the limit, beyond it, that `degrade` may spend on the cheaper model."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Ceiling:
        for name in ("per_task", "per_iteration"):
            if (share := getattr(self, name)) is not None and share > self.limit:
                raise ValueError(f"{name} is more than the limit, so no task could ever start")
        return self


class TimeCeiling(Ceiling):
    limit: Duration
    per_task: Duration | None = None
    per_iteration: Duration | None = None


class SizeCeiling(Ceiling):
    limit: Size
    per_task: Size | None = None
    per_iteration: Size | None = None


class MoneyCeiling(Ceiling):
    limit: Spend
    per_task: Spend | None = None
    per_iteration: Spend | None = None


class Levels(Section):
    alert: Percent = 50
    soft: Percent = 70

    @model_validator(mode="after")
    def _rise(self) -> Levels:
        if not self.alert < self.soft < 100:
            raise ValueError(f"alert ({self.alert}%) must come before soft ({self.soft}%), and soft before 100%")
        return self


class Budget(Section):
    """At least one ceiling; a dimension without one is counted and not limited."""

    wall_clock: TimeCeiling | None = None
    """Active time: waits for people, rate limits and suspends do not count."""
    elapsed: TimeCeiling | None = None
    """Calendar time."""
    tokens: Ceiling | None = None
    prefix_tokens: Ceiling | None = None
    generated_tokens: Ceiling | None = None
    cost: MoneyCeiling | None = None
    tool_calls: Ceiling | None = None
    iterations: Ceiling | None = None
    files_touched: Ceiling | None = None
    """Union over the session; does not fall on rollback. So are the next two."""
    lines_changed: Ceiling | None = None
    bytes_written: SizeCeiling | None = None
    records: Any = None
    money: Any = None
    actions: Any = None
    levels: Levels = Levels()
    at_soft: Annotated[tuple[AtSoft, ...], OneOrMany()] = (AtSoft.NARROW, AtSoft.SKIP_OPTIONAL_CHECKS)

    @property
    def ceilings(self) -> dict[Dimension, Ceiling]:
        """The ceilings there are, in the order of the dimensions."""
        found = ((dimension, getattr(self, dimension)) for dimension in Dimension)
        return {dimension: ceiling for dimension, ceiling in found if ceiling is not None}

    @property
    def alert(self) -> int:
        """Per cent of a limit at which the operator is told."""
        return self.levels.alert

    @property
    def soft(self) -> int:
        """Per cent of a limit at which `at_soft` begins."""
        return self.levels.soft


class Plateau(Section):
    """Windows of the rules, in iterations; 0 switches a rule off."""

    no_change: Count = 3
    shrinking: Count = 3
    same_failure: Count = 3
    revisit: Count = 2
    no_op: Count = 2
    stalled: Count = 6
    same_call: Count = 4
    """Inside an iteration, where it ends the iteration: the same tool, input and result so many times."""
    same_error: Count = 4
    """Inside an iteration: the same error; one time less warns."""
    cycle: Count = 3
    """Inside an iteration: so many times the same two to four calls in a row."""
    same_denial: Count = 2
    """Inside an iteration: the same request denied."""
    on_plateau: Annotated[tuple[Response, ...], Field(min_length=1), OneOrMany()] = (
        Response.NARROW,
        Response.BLOCK,
        Response.ESCALATE,
        Response.PARK,
    )
    """The answers to a firing, in order."""

    @model_validator(mode="after")
    def _compare(self) -> Plateau:
        for name in ("shrinking", "same_call", "same_error", "cycle"):
            if getattr(self, name) == 1:
                raise ValueError(f"{name} compares at least 2; 0 switches it off")
        return self

    @property
    def windows(self) -> dict[Rule, int]:
        """The rules that are on, with their windows."""
        found = ((rule, int(getattr(self, rule))) for rule in Rule)
        return {rule: window for rule, window in found if window}

    @property
    def loops(self) -> dict[LoopRule, int]:
        """The rules inside an iteration that are on, with their counts."""
        found = ((rule, int(getattr(self, rule))) for rule in LoopRule)
        return {rule: times for rule, times in found if times}


class DriftLights(Section):
    """The figure of each light; 0 switches it off."""

    premature_victory: Count = USUAL[Drift.PREMATURE_VICTORY]
    """False claims among the last ten, at least half of them."""
    plan_rot: Count = USUAL[Drift.PLAN_ROT]
    """Any number but 0: a task that names what is gone waits for you."""
    state_pollution: Count = USUAL[Drift.STATE_POLLUTION]
    """Tokens an iteration that workers may add to the log."""
    test_gaming: Count = USUAL[Drift.TEST_GAMING]
    """Iterations for which what was done to the checks stays lit."""
    tunnel_vision: Count = USUAL[Drift.TUNNEL_VISION]
    """Iterations in one folder without a verified task, while others are open elsewhere."""
    silent_regression: Count = USUAL[Drift.SILENT_REGRESSION]
    """Verified tasks that fail again."""
    budget_runaway: Count = USUAL[Drift.BUDGET_RUNAWAY]
    """Times the median of a verified task at which a task parks the session; at half of them it is narrowed."""

    @model_validator(mode="after")
    def _claims(self) -> DriftLights:
        if self.premature_victory > 10:
            raise ValueError("premature_victory counts among the last ten claims; 0 switches it off")
        return self

    @property
    def windows(self) -> dict[Drift, int]:
        """All of them."""
        return {drift: int(getattr(self, drift)) for drift in Drift}


class Progress(Section):
    checks: tuple[Check, ...] = ()
    """For tasks that name none of their own; all of them must pass."""
    smoke: Check | None = None
    """Runs before a worker starts, on a tree that is not known to pass it; while it fails, to mend that comes first."""
    regression: Share = 25
    """Per cent of an iteration's active time that checks of verified tasks may take after a pass, one check at the
    least; 0: only after the last task, when all of them run again."""
    audit: Annotated[Duration | None, BeforeValidator(never)] = 10 * 60_000
    """How long the audit of the checks may run by itself in one session, in idle time; `never`: only `proctor audit`
    measures them."""
    on_failed: OnFailed = OnFailed.KEEP
    on_tampering: OnTampering = OnTampering.ESCALATE
    on_suspicion: OnTampering = OnTampering.RECORD
    """A change that looks as if it were made for the check; it is shown in any case."""
    plateau: Plateau = Plateau()
    drift: DriftLights = DriftLights()


class Termination(Section):
    final: Check | None = None
    """Runs on a clean checkout after the last task."""


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


class Upstream(Section):
    base_url: Address
    key: KeyName | None = None
    """Where the key is: `env:NAME`, a variable of the operator's environment; `file:PATH`, a file's first line;
    `keyring:SERVICE/USER`. It never enters the sandbox."""
    speaks: Annotated[tuple[Family, ...], OneOrMany()] = ()
    """The languages it understands: anthropic, openai, gemini. Left out: the one that its name says, else any."""
    auth: Text | None = None
    """The header that the key goes into; `authorization` takes it as a bearer. Left out: the language's own."""
    query: dict[str, Text] = {}
    """Added to each request, such as Azure's `api-version`."""
    headers: dict[str, Text] = {}
    billing: Billing = Billing.METERED
    """`subscription`: a login pays, not a price per call; cost is shown by list price and counts against no ceiling,
    unless `enforce_subscription` says so."""


class Price(Section):
    """Micro-dollars a million tokens."""

    input: Money
    output: Money
    cache_read: Money | None = None
    """As `input` where it is not given; so is `cache_write`."""
    cache_write: Money | None = None
    cache_write_1h: Money | None = None
    """Twice `input` where it is not given."""

    @model_validator(mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        alone = isinstance(value, str | int | float)
        return dict.fromkeys(("input", "output", "cache_write_1h"), value) if alone else value


class Gateway(Section):
    upstream: dict[str, Upstream] = {}
    unknown_paths: UnknownPaths = UnknownPaths.MODELS
    record: Record = Record.META
    enforce_subscription: bool = False
    prices: dict[str, Price] = {}
    """Dollars a million tokens, where the list prices do not know a model or are not yours; 0 is free."""


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
