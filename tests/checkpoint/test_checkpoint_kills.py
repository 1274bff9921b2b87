"""SIGKILL at any moment: a snapshot is there or not, a rollback is finished by running it again, no byte is lost."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store

PROGRAM = """
import sys, time
from pathlib import Path
import git
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store
work, what, *args = sys.argv[1:]
store = Store(Path(work), Path(work) / ".proctor/checkpoints.git", keep=Keep(max_file=1 << 20))
print("go", flush=True)
begun = time.monotonic()
getattr(store, what)(*args)
print(time.monotonic() - begun, flush=True)
"""


class Stage:
    """A tree in two states, each in a checkpoint, with everything that makes a rollback hard."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.store = Store(work, work / ".proctor/checkpoints.git", keep=Keep(max_file=1 << 20))
        for number in range(150):
            write(work / f"src/m{number % 10}/f{number}.py", f"print({number})\n" * 40)
        write(work / "swap/a/b", "1\n")
        write(work / "secret", "1\n", 0o600)
        (work / "locked").mkdir()
        write(work / "locked/x", "1\n")
        (work / "locked").chmod(0o555)
        write(work / "large", b"l" * (2 << 20))
        self.target = self.store.snapshot("c1")
        self.was = photograph(work)
        for number in range(0, 150, 2):
            write(work / f"src/m{number % 10}/f{number}.py", f"changed({number})\n" * 60)
        for number in range(1, 30, 2):
            (work / f"src/m{number % 10}/f{number}.py").unlink()
        shutil.rmtree(work / "swap")
        (work / "swap").symlink_to("src")
        (work / "hollow/in").mkdir(parents=True)
        (work / "secret").chmod(0o644)
        (work / "locked").chmod(0o755)
        write(work / "locked/y", "2\n")
        for name in ("born/one", "born/two", "born/three"):
            (work / name).mkdir(parents=True)
            git(work / name, "init", "-q")
            write(work / name / "file", "2\n")
        (work / "src/m1/f31.py").unlink()
        write(work / "src/m1/f31.py", b"uncaptured" * (1 << 18))
        self.safety = self.store.snapshot("c2")
        self.then = photograph(work)

    def run(self, *args: str) -> tuple[subprocess.Popen[str], float]:
        command = [sys.executable, "-c", PROGRAM, str(self.work), *args]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        return process, time.monotonic()

    def seconds(self, *args: str) -> float:
        process, _ = self.run(*args)
        return float(process.communicate()[0])

    def kill(self, after: float, group: bool, *args: str) -> bool:
        """Start and kill after some seconds; whether it was still running. Without `group` its git may live on."""
        process, begun = self.run(*args)
        while process.poll() is None and time.monotonic() < begun + after:
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if group else process.kill()
        process.communicate()
        return process.returncode < 0


def rehearse(stage: Stage, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    longest = stage.seconds("restore", stage.safety.commit, stage.target.commit)
    assert photograph(stage.work) == stage.was
    stage.store.restore(stage.store.snapshot("c3").commit, stage.safety.commit)
    assert photograph(stage.work) == stage.then
    killed = 0
    for number in range(rounds):
        here, there, result = stage.safety.commit, stage.target.commit, stage.was
        killed += stage.kill(chance.random() * longest, number % 2 == 1, "restore", here, there)
        stage.store.restore(here, there)
        assert photograph(stage.work) == result
        back = stage.store.snapshot("c3")
        assert back.tree == stage.target.tree
        stage.store.restore(back.commit, here)
        assert photograph(stage.work) == stage.then
    assert killed > rounds // 3


def test_a_rollback_killed_at_any_moment_is_finished_by_running_it_again(tmp_path: Path) -> None:
    rehearse(Stage(tmp_path / "work"), 8, seed=1)


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(10))
def test_many_rollbacks_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    rehearse(Stage(tmp_path / "work"), 25, seed)


def snapshots(stage: Stage, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    longest = stage.seconds("snapshot", "timed")
    for number in range(rounds):
        for other in range(number % 7, 150, 7):
            write(stage.work / f"src/n{other % 10}/g{other}.py", f"{seed} {number} {other}\n" * 30)
        (stage.work / f"src/n1/g{number}.py").unlink(missing_ok=True)
        (stage.work / "secret").chmod(0o600 if number % 2 else 0o640)
        then = photograph(stage.work)
        names = stage.store.names()
        stage.kill(chance.random() * longest, number % 2 == 1, "snapshot", "next")
        assert photograph(stage.work) == then
        taken = stage.store.snapshot("safety")
        if (now := stage.store.names())["next"] != names.get("next"):
            assert not stage.store.diff(now["next"], taken.commit, ignored=True)
        stage.store.restore(taken.commit, stage.target.commit)
        assert photograph(stage.work) == stage.was
        stage.store.restore(stage.store.snapshot("c3").commit, taken.commit)
        assert photograph(stage.work) == then


def test_a_snapshot_killed_at_any_moment_is_there_or_not(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "work")
    stage.store.snapshot("next")
    snapshots(stage, 5, seed=1)


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(10))
def test_many_snapshots_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    stage = Stage(tmp_path / "work")
    stage.store.snapshot("next")
    snapshots(stage, 20, seed)
