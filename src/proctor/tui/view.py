"""What the screen shows, as one value: the folded state, the live rows, the time, and what follows from them.

Pure. The panels are functions of it, and `holding` decides which keys are offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.checkpoint import history
from proctor.journal import findings
from proctor.journal.events import Figure, PlateauFired, RolledBack, TaskId
from proctor.journal.state import CheckpointState, RequestState, State, TaskState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.actions import Need
from proctor.words import Dimension, Light, RequestKind, SessionStatus, Source, Step, TaskStatus

MOVING = frozenset({SessionStatus.RUNNING, SessionStatus.ASKING, SessionStatus.WAITING})
"""Statuses of a session that is at work or waits inside its work."""
STEPS: dict[str, str] = {
    Step.LOAD: "reading the plan",
    Step.SELECT: "choosing a task",
    Step.RESERVE: "preparing the brief",
    Step.ACT: "at work",
    Step.JUDGE: "checking",
    Step.COMMIT: "keeping what is done",
    Step.DECIDE: "choosing what is next",
}
"""What the loop does in each of its steps, as a person would say it."""
LASTING = frozenset({Step.SELECT, Step.JUDGE})
"""Steps in which checks run, as long as they take."""
SETTLED = 60_000
"""Milliseconds of active time before a rate is worth a forecast."""
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class View:
    """One moment of one session. `state` is None before there is a journal, and until it was `looked` for one.

    `gauges`, `loop` and `worker` are the live rows: hints, each of their fields may be missing. `fired` is the last
    plateau that fired, `trouble` one line when the journal cannot be read, `startable` whether a contract is there,
    `promised` by how much ceilings are raised by orders that wait for a supervisor, `found` all rows with findings.
    """

    workspace: Path
    now: datetime = _EPOCH
    state: State | None = None
    alive: bool = False
    gauges: Mapping[str, Any] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    worker: Mapping[str, Any] = field(default_factory=dict)
    fired: PlateauFired | None = None
    trouble: str = ""
    startable: bool = False
    looked: bool = True
    promised: Mapping[Dimension, int] = field(default_factory=dict)
    found: tuple[findings.Found, ...] = ()

    @property
    def project(self) -> str:
        """The workspace's name."""
        return safe_line(self.workspace.name or str(self.workspace), 40)

    @property
    def status(self) -> SessionStatus:
        """The one status word."""
        if self.trouble:
            return SessionStatus.UNKNOWN
        return self.state.status if self.state else SessionStatus.STOPPED

    @property
    def why(self) -> str | None:
        return self.state.why if self.state else None

    @property
    def model(self) -> str:
        """The model at work, else the kind of worker."""
        state = self.state
        named = self.worker.get("model") if self.alive else None
        intent = state.intent.model if state and state.intent else None
        return safe_line(str(named or intent or (state.worker if state else "") or ""), 40)

    @property
    def frozen(self) -> bool:
        """Whether the worker stands still now."""
        return self.alive and bool(self.worker.get("frozen"))

    @property
    def paused(self) -> bool:
        """Whether the operator has paused it, also while a request gives it another status."""
        return self.status is SessionStatus.PAUSED or (self.alive and bool(self.worker.get("paused")))

    @property
    def nested_more(self) -> int:
        """Repositories that the running worker made, beyond those that are named."""
        more = self.worker.get("nested_more") if self.alive else None
        return more if isinstance(more, int) else 0

    @property
    def nested(self) -> tuple[str, ...]:
        """Repositories that the running worker has made below the workspace's own, not yet renamed."""
        named = self.worker.get("nested") if self.alive else None
        return tuple(map(str, named)) if isinstance(named, list) else ()

    @property
    def beating(self) -> bool:
        """Whether a worker moves now."""
        return self.alive and bool(self.worker.get("alive")) and not self.frozen

    @property
    def step(self) -> str:
        """What the loop does now, in a word, and for how long where checks run; empty where it waits for somebody, or
        nothing says."""
        if self.paused:
            return "paused"
        step = str(self.loop.get("step") or "") if self.alive and self.status in MOVING else ""
        if step == Step.LOAD and self.requests:
            return ""
        said = self._choosing() if step == Step.SELECT else STEPS.get(step, safe_line(step, 12))
        begun = self.loop.get("since") if step in LASTING else None
        seconds = self.now.timestamp() - begun if isinstance(begun, int | float) else 0
        return f"{said} · {fmt.lasting(seconds)}" if seconds >= 1 else said

    def _choosing(self) -> str:
        """What the choice of a task takes its time for."""
        if self.state is None or self.state.broken:
            return STEPS[Step.SELECT]
        known = [task.known_to_fail for task in self.state.open_tasks[:1]]
        return STEPS[Step.SELECT] if any(known) else "the check before the work" if known else "the last checks"

    @property
    def current(self) -> TaskId | None:
        """The task that is being worked on."""
        state = self.state
        if state is None or state.intent is None or state.status is SessionStatus.DONE:
            return None
        return state.intent.task

    @property
    def task(self) -> TaskState | None:
        return self.state.task(self.current) if self.state else None

    @property
    def verified(self) -> int:
        """How many tasks are done."""
        return sum(task.status is TaskStatus.DONE for task in self.state.tasks) if self.state else 0

    @property
    def active_ms(self) -> int:
        """Active time: the larger of the live row's and the journal's."""
        known = self.figures.get(Dimension.WALL_CLOCK)
        return max(_number(self.gauges.get("active_ms")), known.used if known else 0)

    @property
    def settled(self) -> bool:
        """Whether there is enough behind the session to say what is ahead of it."""
        return self.active_ms >= SETTLED

    @property
    def figures(self) -> dict[Dimension, Figure]:
        """What was used: live figures where they are ahead of the journal's."""
        found = dict(self.state.used) if self.state else {}
        live = self.gauges.get("figures")
        for name, value in live.items() if isinstance(live, Mapping) else ():
            try:
                dimension, source = Dimension(name), Source(value["source"])
                used = int(value["used"])
            except (KeyError, TypeError, ValueError):
                continue
            before = found.get(dimension)
            if before is None or used >= before.used:
                found[dimension] = Figure(used, source)
        return found

    @property
    def good(self) -> CheckpointState | None:
        """Where a rollback would go."""
        return self.state.checkpoint(self.state.good) if self.state else None

    @property
    def back_there(self) -> bool:
        """Whether a rollback is known to take nothing: no worker has changed anything since the last good checkpoint.
        Edits of the operator's at rest are not seen from here, so its key works all the same."""
        state, good = self.state, self.good
        if state is None or good is None or state.tree != good.taken.tree:
            return False
        at_work = state.intent is not None and state.intent_end is None
        return not at_work or (self.alive and self.worker.get("touched") is False)

    @property
    def requests(self) -> tuple[RequestState, ...]:
        """What waits, oldest first."""
        return self.state.open_requests if self.state else ()

    @property
    def plateau(self) -> bool:
        """Whether a fired plateau is what holds or held the session."""
        state = self.state
        if state is None or state.plateau.light is not Light.FIRING:
            return False
        return state.status is SessionStatus.PLATEAU or (state.why or "").startswith("plateau:")

    def told(self, kind: type[findings.Found]) -> tuple[findings.Told, ...]:
        """All that was found of one kind, the newest first."""
        rows = [row for row in self.found if isinstance(row, kind)]
        return findings.told(self.state, rows) if self.state else ()

    @property
    def plateau_elsewhere(self) -> bool:
        """Whether the plateau is one of a task that is no longer at work."""
        task = self.state.plateau.task if self.state else None
        return task is not None and self.current not in (None, task)

    @property
    def ceiling(self) -> Dimension | None:
        """The dimension whose ceiling stopped the session."""
        kind, _, name = (self.why or "").partition(":")
        if kind != "budget" or self.status in MOVING or name not in set(Dimension):
            return None
        return Dimension(name)

    def rate(self, row: str, dimension: Dimension) -> float | None:
        """A number of a live row's table (`burn`, `exhaustion`) for one dimension."""
        table = self.gauges.get(row)
        value = table.get(dimension) if isinstance(table, Mapping) else None
        return float(value) if isinstance(value, int | float) else None

    def spark(self, dimension: Dimension) -> list[float]:
        """The recent history of one dimension."""
        table = self.gauges.get("spark")
        values = table.get(dimension) if isinstance(table, Mapping) else None
        return [float(v) for v in values if isinstance(v, int | float)] if isinstance(values, list) else []


