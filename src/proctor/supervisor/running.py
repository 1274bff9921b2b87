"""The worker that runs, and what is known of it while it does."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proctor.budget.thresholds import Binding
from proctor.journal import events as ev
from proctor.journal.stream import StreamWriter
from proctor.repository.planted import Before
from proctor.sandbox.points import Vigil
from proctor.sandbox.running import late
from proctor.supervisor.authors import Hands
from proctor.supervisor.looping import LoopWatch
from proctor.words import IterationEnd
from proctor.worker.process import Worker
from proctor.workspace.blast import LiveBlast

if TYPE_CHECKING:  # a server takes half of what `run` needs to start
    from proctor.doors.gateway.server import Gateway


def is_later(changed: int | None, since: int) -> bool:
    """Whether what changed at a time (ns; None: not known) can have been changed after `since`."""
    if changed is None:
        return True
    return changed + late(changed) > since


@dataclass(frozen=True, slots=True)
class Refusal:
    """A model call that was not admitted: the limit it did not fit under (None: its model has no price), in words;
    whose call it was, and by how much that ceiling had been raised."""

    bound: Binding | None
    said: str
    task: ev.TaskId | None = None
    raised: int = 0


@dataclass(slots=True)
class Running:
    """The iteration whose worker is running."""

    worker: Worker
    stream: StreamWriter
    iteration: int
    task: ev.TaskId
    model: str | None
    over: asyncio.Event
    began: float
    last_sign: float
    gateway: Gateway | None = None
    circles: LoopWatch | None = None
    reason: tuple[IterationEnd, str] | None = None
    cpu: float = 0.0
    claimed_at: float | None = None
    said: bytearray = field(default_factory=bytearray)
    tool: str = ""
    tools: int = 0
    claims: int = 0
    checked_at: float = 0.0
    events: int = 0
    last_error: str = ""
    held_calls: int = 0
    refusal: Refusal | None = None
    ending: tuple[float, IterationEnd, str] | None = None
    """When the worker is ended at the latest, how, and why: calls in flight end by themselves before."""
    live: LiveBlast = field(default_factory=LiveBlast)
    touched: bool = False
    before: Before | None = None
    nested: tuple[str, ...] = ()
    nested_more: int = 0
    vigil: Vigil | None = None
    uncovered: bool = False
    indexed: int = 0
    indexed_at: float = 0.0
    since: int = 0
    """Just before it was started, in ns since the epoch."""
    hands: Hands = field(init=False)

    def __post_init__(self) -> None:
        self.hands = Hands(self.iteration)

    @property
    def suspended(self) -> bool:
        """Whether it was ended because it does not stand still while a request waits; the request goes on waiting."""
        return self.reason is not None and self.reason[0] is IterationEnd.SUSPENDED

    def thaw(self) -> None:
        """Let the worker go on, unless a cover is gone."""
        if self.vigil is None:
            self.worker.running.thaw()
        elif not self.vigil.thaw():
            return
        self.last_sign = time.monotonic()
