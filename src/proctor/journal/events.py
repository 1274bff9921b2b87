"""The events: every fact a session leaves behind, one struct a kind.

An event is written once and never changed. Field names are short because rows are many, and stable
because journals outlive programs: a field may be added with a default, never renamed or removed.
A change of meaning raises the kind's version and adds an upcaster.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from proctor.journal.encoding import encode_json
from proctor.words import (
    Certainty,
    CheckpointKind,
    Dimension,
    Exhaustion,
    IterationEnd,
    Level,
    Phase,
    RequestKind,
    RequestOutcome,
    Response,
    Rule,
    SessionStatus,
    Source,
    TaskStatus,
    Verdict,
)

TaskId = int | str


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of all events."""


class CheckFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check as it was when the tasks were loaded. `timeout` in seconds."""

    run: tuple[str, ...]
    timeout: float = 300.0
    optional: bool = False
    expect: str | None = None
    allow_vacuous: bool = False


class TaskFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as the task list words it; its status lives in the state."""

    id: TaskId
    task: str
    spec: str | None = None
    checks: tuple[CheckFact, ...] = ()


class CeilingFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ceiling in the dimension's unit (milliseconds, tokens, micro-dollars, bytes, counts)."""

    dimension: Dimension
    limit: int
    action: Exhaustion


class Figure(msgspec.Struct, frozen=True):
    """An amount in its dimension's unit, and where it came from."""

    used: int
    source: Source = Source.MEASURED


class TaskMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where one task stood at a moment: what a checkpoint remembers and a rollback restores."""

    id: TaskId
    status: TaskStatus
    verified_by: int | None = None


# --- the session ------------------------------------------------------------------------------


class SessionStarted(Event, frozen=True, tag="session_started"):
    """The session's birth: once per journal."""

    session: str
    workspace: str
    goal: str


class Rebound(Event, frozen=True, tag="rebound"):
    """The workspace is elsewhere than it `was`: moved, or a copy, which has a `session` of its own from here on."""

    workspace: str
    was: str
    session: str = ""


class SupervisorStarted(Event, frozen=True, tag="supervisor_started"):
    """A supervisor took the lock. `started` is the process's start time in clock ticks since boot."""

    pid: int
    boot: str
    started: int
    token: int
    sandbox: str = "bwrap"
    worker: str = ""
    note: str = ""
    bound: tuple[str, ...] = ()
    """What binds a sandbox as a whole, in words; `unbound` is what nothing binds."""
    unbound: tuple[str, ...] = ()


class SupervisorEnded(Event, frozen=True, tag="supervisor_ended"):
    """The supervisor let go by itself; `exit_code` is that of `run --headless`."""

    exit_code: int


class ContractLoaded(Event, frozen=True, tag="contract_loaded"):
    """The terms in force from here on: hash of `proctor.yaml`, revision of the plan, ceilings, levels (per cent)."""

    contract: str
    plan: str
    ceilings: tuple[CeilingFact, ...] = ()
    alert: int = 50
    soft: int = 70


class StatusChanged(Event, frozen=True, tag="status_changed"):
    status: SessionStatus
    why: str | None = None


class OracleFrozen(Event, frozen=True, tag="oracle_frozen"):
    """What the checks rest on, from here on; `rev` names its content, `files` counts it."""

    rev: str
    files: int = 0


class TasksLoaded(Event, frozen=True, tag="tasks_loaded"):
    """The task list as read; statuses of known tasks stay what the journal says."""

    tasks: tuple[TaskFact, ...]


# --- an iteration -----------------------------------------------------------------------------


class Reserved(Event, frozen=True, tag="reserved"):
    """The task's share of every ceiling, set aside before its worker starts."""

    iteration: int
    task: TaskId
    amounts: dict[Dimension, int]


class Settled(Event, frozen=True, tag="settled"):
    """The reservation is closed: what the iteration really used."""

    iteration: int
    task: TaskId
    amounts: dict[Dimension, int]


