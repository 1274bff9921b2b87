"""What checks said, and where tasks stand: their folds. Pure."""

from __future__ import annotations

from proctor.journal import costs
from proctor.journal import events as ev
from proctor.journal.folds.base import LOOKED, Changes, asked_anew, on, unlooked, with_task
from proctor.journal.plateau import PlateauState
from proctor.journal.state import (
    CUT_SHORT,
    MOST_LET_GO,
    State,
)
from proctor.words import (
    IterationEnd,
    Phase,
    TaskStatus,
    Verdict,
)

_FAILED = frozenset({Verdict.FAILED, Verdict.UNSTABLE, Verdict.TIMEOUT})


@on(ev.Judged)
def _judged(state: State, _: ev.Row, e: ev.Judged) -> Changes:
    before_next = state.settled_task if state.open_tasks else None
    at_hand = state.intent.task if state.intent else before_next
    return {"costs": costs.added(state.costs, e, at_hand), **_changed_by(state, e)}


def _changed_by(state: State, e: ev.Judged) -> Changes:
    task = state.task(e.task)
    passed = e.verdict is Verdict.PASSED
    if e.phase is Phase.SMOKE:
        return {"smoked": e.tree, "broken": None} if passed else {"broken": e}
    if task is None or e.phase in (Phase.REPEAT, Phase.FINAL):
        return {}
    if e.phase is Phase.REGRESSION:
        return {"tasks": with_task(state, e.task, **{"proved" if passed else "last": e})}
    if e.phase is Phase.BASELINE:
        return {"tasks": with_task(state, e.task, baseline=e)}
    failed = e.verdict is not Verdict.PASSED
    infra = task.infra + 1 if e.verdict is Verdict.INFRA else 0
    changes: Changes = {"verdict": e.verdict, "last": e, "failures": task.failures + failed, "infra": infra}
    how = state.intent_end.how if state.intent_end else None
    if e.verdict in _FAILED and how not in CUT_SHORT:
        changes["failed"] = task.failed + 1
    if e.verdict in _FAILED and task.status is TaskStatus.PENDING and how is not IterationEnd.UNCOVERED:
        changes["status"] = TaskStatus.FAILED
    return {"tasks": with_task(state, e.task, **changes)}


@on(ev.Regressed)
def _regressed(state: State, _: ev.Row, e: ev.Regressed) -> Changes:
    task = state.task(e.task)
    count = task.regressions + 1 if task else 0
    proved = asked_anew(task).proved if task else None
    reopened = {"status": TaskStatus.FAILED, "verified_by": None, "verdict": e.verdict, "proved": proved}
    return {"tasks": with_task(state, e.task, **reopened, regressions=count, why="regression")}


@on(ev.Audited)
def _audited(state: State, _: ev.Row, e: ev.Audited) -> Changes:
    return {"audited": (*(one for one in state.audited if one.task != e.task), e)}


@on(ev.FalseClaim)
def _false_claim(state: State, _: ev.Row, __: ev.FalseClaim) -> Changes:
    return {"false_claims": state.false_claims + 1}


@on(ev.Tampered)
def _tampered(state: State, _: ev.Row, e: ev.Tampered) -> Changes:
    gamed: Changes = {"gamed_in": e.iteration, **unlooked(state)} if e.own else {}
    return {"tampered": state.tampered + 1, "tampered_in": e.iteration, "findings": e.findings, **gamed}


@on(ev.Suspected)
def _suspected(state: State, _: ev.Row, e: ev.Suspected) -> Changes:
    return {"suspected": state.suspected + 1, "suspected_in": e.iteration, "suspicions": e.findings}


@on(ev.TaskDone)
def _task_done(state: State, row: ev.Row, e: ev.TaskDone) -> Changes:
    task = state.task(e.task)
    done = {
        "proved": task.last if task else None,
        "status": TaskStatus.DONE,
        "verified_by": row.seq,
        "checkpoint": e.checkpoint,
        "failures": 0,
        "failed": 0,
        "why": "",
        "taken_back": False,
    }
    gamed = state.gamed_in == e.iteration
    counted = [one.exact for one in state.findings if one.identity in state.let_go] if gamed else []
    return {
        "tasks": with_task(state, e.task, **done),
        "plateau": PlateauState(began=state.used),
        **({} if gamed else LOOKED),
        "accepted": tuple(dict.fromkeys((*state.accepted, *counted)))[-MOST_LET_GO:],
        "rollbacks": _by_the_operator(state.rollbacks),
    }


def _by_the_operator(rollbacks: tuple[ev.RolledBack, ...]) -> tuple[ev.RolledBack, ...]:
    """The rollbacks since the last that a failed verdict made: its undo would take back what is verified now."""
    own = [at for at, one in enumerate(rollbacks, 1) if one.way == "failed_verdict"]
    return rollbacks[own[-1] :] if own else rollbacks


@on(ev.TaskCommitted)
def _task_committed(state: State, _: ev.Row, e: ev.TaskCommitted) -> Changes:
    return {"committed": {**state.committed, e.checkpoint: e.commit}}


@on(ev.TaskMoved)
def _task_moved(state: State, _: ev.Row, e: ev.TaskMoved) -> Changes:
    return {"tasks": with_task(state, e.task, status=e.status, why=e.why)}
