"""The other samples: each shows one way in which a run rots, and what proctor makes of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Dimension, Level, SessionStatus, Source, TaskStatus

Make = Callable[..., Workspace]


def test_plateau_fires_within_its_window_and_exits_with_4(sample: Make) -> None:
    workspace = sample("plateau")
    code, output = workspace.finish()
    assert code == 4, output
    fired = [e for e in workspace.events("plateau_fired") if isinstance(e, ev.PlateauFired)]
    ended = [e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded)]
    suspected = [e for e in workspace.events("plateau_signal") if isinstance(e, ev.PlateauSignal)]
    briefs = [
        (workspace.path / ".proctor" / "iterations" / f"{e.iteration:04}" / "brief.md").read_text() for e in ended
    ]
    assert [(e.rule, e.iteration) for e in suspected[:1]] == [("same_failure", 3)]
    assert ["## Change the approach" in brief for brief in briefs] == [False, False, False, True]
    assert fired[0].evidence
    assert "after the nudge" in fired[0].why
    state = workspace.state()
    assert state is not None
    assert state.why is not None
    assert state.why.startswith("plateau:")
    assert "done" not in output.splitlines()[-1]


@pytest.mark.cases
def test_plateau_fires_also_when_the_supervisor_was_killed_between_iterations(sample: Make) -> None:
    workspace = sample("plateau")
    workspace.begin()
    wait_until(lambda: len(workspace.rows("settled")) >= 2, "two iterations")
    pid = workspace.supervisor()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "nothing alive")
    code, output = workspace.finish()
    assert code == 4, output
    counted = [
        e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded) and e.how != "interrupted"
    ]
    assert len(counted) == 4


@pytest.mark.parametrize("mode", ["reports", pytest.param("none", marks=pytest.mark.cases), "under"])
def test_overspend_stops_at_its_ceiling_in_every_mode(sample: Make, mode: str) -> None:
    workspace = sample("overspend")
    (workspace.path / "mode").write_text(f"{mode}\n")
    code, output = workspace.finish()
    assert code == 3, output
    assert workspace.processes() == []
    hard = [e for e in workspace.events("level_crossed") if isinstance(e, ev.LevelCrossed) and e.level is Level.HARD]
    assert [e.dimension for e in hard] == [Dimension.TOKENS]
    levels = [e.level for e in workspace.events("level_crossed") if isinstance(e, ev.LevelCrossed)]
    assert levels.count(Level.ALERT) >= 1
    status = workspace.status()
    assert status["why"] == "budget:tokens"
    assert status["budget"]["tokens"]["level"] == "hard"
    expected = Source.REPORTED if mode == "reports" else Source.ESTIMATED
    assert status["budget"]["tokens"]["source"] == expected
    assert workspace.rows("judged")[-1].event


def test_gamer_gets_nothing_verified(sample: Make) -> None:
    workspace = sample("gamer")
    code, output = workspace.finish()
    assert code != 0, output
    assert workspace.events("task_done") == []
    state = workspace.state()
    assert state is not None
    assert all(task.status is not TaskStatus.DONE for task in state.tasks)
    assert workspace.events("tampered")


def test_unruly_leaves_no_process_and_no_file_outside(sample: Make, tmp_path: Path) -> None:
    canary = tmp_path / "w" / "canary.txt"
    canary.parent.mkdir(parents=True, exist_ok=True)
    canary.write_text("a secret of the operator\n")
    workspace = sample("unruly")
    before = {path: set(os.listdir(path)) for path in ("/tmp", "/dev/shm", "/var/tmp", str(Path.home()))}
    began = time.time()
    code, output = workspace.finish()
    assert workspace.processes() == []
    for folder, names in before.items():
        for name in set(os.listdir(folder)) - names:
            path = Path(folder, name)
            touched = path.lstat().st_mtime >= began
            assert not (touched and "unruly" in name), path
    assert sorted(p.name for p in (tmp_path / "w").iterdir()) == ["canary.txt", "unruly"]
    assert canary.read_text() == "a secret of the operator\n"
    stream = b"".join(p.read_bytes() for p in workspace.path.glob(".proctor/iterations/*/worker.jsonl"))
    assert b"a secret of the operator" not in stream
    assert "\x1b" not in output
    assert code in (0, 3, 4), output


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.cases)])
def test_restless_stands_still_while_a_request_waits(sample: Make, seconds: int) -> None:
    workspace = sample("restless")
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.ASKING, "a request")
    wait_until(lambda: workspace.live("worker").get("frozen"), "frozen")
    counters = [p for p in workspace.path.rglob("*") if p.is_file() and "count" in p.name and p.suffix != ".py"]
    assert counters
    pids = [pid for pid in workspace.processes() if pid != workspace.supervisor()]

    def measure() -> tuple[object, ...]:
        texts = tuple(path.read_bytes() for path in counters)
        return texts, workspace.status()["budget"]["wall_clock"]["used"], tuple(cpu(pid) for pid in frozen)

    frozen = [pid for pid in pids if state_letter(pid) == "T"]
    assert len(frozen) >= 2
    first = measure()
    still_until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > still_until or None, "so long a wait", 30)
    assert measure() == first
    kept = workspace.proctor("checkpoint", "--note", "as it is")
    assert kept.returncode == 0, kept.stderr
    refused = workspace.proctor("rollback")
    assert refused.returncode == 2
    assert "nothing to take back" in refused.stderr
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.ASKING
    assert workspace.live("worker")["alive"], "a rollback that would change nothing costs no worker"
    assert workspace.proctor("approve", "--id", str(state.open_requests[0].id)).returncode == 0
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.DONE, "the end")
    wait_until(lambda: not workspace.processes(), "nothing alive")


def state_letter(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def cpu(pid: int) -> tuple[str, ...]:
    return tuple(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15])