class IterationStarted(Event, frozen=True, tag="iteration_started"):
    """The intent: written, pending, before the worker starts. `key` is the same for a repeated attempt, `tree` what the
    worker finds; older rows have none."""

    iteration: int
    task: TaskId
    key: str
    model: str | None = None
    narrow: bool = False
    tree: str = ""


class WorkerStarted(Event, frozen=True, tag="worker_started"):
    iteration: int
    pid: int


class Spent(Event, frozen=True, tag="spent"):
    """Session totals so far, coalesced to a few rows a second. Totals never fall: a fold takes the larger."""

    figures: dict[Dimension, Figure]


class ToolCalled(Event, frozen=True, tag="tool_called"):
    """Worker tool calls, coalesced: the last one's name and how many since the previous row."""

    iteration: int
    name: str
    count: int = 1


class ClaimRecorded(Event, frozen=True, tag="claim_recorded"):
    """What the worker said about a task. Never evidence."""

    iteration: int
    task: TaskId
    status: str


class IterationEnded(Event, frozen=True, tag="iteration_ended"):
    """The worker and all it started are gone. Sizes are of this iteration's change to the tree."""

    iteration: int
    task: TaskId
    how: IterationEnd
    exit_code: int | None = None
    active_ms: int = 0
    files: int = 0
    lines: int = 0
    tree: str = ""
    detail: str = ""


class OperatorWrote(Event, frozen=True, tag="operator_wrote"):
    """Files that changed while the worker stood still: `mine` the operator alone has written in this iteration so far,
    `both` the worker too. From the watcher, so that some may be missing."""

    iteration: int
    mine: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


class Judged(Event, frozen=True, tag="judged"):
    """A verdict. `reason` is one line, `failing` the failing ids if known, `digest` names the failure class."""

    iteration: int
    task: TaskId | None
    phase: Phase
    verdict: Verdict
    reason: str = ""
    failing: tuple[str, ...] = ()
    digest: str = ""
    tree: str = ""
    check: str = ""
    seconds: float = 0.0
    log: str = ""


class FalseClaim(Event, frozen=True, tag="false_claim"):
    """The worker said done and the check said no."""

    iteration: int
    task: TaskId
    verdict: Verdict


class Tampered(Event, frozen=True, tag="tampered"):
    """Frozen files that differed or files in their way that appeared; undone for the verdict.

    `kinds` says of each path what it was, in their order; older rows have none.
    """

    iteration: int
    task: TaskId | None
    paths: tuple[str, ...]
    kinds: tuple[str, ...] = ()


class Quarantined(Event, frozen=True, tag="quarantined"):
    """What the operator's git would have obeyed and a worker had made: renamed, nothing lost.

    `paths` are the names that were, a `.git`, the HEAD of a bare repository, or what git would run. `now` are the names
    since, in the same order; journals of before have none. `more` are not named.
    """

    iteration: int
    paths: tuple[str, ...]
    now: tuple[str, ...] = ()
    more: int = 0


class Autorun(Event, frozen=True, tag="autorun"):
    """All files that differ from the session's start and that the operator's own tools run without being asked.

    `new` are those that the row before did not name.
    """

    iteration: int
    paths: tuple[str, ...]
    new: tuple[str, ...] = ()


class Exposed(Event, frozen=True, tag="exposed"):
    """Protected paths that lost their cover while the worker ran, or that it made: it could write them, or read hidden
    ones."""

    iteration: int
    paths: tuple[str, ...]


class TakenOver(Event, frozen=True, tag="taken_over"):
    """What stands in paths that were exposed is the operator's: he said so, or nothing of it had changed."""

    paths: tuple[str, ...]
    by: str = ""


class TaskDone(Event, frozen=True, tag="task_done"):
    """A task is verified: exactly one row per verification, written with its checkpoint in one transaction."""

    task: TaskId
    iteration: int
    checkpoint: str


class TaskCommitted(Event, frozen=True, tag="task_committed"):
    """A verified task is on the session branch: `commit` is in the operator's repository, and the branch has moved."""

    task: TaskId
    checkpoint: str
    commit: str


class TaskMoved(Event, frozen=True, tag="task_moved"):
    """A task's status changed for another reason than a verification."""

    task: TaskId
    status: TaskStatus
    why: str = ""


