"""What follows from a decision: the session goes on with less, waits for the operator, or ends."""

from __future__ import annotations

from proctor.budget.reserve import DoesNotFit
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.progress import drift, plateau
from proctor.supervisor import drifting, evidence, judging, report, standing
from proctor.supervisor.decide import CONFLICT, RUNAWAY, Decision, Facts, Move
from proctor.supervisor.desk import Desk
from proctor.supervisor.ending import Ending
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.units import format_amount
from proctor.words import (
    DROPPED,
    Dimension,
    Drift,
    Exhaustion,
    Light,
    RequestKind,
    RequestOutcome,
    Response,
    SessionStatus,
    TaskStatus,
)

EFFORT = frozenset(
    {
        Dimension.WALL_CLOCK,
        Dimension.TOKENS,
        Dimension.PREFIX_TOKENS,
        Dimension.GENERATED_TOKENS,
        Dimension.COST,
        Dimension.TOOL_CALLS,
    }
)
"""Budgets whose half says something where nothing is verified. Not calendar time, which goes on while a person is
waited for; nor iterations, which the rule counts itself; nor the blast radius, which a large change may use at once."""


def facts_after(s: Session, iteration: int) -> Facts:
    """What `decide` is told about an iteration that is settled."""
    state = s.state
    progress = s.terms.contract.progress
    windows = progress.plateau.windows
    memory = s.memory()
    task = state.task(state.settled_task)
    again = state.plateau.fired_in == iteration
    open_task = task if task in state.open_tasks else None
    return Facts(
        open_tasks=len(state.open_tasks),
        start_failures=state.start_failures,
        infra=task.infra if task else 0,
        tampering=evidence.answer(s, iteration),
        conflict=task is not None and evidence.is_open_conflict(s, task),
        binding=s.binding(open_task),  # a task that is verified may have used all that it had
        unpriced=s.account.unpriced and any(c.dimension is Dimension.COST for c in s.ceilings),
        runaway=drift.runaway(state),
        standing=plateau.standing(memory, windows, iteration, spent_since(s)),
        on_plateau=progress.plateau.on_plateau,
        responses=state.plateau.responses - again,
        narrowed=bool(task and task.narrow and not again),
        second_aside=plateau.would_stall(memory, task.id, windows) if task else None,
    )


def spent_since(s: Session) -> dict[Dimension, plateau.Spent]:
    """What was used of each budget of effort since the plateau rules began to count."""
    figures, began = s.account.figures(), s.state.plateau.began
    none = ev.Figure(0)
    return {
        c.dimension: plateau.Spent(figures.get(c.dimension, none).used - began.get(c.dimension, none).used, c.limit)
        for c in s.ceilings
        if c.dimension in EFFORT
    }


def record(s: Session, iteration: int, decision: Decision, standing: plateau.Standing) -> None:
    """Write down what the plateau rules and the lights of drift saw and what fired: once an iteration, also when it is
    decided again."""
    drifting.record(s)
    task_id = s.state.settled_task
    if decision.why == RUNAWAY and task_id is not None and not drifting.answered(s, iteration):
        response = Response(decision.move.value)
        s.append(ev.DriftAnswered(drift=Drift.BUDGET_RUNAWAY, response=response, task=task_id, iteration=iteration))
    seen = s.state.plateau
    if standing.counted and not standing.signals and seen.light is not Light.QUIET:
        s.append(ev.PlateauCleared(iteration=iteration))
    if seen.seen_in != iteration:
        s.append(*plateau.rows(standing, iteration))
    signal = decision.signal
    if signal is not None and decision.response is not None and seen.fired_in != iteration:
        task = s.state.settled_task if signal.task is None else signal.task
        fired = ev.PlateauFired(
            rule=signal.rule,
            window=signal.window,
            evidence=signal.evidence,
            response=decision.response,
            task=task,
            iteration=iteration,
            advice=signal.advice,
            why=standing.why if signal in standing.signals else signal.evidence[0],
        )
        s.append(fired)
        s.notice(f"plateau: {signal.evidence[0]}", f"plateau:{signal.rule}", "high")


async def apply(s: Session, desk: Desk, decision: Decision) -> Ending | None:
    """Carry a decision out; the session's end, or None to go on."""
    match decision.move:
        case Move.STOP:
            return Ending(SessionStatus.STOPPED, decision.why)
        case Move.PARK:
            return Ending(SessionStatus.PARKED, decision.why)
        case Move.FAIL:
            return Ending(SessionStatus.FAILED, decision.why)
        case Move.BLOCK:
            if (task := s.state.settled_task) is not None:
                s.append(ev.TaskMoved(task=task, status=TaskStatus.BLOCKED, why=decision.why or ""))
        case Move.DEGRADE:
            degrade(s)
        case Move.ESCALATE:
            return await escalate(s, desk, decision)
    return None


def degrade(s: Session) -> None:
    """From here on the cheaper model, inside the reserve."""
    bound = s.binding()
    cheaper = s.terms.contract.worker.cheaper
    if bound is not None and bound.action is Exhaustion.DEGRADE and cheaper is not None:
        s.append(ev.Degraded(dimension=bound.dimension, model=cheaper.model))


