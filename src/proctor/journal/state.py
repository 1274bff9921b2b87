"""The state of a session, as values: what its events say. No I/O, no clock.

The supervisor decides on this value and every surface shows it, so two of them can never disagree. `fold` makes it.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import msgspec
import msgspec.structs

from proctor.journal import events as ev
from proctor.journal.costs import Cost
from proctor.journal.drift import DriftState
from proctor.journal.plateau import PlateauState
from proctor.words import (
    CallEnd,
    CheckpointKind,
    Dimension,
    IterationEnd,
    Level,
    RequestKind,
    RequestOutcome,
    SessionStatus,
    Source,
    TaskStatus,
    Verdict,
)

GOOD = frozenset({CheckpointKind.START, CheckpointKind.TASK, CheckpointKind.ASKED})
"""Kinds of checkpoint that a rollback without a target may go back to."""
CUT_SHORT = frozenset({IterationEnd.OPERATOR, IterationEnd.INTERRUPTED, IterationEnd.SUSPENDED, IterationEnd.UNCOVERED})
"""Ends of iterations whose worker had not come to its end: what its tree lacks is no failure of its own."""
MOST_PATHS = 200
"""Paths of one kind that the state remembers; the rows have them all."""
MOST_LET_GO = 200
"""Findings that are remembered as seen; more are asked about again."""
MOST_ANSWERED = 200
"""Answered requests of one kind, granted or not, that the state remembers."""
FORMAT = 1
"""Version of the stored snapshot; another one is ignored and the events are folded anew."""


class TaskState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task and where it stands. `verified_by` is the journal row of its `task_done`."""

    id: ev.TaskId
    task: str
    spec: str | None = None
    checks: tuple[ev.CheckFact, ...] = ()
    status: TaskStatus = TaskStatus.PENDING
    why: str = ""
    verdict: Verdict | None = None
    claim: str | None = None
    conflict: str = ""
    """Why the last worker called its check wrong, if it did."""
    checkpoint: str | None = None
    verified_by: int | None = None
    baseline: ev.Judged | None = None
    last: ev.Judged | None = None
    proved: ev.Judged | None = None
    """The last pass of its check since it was verified; without a tree once that says nothing of any."""
    regressions: int = 0
    failures: int = 0
    failed: int = 0
    """Of these, those that the worker came to by itself: nobody ended it, nothing killed it with its supervisor."""
    iterations: int = 0
    taken_back: bool = False
    narrow: bool = False
    stuck: bool = False
    """A plateau set it aside, or it stood when the run stalled: others come before it."""
    infra: int = 0
    spent: dict[Dimension, int] = {}

    @property
    def known_to_fail(self) -> bool:
        """Whether its check was seen to fail before the work."""
        return self.baseline is not None and self.baseline.verdict is Verdict.FAILED


class RequestState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, open while `outcome` is None. `input` and `told` are as in `RequestClosed`; of one that is answered
    and told, no input of a tool is left."""

    id: int
    opened: ev.RequestOpened
    at: datetime
    outcome: RequestOutcome | None = None
    by: str = ""
    reason: str = ""
    input: dict[str, Any] | None = None
    told: bool = True


def bare(request: RequestState) -> RequestState:
    """Without the inputs, which only an open request or an answer that is not told yet is looked at for."""
    if not request.told or not request.opened.digest or request.opened.request is not RequestKind.TOOL:
        return request
    return msgspec.structs.replace(request, opened=msgspec.structs.replace(request.opened, input={}), input=None)


def remembered(requests: tuple[RequestState, ...]) -> tuple[RequestState, ...]:
    """Those that are open or not told, and the last of the others."""
    if len(requests) <= MOST_ANSWERED:
        return requests
    answered: Counter[bool] = Counter()
    kept = []
    for request in reversed(requests):
        settled = request.outcome is not None and request.told
        answered[_granted(request)] += settled
        if not settled or answered[_granted(request)] <= MOST_ANSWERED:
            kept.append(request)
    return tuple(reversed(kept))


def _granted(request: RequestState) -> bool:
    return request.outcome is RequestOutcome.GRANTED


class CheckpointState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A checkpoint as its row holds it, and since `confirmed` as that row does. `good` is the last good one as of it:
    itself, unless it is a safety one, or was never confirmed."""

    id: str
    at: datetime
    taken: ev.CheckpointTaken
    good: str = ""
    confirmed: ev.CheckpointConfirmed | None = None


