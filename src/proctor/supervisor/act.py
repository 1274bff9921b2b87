"""Act: a fresh worker, in a sandbox, told only what the brief says."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from proctor.budget.dimensions import Usage as Tokens
from proctor.checkpoint.repository import Snapshot
from proctor.contract.problems import FILE
from proctor.doors import door as doors
from proctor.doors.gateway import tokens
from proctor.doors.gateway.server import Gateway
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.journal.stream import AGENT, RAW, StreamWriter, iteration_dir, stream_path
from proctor.oracle.bench import WALLED
from proctor.repository import planted
from proctor.sandbox.alone import Busy, alone
from proctor.sandbox.points import Points, Vigil
from proctor.sandbox.policy import GATEWAY, Policy
from proctor.sandbox.running import Running as Sandbox
from proctor.supervisor import covers, enclosure, policies
from proctor.supervisor.desk import Desk
from proctor.supervisor.looping import LoopWatch
from proctor.supervisor.session import GRACE, STILL, Running, Session
from proctor.supervisor.steward import SessionSteward
from proctor.text import safe_line
from proctor.words import IterationEnd
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
from proctor.worker.dialect import Setting
from proctor.worker.dialects import choose
from proctor.worker.process import start
from proctor.workspace import files

LINGER = 60.0
"""Seconds of silence after a claim before a worker that does not exit is ended; it counts as completed."""
YOUNG = 5.0
"""A worker that fails within so many seconds without a sign of work has not started."""
LOOK_EVERY = 2.0
"""Seconds between looks for repositories that a running worker made."""
BUSY_PAUSE = 0.5
"""Seconds between tries to have the workspace for one worker alone."""
MOST_LOOKS_TOLD = 10
"""Rows about the repositories that one worker makes."""
MOST_NESTED = 200
"""Of these, so many are named live."""
BACK_OFF = (1.0, 3.0)
"""Seconds to wait after a first and a second failed start."""
CHECK_EVERY = 0.01
"""Seconds between looks at the budget while events come faster than that."""
WORDS = (Note, Started, Trouble, TurnEnded)
"""Events that are no sign of work."""
MOST_CLAIMS = 100
"""Claims of one iteration that become rows."""
COUNTED_BYTES = 256 * 1024
"""Output tokenised at once; beyond it, in a flood, bytes are divided by the ratio seen."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What is known once the worker is gone: the tree it left, and how it ended."""

    iteration: int
    task: ev.TaskId
    snapshot: Snapshot
    ended: ev.IterationEnded


Over = tuple[IterationEnd, int | None, str]
"""How a worker ended, its exit code, and a line of detail."""


@contextlib.asynccontextmanager
async def by_itself(s: Session) -> AsyncIterator[None]:
    """Keep other sandboxes out of the workspace; wait first while one is at work there."""
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(alone(s.workspace))
                break
            except Busy as busy:
                s.log_once("sandbox", str(busy))
                await s.pause(BUSY_PAUSE)
        yield


async def run_worker(s: Session, desk: Desk, intent: ev.IterationStarted, brief: str) -> Over:
    """Run one worker to its end. Nothing of it is alive afterwards."""
    folder = iteration_dir(s.state_dir, intent.iteration)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "brief.md").write_text(brief)
    s.hindered = ""
    stream = StreamWriter(stream_path(s.state_dir, intent.iteration))
    door = doors.make(s.state_dir / "doors")
    door.brief.write_text(brief)
    gateway = await _gateway(s, desk, intent, folder)
    if not policies.is_agent(s.terms.contract):
        s.account.estimate(prefix=await asyncio.to_thread(tokens.count_tokens, brief, intent.model))
    try:
        await gateway.start(door.folder, None)
        enclosed = await _enclose(s, policies.for_worker(s, door, intent), folder)
        points = _points(s, enclosed.policy)
        over = asyncio.Event()
        lines = _Listener(s, desk, intent)
        contract = s.terms.contract
        dialect = await asyncio.to_thread(choose, contract.worker, policies.asks(contract))  # loads its libraries
        worker = start(
            dialect,
            _setting(s, intent, brief),
            backend=s.backend,
            policy=enclosed.policy,
            door=door,
            on_line=lines.on_line,
            on_exit=over.set,
        )
        now = time.monotonic()
        s.running = Running(
            worker, stream, intent.iteration, intent.task, intent.model, over, now, now, gateway, before=enclosed.before
        )
        s.running.circles = lines.circles
        s.running.vigil = _vigil(s, points, worker.running)
        if worker.running.listener is not None:
            await gateway.listen(worker.running.listener)
        s.dirty = True
        s.append(ev.WorkerStarted(iteration=intent.iteration, pid=worker.running.init_pid))
        s.settle_motion()
        s.check_budget()
        with s.disk.over(worker.running.kill):
            await over.wait()
        return await _over(s.running)
    finally:
        running = s.running
        if running is not None:
            await _put_away(s, running)
        await gateway.stop()
        s.running = None
        s.unlimited()
        stream.close()
        if running is not None:
            running.worker.release()
        door.remove()
        if running is None or not running.suspended:
            desk.withdraw("the worker is gone", *STILL)


