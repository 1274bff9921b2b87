"""How the plateau rules stand, as the state holds it: the last light, what it rests on, and what was done. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.words import Dimension, Light, Response


class PlateauState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last signal or firing, quiet again when an iteration that counts shows nothing.

    `responses` is how many answers of the contract the present task has had, `began` what was used when the counts
    began, `loop` why the last iteration was warned or ended as one that runs in circles.
    """

    light: Light = Light.QUIET
    rule: str | None = None
    evidence: tuple[str, ...] = ()
    task: ev.TaskId | None = None
    advice: str = ""
    why: str = ""
    responses: int = 0
    seen_in: int = 0
    fired_in: int = 0
    began: dict[Dimension, ev.Figure] = {}
    loop: tuple[str, ...] = ()


def signalled(seen: PlateauState, event: ev.PlateauSignal) -> PlateauState:
    """One rule is suspected; of several after one iteration the first is shown."""
    if seen.seen_in == event.iteration:
        return seen
    said: dict[str, Any] = {"rule": str(event.rule), "evidence": event.evidence, "task": event.task}
    said |= {"why": next(iter(event.evidence), ""), "advice": event.advice, "seen_in": event.iteration}
    return replace(seen, light=Light.SUSPECT, **said)


def fired(seen: PlateauState, event: ev.PlateauFired) -> PlateauState:
    """A plateau. The answers begin anew for the task that follows one that was set aside."""
    return replace(
        seen,
        light=Light.FIRING,
        rule=str(event.rule),
        evidence=event.evidence,
        task=event.task,
        advice=event.advice,
        why=event.why,
        responses=0 if event.response is Response.BLOCK else seen.responses + 1,
        fired_in=event.iteration,
    )


def cleared(seen: PlateauState) -> PlateauState:
    """No rule holds any more; what was answered stays answered."""
    return replace(seen, light=Light.QUIET, rule=None, evidence=(), task=None, advice="", why="")