# --- checkpoints ------------------------------------------------------------------------------


class CheckpointTaken(Event, frozen=True, tag="checkpoint_taken"):
    """One atomic record; this row is its commit point. `commit` and `tree` are ids in `checkpoints.git`.

    `marks`, `used`, `plan`, `rules` (revisions) and `position` (journal row) are what was true then. `edited`: the
    operator changed the tree since the last iteration. `state` identifies the repositories beside the tree, `ms` is
    what taking it took. The last three fields belong to rooms that fill them later.
    """

    id: str
    checkpoint: CheckpointKind
    commit: str
    tree: str
    iteration: int = 0
    task: TaskId | None = None
    marks: tuple[TaskMark, ...] = ()
    used: dict[Dimension, Figure] = {}
    plan: str = ""
    position: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    skipped: tuple[str, ...] = ()
    note: str = ""
    edited: bool = False
    name: str = ""
    state: str = ""
    rules: str = ""
    certainty: Certainty = Certainty.CONFIRMED
    borrowed: bool = False
    ms: int = 0
    environment: str | None = None
    continuation: str | None = None
    ledger: int | None = None


class CheckpointConfirmed(Event, frozen=True, tag="checkpoint_confirmed"):
    """A walk of the whole tree bore a provisional checkpoint out. `commit`, `tree`, `state` and `files` hold from here
    on: they differ from the row's where `missed` paths had changed and no event had said so. `ms`: the walk."""

    id: str
    commit: str
    tree: str
    state: str = ""
    files: int = 0
    ms: int = 0
    missed: tuple[str, ...] = ()


class CheckpointsPruned(Event, frozen=True, tag="checkpoints_pruned"):
    """These checkpoints are dropped: their objects may go. `why` is `keep` (the contract's time) or `operator`.

    `iterations` are those whose raw streams go, and all else of them that no verdict needs.
    """

    ids: tuple[str, ...]
    why: str = ""
    iterations: tuple[int, ...] = ()


class RollbackBegun(Event, frozen=True, tag="rollback_begun"):
    """The intent: `safety` holds everything present, the tree is about to become `target`, but for the operator's own
    edits in `mine`, which stay."""

    safety: str
    target: str
    way: str  # rollback | undo | redo | failed_verdict
    paths: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()


class RolledBack(Event, frozen=True, tag="rolled_back"):
    """The tree equals the target, proved by its id. Tasks are again what they were at the target."""

    safety: str
    target: str
    way: str
    changed: int = 0
    parked: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    failed: str = ""
    mine: tuple[str, ...] = ()
    """Edits of the operator that stayed."""
    said: tuple[str, ...] = ()
    """Lines about paths and repositories that need the operator's eye: open files, refs that others moved."""
    tree: str = ""
    """What was proved: the target's id, but where only paths went back or edits stayed. Older rows have none."""


# --- budget, plateau --------------------------------------------------------------------------


class LevelCrossed(Event, frozen=True, tag="level_crossed"):
    """Once per session, dimension and level."""

    dimension: Dimension
    level: Level
    used: int
    limit: int
    source: Source = Source.MEASURED


class CeilingRaised(Event, frozen=True, tag="ceiling_raised"):
    """An extension by the operator: the limit grows, what was used stays."""

    dimension: Dimension
    by: int
    limit: int
    order: str = ""


class Degraded(Event, frozen=True, tag="degraded"):
    """From here on only the cheaper model."""

    dimension: Dimension
    model: str


class PlateauSignal(Event, frozen=True, tag="plateau_signal"):
    rule: Rule
    window: int
    evidence: tuple[str, ...]
    task: TaskId | None = None
    iteration: int = 0


class PlateauFired(Event, frozen=True, tag="plateau_fired"):
    rule: Rule
    window: int
    evidence: tuple[str, ...]
    response: Response
    task: TaskId | None = None
    iteration: int = 0


class PlateauReset(Event, frozen=True, tag="plateau_reset"):
    """Only the operator resets the counters."""

    by: str = ""


