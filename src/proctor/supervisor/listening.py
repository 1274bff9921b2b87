"""What a worker prints: lines of the stream, spending, claims and requests."""

from __future__ import annotations

import time
from dataclasses import asdict

import msgspec

from proctor.budget.dimensions import Usage as Tokens
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.journal.stream import AGENT, RAW, StreamWriter
from proctor.supervisor import policies
from proctor.supervisor.desk import Desk
from proctor.supervisor.looping import LoopWatch
from proctor.supervisor.running import Running
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.words import IterationEnd, Light
from proctor.worker.base import (
    Ask,
    Claim,
    Note,
    Result,
    Started,
    Tool,
    Trouble,
    TurnEnded,
    Usage,
    Withdrawn,
    WorkerEvent,
)

CHECK_EVERY = 0.01
"""Seconds between looks at the budget while events come faster than that."""
WORDS = (Note, Started, Trouble, TurnEnded)
"""Events that are no sign of work."""
MOST_CLAIMS = 100
"""Claims of one iteration that become rows."""


class Listener:
    """Turns a worker's lines into stream lines, spending, claims and requests."""

    def __init__(self, s: Session, desk: Desk, intent: ev.IterationStarted) -> None:
        self._s = s
        self._desk = desk
        self._intent = intent
        self._agent = policies.is_agent(s.terms.contract)
        self._estimated = policies.is_estimated(s.terms.contract)
        times = s.terms.contract.progress.plateau.loops
        self.circles = LoopWatch(intent.iteration, intent.task, times, self._circling, whole=self._agent)

    def on_line(self, source: str, line: bytes, events: tuple[WorkerEvent, ...]) -> None:
        running = self._s.running
        if running is None:
            return
        running.last_sign = time.monotonic()
        self._keep(running.stream, source, line, events)
        if source == "stderr" and line.strip():
            running.last_error = line[:500].decode("utf-8", "replace")
        if all(isinstance(event, Note) for event in events):
            running.claimed_at = None
            if self._estimated:
                running.said += line + b"\n"
            return
        running.events += sum(not isinstance(event, WORDS) for event in events)
        for event in events:
            self._on_event(running, event)
        if running.last_sign - running.checked_at > CHECK_EVERY:
            running.checked_at = running.last_sign
            self._s.check_budget()

    def _keep(self, stream: StreamWriter, source: str, line: bytes, events: tuple[WorkerEvent, ...]) -> None:
        """The line as it came, and what an agent's means in the words of the protocol, to be read."""
        if self._s.terms.contract.worker.kind == "command":
            return stream.add(source, line, type(events[0]).__name__.lower() if events else "")
        if line:
            stream.add(source, line, RAW if source == "stdout" else "")
        inside = msgspec.json.encode(f"{self._s.workspace}/").removesuffix(b'"')
        for event in events:
            if isinstance(event, Tool | Result | Note | Trouble):
                told = msgspec.json.encode(asdict(event)).replace(inside, b'"')  # paths as the operator knows them
                stream.add(AGENT, told, type(event).__name__.lower())
        return None

    def _on_event(self, running: Running, event: WorkerEvent) -> None:
        s = self._s
        match event:
            case Usage() if not self._agent:  # of an agent, the gateway knows better
                used = Tokens(event.input, event.output, event.cache_read, event.cache_write)
                s.account.report(event.model, used)
            case Tool():
                self.circles.called(event)
                s.account.tools()
                running.tool = event.name
                running.tools += 1
            case Result():
                self.circles.came(event)
            case Claim():
                running.claimed_at = running.last_sign
                self._claim(running, self._claimed(running.task if event.task is None else event.task), event)
            case Ask():
                self._desk.ask(event, running.iteration, running.task)
            case Withdrawn():
                self._desk.withdrawn(event.id)
            case Trouble():
                running.last_error = safe_line(event.text, 500)
            case TurnEnded():
                self._desk.withdrawn()
                if not event.ok and event.why:
                    running.last_error = safe_line(event.why, 500)

    def _circling(self, seen: ev.LoopSeen) -> None:
        """A rule warns; the first one that fires ends the iteration."""
        self._s.append(seen)
        if seen.light is Light.FIRING:
            self._s.end_worker(IterationEnd.LOOPING, f"{seen.rule}: {', '.join(seen.evidence[:2])}")

    def _claimed(self, task: ev.TaskId) -> TaskState | None:
        """The task that is meant; a worker knows its id as text, from `$PROCTOR_TASK`."""
        return next((one for one in self._s.state.tasks if str(one.id) == str(task)), None)

    def _claim(self, running: Running, task: TaskState | None, said: Claim) -> None:
        """A claim about a task there is, when it is news; a flood of them is only in the stream."""
        if task is not None and task.claim != said.status and running.claims < MOST_CLAIMS:
            running.claims += 1
            why = safe_line(said.why, 1_000)
            self._s.append(ev.ClaimRecorded(iteration=running.iteration, task=task.id, status=said.status, why=why))
