"""Events of drift: what an iteration left behind, how the plan still fits, and what was seen and answered."""

from __future__ import annotations

import msgspec

from proctor.journal.events.base import Event, TaskId
from proctor.words import Drift, Light, Response


class Named(msgspec.Struct, frozen=True):
    """A path that something names: `by` says what, a task or the rules."""

    by: str
    path: str


class Surveyed(Event, frozen=True, tag="surveyed"):
    """What an iteration left behind. `folder` holds nearly all of the `files` that it changed, "" where no folder below
    the workspace does; `named` is what tasks and rules name that are still open.

    Of the log: `grown` characters that the worker added, new lines that verdicts have `contradicted`, paths that its
    end names and that are gone (`stale`). `undone` counts what it wrote into the task list.
    """

    iteration: int
    task: TaskId
    folder: str = ""
    files: int = 0
    named: tuple[Named, ...] = ()
    grown: int = 0
    contradicted: int = 0
    stale: tuple[str, ...] = ()
    undone: int = 0


class PlanAccepted(Event, frozen=True, tag="plan_accepted"):
    """The plan in force, by the hash of all that tells workers what to do, and the checkpoint that it was made for."""

    plan: str
    checkpoint: str


class PlanRotted(Event, frozen=True, tag="plan_rotted"):
    """What a task is told about and is gone, a line each; none: all that it names is there again, or not named."""

    task: TaskId
    gone: tuple[str, ...] = ()


class PlanConfirmed(Event, frozen=True, tag="plan_confirmed"):
    """The operator holds to the plan although it names these."""

    gone: tuple[str, ...]
    by: str = ""


class DriftSeen(Event, frozen=True, tag="drift_seen"):
    """A light of drift changed; `evidence` is one line each."""

    drift: Drift
    light: Light
    why: str
    evidence: tuple[str, ...] = ()
    task: TaskId | None = None
    iteration: int = 0


class DriftAnswered(Event, frozen=True, tag="drift_answered"):
    """What followed a light that fires: `narrow` or `park`."""

    drift: Drift
    response: Response
    task: TaskId
    iteration: int
