"""A session's status as data: what `status --json` prints. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from proctor.budget.thresholds import level_of
from proctor.journal import checks
from proctor.journal.state import State, Tally
from proctor.progress import drift
from proctor.words import Dimension, Level, Light, Source


def status_of(state: State, gauges: Mapping[str, Any], alive: bool) -> dict[str, Any]:
    """The stable form. Figures are the live ones while a supervisor is up, else those of the journal."""
    supervisor = {"pid": state.supervisor.pid, "alive": alive} if state.supervisor else None
    return {
        "session": state.session or None,
        "workspace": state.workspace,
        "status": state.status,
        "why": state.why,
        "iteration": state.iteration,
        "step": state.step,
        "supervisor": supervisor,
        "tasks": [
            {
                "id": task.id,
                "task": task.task,
                "status": task.status,
                "taken_back": task.taken_back,
                "verdict": task.verdict,
                "claim": task.claim,
                "checkpoint": task.checkpoint,
                "commit": state.committed.get(task.checkpoint or ""),
                "reason": task.why or (task.last.reason if task.last else ""),
                "log": task.last.log if task.last else "",
            }
            for task in state.tasks
        ],
        "budget": _budget(state, gauges.get("figures", {}) if alive else {}),
        "calls": {
            "billed": _tally(state.billed),
            "trajectory": _tally(state.trajectory),
            "in_flight": len(state.calling),
        },
        "waiting": _limited(state),
        "plateau": {
            "state": state.plateau.light,
            "rule": state.plateau.rule,
            "evidence": list(state.plateau.evidence),
            "why": state.plateau.why,
            "advice": state.plateau.advice,
        },
        "drift": drift_of(state),
        "requests": [
            {
                "id": request.id,
                "kind": request.opened.request,
                "what": request.opened.what,
                "tool": request.opened.tool,
                "why": request.opened.why,
                "task": request.opened.task,
                "since": request.at.isoformat(),
            }
            for request in state.open_requests
        ],
        "checkpoint": state.good or None,
        "false_claims": state.false_claims,
        "tampering": {
            "tampered": state.tampered,
            "suspected": state.suspected,
            "findings": msgspec.to_builtins((*state.findings, *state.suspicions)),
        },
        "checks": {"caught": checks.report(state)["caught"]},
        "sandbox": state.sandbox,
        "quarantined": list(state.quarantined),
        "autorun": list(state.autorun),
    }


def drift_of(state: State) -> dict[str, Any]:
    """The seven lights by their names, how the plateau rules stand, and `signal`, whether the checks cost more than the
    work. What `drift --json` prints."""
    lights = {
        one.drift: {"light": one.light, "why": one.why, "evidence": list(one.evidence), "task": one.task}
        for one in drift.lights(state)
    }
    dear = drift.signal_cost(state)
    return {
        "lights": lights,
        "plateau": {"light": state.plateau.light, "why": state.plateau.why, "evidence": list(state.plateau.evidence)},
        "signal": {"light": Light.SUSPECT if dear else Light.QUIET, "why": dear},
    }


def _tally(tally: Tally) -> dict[str, Any]:
    """Model calls, summed. `billed` is all of them, `trajectory` each answered one once; cost in micro-dollars."""
    shown = msgspec.structs.asdict(tally)
    shown["cost"] = shown.pop("micro")
    return shown


def _limited(state: State) -> dict[str, Any] | None:
    """The provider's own limit that calls wait for; `until` in seconds since the epoch, if known."""
    if state.limited is None:
        return None
    return {"upstream": state.limited.upstream, "why": state.limited.why, "until": state.limited.until}


def _budget(state: State, live: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for dimension in Dimension:
        figure = state.used.get(dimension)
        used, source = (figure.used, figure.source) if figure else (0, Source.MEASURED)
        shown = live.get(dimension)
        if shown and shown["used"] >= used:
            used, source = shown["used"], Source(shown["source"])
        limit = state.limit(dimension)
        if figure is None and shown is None and limit is None:
            continue
        level = level_of(used, limit, state.alert, state.soft) if limit is not None else Level.OK
        found[dimension] = {"used": used, "limit": limit, "level": level, "source": source}
    return found
