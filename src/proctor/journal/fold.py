"""The fold of a session's events into its state. Pure.

`fold(state, row)` is total: an event it does not know changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from proctor.journal import costs, drift, plateau
from proctor.journal import events as ev
from proctor.journal.plateau import PlateauState
from proctor.journal.state import (
    GOOD,
    MOST_PATHS,
    CheckpointState,
    RequestState,
    State,
    SupervisorFact,
    TaskState,
    bare,
    metered,
    remembered,
)
from proctor.words import (
    CallEnd,
    Certainty,
    CheckpointKind,
    Phase,
    RequestKind,
    RequestOutcome,
    Response,
    TaskStatus,
    Verdict,
)

Changes = dict[str, Any]
_FOLDS: dict[type[ev.Event], Callable[[State, ev.Row, Any], Changes]] = {}


def _on(kind: type[ev.Event]) -> Callable[[Callable[[State, ev.Row, Any], Changes]], None]:
    def register(function: Callable[[State, ev.Row, Any], Changes]) -> None:
        _FOLDS[kind] = function

    return register


def fold(state: State, row: ev.Row) -> State:
    """The state after one more row."""
    handler = _FOLDS.get(type(row.event))
    changes = handler(state, row, row.event) if handler else {}
    return replace(state, seq=row.seq, drift=drift.after(state.drift, row.event), **changes)


def fold_all(rows: Iterable[ev.Row], state: State | None = None) -> State:
    """The state after all of `rows`, on top of `state`."""
    state = state or State()
    for row in rows:
        state = fold(state, row)
    return state


def _unseen(tasks: tuple[TaskState, ...]) -> tuple[TaskState, ...]:
    """Tasks whose checks have not been seen to fail on what is there now."""
    return tuple(task if task.status is TaskStatus.DONE else replace(task, baseline=None) for task in tasks)


def _asked_anew(task: TaskState) -> TaskState:
    """Not known to pass on any tree, though it was verified."""
    return replace(task, proved=replace(task.proved, tree="")) if task.proved else task


def _unlooked(state: State) -> Changes:
    """What the worker did since it was started is to be looked at again, if nothing earlier is."""
    if state.unlooked or state.intent is None:
        return {}
    return {"unlooked": state.intent.tree, "unlooked_after": state.last_checkpoint}


def _tasks(state: State, task_id: ev.TaskId | None, **changes: Any) -> tuple[TaskState, ...]:
    return tuple(replace(task, **changes) if task.id == task_id else task for task in state.tasks)


@_on(ev.SessionStarted)
def _session_started(_: State, row: ev.Row, e: ev.SessionStarted) -> Changes:
    return {"session": e.session, "workspace": e.workspace, "goal": e.goal, "born": row.at}


@_on(ev.Rebound)
def _rebound(state: State, _: ev.Row, e: ev.Rebound) -> Changes:
    return {"workspace": e.workspace, "session": e.session or state.session}


@_on(ev.SupervisorStarted)
def _supervisor_started(_: State, row: ev.Row, e: ev.SupervisorStarted) -> Changes:
    fact = SupervisorFact(pid=e.pid, boot=e.boot, started=e.started, token=e.token)
    return {"supervisor": fact, "sandbox": e.sandbox, "unbound": e.unbound, "worker": e.worker, "start_failures": 0}


@_on(ev.SupervisorEnded)
def _supervisor_ended(state: State, _: ev.Row, e: ev.SupervisorEnded) -> Changes:
    if state.supervisor is None:
        return {}
    return {"supervisor": replace(state.supervisor, ended=True, exit_code=e.exit_code)}


@_on(ev.ContractLoaded)
def _contract_loaded(_: State, __: ev.Row, e: ev.ContractLoaded) -> Changes:
    return {"contract": e.contract, "plan": e.plan, "ceilings": e.ceilings, "alert": e.alert, "soft": e.soft}


@_on(ev.StatusChanged)
def _status_changed(_: State, row: ev.Row, e: ev.StatusChanged) -> Changes:
    return {"status": e.status, "why": e.why, "since": row.at}


@_on(ev.OracleFrozen)
def _oracle_frozen(state: State, _: ev.Row, e: ev.OracleFrozen) -> Changes:
    return {"oracle": e.rev, "tasks": tuple(map(_asked_anew, _unseen(state.tasks))), "smoked": ""}


@_on(ev.PlanRevised)
def _plan_revised(_: State, __: ev.Row, e: ev.PlanRevised) -> Changes:
    return {"revision": e.rev, "smoked": "", "broken": None}


@_on(ev.TasksLoaded)
def _tasks_loaded(state: State, _: ev.Row, e: ev.TasksLoaded) -> Changes:
    def merged(fact: ev.TaskFact) -> TaskState:
        known = state.task(fact.id) or TaskState(id=fact.id, task=fact.task, checks=fact.checks)
        if known.checks != fact.checks:  # the new ones have been seen neither to fail nor to pass
            known = replace(_asked_anew(known), baseline=None)
        return replace(known, task=fact.task, spec=fact.spec, checks=fact.checks)

    return {"tasks": tuple(merged(fact) for fact in e.tasks)}


@_on(ev.Reserved)
def _reserved(_: State, __: ev.Row, e: ev.Reserved) -> Changes:
    return {"reserved": e}


@_on(ev.Settled)
def _settled(state: State, _: ev.Row, e: ev.Settled) -> Changes:
    task = state.task(e.task)
    spent = dict(task.spent) if task else {}
    for dimension, amount in e.amounts.items():
        spent[dimension] = spent.get(dimension, 0) + amount
    closed: Changes = {
        "reserved": None,
        "settled": e.iteration,
        "settled_task": e.task,
        "intent": None,
        "intent_end": None,
    }
    end = state.intent_end
    judged = task is not None and task.last is not None and task.last.iteration == e.iteration
    if end is not None and not judged and state.intent is not None and end.tree != state.intent.tree:
        closed |= _unlooked(state)
    return {**closed, "tasks": _tasks(state, e.task, spent=spent)}


@_on(ev.IterationStarted)
def _iteration_started(state: State, _: ev.Row, e: ev.IterationStarted) -> Changes:
    task = state.task(e.task)
    count = task.iterations + 1 if task else 0
    return {
        "iteration": e.iteration,
        "step": 0,
        "intent": e,
        "intent_end": None,
        "begun": state.used,
        "notes": (),
        "plateau": replace(state.plateau, loop=()),
        "tasks": _tasks(state, e.task, iterations=count, claim=None, conflict=""),
    }


@_on(ev.ToolCalled)
def _tool_called(state: State, _: ev.Row, e: ev.ToolCalled) -> Changes:
    return {"step": state.step + e.count}


@_on(ev.Spent)
def _spent(state: State, _: ev.Row, e: ev.Spent) -> Changes:
    used = dict(state.used)
    for dimension, figure in e.figures.items():
        before = used.get(dimension)
        if before is None or figure.used >= before.used:
            used[dimension] = figure
    return {"used": used}


@_on(ev.ModelAsked)
def _model_asked(state: State, _: ev.Row, e: ev.ModelAsked) -> Changes:
    return {"calling": {**state.calling, e.call: e}}


@_on(ev.ModelCall)
def _model_call(state: State, _: ev.Row, e: ev.ModelCall) -> Changes:
    """Totals grow by each call at once, so that nothing is lost where no `Spent` row follows."""
    calling = {call: asked for call, asked in state.calling.items() if call != e.call}
    used, figures = dict(state.used), metered(e)
    for dimension, figure in figures.items():
        used[dimension] = used.get(dimension, ev.Figure(0)) + figure
    changes: Changes = {"calling": calling, "used": used}
    if figures:
        changes["billed"] = state.billed.after(e)
        if e.end is CallEnd.ANSWERED and not e.repeat:
            changes["trajectory"] = state.trajectory.after(e)
    return changes


@_on(ev.ProviderLimited)
def _provider_limited(state: State, _: ev.Row, e: ev.ProviderLimited) -> Changes:
    return {"limited": None if e.over else e}


@_on(ev.ClaimRecorded)
def _claim_recorded(state: State, _: ev.Row, e: ev.ClaimRecorded) -> Changes:
    if e.status == "conflict":
        return {"tasks": _tasks(state, e.task, conflict=e.why or "it does not say why")}
    return {"tasks": _tasks(state, e.task, claim=e.status)}


@_on(ev.IterationEnded)
def _iteration_ended(state: State, _: ev.Row, e: ev.IterationEnded) -> Changes:
    failures = state.start_failures + 1 if e.how == "start_failed" else 0
    return {"intent_end": e, "start_failures": failures, "tree": e.tree or state.tree}


@_on(ev.Judged)
def _judged(state: State, _: ev.Row, e: ev.Judged) -> Changes:
    return {"costs": costs.added(state.costs, e, state.intent), **_changed_by(state, e)}


def _changed_by(state: State, e: ev.Judged) -> Changes:
    task = state.task(e.task)
    passed = e.verdict is Verdict.PASSED
    if e.phase is Phase.SMOKE:
        return {"smoked": e.tree, "broken": None} if passed else {"broken": e}
    if task is None or e.phase in (Phase.REPEAT, Phase.FINAL):
        return {}
    if e.phase is Phase.REGRESSION:
        return {"tasks": _tasks(state, e.task, **{"proved" if passed else "last": e})}
    if e.phase is Phase.BASELINE:
        return {"tasks": _tasks(state, e.task, baseline=e)}
    failed = e.verdict is not Verdict.PASSED
    infra = task.infra + 1 if e.verdict is Verdict.INFRA else 0
    changes: Changes = {"verdict": e.verdict, "last": e, "failures": task.failures + failed, "infra": infra}
    if e.verdict in (Verdict.FAILED, Verdict.UNSTABLE, Verdict.TIMEOUT) and task.status is TaskStatus.PENDING:
        changes["status"] = TaskStatus.FAILED
    return {"tasks": _tasks(state, e.task, **changes)}


@_on(ev.Regressed)
def _regressed(state: State, _: ev.Row, e: ev.Regressed) -> Changes:
    task = state.task(e.task)
    count = task.regressions + 1 if task else 0
    proved = _asked_anew(task).proved if task else None
    reopened = {"status": TaskStatus.FAILED, "verified_by": None, "verdict": e.verdict, "proved": proved}
    return {"tasks": _tasks(state, e.task, **reopened, regressions=count, why="regression")}


@_on(ev.Audited)
def _audited(state: State, _: ev.Row, e: ev.Audited) -> Changes:
    return {"audited": (*(one for one in state.audited if one.task != e.task), e)}


@_on(ev.FalseClaim)
def _false_claim(state: State, _: ev.Row, __: ev.FalseClaim) -> Changes:
    return {"false_claims": state.false_claims + 1}


@_on(ev.Tampered)
def _tampered(state: State, _: ev.Row, e: ev.Tampered) -> Changes:
    gamed: Changes = {"gamed_in": e.iteration, **_unlooked(state)} if e.own else {}
    return {"tampered": state.tampered + 1, "tampered_in": e.iteration, "findings": e.findings, **gamed}


@_on(ev.Suspected)
def _suspected(state: State, _: ev.Row, e: ev.Suspected) -> Changes:
    return {"suspected": state.suspected + 1, "suspected_in": e.iteration, "suspicions": e.findings}


@_on(ev.Exposed)
def _exposed(state: State, _: ev.Row, e: ev.Exposed) -> Changes:
    return {"exposed": tuple(dict.fromkeys((*state.exposed, *e.paths)))}


@_on(ev.TakenOver)
def _taken_over(state: State, _: ev.Row, e: ev.TakenOver) -> Changes:
    return {"exposed": tuple(path for path in state.exposed if path not in e.paths)}


@_on(ev.Quarantined)
def _quarantined(state: State, _: ev.Row, e: ev.Quarantined) -> Changes:
    before = (path for path in state.quarantined if path not in e.paths)
    paths = tuple(dict.fromkeys((*before, *e.paths)))
    more = state.quarantined_more + e.more + max(0, len(paths) - MOST_PATHS)
    return {"quarantined": paths[-MOST_PATHS:], "quarantined_more": more}


@_on(ev.Autorun)
def _autorun(_: State, __: ev.Row, e: ev.Autorun) -> Changes:
    return {"autorun": e.paths}


@_on(ev.TaskDone)
def _task_done(state: State, row: ev.Row, e: ev.TaskDone) -> Changes:
    task = state.task(e.task)
    done = {
        "proved": task.last if task else None,
        "status": TaskStatus.DONE,
        "verified_by": row.seq,
        "checkpoint": e.checkpoint,
        "failures": 0,
        "why": "",
        "taken_back": False,
    }
    return {"tasks": _tasks(state, e.task, **done), "plateau": PlateauState(began=state.used), "unlooked": ""}


@_on(ev.TaskCommitted)
def _task_committed(state: State, _: ev.Row, e: ev.TaskCommitted) -> Changes:
    return {"committed": {**state.committed, e.checkpoint: e.commit}}


@_on(ev.TaskMoved)
def _task_moved(state: State, _: ev.Row, e: ev.TaskMoved) -> Changes:
    return {"tasks": _tasks(state, e.task, status=e.status, why=e.why)}


@_on(ev.CheckpointTaken)
def _checkpoint_taken(state: State, row: ev.Row, e: ev.CheckpointTaken) -> Changes:
    good = e.id if e.checkpoint in GOOD and e.certainty is Certainty.CONFIRMED else state.good
    taken = CheckpointState(id=e.id, at=row.at, taken=e, good=good)
    changes: Changes = {"checkpoints": (*state.checkpoints, taken), "good": good, "tree": e.tree}
    return {**changes, "tasks": _unseen(state.tasks)} if e.edited else changes


@_on(ev.CheckpointConfirmed)
def _checkpoint_confirmed(state: State, _: ev.Row, e: ev.CheckpointConfirmed) -> Changes:
    def confirmed(one: CheckpointState) -> CheckpointState:
        found = {"commit": e.commit, "tree": e.tree, "state": e.state, "files": e.files}
        taken = replace(one.taken, certainty=Certainty.CONFIRMED, **found)
        good = one.id if taken.checkpoint in GOOD else one.good
        return replace(one, taken=taken, good=good, confirmed=e)

    checkpoints = tuple(confirmed(one) if one.id == e.id else one for one in state.checkpoints)
    changes: Changes = {"checkpoints": checkpoints}
    if checkpoints and checkpoints[-1].id == e.id:
        changes |= {"good": checkpoints[-1].good, "tree": e.tree}
    return changes


@_on(ev.CheckpointsPruned)
def _checkpoints_pruned(state: State, row: ev.Row, e: ev.CheckpointsPruned) -> Changes:
    left = tuple(c for c in state.checkpoints if c.id not in e.ids)
    return {"checkpoints": left, "pruned": state.pruned | dict.fromkeys(e.ids, row.at)}


@_on(ev.RollbackBegun)
def _rollback_begun(_: State, __: ev.Row, e: ev.RollbackBegun) -> Changes:
    return {"rollback": e}


@_on(ev.RolledBack)
def _rolled_back(state: State, _: ev.Row, e: ev.RolledBack) -> Changes:
    if e.failed:
        return {"rollback": None}
    changes: Changes = {"rollback": None, "rollbacks": (*state.rollbacks, e)}
    target = state.checkpoint(e.target)
    if e.tree:
        changes["tree"] = e.tree
    if target is None or e.paths:
        return changes
    changes |= {"good": target.good, "tree": e.tree or target.taken.tree}
    if int(target.id[1:]) <= state.unlooked_after:
        changes["unlooked"] = ""
    if e.way == "failed_verdict":
        return changes
    marks = {mark.id: mark for mark in target.taken.marks}

    def returned(task: TaskState) -> TaskState:
        mark = marks.get(task.id)
        status = mark.status if mark else TaskStatus.PENDING
        if mark is not None and status is TaskStatus.DONE:
            kept = task.checkpoint if task.verified_by == mark.verified_by else _checkpoint_of(state, mark)
            return replace(task, status=status, verified_by=mark.verified_by, checkpoint=kept, taken_back=False)
        taken_back = task.taken_back or task.status is TaskStatus.DONE
        return replace(task, status=status, verified_by=None, checkpoint=None, taken_back=taken_back)

    tasks = _unseen(tuple(returned(task) for task in state.tasks))
    return {**changes, "tasks": tasks, "intent": None, "intent_end": None}


def _checkpoint_of(state: State, mark: ev.TaskMark) -> str | None:
    """The checkpoint of a verification."""
    taken = (c.taken for c in state.checkpoints if c.taken.task == mark.id and mark in c.taken.marks)
    return next((t.id for t in taken if t.checkpoint is CheckpointKind.TASK), None)


@_on(ev.LevelCrossed)
def _level_crossed(state: State, _: ev.Row, e: ev.LevelCrossed) -> Changes:
    return {"fired": state.fired | {(e.dimension, e.level)}}


@_on(ev.CeilingRaised)
def _ceiling_raised(state: State, _: ev.Row, e: ev.CeilingRaised) -> Changes:
    raised = {**state.raised, e.dimension: state.raised.get(e.dimension, 0) + e.by}
    return {"raised": raised}


@_on(ev.Degraded)
def _degraded(_: State, __: ev.Row, e: ev.Degraded) -> Changes:
    return {"degraded": e.model}


@_on(ev.PlateauSignal)
def _plateau_signal(state: State, _: ev.Row, e: ev.PlateauSignal) -> Changes:
    return {"plateau": plateau.signalled(state.plateau, e)}


@_on(ev.PlateauFired)
def _plateau_fired(state: State, _: ev.Row, e: ev.PlateauFired) -> Changes:
    changes: Changes = {"plateau": plateau.fired(state.plateau, e)}
    if e.response is Response.NARROW:
        changes["tasks"] = _tasks(state, e.task, narrow=True)
    return changes


@_on(ev.DriftAnswered)
def _drift_answered(state: State, _: ev.Row, e: ev.DriftAnswered) -> Changes:
    return {"tasks": _tasks(state, e.task, narrow=True)} if e.response is Response.NARROW else {}


@_on(ev.PlateauCleared)
def _plateau_cleared(state: State, _: ev.Row, __: ev.PlateauCleared) -> Changes:
    return {"plateau": plateau.cleared(state.plateau)}


@_on(ev.LoopSeen)
def _loop_seen(state: State, _: ev.Row, e: ev.LoopSeen) -> Changes:
    return {"plateau": replace(state.plateau, loop=e.evidence)}


@_on(ev.PlateauReset)
def _plateau_reset(state: State, _: ev.Row, __: ev.PlateauReset) -> Changes:
    def reopened(task: TaskState) -> TaskState:
        set_aside = task.status is TaskStatus.BLOCKED and task.why.startswith("plateau:")
        return replace(task, status=TaskStatus.PENDING, why="") if set_aside else task

    return {"plateau": PlateauState(began=state.used), "tasks": tuple(reopened(task) for task in state.tasks)}


@_on(ev.Decided)
def _decided(_: State, __: ev.Row, e: ev.Decided) -> Changes:
    return {"decided": e.iteration}


@_on(ev.RequestOpened)
def _request_opened(state: State, row: ev.Row, e: ev.RequestOpened) -> Changes:
    if e.granted:
        return {"asked": e.id}
    return {"asked": e.id, "requests": (*state.requests, RequestState(id=e.id, opened=e, at=row.at))}


@_on(ev.RequestClosed)
def _request_closed(state: State, _: ev.Row, e: ev.RequestClosed) -> Changes:
    def closed(request: RequestState) -> RequestState:
        if request.id == e.kept:
            return bare(replace(request, told=True))
        if request.id != e.id or request.outcome is not None:
            return request
        return bare(replace(request, outcome=e.outcome, by=e.by, reason=e.reason, input=e.input, told=e.told))

    asked = state.request(e.id)
    granted = asked is not None and asked.outcome is None and e.outcome is RequestOutcome.GRANTED
    let_go = granted and asked is not None and asked.opened.request is RequestKind.TAMPERING
    changes: Changes = {"unlooked": ""} if let_go else {}
    return {**changes, "requests": remembered(tuple(closed(request) for request in state.requests))}


@_on(ev.Noted)
def _noted(state: State, _: ev.Row, e: ev.Noted) -> Changes:
    return {"notes": (*state.notes, e.text)}
