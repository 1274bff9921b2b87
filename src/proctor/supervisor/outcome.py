"""What follows from a decision: the session goes on with less, waits for the operator, or ends."""

from __future__ import annotations

from proctor.budget.reserve import DoesNotFit
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.progress import plateau
from proctor.supervisor import judging, report
from proctor.supervisor.decide import Decision, Facts, Move
from proctor.supervisor.desk import Desk
from proctor.supervisor.ending import Ending
from proctor.supervisor.session import Session
from proctor.units import format_amount
from proctor.words import (
    Dimension,
    Exhaustion,
    RequestKind,
    RequestOutcome,
    Response,
    SessionStatus,
    TaskStatus,
)

DROPPED = "dropped by the operator"


def facts_after(s: Session, iteration: int) -> Facts:
    """What `decide` is told about an iteration that is settled."""
    state = s.state
    progress = s.terms.contract.progress
    signals = plateau.signals(s.memory(), progress.plateau.windows, iteration)
    task = state.task(_current(state))
    tampering = None if progress.on_tampering == "record" else Response(progress.on_tampering)
    return Facts(
        open_tasks=len(state.open_tasks),
        start_failures=state.start_failures,
        tampered=state.tampered_in == iteration,
        on_tampering=tampering,
        binding=s.binding(),
        unpriced=s.account.unpriced and any(c.dimension is Dimension.COST for c in s.ceilings),
        signals=signals,
        on_plateau=progress.plateau.on_plateau,
        responses=state.plateau.responses,
        narrowed=bool(task and task.narrow),
    )


def signal_row(signal: plateau.Signal) -> ev.PlateauSignal:
    """A rule that holds, as the journal records it."""
    return ev.PlateauSignal(rule=signal.rule, window=signal.window, evidence=signal.evidence, task=signal.task)


async def apply(s: Session, desk: Desk, decision: Decision) -> Ending | None:
    """Carry a decision out; the session's end, or None to go on."""
    signal = decision.signal
    if signal is not None and decision.response is not None:
        s.append(
            ev.PlateauFired(
                rule=signal.rule,
                window=signal.window,
                evidence=signal.evidence,
                response=decision.response,
                task=signal.task or _current(s.state),
            )
        )
        s.notice(f"plateau: {signal.rule}: {signal.evidence[0]}", f"plateau:{signal.rule}", "high")
    match decision.move:
        case Move.STOP:
            return Ending(SessionStatus.STOPPED, decision.why)
        case Move.PARK:
            return Ending(SessionStatus.PARKED, decision.why)
        case Move.FAIL:
            return Ending(SessionStatus.FAILED, decision.why)
        case Move.BLOCK:
            block(s, decision)
        case Move.DEGRADE:
            degrade(s)
        case Move.ESCALATE:
            return await escalate(s, desk, decision)
    return None


def _current(state: State) -> ev.TaskId | None:
    return state.open_tasks[0].id if state.open_tasks else None


def block(s: Session, decision: Decision) -> None:
    """The task is not selected any more; the next one is."""
    task = decision.signal.task if decision.signal and decision.signal.task is not None else _current(s.state)
    if task is not None:
        s.append(ev.TaskMoved(task=task, status=TaskStatus.BLOCKED, why=decision.why or ""))


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
            f"go on after a plateau ({decision.signal.rule})?",
            decision.signal.evidence[0],
            task=_current(s.state),
        )
        s.status(SessionStatus.PLATEAU, why)
    else:
        opened = desk.opened(
            RequestKind.TAMPERING,
            "go on after tampering?",
            "frozen files were changed; that was undone for the verdict",
            task=_current(s.state),
        )
    granted = await answered(s, desk, opened, None if decision.signal else opened)
    if granted and decision.signal is not None:
        s.append(ev.PlateauReset(by="operator"))
    return None if granted else Ending(SessionStatus.PARKED, why)


async def answered(s: Session, desk: Desk, opened: ev.RequestOpened, shown: ev.RequestOpened | None) -> bool:
    """Wait for the operator, not working; a reason he gives goes into the next brief."""
    s.work(False)
    if shown is not None:
        s.status(SessionStatus.ASKING, f"request:{shown.id}")
    request = await desk.wait_for(opened)
    granted = request.outcome is RequestOutcome.GRANTED
    if granted and request.reason:
        s.append(ev.Noted(text=request.reason))
    if granted:
        s.work(True)
    return granted


async def ask_for_more(s: Session, desk: Desk, dimension: Dimension) -> Ending | None:
    """An extension request: granted means that the ceiling was raised."""
    used = s.account.figures().get(dimension, ev.Figure(0)).used
    limit = s.state.limit(dimension) or 0
    amounts = f"{format_amount(dimension, used)} of {format_amount(dimension, limit)} used"
    opened = desk.opened(RequestKind.EXTENSION, f"more {dimension}?", amounts, dimension=dimension)
    granted = await answered(s, desk, opened, opened)
    return None if granted else Ending(SessionStatus.PARKED, f"budget:{dimension}")


async def exhausted(s: Session, desk: Desk, lacking: DoesNotFit) -> Ending | None:
    """A task does not fit into what is left."""
    if lacking.action is Exhaustion.ESCALATE:
        return await ask_for_more(s, desk, lacking.dimension)
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
    failure = await judging.final(s)
    if failure is None:
        return Ending(SessionStatus.DONE, None)
    return await _review(s, desk, None, f"the final check: {failure}")


async def _review(s: Session, desk: Desk, task: ev.TaskId | None, what: str) -> Ending | None:
    """Granted: look again, with the task list as it is now. Denied: the tasks are dropped."""
    opened = desk.opened(RequestKind.REVIEW, what, "give it a check that fails before the work, or drop it", task=task)
    if await answered(s, desk, opened, opened):
        report.read_tasks(s)
        again = [t.id for t in s.state.tasks if t.status is TaskStatus.REVIEW and t.id == task]
        s.append(*(ev.TaskMoved(task=one, status=TaskStatus.PENDING) for one in again))
        return None
    if task is None:
        return Ending(SessionStatus.PARKED, "operator")
    s.append(ev.TaskMoved(task=task, status=TaskStatus.BLOCKED, why=DROPPED))
    return None