class Decided(Event, frozen=True, tag="decided"):
    """What the loop made of an iteration; written last, so that a restart knows whether it still has to decide."""

    iteration: int
    move: str
    why: str | None = None


# --- the operator -----------------------------------------------------------------------------


class RequestOpened(Event, frozen=True, tag="request_opened"):
    """Something waits for the operator. `worker_id` is the worker's own name for its question."""

    id: int
    request: RequestKind
    what: str
    why: str = ""
    tool: str = ""
    input: dict[str, Any] = {}
    task: TaskId | None = None
    iteration: int = 0
    worker_id: str = ""
    dimension: Dimension | None = None


class RequestClosed(Event, frozen=True, tag="request_closed"):
    """Answered once: the first answer wins. `by` names who or what (an order, a rule, a flag)."""

    id: int
    outcome: RequestOutcome
    by: str = ""
    reason: str = ""


class OrderTaken(Event, frozen=True, tag="order_taken"):
    """The answer to an order: `done`, `refused`, `expired` or `lost` (another answer came first)."""

    order: str
    verb: str
    outcome: str
    detail: str = ""
    by: str = ""


class Noted(Event, frozen=True, tag="noted"):
    """A note of the operator for the next brief."""

    text: str


class Noticed(Event, frozen=True, tag="noticed"):
    """One notice to the operator: `urgency` is low, normal or high."""

    text: str
    why: str
    urgency: str = "normal"


class Logged(Event, frozen=True, tag="logged"):
    """A fact of the harness worth a line: a restored projection, a dead watcher, a refused start."""

    text: str
    room: str = ""


class Unknown(Event, frozen=True, tag="unknown"):
    """An event of a newer program, kept as it was."""

    name: str
    body: msgspec.Raw


AnyEvent = (
    SessionStarted
    | Rebound
    | SupervisorStarted
    | SupervisorEnded
    | ContractLoaded
    | StatusChanged
    | OracleFrozen
    | TasksLoaded
    | Reserved
    | Settled
    | IterationStarted
    | WorkerStarted
    | Spent
    | ToolCalled
    | ClaimRecorded
    | IterationEnded
    | OperatorWrote
    | Judged
    | FalseClaim
    | Tampered
    | Exposed
    | TakenOver
    | Quarantined
    | Autorun
    | TaskDone
    | TaskCommitted
    | TaskMoved
    | CheckpointTaken
    | CheckpointConfirmed
    | CheckpointsPruned
    | RollbackBegun
    | RolledBack
    | LevelCrossed
    | CeilingRaised
    | Degraded
    | PlateauSignal
    | PlateauFired
    | PlateauReset
    | Decided
    | RequestOpened
    | RequestClosed
    | OrderTaken
    | Noted
    | Noticed
    | Logged
)

KINDS: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in AnyEvent.__args__}
VERSION = 1
UPCASTERS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""`(kind, version) -> f(body)`: lifts a stored body to the next version. Pure; tested on recorded journals."""

_decoders: dict[str, msgspec.json.Decoder[Event]] = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}


class Row(msgspec.Struct, frozen=True):
    """One journal row: an event with its place, its time and the fencing token of its writer."""

    seq: int
    at: datetime
    token: int
    event: Event


def kind_of(event: Event) -> str:
    """The stable name of an event's kind."""
    return event.name if isinstance(event, Unknown) else str(event.__struct_config__.tag)


def encode(event: Event) -> bytes:
    """The stored form of an event."""
    return bytes(event.body) if isinstance(event, Unknown) else encode_json(event)


def decode(kind: str, version: int, body: bytes) -> Event:
    """Read a stored event, lifting old versions; an unknown or newer kind is kept whole as `Unknown`."""
    decoder = _decoders.get(kind)
    if decoder is None or version > VERSION:
        return Unknown(name=kind, body=msgspec.Raw(body))
    lifted = False
    data: dict[str, Any] = {}
    while version < VERSION:
        if not lifted:
            data, lifted = msgspec.json.decode(body), True
        data, version = UPCASTERS[kind, version](data), version + 1
    return msgspec.convert(data, KINDS[kind]) if lifted else decoder.decode(body)
