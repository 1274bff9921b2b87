"""What one iteration did and spent: their folds. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.folds.base import Changes, on, unlooked, with_task
from proctor.journal.state import (
    CUT_SHORT,
    MOST_PATHS,
    State,
    metered,
)
from proctor.words import (
    CallEnd,
    IterationEnd,
)


@on(ev.Reserved)
def _reserved(_: State, __: ev.Row, e: ev.Reserved) -> Changes:
    return {"reserved": e}


@on(ev.Settled)
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
    end, intent = state.intent_end, state.intent
    judged = task is not None and task.last is not None and task.last.iteration == e.iteration
    if end is not None and intent is not None and end.tree != intent.tree:
        mended = intent.repair_only and state.smoked == end.tree
        closed |= {} if judged or mended else unlooked(state)
    return {**closed, "tasks": with_task(state, e.task, spent=spent)}


@on(ev.IterationStarted)
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
        "noted": state.notes,
        "plateau": replace(state.plateau, loop=()),
        "tasks": with_task(state, e.task, iterations=count, claim=None, conflict=""),
    }


@on(ev.ToolCalled)
def _tool_called(state: State, _: ev.Row, e: ev.ToolCalled) -> Changes:
    return {"step": state.step + e.count}


@on(ev.Spent)
def _spent(state: State, _: ev.Row, e: ev.Spent) -> Changes:
    used = dict(state.used)
    for dimension, figure in e.figures.items():
        before = used.get(dimension)
        if before is None or figure.used >= before.used:
            used[dimension] = figure
    return {"used": used}


@on(ev.ModelAsked)
def _model_asked(state: State, _: ev.Row, e: ev.ModelAsked) -> Changes:
    return {"calling": {**state.calling, e.call: e}}


@on(ev.ModelCall)
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


@on(ev.ProviderLimited)
def _provider_limited(state: State, _: ev.Row, e: ev.ProviderLimited) -> Changes:
    return {"limited": None if e.over else e}


@on(ev.ClaimRecorded)
def _claim_recorded(state: State, _: ev.Row, e: ev.ClaimRecorded) -> Changes:
    if e.status == "conflict":
        return {"tasks": with_task(state, e.task, conflict=e.why or "it does not say why")}
    return {"tasks": with_task(state, e.task, claim=e.status)}


@on(ev.IterationEnded)
def _iteration_ended(state: State, _: ev.Row, e: ev.IterationEnded) -> Changes:
    failures = state.start_failures + 1 if e.how == "start_failed" else 0
    cut = e.how in CUT_SHORT or e.how is IterationEnd.START_FAILED
    notes = (*state.noted, *state.notes) if cut else state.notes
    return {
        "intent_end": e,
        "start_failures": failures,
        "tree": e.tree or state.tree,
        "notes": notes,
        "noted": (),
    }


@on(ev.Exposed)
def _exposed(state: State, _: ev.Row, e: ev.Exposed) -> Changes:
    return {"exposed": tuple(dict.fromkeys((*state.exposed, *e.paths)))}


@on(ev.TakenOver)
def _taken_over(state: State, _: ev.Row, e: ev.TakenOver) -> Changes:
    return {"exposed": tuple(path for path in state.exposed if path not in e.paths)}


@on(ev.Quarantined)
def _quarantined(state: State, _: ev.Row, e: ev.Quarantined) -> Changes:
    before = (path for path in state.quarantined if path not in e.paths)
    paths = tuple(dict.fromkeys((*before, *e.paths)))
    more = state.quarantined_more + e.more + max(0, len(paths) - MOST_PATHS)
    return {"quarantined": paths[-MOST_PATHS:], "quarantined_more": more}


@on(ev.Autorun)
def _autorun(_: State, __: ev.Row, e: ev.Autorun) -> Changes:
    return {"autorun": e.paths}