async def escalate(s: Session, desk: Desk, decision: Decision) -> Ending | None:
    """Ask the operator; no worker runs until the answer."""
    why = decision.why or ""
    if why.startswith("budget:"):
        return await ask_for_more(s, desk, Dimension(why.removeprefix("budget:")))
    if decision.signal is not None:
        opened = desk.opened(
            RequestKind.PLATEAU,
            "go on after a plateau?",
            ": ".join(filter(None, (decision.signal.evidence[0], decision.signal.advice))),
            task=s.state.settled_task,
        )
        shown = SessionStatus.PLATEAU, why
    elif why == CONFLICT:
        await _conflict(s, desk)
        return None
    else:
        what, said = evidence.question(s)
        about = {"task": s.state.settled_task, "iteration": s.state.settled, "input": evidence.shown(s)}
        opened = desk.opened(RequestKind.TAMPERING, what, said, **about)
        shown = asking(opened)
    granted = await answered(s, desk, opened, shown)
    if granted and opened.request is RequestKind.TAMPERING:
        await evidence.accept(s)
    if granted and decision.signal is not None:
        s.append(ev.PlateauReset(by="operator"))
    return None if granted else Ending(SessionStatus.PARKED, why)


async def _conflict(s: Session, desk: Desk) -> None:
    """The worker calls a check wrong. Granted: the task waits for another check. Else the check stands, and the next
    worker is told."""
    task = s.state.task(s.state.settled_task)
    assert task is not None
    what = f"is the check of task {task.id} wrong?"
    opened = desk.opened(RequestKind.CONFLICT, what, f"the worker says: {safe_line(task.conflict, 300)}", task=task.id)
    if await answered(s, desk, opened, asking(opened)):
        why = safe_line(f"its check is called wrong: {task.conflict}", 300)
        s.append(ev.TaskMoved(task=task.id, status=TaskStatus.REVIEW, why=why))
        return
    closed = s.state.request(opened.id)
    reason = f": {closed.reason}" if closed and closed.reason else ""
    s.append(ev.Noted(text=f"The check of task {task.id} stands as it is{reason}"))


Shown = tuple[SessionStatus, str]
"""The status while the operator is asked, and why."""


def asking(opened: ev.RequestOpened) -> Shown:
    """The usual status of a session that asks."""
    return SessionStatus.ASKING, f"request:{opened.id}"


async def answered(s: Session, desk: Desk, opened: ev.RequestOpened, shown: Shown) -> bool:
    """Wait for the operator, not working; a reason he gives goes into the next brief."""
    s.rest(*shown)
    request = await desk.wait_for(opened)
    granted = request.outcome is RequestOutcome.GRANTED
    if granted and request.reason:
        s.append(ev.Noted(text=request.reason))
    if granted:
        s.work()
    return granted


async def ask_for_more(s: Session, desk: Desk, dimension: Dimension, wanted: int = 0) -> Ending | None:
    """An extension request: granted means that the ceiling was raised. `wanted` is what the next task is to have."""
    used = s.account.figures().get(dimension, ev.Figure(0)).used
    limit = s.state.limit(dimension) or 0
    amounts = f"{format_amount(dimension, used)} of {format_amount(dimension, limit)} used"
    words = dimension.replace("_", " ")
    opened = desk.opened(RequestKind.EXTENSION, f"more {words}?", amounts, dimension=dimension, wanted=wanted)
    granted = await answered(s, desk, opened, asking(opened))
    return None if granted else Ending(SessionStatus.PARKED, f"budget:{dimension}")


async def exhausted(s: Session, desk: Desk, lacking: DoesNotFit) -> Ending | None:
    """A task does not fit into what is left."""
    if lacking.action is Exhaustion.ESCALATE:
        return await ask_for_more(s, desk, lacking.dimension, lacking.wanted)
    status = SessionStatus.STOPPED if lacking.action is Exhaustion.STOP else SessionStatus.PARKED
    return Ending(status, f"budget:{lacking.dimension}")


def highest_dimension(s: Session) -> Dimension:
    """The dimension that is closest to its ceiling."""
    figures = s.account.figures()
    return max(s.ceilings, key=lambda c: figures.get(c.dimension, ev.Figure(0)).used / max(1, c.limit)).dimension


async def finish(s: Session, desk: Desk) -> Ending | None:
    """No open task is left: the end, or None when the operator made more of them selectable."""
    tasks = s.state.tasks
    review = [task for task in tasks if task.status is TaskStatus.REVIEW]
    if review:
        return await _review(s, desk, review[0].id, f"task {review[0].id}: {review[0].why}")
    blocked = [task for task in tasks if task.status is TaskStatus.BLOCKED and task.why != DROPPED]
    if blocked:
        return Ending(SessionStatus.PARKED, blocked[-1].why or "operator")
    failure = await standing.at_end(s)
    if any(now.status is not before.status for now, before in zip(s.state.tasks, tasks, strict=True)):
        return None
    if failure is None and (said := await judging.final(s)):
        failure = f"the final check: {said}"
    if not any(task.status is TaskStatus.DONE for task in tasks):
        return Ending(SessionStatus.PARKED, "dropped" if tasks else "no_tasks")
    if failure is None:
        return Ending(SessionStatus.DONE, None)
    return await _review(s, desk, None, failure)


async def _review(s: Session, desk: Desk, task: ev.TaskId | None, what: str) -> Ending | None:
    """Granted: look again, with the task list as it is now. Denied: the tasks are dropped."""
    way = "mend that, and it is run again" if task is None else "give it a check that fails before the work, or drop it"
    report.project(s)  # a person is going to read it
    opened = desk.opened(RequestKind.REVIEW, what, way, task=task)
    if await answered(s, desk, opened, asking(opened)):
        try:
            report.read_tasks(s)
        except UsageError as error:
            s.notice(str(error), "tasks", "high")
            return await _review(s, desk, task, what)
        again = [t.id for t in s.state.tasks if t.status is TaskStatus.REVIEW and t.id == task]
        s.append(*(ev.TaskMoved(task=one, status=TaskStatus.PENDING) for one in again))
        return None
    if task is None:
        return Ending(SessionStatus.PARKED, "operator")
    s.append(ev.TaskMoved(task=task, status=TaskStatus.BLOCKED, why=DROPPED))
    return None