class SupervisorFact(msgspec.Struct, frozen=True):
    """Who last held the session; whether it lives is asked of the process table, not of this."""

    pid: int
    boot: str
    started: int
    token: int
    ended: bool = False
    exit_code: int | None = None


def metered(call: ev.ModelCall) -> dict[Dimension, ev.Figure]:
    """What one call adds to the dimensions that it moves; nothing where an earlier row counted it."""
    if call.duplicate or call.end not in (CallEnd.ANSWERED, CallEnd.CUT, CallEnd.LOST):
        return {}
    prefix = call.input + call.cache_read + call.cache_write + call.cache_write_1h
    found = {
        Dimension.TOKENS: ev.Figure(prefix + call.output, call.source),
        Dimension.PREFIX_TOKENS: ev.Figure(prefix, call.source),
        Dimension.GENERATED_TOKENS: ev.Figure(call.output, call.source),
        Dimension.TOOL_CALLS: ev.Figure(call.tools),
    }
    if not call.notional:
        found[Dimension.COST] = ev.Figure(call.micro or 0, Source.UNKNOWN if call.micro is None else call.source)
    return found


class Tally(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sum over model calls. `notional` is the part of `micro` that no ceiling counts, `unpriced` and `estimated` are
    the calls without a price and without the provider's word."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    tools: int = 0
    micro: int = 0
    notional: int = 0
    unpriced: int = 0
    estimated: int = 0

    def after(self, call: ev.ModelCall) -> Tally:
        """With one more call."""
        return Tally(
            calls=self.calls + 1,
            input=self.input + call.input,
            output=self.output + call.output,
            cache_read=self.cache_read + call.cache_read,
            cache_write=self.cache_write + call.cache_write,
            cache_write_1h=self.cache_write_1h + call.cache_write_1h,
            reasoning=self.reasoning + call.reasoning,
            tools=self.tools + call.tools,
            micro=self.micro + (call.micro or 0),
            notional=self.notional + (call.micro or 0) * call.notional,
            unpriced=self.unpriced + (call.micro is None),
            estimated=self.estimated + (call.source is not Source.MEASURED),
        )


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything the journal says about a session, as of row `seq`."""

    seq: int = 0
    session: str = ""
    workspace: str = ""
    goal: str = ""
    born: datetime | None = None
    status: SessionStatus = SessionStatus.STOPPED
    why: str | None = "never run"
    since: datetime | None = None
    supervisor: SupervisorFact | None = None
    sandbox: str = "bwrap"
    unbound: tuple[str, ...] = ()
    worker: str = ""
    contract: str = ""
    plan: str = ""
    oracle: str = ""
    revision: str = ""
    """Of what is asked for."""
    alert: int = 50
    soft: int = 70
    iteration: int = 0
    step: int = 0
    intent: ev.IterationStarted | None = None
    intent_end: ev.IterationEnded | None = None
    tasks: tuple[TaskState, ...] = ()
    used: dict[Dimension, ev.Figure] = {}
    calling: dict[str, ev.ModelAsked] = {}
    """Model calls that are admitted and not settled."""
    billed: Tally = Tally()
    """All model calls that cost something."""
    trajectory: Tally = Tally()
    """Those of them that were answered, each once however often it was asked."""
    limited: ev.ProviderLimited | None = None
    ceilings: tuple[ev.CeilingFact, ...] = ()
    raised: dict[Dimension, int] = {}
    fired: frozenset[tuple[Dimension, Level]] = frozenset()
    degraded: str | None = None
    reserved: ev.Reserved | None = None
    begun: dict[Dimension, ev.Figure] = {}
    settled: int = 0
    settled_task: ev.TaskId | None = None
    decided: int = 0
    requests: tuple[RequestState, ...] = ()
    asked: int = 0
    """The last request's id; those that a rule granted at once are not kept, nor those answered long ago."""
    checkpoints: tuple[CheckpointState, ...] = ()
    pruned: dict[str, datetime] = {}
    """Checkpoints that are no more, and since when."""
    good: str = ""
    tree: str = ""
    committed: dict[str, str] = {}
    """The commits on the session branch, by the checkpoint that each holds, in their order."""
    rollback: ev.RollbackBegun | None = None
    rollbacks: tuple[ev.RolledBack, ...] = ()
    plateau: PlateauState = PlateauState()
    drift: DriftState = DriftState()
    notes: tuple[str, ...] = ()
    """What the next worker is told by the operator."""
    noted: tuple[str, ...] = ()
    """What the present one was told: the next one is too, if this one is cut short."""
    false_claims: int = 0
    tampered: int = 0
    tampered_in: int = 0
    gamed_in: int = 0
    """The iteration whose verdict may rest on what cannot be undone."""
    unlooked: str = ""
    """The tree before a change that was not looked at, or that held a pass back; empty once a task is verified without
    it."""
    unlooked_after: int = 0
    """The number of the last checkpoint before that change."""
    let_go: tuple[str, ...] = ()
    """Identities of the findings since then that the operator saw and let go on: nothing that came later is among them.
    """
    accepted: tuple[str, ...] = ()
    """Those that a pass was let count with, in the files as they were: he has judged them, and is not asked again."""
    suspected: int = 0
    suspected_in: int = 0
    findings: tuple[ev.Finding, ...] = ()
    suspicions: tuple[ev.Finding, ...] = ()
    """What the last `tampered` and the last `suspected` row showed."""
    exposed: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    quarantined_more: int = 0
    """Those that are not named."""
    autorun: tuple[str, ...] = ()
    start_failures: int = 0
    smoked: str = ""
    """The tree on which the smoke check passed last."""
    broken: ev.Judged | None = None
    """The smoke check as it failed last, if it has not passed since."""
    costs: tuple[Cost, ...] = ()
    """Of the last tasks that were judged, oldest first."""
    audited: tuple[ev.Audited, ...] = ()
    """What was found last of each task's checks."""

    def task(self, task_id: ev.TaskId | None) -> TaskState | None:
        """The task with this id, if there is one."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def checkpoint(self, checkpoint_id: str) -> CheckpointState | None:
        """The checkpoint with this id, if there is one."""
        return next((c for c in self.checkpoints if c.id == checkpoint_id), None)

    def request(self, request_id: int) -> RequestState | None:
        """The request with this id, open or closed."""
        return next((r for r in self.requests if r.id == request_id), None)

    @property
    def shown(self) -> tuple[ev.Finding, ...]:
        """What was found in the iteration that was settled last."""
        tampering = self.findings if self.tampered_in == self.settled else ()
        return (*tampering, *(self.suspicions if self.suspected_in == self.settled else ()))

    @property
    def open_requests(self) -> tuple[RequestState, ...]:
        """What waits for the operator, oldest first."""
        return tuple(r for r in self.requests if r.outcome is None)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that the operator granted, as `name:port`."""
        granted = (r.opened.input for r in self.requests if r.opened.request is RequestKind.HOST and _granted(r))
        return tuple(dict.fromkeys(f"{asked['host']}:{asked['port']}" for asked in granted))

    @property
    def open_tasks(self) -> tuple[TaskState, ...]:
        """Tasks that may still be selected, in the order in which they are."""
        found = (t for t in self.tasks if t.status in (TaskStatus.PENDING, TaskStatus.FAILED))
        return tuple(sorted(found, key=lambda task: task.stuck))

    @property
    def next_checkpoint(self) -> str:
        """The id that the next checkpoint will carry."""
        return f"c{self.last_checkpoint + 1}"

    @property
    def last_checkpoint(self) -> int:
        """The number of the last checkpoint that was taken."""
        return max((int(one[1:]) for one in (*(c.id for c in self.checkpoints), *self.pruned)), default=0)

    @property
    def next_request(self) -> int:
        """The id that the next request will carry; ids are never used twice."""
        return max(self.asked, max((r.id for r in self.requests), default=0)) + 1

    @property
    def marks(self) -> tuple[ev.TaskMark, ...]:
        """Where every task stands now, for a checkpoint to remember."""
        return tuple(ev.TaskMark(id=t.id, status=t.status, verified_by=t.verified_by) for t in self.tasks)

    def limit(self, dimension: Dimension) -> int | None:
        """The ceiling in force, extensions included; None where there is none."""
        for ceiling in self.ceilings:
            if ceiling.dimension is dimension:
                return ceiling.limit + self.raised.get(dimension, 0)
        return None
