"""Watches a running worker for circles: each rule warns once and fires once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from proctor.doors.gateway.providers.exchange import Exchange
from proctor.journal import events as ev
from proctor.progress import loops
from proctor.words import Light, LoopRule
from proctor.worker import tools
from proctor.worker.base import Result, Tool

MOST_EXCHANGED = 20_000
"""Calls of one iteration that are told from a repetition of the same request."""
MOST_OPEN = 200
"""Calls without a result that are remembered; a worker that tells no results leaves them all open."""


@dataclass(slots=True)
class _Open:
    tool: Tool
    since: float
    batch: int


@dataclass(slots=True)
class LoopWatch:
    """The calls of one iteration, as its worker tells them; `told` hears of each rule that warns or fires.

    `whole`: the worker tells every call, so that nothing is to be learned of them at the gateway.
    """

    iteration: int
    task: ev.TaskId
    times: Mapping[LoopRule, int]
    told: Callable[[ev.LoopSeen], object]
    whole: bool = False
    _circles: loops.Circles = loops.NONE
    _open: dict[str, _Open] = field(default_factory=dict)
    _names: count[int] = field(default_factory=count)
    _batch: int = 0
    _came: bool = False
    _refused: int = 0
    _told: set[tuple[LoopRule, Light]] = field(default_factory=set)
    _seen: loops.Circles = loops.NONE
    """The same as the gateway sees it: apart, so that nothing counts twice, and what a worker tells hides nothing."""
    _answers: int = 0
    _refused_there: int = 0
    _exchanged: set[str] = field(default_factory=set)
    _answered: float = field(default_factory=time.monotonic)

    def called(self, tool: Tool) -> None:
        """A call has begun: in the batch of the one before, unless a result came in between."""
        self._batch += self._came
        self._came = False
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open)))
        self._open[tool.id or f"\n{next(self._names)}"] = _Open(tool, time.monotonic(), self._batch)

    def came(self, result: Result) -> None:
        """A call has come to something: the one of that id, or the last that began where none is named."""
        self._came = True
        name = result.id if result.id or not self._open else next(reversed(self._open))
        begun = self._open.pop(name, None)
        if begun is None:
            return
        if not result.ok and self._refused:
            self._refused -= 1  # a denial is counted as one, not as an error of its own
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
        self._circles = self._circles.after(one)
        self._judge(self._circles)

    def answered(self) -> None:
        """The model has answered: what it wants called is called from now on."""
        self._answered = time.monotonic()

    def exchanged(self, calls: Sequence[Exchange]) -> None:
        """Calls of one answer and what they came to, as the gateway sees them: of workers that need not say it, or say
        something else."""
        if self.whole:
            return
        news = [one for one in calls if one.id not in self._exchanged]
        ms = round(1000 * (time.monotonic() - self._answered))
        self._answers += 1
        for one in news:
            if len(self._exchanged) < MOST_EXCHANGED:
                self._exchanged.add(one.id)
            name, given = tools.canonical(one.name), tools.canonical_input(one.input)
            if not one.ok and self._refused_there:
                self._refused_there -= 1
                continue
            made = loops.call(name, given, one.output, ok=one.ok, ms=ms, batch=self._answers)
            self._seen = self._seen.after(made)
            self._judge(self._seen)

    def denied(self, request: str, said: str) -> None:
        """A request was denied, by a rule or by the operator."""
        self._refused += 1
        self._refused_there += 1
        self._circles = self._circles.after_denial(request, said)
        self._judge(self._circles)

    def _judge(self, circles: loops.Circles) -> None:
        found = loops.judge(circles, self.times)
        if found is None or (found.rule, found.light) in self._told:
            return
        self._told.add((found.rule, found.light))
        self.told(
            ev.LoopSeen(
                iteration=self.iteration,
                task=self.task,
                rule=found.rule,
                light=found.light,
                window=found.window,
                evidence=found.evidence,
            )
        )
