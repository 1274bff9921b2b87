"""Ceilings, plateaus, and what the loop decided: their folds. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal import plateau
from proctor.journal.folds.base import Changes, on, with_task
from proctor.journal.plateau import PlateauState
from proctor.journal.state import (
    State,
    TaskState,
)
from proctor.words import (
    Response,
    Rule,
    TaskStatus,
)


@on(ev.LevelCrossed)
def _level_crossed(state: State, _: ev.Row, e: ev.LevelCrossed) -> Changes:
    return {"fired": state.fired | {(e.dimension, e.level)}}


@on(ev.CeilingRaised)
def _ceiling_raised(state: State, _: ev.Row, e: ev.CeilingRaised) -> Changes:
    raised = {**state.raised, e.dimension: state.raised.get(e.dimension, 0) + e.by}
    return {"raised": raised}


@on(ev.Degraded)
def _degraded(_: State, __: ev.Row, e: ev.Degraded) -> Changes:
    return {"degraded": e.model}


@on(ev.PlateauSignal)
def _plateau_signal(state: State, _: ev.Row, e: ev.PlateauSignal) -> Changes:
    return {"plateau": plateau.signalled(state.plateau, e)}


@on(ev.PlateauFired)
def _plateau_fired(state: State, _: ev.Row, e: ev.PlateauFired) -> Changes:
    changes: Changes = {"plateau": plateau.fired(state.plateau, e)}
    if e.response is Response.NARROW:
        changes["tasks"] = with_task(state, e.task, narrow=True)
    elif e.rule is Rule.STALLED:
        changes["tasks"] = with_task(state, e.task, stuck=True)
    return changes


@on(ev.DriftAnswered)
def _drift_answered(state: State, _: ev.Row, e: ev.DriftAnswered) -> Changes:
    return {"tasks": with_task(state, e.task, narrow=True)} if e.response is Response.NARROW else {}


@on(ev.PlateauCleared)
def _plateau_cleared(state: State, _: ev.Row, __: ev.PlateauCleared) -> Changes:
    return {"plateau": plateau.cleared(state.plateau)}


@on(ev.LoopSeen)
def _loop_seen(state: State, _: ev.Row, e: ev.LoopSeen) -> Changes:
    return {"plateau": replace(state.plateau, loop=e.evidence)}


@on(ev.PlateauReset)
def _plateau_reset(state: State, _: ev.Row, __: ev.PlateauReset) -> Changes:
    def reopened(task: TaskState) -> TaskState:
        set_aside = task.status is TaskStatus.BLOCKED and task.why.startswith("plateau:")
        return replace(task, status=TaskStatus.PENDING, why="", stuck=True) if set_aside else task

    return {"plateau": PlateauState(began=state.used), "tasks": tuple(reopened(task) for task in state.tasks)}


@on(ev.Decided)
def _decided(_: State, __: ev.Row, e: ev.Decided) -> Changes:
    return {"decided": e.iteration}