async def _gateway(s: Session, desk: Desk, intent: ev.IterationStarted, folder: Path) -> Gateway:
    """The door to the models of one worker; what passes it is counted from now on."""
    contract = s.terms.contract
    upstreams = await asyncio.to_thread(policies.upstreams, s.workspace, contract)
    s.account.begin(intent.model, gateway=bool(upstreams), agent=policies.is_agent(contract))
    steward = SessionSteward(s, desk, intent, upstreams)
    recorded = folder if contract.gateway.record == "full" else None
    return Gateway(steward, iteration=intent.iteration, task=intent.task, record_to=recorded)


def _setting(s: Session, intent: ev.IterationStarted, brief: str) -> Setting:
    instructions, apis = policies.instructions(s.workspace), policies.apis(s.terms.contract)
    base = f"http://{GATEWAY}"
    return Setting(brief, intent.model, base, policies.TOKEN, str(s.workspace), instructions, apis)


async def _put_away(s: Session, running: Running) -> None:
    """End a worker, and settle all that it leaves open."""
    await running.worker.close()
    if running.gateway is not None and not s.wishes:  # calls in flight may come to what they really cost
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(running.gateway.drained(), GRACE)
    enclosure.reopen(s.workspace)
    if running.vigil is not None:
        if moved := running.vigil.end():
            covers.uncovered(s, moved)
        covers.made(s, running.vigil.made())
    await count_output(s, whole=True)
    s.spend(force=True)


async def _enclose(s: Session, policy: Policy, folder: Path) -> enclosure.Enclosure:
    """The walls in the workspace as it is now; what is there of git is noted in the iteration's folder."""
    said: list[str] = []

    def work() -> enclosure.Enclosure:
        enclosed = enclosure.enclose(policy, s.terms.contract, s.session_repository, said.append)
        enclosure.remember(enclosed.before, folder)
        return enclosed

    enclosed = await asyncio.to_thread(work)
    for line in said:
        s.log_once("git", line)
    return enclosed


async def put_right(s: Session, iteration: int) -> None:
    """Rename what a worker planted for the operator's git, once nothing of the worker runs."""
    before = enclosure.remembered(iteration_dir(s.state_dir, iteration))
    renamed = await asyncio.to_thread(enclosure.lift, s.workspace, before, s.session_repository)
    if renamed:
        was, now = zip(*planted.named(renamed), strict=True)
        s.append(ev.Quarantined(iteration=iteration, paths=was, now=now, more=len(renamed) - len(was)))


async def watch_repositories(s: Session) -> None:
    """Say while a worker runs that it has made repositories. Looking takes a twentieth of the time at most."""
    whose, told, rows = None, set[str](), 0
    while True:
        begun = time.monotonic()
        running = s.running
        if running is not None and running.before is not None:
            found = await asyncio.to_thread(enclosure.new_repositories, s.workspace, running.before)
            if running is not whose:
                whose, told, rows = running, set(), 0
            if (new := [name for name in found if name not in told]) and rows < MOST_LOOKS_TOLD:
                rows += 1
                s.log("git", made_repositories(new))
            told.update(new)
            running.nested = tuple(safe_line(name, 300) for name in found[:MOST_NESTED])
            running.nested_more = len(found) - len(running.nested)
        await asyncio.sleep(max(LOOK_EVERY, 20 * (time.monotonic() - begun)))


def made_repositories(names: Sequence[str]) -> str:
    """One line, however many there are."""
    first = ", ".join(safe_line(name, 200) for name in names[:3])
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    what, where = ("repositories", "they are") if len(names) > 1 else ("a repository", "it is")
    return f"the worker made {what}, {first}{more}: use no git there until {where} renamed"


