"""The audit beside the loop: what it runs waits for everything else."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from proctor.cli.run import flags
from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.journal.store import Journal
from proctor.supervisor import auditor
from proctor.supervisor.auditor import offline
from proctor.supervisor.session import Session
from proctor.words import TaskStatus

CONTRACT = """\
goal: Try it
worker: {kind: command, command: ["true"]}
budget: {iterations: {limit: 9, on_exhaustion: park}}
progress: {checks: [{run: ["true"]}]}
"""
WAITS = """
import os, time
said = ""
while "nice 19" not in said:
    said = open("/proc/self/autogroup").read() if os.path.exists("/proc/self/autogroup") else "nice 19"
    time.sleep(0.01)
print(os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), said.split()[-2:], flush=True)
"""
RUNS = """
import sys
from pathlib import Path
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run
from proctor.supervisor.auditor import Idle, be_idle
be_idle()
workspace, code = Path(sys.argv[1]), sys.argv[2]
output = workspace.parent / "output"
run(Idle(choose("bwrap")), ["python", "-c", code], Policy(workspace), 600, output, 1 << 20)
print(output.read_text(), end="")
"""


def test_what_a_check_starts_runs_only_when_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    command = [sys.executable, "-c", RUNS, str(tmp_path / "w"), WAITS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, start_new_session=True)
    assert done.stdout == "True 19 ['nice', '19']\n", done.stderr


def test_nothing_is_run_by_a_contract_that_the_session_did_not_take_in(tmp_path: Path) -> None:
    contract = tmp_path / "proctor.yaml"
    contract.write_text(CONTRACT)
    (tmp_path / ".proctor").mkdir()
    journal = Journal(tmp_path / ".proctor" / "journal.db")
    journal.append(ev.ContractLoaded(contract=load(tmp_path).hash, plan=""))
    journal.close()
    contract.write_text(f"{CONTRACT}sandbox: {{kind: none}}\n")
    with pytest.raises(UsageError, match="not what the session ran by"):
        offline(tmp_path, 1.0, lambda _: None)


@pytest.mark.parametrize(
    ("codes", "told", "runs"),
    [
        ([0, 0], ["", "c2"], 2),  # a rollback and its undo came while it ran
        ([1, 0], [None, None], 1),
        ([-9, -9, -9, 0], [None] * 4, 3),
        ([-9, 0], [None, "c2"], 2),
    ],
)
async def test_what_was_verified_is_measured_until_it_is_told_or_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codes: list[int], told: list[str | None], runs: int
) -> None:
    task = TaskState(id=1, task="t", checks=(ev.CheckFact(run=("x",)),), status=TaskStatus.DONE, checkpoint="c2")
    unchecked = TaskState(id=2, task="u", status=TaskStatus.DONE, checkpoint="c3")
    state = SimpleNamespace(tasks=(task, unchecked), audited=())
    lines: list[str] = []
    s = SimpleNamespace(
        state=state,
        state_dir=tmp_path,
        options=SimpleNamespace(audit=True),
        terms=SimpleNamespace(contract=SimpleNamespace(progress=SimpleNamespace(audit=1))),
        disk=SimpleNamespace(said=""),
        log_once=lambda _, text: lines.append(text),
    )
    ran: list[int] = []
    enough = asyncio.Event()

    async def measure(_: object) -> int:
        if (row := told[len(ran)]) is not None:
            state.audited = (ev.Audited(task=1, checkpoint=row),)
        ran.append(codes[len(ran)])
        if len(ran) == runs:
            enough.set()
        return ran[-1]

    monkeypatch.setattr(auditor, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(auditor, "_measure", measure)
    beside = asyncio.create_task(auditor.beside(cast("Session", s)))
    await enough.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    beside.cancel()
    assert len(ran) == runs
    assert lines == (["the checks could not be measured: its process was killed 3 times"] if runs == 3 else [])


def test_a_demo_measures_nothing() -> None:
    given = argparse.Namespace(once=False, yes=True)
    assert flags(given) == ["--yes"]
    given.no_audit = True
    assert flags(given) == ["--yes", "--no-audit"]


@pytest.mark.parametrize(
    ("why", "goes_on"),
    [("/w/proctor.yaml:47: is not YAML: oh", True), ("its process was killed 3 times", False)],
)
async def test_a_contract_that_is_broken_under_a_session_is_told_with_the_one_that_holds(
    monkeypatch: pytest.MonkeyPatch, why: str, goes_on: bool
) -> None:
    async def breaks(_: object) -> int:
        raise ValueError(why)

    lines: list[str] = []
    monkeypatch.setattr(auditor, "_measure", breaks)
    s = SimpleNamespace(log_once=lambda _, text: lines.append(text))
    assert await auditor._tried(cast("Session", s)) == 1
    assert lines[0].startswith(f"the checks could not be measured: {why}")
    assert lines[0].endswith("; the session goes on with the contract that it began with") == goes_on