def rolled_back(view: View) -> RolledBack | None:
    """The rollback that the session stands on: the last one, if no worker has started since."""
    state = view.state
    if not state or not state.rollbacks or state.status in MOVING:
        return None
    last = state.rollbacks[-1]
    safety = state.checkpoint(last.safety)
    return last if safety and safety.taken.iteration >= state.iteration else None


def moved(back: RolledBack) -> bool:
    """Whether a rollback moved anything that a person would look for."""
    return bool(back.changed or back.parked or back.mine or back.said)


def holding(view: View) -> frozenset[Need]:
    """What holds of the session itself; the screen adds what holds of the screen."""
    state = view.state
    if state is None or view.trouble:
        return frozenset({Need.NO_SESSION}) if view.startable and not view.trouble else frozenset()
    past = history.stack_from(state.rollbacks)
    asked = any(request.opened.request is RequestKind.PLATEAU for request in state.open_requests)
    moving = state.status in MOVING and not view.paused
    resting = not view.alive or not (moving or asked)
    finished = state.status is SessionStatus.DONE
    facts = {
        Need.SESSION: True,
        Need.SUPERVISOR: view.alive,
        Need.MOVING: view.alive and moving,
        Need.RESUMABLE: resting and not finished,
        Need.UNFINISHED: not finished,
        Need.AT_CEILING: view.ceiling is not None,
        Need.GOOD: view.good is not None,
        Need.UNDO: past.undo_target is not None,
        Need.WARNED: bool(view.nested or state.quarantined or state.autorun or view.found),
        Need.REDO: past.redo_target is not None and rolled_back(view) is not None,
    }
    return frozenset(need for need, holds in facts.items() if holds)


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
