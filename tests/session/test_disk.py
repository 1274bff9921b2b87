"""A disk that runs full ends the worker first: nothing is lost, the reason is told, and the session goes on later."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import Workspace
from proctor.journal.events import SupervisorStarted
from proctor.journal.state import State

Make = Callable[..., Workspace]
FILL = """\
import time
open("work.txt", "w").write("mine")
with open("filler", "wb") as file:
    for _ in range({times}):
        file.write(bytes(1 << 20))
        file.flush()
        time.sleep({pause})
time.sleep(1000)
"""
DISK, MEMORY = 0.01, 0
"""Pauses between MiB: at the pace of memory nobody may be scheduled in time, and the journal itself finds no room."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 96 MiB."""
    if os.geteuid():
        pytest.skip("needs root, to mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96M", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def ends(workspace: Workspace, *flags: str) -> tuple[int, State, str]:
    """Runs a session to its end; the exit code, the state, and all that was noticed."""
    code, output = workspace.finish(*flags)
    state = workspace.state()
    assert state, output
    return code, state, " ".join(getattr(row.event, "text", "") for row in workspace.rows("noticed"))


def with_worker(workspace: Workspace, program: str) -> Workspace:
    (workspace.path / "tools" / "worker.py").write_text(program)
    return workspace


def test_a_worker_is_ended_before_the_disk_is_full_and_the_session_goes_on_later(sample: Make, small: Path) -> None:
    workspace = with_worker(sample("restless", into="small"), FILL.format(times=1000, pause=DISK))
    code, state, said = ends(workspace)
    assert (code, state.status, state.why) == (5, "parked", "disk"), said
    assert f"the disk of {workspace.path} is nearly full" in said
    assert "must stay free" in said
    assert f"`proctor resume {workspace.path}` goes on" in said
    assert (workspace.path / "filler").stat().st_size < 92 << 20
    assert not workspace.processes()
    assert not (workspace.path / ".proctor" / "reserve").exists()
    (workspace.path / "filler").unlink()
    workspace.contract("[python, tools/worker.py]", "[touch, other.txt]")
    assert (workspace.path / "work.txt").read_text() == "mine"
    code, state, said = ends(workspace, "--once")
    assert (code, state.why, state.settled) == (130, "operator", 1), "what was left pending is judged now"


def test_a_worker_that_writes_too_much_is_ended_and_its_growth_is_told(sample: Make) -> None:
    workspace = with_worker(sample("restless"), FILL.format(times=60, pause=DISK))
    workspace.contract("notify: []", "notify: []\nsandbox: {limits: {growth: 30M}}")
    code, state, said = ends(workspace)
    assert (code, state.status, state.why) == (5, "parked", "disk"), said
    assert "the worker wrote " in said
    assert "limits.growth is 30M" in said
    (started,) = workspace.events("supervisor_started")
    assert isinstance(started, SupervisorStarted)
    assert started.bound or started.unbound
    assert state.unbound == started.unbound


def test_a_check_that_fills_the_disk_is_ended_too(sample: Make, small: Path) -> None:
    workspace = sample("restless", into="small")
    fill = FILL.format(times=1000, pause=MEMORY)
    path = workspace.path / "tasks.json"
    tasks = json.loads(path.read_text())
    tasks[0]["check"] = {"run": ["python", "-c", fill], "timeout": "60s"}
    path.write_text(json.dumps(tasks))
    code, state, said = ends(workspace)
    assert (code, state.status, state.why) == (5, "parked", "disk"), said
    assert f"the disk of {workspace.path} is nearly full" in said
    assert not (workspace.path / ".proctor" / "bench").exists()
