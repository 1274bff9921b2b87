"""`proctor check --suspension`: what an open request stops, shown on the configured worker.

A real session runs in a throwaway workspace, with the contract's worker and a model that asks for one shell command.
While the question is open the worker is watched twice: left unfrozen, which shows whether it suspends by itself, and
frozen, as it always is in a session of the operator's.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from proctor.contract.model import Contract
from proctor.contract.problems import FILE
from proctor.errors import UsageError
from proctor.journal.events import IterationEnded, Logged
from proctor.journal.store import NoJournal
from proctor.sandbox import kill
from proctor.supervisor import policies, process
from proctor.supervisor.client import Client
from proctor.supervisor.stub import COMMAND, StubModel
from proctor.text import safe_line
from proctor.trees import scratch_folder

WATCHED = 5.0
"""Seconds that each of the two looks takes."""
PATIENCE = 90.0
"""Seconds until the worker has to have asked."""
IDLE_CPU = 0.05
"""Share of a processor that a program may use while it only waits."""


@dataclass(frozen=True, slots=True)
class Stood:
    """What moved while the question was open: calls of the model, lines of output, files, CPU and active time."""

    seconds: float
    calls: int
    lines: int
    files: int
    cpu_seconds: float
    active_ms: int

    @property
    def still(self) -> bool:
        """Whether nothing that matters moved."""
        idle = self.cpu_seconds <= self.seconds * IDLE_CPU
        return idle and not (self.calls or self.files or self.active_ms)


@dataclass(frozen=True, slots=True)
class Shown:
    """What was asked, and both looks."""

    asked: str
    alone: Stood
    frozen: Stood

    @property
    def suspends(self) -> bool:
        """Whether the worker stops by itself."""
        return self.alone.still

    @property
    def holds(self) -> bool:
        """Whether nothing at all moved while it was frozen."""
        still = self.frozen
        return not (still.calls or still.lines or still.files or still.active_ms) and still.cpu_seconds == 0

    def lines(self) -> list[str]:
        """For the operator."""
        what = "suspends by itself" if self.suspends else "does not suspend by itself: it stays frozen while it waits"
        return [
            f"suspension: it asked {safe_line(self.asked, 80)!r}, and {what}",
            f"  left alone {_told(self.alone)}",
            f"  frozen     {_told(self.frozen)}",
        ]

    def data(self) -> dict[str, Any]:
        """As `--json` prints it."""
        both = {"alone": asdict(self.alone), "frozen": asdict(self.frozen)}
        return {"asked": self.asked, "suspends": self.suspends, "holds": self.holds, **both}


def _told(stood: Stood) -> str:
    moved = f"{stood.calls} model calls, {stood.files} files, {stood.lines} lines"
    return f"{stood.seconds:.0f} s: {moved}, {stood.cpu_seconds:.2f} s of CPU, {stood.active_ms / 1000:.1f} s active"


async def show(workspace: Path, contract: Contract, seconds: float = WATCHED) -> Shown:
    """Run the trial. UsageError, one line, where the worker does not come to ask."""
    with scratch_folder() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        place = folder / "workspace"
        async with StubModel().serving() as model:
            _furnish(place, workspace, contract, model.port)
            log = folder / "supervisor.log"
            child = process.start_detached(place, ["--once", "--thawed"], log)
            try:
                return await _watch(place, model, log, child.poll, seconds)
            finally:
                await asyncio.to_thread(_end, place, child.wait)


def _furnish(place: Path, workspace: Path, contract: Contract, port: int) -> None:
    """A workspace with one task whose check fails; with the operator's files where the worker is a program in them."""
    if policies.is_agent(contract):
        place.mkdir()
    else:
        shutil.copytree(workspace, place, symlinks=True, ignore=shutil.ignore_patterns(".proctor", ".git"))
    given = yaml.safe_load((workspace / FILE).read_text())
    terms = {
        "goal": "Show what an open request stops",
        "worker": given["worker"],
        "budget": {"iterations": {"limit": 1, "on_exhaustion": "stop"}},
        "progress": {"checks": [{"run": ["test", "-e", "nothing-makes-this"]}]},
        "approvals": {"ask": ["*(*)"]},
        "sandbox": {**(given.get("sandbox") or {}), "hosts": []},
        "gateway": {"upstream": {"stub": {"base_url": f"http://127.0.0.1:{port}"}}},
        "notify": [],
    }
    (place / FILE).write_text(yaml.safe_dump(terms))
    task = {"id": 1, "task": f"Run this command in the shell and nothing else: {COMMAND}"}
    (place / "tasks.json").write_text(json.dumps([task]))


async def _watch(place: Path, model: StubModel, log: Path, ended: Callable[[], int | None], seconds: float) -> Shown:
    deadline = time.monotonic() + PATIENCE
    while (client := _asking(place)) is None:
        if ended() is not None or time.monotonic() > deadline:
            raise UsageError(f"suspension: the worker asked nothing: {_reason(place, log)}")
        await asyncio.sleep(0.1)
    with client:
        asked = client.state().open_requests[0].opened.what
        alone = await _look(client, model, place, seconds)
        client.order("pause")
        while not client.live("worker").get("frozen"):
            if ended() is not None:
                raise UsageError(f"suspension: the worker ended while it asked: {_reason(place, log)}")
            await asyncio.sleep(0.1)
        return Shown(asked, alone, await _look(client, model, place, seconds))


def _asking(place: Path) -> Client | None:
    try:
        client = Client(place)
    except NoJournal:
        return None
    if client.state().open_requests and client.live("worker").get("alive"):
        return client
    client.__exit__()
    return None


async def _look(client: Client, model: StubModel, place: Path, seconds: float) -> Stood:
    def now() -> tuple[int, int, int, float, int]:
        worker = client.live("worker")
        calls = model.calls + int(worker.get("held", 0))
        files = sum(1 for path in place.rglob("*") if ".proctor" not in path.parts)
        cpu = kill.cpu_seconds(_family(int(worker.get("pid") or 0)))
        return calls, int(worker.get("lines", 0)), files, cpu, int(client.live("gauges").get("active_ms", 0))

    await asyncio.sleep(1.0)  # what was under way when the question came is no answer to it
    before, begun = now(), time.monotonic()
    await asyncio.sleep(seconds)
    after, lasted = now(), time.monotonic() - begun
    calls, lines, files, cpu, active = (b - a for a, b in zip(before, after, strict=True))
    return Stood(lasted, int(calls), int(lines), int(files), round(cpu, 2), int(active))


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        try:
            tasks = list(Path(f"/proc/{one}/task").iterdir())
            left += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _reason(place: Path, log: Path) -> str:
    """What there is to say about a worker that did not ask."""
    try:
        with Client(place) as client:
            ends = [row.event for row in client.rows(kinds=("iteration_ended", "logged"))]
    except NoJournal:
        ends = []
    said = [e.detail for e in ends if isinstance(e, IterationEnded) and e.detail]
    said += [e.text for e in ends if isinstance(e, Logged) and e.room == "gateway"]
    if not said and log.exists():
        said = log.read_text(errors="replace").splitlines()
    return safe_line(said[-1], 300) if said else f"nothing in {PATIENCE:.0f} s, or it ended without a question"


def _end(place: Path, wait: Callable[[], int]) -> None:
    try:
        with Client(place) as client:
            client.order("stop")
    except NoJournal:
        pass
    wait()
