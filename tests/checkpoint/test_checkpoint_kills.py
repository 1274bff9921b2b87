"""SIGKILL at any moment: a checkpoint is there or not, a rollback is finished by running it again, a prune takes
nothing that is to be kept, and no byte is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from checkpoint.killing import Killer
from checkpoint.photo import git, photograph, write
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Snapshot, Store


class Stage:
    """A tree in two states, each in a checkpoint, with everything that makes a rollback hard. Between the acts it is
    in the second one."""

    def __init__(self, work: Path, seed: int) -> None:
        self.work = work
        self.chance = random.Random(seed)
        self.killer = Killer(work, seed)
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
        self.edits = 0

    def go(self, start: Snapshot, end: Snapshot) -> None:
        self.store.restore(start.commit, end.commit)
        assert photograph(self.work) == (self.was if end is self.target else self.then)

    def edit(self) -> list[str]:
        """Change some files; their paths."""
        self.edits += 1
        edited = [f"src/n{number % 10}/g{number}.py" for number in range(self.edits % 7, 150, 7)]
        for path in edited:
            write(self.work / path, f"{path} {self.edits}\n" * 30)
        return edited

    # --- what is killed -----------------------------------------------------------------------

    def rollback(self) -> None:
        self.killer.kill("restore", self.safety.commit, self.target.commit)
        self.go(self.safety, self.target)
        self.go(self.store.snapshot("c3"), self.safety)

    def undo(self) -> None:
        self.go(self.safety, self.target)
        back = self.store.snapshot("c3")
        self.killer.kill("restore", back.commit, self.safety.commit)
        self.go(back, self.safety)

    def snapshot(self) -> None:
        self.edit()
        self.taken("snapshot", "next")

    def provisional(self) -> None:
        paths = self.edit()
        self.taken("provisional", "next", self.store.snapshot("before").commit, *paths)

    def taken(self, *args: str) -> None:
        now, names = photograph(self.work), self.store.names()
        self.killer.kill(*args)
        assert photograph(self.work) == now
        taken = self.store.snapshot("c3")
        if (commit := self.store.names().get("next")) != names.get("next"):
            assert commit
            assert not self.store.diff(commit, taken.commit, ignored=True)
        self.go(taken, self.safety)

    def prune(self) -> None:
        self.edit()
        kept = {self.target.commit, self.safety.commit, self.store.snapshot("kept").commit}
        self.edit()
        last = self.store.snapshot("dropped")
        self.killer.kill("gc", *kept)
        assert kept <= set(self.store.names().values())
        assert not self.store.verify().lost
        self.store.gc(kept)
        assert set(self.store.names().values()) == kept
        assert photograph(self.work) != self.then
        assert self.store.snapshot("c3").tree == last.tree
        self.go(self.store.snapshot("c3"), self.safety)

    def pack(self) -> None:
        for number in range(6):
            self.edit()
            self.store.snapshot(f"p{number}")
        self.killer.kill("pack")
        self.go(self.store.snapshot("c3"), self.safety)


ACTS = {
    "rollback": Stage.rollback,
    "undo": Stage.undo,
    "snapshot": Stage.snapshot,
    "provisional": Stage.provisional,
    "prune": Stage.prune,
    "pack": Stage.pack,
}


def rehearse(stage: Stage, act: str) -> None:
    ACTS[act](stage)
    assert not stage.store.verify().lost


@pytest.mark.parametrize("act", ACTS)
def test_what_is_killed_at_any_moment_is_done_or_not_and_nothing_is_lost(tmp_path: Path, act: str) -> None:
    stage = Stage(tmp_path / "work", seed=1)
    for _ in range(3):
        rehearse(stage, act)
    assert stage.killer.killed


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(10))
def test_fifty_kills_at_any_moment_of_all_that_a_store_does_lose_nothing(tmp_path: Path, seed: int) -> None:
    stage = Stage(tmp_path / "work", seed)
    rounds = 0
    while stage.killer.killed < 50:  # some end before they are killed, and do not count
        rehearse(stage, stage.chance.choice(list(ACTS)))
        rounds += 1
        assert rounds < 200
