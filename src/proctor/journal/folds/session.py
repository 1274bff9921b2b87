"""What a session is, and what its operator said: their folds. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.folds.base import Changes, asked_anew, on, unseen
from proctor.journal.state import (
    MOST_LET_GO,
    RequestState,
    State,
    SupervisorFact,
    TaskState,
    bare,
    remembered,
)
from proctor.words import (
    RequestKind,
    RequestOutcome,
)


@on(ev.SessionStarted)
def _session_started(_: State, row: ev.Row, e: ev.SessionStarted) -> Changes:
    return {"session": e.session, "workspace": e.workspace, "goal": e.goal, "born": row.at}


@on(ev.Rebound)
def _rebound(state: State, _: ev.Row, e: ev.Rebound) -> Changes:
    return {"workspace": e.workspace, "session": e.session or state.session}


@on(ev.SupervisorStarted)
def _supervisor_started(_: State, row: ev.Row, e: ev.SupervisorStarted) -> Changes:
    fact = SupervisorFact(pid=e.pid, boot=e.boot, started=e.started, token=e.token)
    return {"supervisor": fact, "sandbox": e.sandbox, "unbound": e.unbound, "worker": e.worker, "start_failures": 0}


@on(ev.SupervisorEnded)
def _supervisor_ended(state: State, _: ev.Row, e: ev.SupervisorEnded) -> Changes:
    if state.supervisor is None:
        return {}
    return {"supervisor": replace(state.supervisor, ended=True, exit_code=e.exit_code)}


@on(ev.ContractLoaded)
def _contract_loaded(_: State, __: ev.Row, e: ev.ContractLoaded) -> Changes:
    return {"contract": e.contract, "plan": e.plan, "ceilings": e.ceilings, "alert": e.alert, "soft": e.soft}


@on(ev.StatusChanged)
def _status_changed(_: State, row: ev.Row, e: ev.StatusChanged) -> Changes:
    return {"status": e.status, "why": e.why, "since": row.at}


@on(ev.OracleFrozen)
def _oracle_frozen(state: State, _: ev.Row, e: ev.OracleFrozen) -> Changes:
    return {"oracle": e.rev, "tasks": tuple(map(asked_anew, unseen(state.tasks))), "smoked": ""}


@on(ev.PlanRevised)
def _plan_revised(_: State, __: ev.Row, e: ev.PlanRevised) -> Changes:
    return {"revision": e.rev, "smoked": "", "broken": None}


@on(ev.TasksLoaded)
def _tasks_loaded(state: State, _: ev.Row, e: ev.TasksLoaded) -> Changes:
    def merged(fact: ev.TaskFact) -> TaskState:
        known = state.task(fact.id) or TaskState(id=fact.id, task=fact.task, checks=fact.checks)
        if known.checks != fact.checks:  # the new ones have been seen neither to fail nor to pass
            known = replace(asked_anew(known), baseline=None)
        return replace(known, task=fact.task, spec=fact.spec, checks=fact.checks)

    return {"tasks": tuple(merged(fact) for fact in e.tasks)}


@on(ev.RequestOpened)
def _request_opened(state: State, row: ev.Row, e: ev.RequestOpened) -> Changes:
    if e.granted:
        return {"asked": e.id}
    return {"asked": e.id, "requests": (*state.requests, RequestState(id=e.id, opened=e, at=row.at))}


@on(ev.RequestClosed)
def _request_closed(state: State, _: ev.Row, e: ev.RequestClosed) -> Changes:
    def closed(request: RequestState) -> RequestState:
        if request.id == e.kept:
            return bare(replace(request, told=True))
        if request.id != e.id or request.outcome is not None:
            return request
        return bare(replace(request, outcome=e.outcome, by=e.by, reason=e.reason, input=e.input, told=e.told))

    asked = state.request(e.id)
    granted = asked is not None and asked.outcome is None and e.outcome is RequestOutcome.GRANTED
    changes: Changes = {"requests": remembered(tuple(closed(request) for request in state.requests))}
    if granted and asked is not None and asked.opened.request is RequestKind.TAMPERING:
        seen = tuple(one.identity for one in state.shown)
        changes["let_go"] = tuple(dict.fromkeys((*state.let_go, *seen)))[-MOST_LET_GO:]
    return changes


@on(ev.Noted)
def _noted(state: State, _: ev.Row, e: ev.Noted) -> Changes:
    return {"notes": (*state.notes, e.text)}