def _points(s: Session, policy: Policy) -> Points | None:
    """Where the covers of a worker will hang, and the contract as it is now; None where there are no covers."""
    if s.backend.name != WALLED:
        return None
    points = Points.of(policy, free=(*s.frozen.roots, *s.terms.lists()))
    s.contract_text = files.read_optional(s.workspace, FILE)
    return points


def _vigil(s: Session, points: Points | None, sandbox: Sandbox) -> Vigil | None:
    if points is None:
        return None
    loop = asyncio.get_running_loop()
    return Vigil(points, sandbox, lambda moved: loop.call_soon_threadsafe(covers.uncovered, s, moved))


async def _over(running: Running) -> Over:
    """End what is left of the worker and say how it ended; the reason it was ended for comes first."""
    young = time.monotonic() - running.began < YOUNG
    result = await running.worker.close()
    if running.reason is not None:
        return running.reason[0], result.code, running.reason[1]
    if running.ending is not None:  # it stopped by itself, at a limit
        return running.ending[1], result.code, running.ending[2]
    if running.worker.overstayed:
        return IterationEnd.LINGERED, result.code, "it did not leave after its last turn"
    if said := running.worker.running.bounds.exceeded(result.signal):
        return IterationEnd.DIED, result.code, said
    if not result.ran:
        return IterationEnd.START_FAILED, result.code, running.last_error or "the program could not be started"
    if result.code and young and not running.events and not running.touched:
        return IterationEnd.START_FAILED, result.code, running.last_error or f"exit code {result.code} at once"
    if result.signal:
        return IterationEnd.DIED, result.code, f"signal {result.signal}"
    return IterationEnd.EXITED, result.code, ""


class _Listener:
    """Turns a worker's lines into stream lines, spending, claims and requests."""

    def __init__(self, s: Session, desk: Desk, intent: ev.IterationStarted) -> None:
        self._s = s
        self._desk = desk
        self._intent = intent
        self._agent = policies.is_agent(s.terms.contract)
        self.circles = LoopWatch(s, intent.iteration, intent.task)

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
            if not self._agent:
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

    def _claimed(self, task: ev.TaskId) -> TaskState | None:
        """The task that is meant; a worker knows its id as text, from `$PROCTOR_TASK`."""
        return next((one for one in self._s.state.tasks if str(one.id) == str(task)), None)

    def _claim(self, running: Running, task: TaskState | None, said: Claim) -> None:
        """A claim about a task there is, when it is news; a flood of them is only in the stream."""
        if task is not None and task.claim != said.status and running.claims < MOST_CLAIMS:
            running.claims += 1
            why = safe_line(said.why, 1_000)
            self._s.append(ev.ClaimRecorded(iteration=running.iteration, task=task.id, status=said.status, why=why))


async def count_output(s: Session, whole: bool = False) -> None:
    """Count the tokens of what the worker printed since the last call, off the loop."""
    async with s.counting:
        running = s.running
        if running is None or not running.said:
            return
        said, running.said = running.said, bytearray()
        head = bytes(said[:COUNTED_BYTES])
        count = await asyncio.to_thread(tokens.count_tokens, head, running.model)
        s.account.estimate(generated=round(count * len(said) / len(head)))
    if not whole:
        s.check_budget()


def watch_limits(s: Session) -> None:
    """End a worker before the disk is full, or when the kernel began to end its processes for want of memory."""
    running = s.running
    if running is None or running.reason is not None:
        return
    s.disk.watch_growth()
    if said := s.disk.said or running.worker.running.bounds.exceeded():
        s.end_worker(IterationEnd.DIED, said)


def watch_signs(s: Session) -> None:
    """End a worker that shows no sign of life, or that finished and does not leave."""
    running = s.running
    if running is None or running.worker.running.frozen:
        return
    now = time.monotonic()
    if s.state.limited is not None or (running.gateway and running.gateway.in_flight):
        running.last_sign = now
    cpu = running.worker.running.cpu_seconds()
    if cpu > running.cpu + 0.05:
        running.cpu, running.last_sign = cpu, now
    if running.claimed_at is not None and now - max(running.claimed_at, running.last_sign) > LINGER:
        s.end_worker(IterationEnd.LINGERED, f"silent for {LINGER:.0f} s after its claim")
    idle = s.terms.contract.worker.idle / 1000
    if now - running.last_sign > idle:
        s.end_worker(IterationEnd.IDLE, f"no output, no file change, no CPU for {idle:.0f} s")
