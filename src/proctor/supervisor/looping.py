"""Watches a running worker for circles: each rule warns once, and the first that fires ends the iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count

from proctor.journal import events as ev
from proctor.progress import loops
from proctor.supervisor.session import Session
from proctor.words import IterationEnd, Light, LoopRule
from proctor.worker.base import Result, Tool

MOST_OPEN = 200
"""Calls without a result that are remembered; a worker that tells no results leaves them all open."""


@dataclass(slots=True)
class _Open:
    tool: Tool
    since: float
    batch: int


@dataclass(slots=True)
class Watch:
    """The calls of one iteration, as its worker tells them."""

    session: Session
    iteration: int
    task: ev.TaskId
    _circles: loops.Circles = loops.NONE
    _open: dict[str, _Open] = field(default_factory=dict)
    _names: count[int] = field(default_factory=count)
    _batch: int = 0
    _told: set[tuple[LoopRule, Light]] = field(default_factory=set)

    def called(self, tool: Tool) -> None:
        """A call has begun: in the batch of those that still run, else in a new one."""
        self._batch += not self._open
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open)))
        self._open[tool.id or f"\n{next(self._names)}"] = _Open(tool, time.monotonic(), self._batch)

    def came(self, result: Result) -> None:
        """A call has come to something: the one of that id, or the last that began where none is named."""
        name = result.id if result.id or not self._open else next(reversed(self._open))
        begun = self._open.pop(name, None)
        if begun is None:
            return
        ms = round(1000 * (time.monotonic() - begun.since))
        one = loops.call(
            begun.tool.name,
            begun.tool.input,
            result.output,
            ok=result.ok,
            ms=ms,
            batch=begun.batch,
            digest=result.digest,
        )
        self._judge(self._circles.after(one))

    def denied(self, request: str, said: str) -> None:
        """A request was denied, by a rule or by the operator."""
        self._judge(self._circles.after_denial(request, said))

    def _judge(self, circles: loops.Circles) -> None:
        s = self.session
        self._circles = circles
        found = loops.judge(circles, s.terms.contract.progress.plateau.loops)
        if found is None or (found.rule, found.light) in self._told:
            return
        self._told.add((found.rule, found.light))
        s.append(
            ev.LoopSeen(
                iteration=self.iteration,
                task=self.task,
                rule=found.rule,
                light=found.light,
                window=found.window,
                evidence=found.evidence,
            )
        )
        if found.light is Light.FIRING:
            s.end_worker(IterationEnd.LOOPING, f"{found.rule}: {', '.join(found.evidence[:2])}")
