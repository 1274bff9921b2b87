"""The running session: what the steps of the loop share, and the pulse that watches while they work.

The loop owns the order of things; this owns the moment: clocks, budgets, the running worker, waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.budget.admission import CALLS
from proctor.budget.dimensions import Ceiling
from proctor.budget.thresholds import Binding, Scope, crossings, level_of
from proctor.checkpoint.repository import Store
from proctor.journal import events as ev
from proctor.journal.state import RequestState, State, TaskState
from proctor.journal.store import Journal
from proctor.notify import Urgency, send
from proctor.oracle.frozen import Frozen
from proctor.progress.memory import KINDS, Memory, memory_from
from proctor.repository.layout import Layout
from proctor.supervisor import notices
from proctor.supervisor.account import Account
from proctor.supervisor.disk import Watch
from proctor.supervisor.inbox import Order
from proctor.supervisor.running import Refusal, Running
from proctor.supervisor.sweeping import Sweeper
from proctor.supervisor.terms import Terms
from proctor.supervisor.timeline import Timeline
from proctor.supervisor.tracking import Tracker
from proctor.units import format_amount
from proctor.words import (
    AtSoft,
    Dimension,
    Exhaustion,
    IterationEnd,
    Level,
    RequestKind,
    SessionStatus,
    Step,
)
from proctor.workspace.blast import Blast
from proctor.workspace.projection import Projection

SPEND_EVERY = 1.0
"""Seconds between rows of spending; the live row is newer."""
CLOCK_EVERY = 10.0
"""Seconds between rows of spending when only the clocks moved."""
STILL = (RequestKind.TOOL, RequestKind.HOST)
"""Requests of a worker: it stands still while one is open."""
GRACE = 10.0
"""Seconds at a ceiling that calls in flight have to end by themselves, and a worker that was refused a call to stop."""
CLOCKS = (Dimension.WALL_CLOCK, Dimension.ELAPSED)


class Interrupted(Exception):
    """The operator wants something that ends the running step."""


@dataclass(frozen=True, slots=True)
class Options:
    """How this run differs from the contract: flags of the command line."""

    once: bool = False
    yes: bool = False
    reset_plateau: bool = False
    audit: bool = True
    """Measure the checks beside the loop."""
    thawed: bool = False
    """A worker that asks is left unfrozen: to see whether it suspends by itself."""


@dataclass
class Session:
    """Everything a supervisor holds while it lives."""

    workspace: Path
    state_dir: Path
    terms: Terms
    options: Options
    journal: Journal
    store: Store
    timeline: Timeline
    sweeper: Sweeper
    backend: Tracker
    frozen: Frozen
    account: Account
    executor: ThreadPoolExecutor
    projection: Projection
    blast: Blast
    disk: Watch
    branch: Layout | None = None
    """The repository that gets a commit for each verified task, if one does."""
    contract_text: str | None = None
    running: Running | None = None
    paused: bool = False
    dirty: bool = False
    wishes: list[Order] = field(default_factory=list)
    wish: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)
    resting: tuple[SessionStatus, str | None] | None = None
    lacking: Refusal | None = None
    """Why the last call that was refused did not fit; it binds until a ceiling is raised."""
    hindered: str = ""
    """What the last model call of the newest worker came to nothing by, if that was no doing of the worker's."""
    moved_in: int = 0
    """The last iteration in which something of the operator's was moved or replaced under a worker."""
    shown_at: float = 0.0
    """When the live rows were written last; monotonic."""
    _spent: dict[Dimension, ev.Figure] = field(default_factory=dict)
    _spent_at: float = 0.0
    _ceilings: tuple[Terms, Mapping[Dimension, int], list[Ceiling]] | None = None
    _said: set[str] = field(default_factory=set)
    _notices: set[asyncio.Task[Any]] = field(default_factory=set)

    # --- facts --------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.journal.state()

    @property
    def session_repository(self) -> Path:
        """What workers have for their `.git`."""
        return self.state_dir / "session.git"

    def append(self, *events: ev.Event) -> State:
        """Write events and let waiters look again."""
        state = self.journal.append(*events)
        self.changed.set()
        return state

    def status(self, status: SessionStatus, why: str | None = None) -> None:
        """Change the status word, if it differs."""
        state = self.state
        if (state.status, state.why) != (status, why):
            self.append(ev.StatusChanged(status=status, why=why))

    def enter(self, step: Step, task: ev.TaskId | None = None) -> None:
        """Say on the live row which step the loop is in."""
        self.journal.write_live(
            loop={"step": step, "iteration": self.state.iteration, "task": task, "since": time.time()}
        )

    def log(self, room: str, text: str) -> None:
        """A line of the harness: in the journal, and in the running stream."""
        self.append(ev.Logged(text=text, room=room))

    def log_once(self, room: str, text: str) -> None:
        """A line that holds for the whole session, however often it is found."""
        if text not in self._said:
            self._said.add(text)
            self.log(room, text)

    def notice(self, text: str, why: str, urgency: str = "normal") -> None:
        """One notice: a row, and the contract's channels."""
        self.append(ev.Noticed(text=text, why=why, urgency=urgency))
        task = asyncio.get_running_loop().create_task(self._send(text, urgency))
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    async def _send(self, text: str, urgency: str) -> None:
        channels = notices.without(self.terms.channels(), self.state.exposed, self.workspace)
        sent = await send(channels, f"proctor: {self.workspace.name}", text, Urgency(urgency), self.workspace)
        for line in sent.failures:
            self.log("notify", line)

    async def notices_sent(self) -> None:
        """Wait for the notices under way; their own time-outs bound this."""
        if self._notices:
            await asyncio.wait(list(self._notices))

    def touched(self, blast: Blast) -> None:
        """The blast radius after one more iteration."""
        self.blast = blast
        self.journal.write_live(blast={"files": sorted(blast.files), "lines": blast.lines, "bytes": blast.bytes})
        self.account.blast(len(blast.files), blast.lines, blast.bytes)

    def memory(self) -> Memory:
        """What the plateau rules remember: a fold of the journal, the same after a restart."""
        return memory_from(row.event for row in self.journal.rows(kinds=KINDS))

    # --- motion -------------------------------------------------------------------------------

    @property
    def waiting_requests(self) -> list[RequestState]:
        """What a worker asked and the operator has not answered."""
        return [r for r in self.state.open_requests if r.opened.request in STILL]

    def settle_motion(self) -> None:
        """Make worker, clock and status word agree with what is open: the one place that freezes and thaws."""
        waiting = self.waiting_requests
        limited = self.running is not None and self.state.limited is not None
        still = self.paused or bool(waiting)
        if self.running is not None:
            process = self.running.worker.running
            freeze = self.paused or (bool(waiting) and not self.options.thawed)
            if freeze and not process.frozen:
                self._freeze()
            elif not freeze and process.frozen:
                self.running.thaw()
        working = self.resting is None
        self.account.clock(working and not still and not limited)
        if waiting:
            self.status(SessionStatus.ASKING, f"request:{waiting[0].id}")
        elif self.paused:
            self.status(SessionStatus.PAUSED, "operator")
        elif limited:
            self.status(SessionStatus.WAITING, "provider_limit")
        else:
            self.status(*(self.resting or (SessionStatus.RUNNING, None)))

    def _freeze(self) -> None:
        assert self.running is not None
        try:
            self.running.worker.running.freeze()
            if self.running.vigil is not None:
                self.running.vigil.look()  # what moves from here on moves while it stands still
        except TimeoutError:
            self.end_worker(IterationEnd.DIED, "it could not be frozen while a request waits")

    def work(self) -> None:
        """The session works: the active clock runs."""
        self.resting = None
        self.settle_motion()

    def rest(self, status: SessionStatus, why: str | None) -> None:
        """The session waits or is over, with this status: the active clock stands."""
        self.resting = status, why
        self.settle_motion()

    def end_worker(self, how: IterationEnd, detail: str = "") -> None:
        """Ask for the end of the running iteration; the first reason stands."""
        if self.running is not None and self.running.reason is None:
            self.running.reason = how, detail
            self.running.over.set()

    def end_soon(self, how: IterationEnd, detail: str) -> None:
        """Ask for the end of the running iteration once no model call is in flight, or after a grace."""
        if self.running is not None and self.running.ending is None:
            self.running.ending = time.monotonic() + GRACE, how, detail

    def refused(self, refusal: Refusal) -> None:
        """A model call did not fit: the worker hears it and may stop by itself, and is ended if it does not."""
        if self.running is None or self.running.refusal is not None:
            return
        self.running.refusal = self.lacking = refusal
        self.log("gateway", refusal.said)
        if refusal.bound is not None:
            scope = "" if refusal.bound.scope is Scope.SESSION else f" of one {refusal.bound.scope}"
            self.end_soon(IterationEnd.BUDGET, f"{refusal.bound.dimension}{scope}")
        else:
            self.end_soon(IterationEnd.BUDGET, "unpriced")

    def see_to_the_end(self) -> None:
        """End the worker whose end was asked for, when nothing of it is in flight; called with each beat."""
        running = self.running
        if running is None or running.ending is None or running.reason is not None:
            return
        latest, how, detail = running.ending
        in_flight = running.gateway.in_flight if running.gateway else 0
        if time.monotonic() >= latest or (running.refusal is None and not in_flight):
            self.end_worker(how, detail)

    def unlimited(self) -> None:
        """Nothing waits for a provider any more."""
        if (limited := self.state.limited) is not None:
            self.append(ev.ProviderLimited(upstream=limited.upstream, over=True))
            self.settle_motion()

    def saw_call(self) -> None:
        """The worker's model has answered: a sign of life."""
        if self.running is not None:
            self.running.last_sign = time.monotonic()
            self.running.events += 1

    def interrupt(self, order: Order) -> None:
        """An order that needs the running step to end."""
        self.wishes.append(order)
        self.wish.set()
        self.changed.set()
        self.end_worker(IterationEnd.OPERATOR, order.verb)

    def heed(self, *verbs: str) -> None:
        """Raise `Interrupted` if such an order waits; any order if no verb is named."""
        if any(not verbs or order.verb in verbs for order in self.wishes):
            raise Interrupted

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait, with the pulse beating, until something is true; an order that ends things interrupts."""
        while not condition():
            self.heed()
            self.changed.clear()
            await self.changed.wait()
        self.heed()

    async def pause(self, seconds: float) -> None:
        """Wait for a time; an order that ends things interrupts."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wish.wait(), seconds)
        self.heed()

    # --- budgets ------------------------------------------------------------------------------

    @property
    def ceilings(self) -> list[Ceiling]:
        """Those in force; made anew when the contract or what they are raised by is another."""
        terms, raised = self.terms, self.state.raised
        if self._ceilings is None or self._ceilings[0] is not terms or self._ceilings[1] is not raised:
            self._ceilings = terms, raised, terms.ceilings(raised)
        return self._ceilings[2]

    def at_soft(self, what: AtSoft) -> bool:
        """Whether a soft ceiling is reached and the contract says that this then happens."""
        budget = self.terms.contract.budget
        if what not in budget.at_soft:
            return False
        figures = self.account.figures()
        return any(
            level_of(figures.get(c.dimension, ev.Figure(0)).used, c.limit, budget.alert, budget.soft)
            in (Level.SOFT, Level.HARD)
            for c in self.ceilings
        )

    def binding(self, task: TaskState | None = None) -> Binding | None:
        """The limit that binds now, for a task if one is named. `degrade` binds once; then its reserve is left."""
        task = self.state.task(self.running.task) if self.running else task
        bound = self.account.binding(self.ceilings, task.spent if task else {})
        if bound is not None and bound.action is Exhaustion.DEGRADE and self.state.degraded:
            bound = None
        return bound or self._lacks(task)

    def _lacks(self, task: TaskState | None) -> Binding | None:
        """The limit under which the last refused call did not fit, if it still holds: for its task, or until raised."""
        lacking = self.lacking
        if lacking is None or lacking.bound is None or lacking.bound.scope is Scope.ITERATION:
            return None
        if lacking.bound.scope is Scope.TASK:
            return lacking.bound if task is not None and task.id == lacking.task else None
        return lacking.bound if self.state.raised.get(lacking.bound.dimension, 0) == lacking.raised else None

    @property
    def degrading(self) -> bool:
        """Whether a ceiling that says `degrade` is reached and its reserve is not."""
        bound = self.account.binding(self.ceilings, {})
        return bound is not None and bound.action is Exhaustion.DEGRADE

    def check_budget(self) -> None:
        """Fire the levels that were crossed, and end the iteration at a limit."""
        budget = self.terms.contract.budget
        state = self.state
        crossed = crossings(self.account.figures(), self.ceilings, state.fired, budget.alert, budget.soft)
        if crossed:
            rows = [
                ev.LevelCrossed(dimension=c.dimension, level=c.level, used=c.used, limit=c.limit, source=c.source)
                for c in crossed
            ]
            self.append(*rows)
            for c in crossed:
                amounts = f"{format_amount(c.dimension, c.used)} of {format_amount(c.dimension, c.limit)}"
                urgent = "high" if c.level is Level.HARD else "normal"
                self.notice(f"{c.dimension} reached its {c.level} level: {amounts}", f"budget:{c.dimension}", urgent)
        if self.running is not None and self.running.refusal is None and (bound := self.binding()):
            self._bind(bound)
        self.see_to_the_end()

    def _bind(self, bound: Binding) -> None:
        """A limit is reached under a worker. What ends is told by the limit; a call in flight is never cut for it."""
        cheaper = self.terms.contract.worker.cheaper
        if bound.action is Exhaustion.DEGRADE and cheaper is not None and self.account.metering:
            self.append(ev.Degraded(dimension=bound.dimension, model=cheaper.model))
            return
        scope = "" if bound.scope is Scope.SESSION else f" of one {bound.scope}"
        end = self.end_soon if bound.dimension in CALLS else self.end_worker
        end(IterationEnd.BUDGET, f"{bound.dimension}{scope}")

    def spend(self, force: bool = False) -> None:
        """Write what was used as a row, at a bounded rate."""
        figures = self.account.figures()
        now = time.monotonic()
        moved = any(figures[d] != self._spent.get(d) for d in figures if d not in CLOCKS)
        if force or now - self._spent_at > (SPEND_EVERY if moved else CLOCK_EVERY):
            self._flush_tools()
            self.append(ev.Spent(figures=figures))
            self._spent, self._spent_at = figures, now

    def _flush_tools(self) -> None:
        if self.running and self.running.tools:
            count, self.running.tools = self.running.tools, 0
            self.append(ev.ToolCalled(iteration=self.running.iteration, name=self.running.tool, count=count))
