"""Act: a fresh worker, in a sandbox, told only what the brief says."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.checkpoint.repository import Snapshot
from proctor.contract.problems import FILE
from proctor.doors import door as doors
from proctor.doors.door import Door
from proctor.doors.gateway import tokens
from proctor.journal import events as ev
from proctor.journal.stream import StreamWriter, iteration_dir, stream_path
from proctor.oracle.bench import WALLED
from proctor.repository import planted
from proctor.sandbox.alone import Busy, alone
from proctor.sandbox.points import Points, Vigil
from proctor.sandbox.policy import GATEWAY, Policy
from proctor.sandbox.running import Running as Sandbox
from proctor.supervisor import covers, enclosure, policies
from proctor.supervisor.desk import Desk
from proctor.supervisor.listening import Listener
from proctor.supervisor.running import Running
from proctor.supervisor.session import GRACE, STILL, Session
from proctor.supervisor.steward import SessionSteward
from proctor.supervisor.watching import count_output
from proctor.words import IterationEnd
from proctor.worker.dialect import Setting
from proctor.worker.dialects import choose
from proctor.worker.process import start
from proctor.workspace import files

if TYPE_CHECKING:  # a server takes long to load: see `load`
    from proctor.doors.gateway.server import Gateway

YOUNG = 5.0
"""A worker that fails within so many seconds without a sign of work has not started."""
BUSY_PAUSE = 0.5
"""Seconds between tries to have the workspace for one worker alone."""
BACK_OFF = (1.0, 3.0)
"""Seconds to wait after a first and a second failed start."""


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
    if policies.is_estimated(s.terms.contract):
        s.account.estimate(prefix=await asyncio.to_thread(tokens.count_tokens, brief, intent.model))
    try:
        await gateway.start(door.folder, None)
        enclosed = await _enclose(s, _policy(s, door, intent), folder)
        lines = Listener(s, desk, intent)
        running = await _start(s, intent, brief, enclosed, door=door, gateway=gateway, lines=lines, stream=stream)
        if running.worker.running.listener is not None:
            await gateway.listen(running.worker.running.listener)
        s.dirty = True
        s.append(ev.WorkerStarted(iteration=intent.iteration, pid=running.worker.running.init_pid))
        s.settle_motion()
        s.check_budget()
        with s.disk.over(running.worker.running.kill):
            await running.over.wait()
        return await _over(running)
    finally:
        if (ran := s.running) is not None:
            await _put_away(s, ran)
        await gateway.stop()
        s.running = None
        s.unlimited()
        stream.close()
        if ran is not None:
            ran.worker.release()
        door.remove()
        if ran is None or not ran.suspended:
            desk.withdraw("the worker is gone", *STILL)


async def _start(
    s: Session,
    intent: ev.IterationStarted,
    brief: str,
    enclosed: enclosure.Enclosure,
    *,
    door: Door,
    gateway: Gateway,
    lines: Listener,
    stream: StreamWriter,
) -> Running:
    """Start the worker; from then on it is the session's running one."""
    points = _points(s, enclosed.policy)
    contract, over = s.terms.contract, asyncio.Event()
    dialect = await asyncio.to_thread(choose, contract.worker, policies.asks(contract))  # loads its libraries
    since = time.time_ns()
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
        worker,
        stream,
        intent.iteration,
        intent.task,
        intent.model,
        over,
        now,
        now,
        gateway,
        circles=lines.circles,
        before=enclosed.before,
        vigil=_vigil(s, points, worker.running),
        since=since,
    )
    return s.running


def load(model: str | None) -> None:
    """Load what the first worker needs and nothing before it does. Blocks: call it from a thread."""
    import_module("proctor.doors.gateway.server")
    tokens.method(model)


async def _gateway(s: Session, desk: Desk, intent: ev.IterationStarted, folder: Path) -> Gateway:
    """The door to the models of one worker; what passes it is counted from now on."""
    contract = s.terms.contract
    upstreams = await asyncio.to_thread(policies.upstreams, s.workspace, contract)
    s.account.begin(intent.model, gateway=bool(upstreams), agent=policies.is_agent(contract))
    steward = SessionSteward(s, desk, intent, upstreams)
    await asyncio.to_thread(load, intent.model)
    from proctor.doors.gateway.server import Gateway

    recorded = folder if contract.gateway.record == "full" else None
    return Gateway(steward, iteration=intent.iteration, task=intent.task, record_to=recorded)


def _setting(s: Session, intent: ev.IterationStarted, brief: str) -> Setting:
    instructions, apis = policies.instructions(s.workspace), policies.apis(s.terms.contract)
    base = f"http://{GATEWAY}"
    return Setting(brief, intent.model, base, policies.TOKEN, str(s.workspace), instructions, apis)


def _policy(s: Session, door: Door, intent: ev.IterationStarted) -> Policy:
    """What this worker may see and do, whatever the workspace holds."""
    policy = policies.base(s.workspace, s.terms.contract)
    specs = tuple(task.spec for task in s.state.tasks if task.spec)
    protected = replace(policy, protect=(*policy.protect, *specs))
    walls = policies.in_session(protected, door.folder, intent.task, intent.model)
    if not policies.has_host_door(s.terms.contract):
        return walls
    from proctor.doors import hosts

    return replace(walls, environment={**walls.environment, **hosts.environment(GATEWAY)})


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
