"""Letting go of the past: a row first, then the space. Killed anywhere it is old or gone, and what is needed stays."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.checkpoint.repository import Store
from proctor.checkpoint.store import command
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor.sweeping import FOREVER, KEEP, OPERATOR, Sweeper
from proctor.supervisor.timeline import Timeline
from proctor.words import Certainty, CheckpointKind, IterationEnd, Phase, Verdict

ASKED = CheckpointKind.ASKED


class Session:
    """A session's state folder with a real store, and a worker's traces."""

    def __init__(self, place: Path) -> None:
        self.work, self.folder = place / "work", place / "state"
        self.work.mkdir(exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.journal = Journal(self.folder / "journal.db")
        self.store = Store(self.work, self.folder / "checkpoints.git")
        self.timeline = Timeline(self.journal, self.store)
        self.sweeper = Sweeper(self.journal, self.timeline, self.store, self.folder)

    async def checkpoints(self, count: int) -> None:
        for _ in range(count):
            number = len(self.journal.state().checkpoints) + 1
            (self.work / "big").write_bytes(os.urandom(200_000))
            (self.work / f"file-{number}").write_text(f"{number}\n")
            await self.timeline.checkpoint(CheckpointKind.START if number == 1 else ASKED)

    def iterations(self, count: int) -> None:
        for number in range(1, count + 1):
            self.journal.append(
                ev.IterationStarted(iteration=number, task=1, key=str(number)),
                ev.IterationEnded(iteration=number, task=1, how=IterationEnd.EXITED),
            )
            folder = self.folder / "iterations" / f"{number:04d}"
            folder.mkdir(parents=True)
            (folder / "worker.jsonl").write_text("x" * 10_000)
            (folder / "check.log").write_text("failed\n")

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.journal.state().checkpoints]

    def named(self) -> set[str]:
        """The checkpoints that refs keep."""
        return {name for name in self.store.names() if not name.startswith("kept-")}

    def close(self) -> None:
        self.journal.close()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    task = ev.TaskFact(id=1, task="one")
    session.journal.append(ev.SessionStarted(session="s", workspace="w", goal=""), ev.TasksLoaded(tasks=(task,)))
    yield session
    session.close()


async def test_what_goes_is_in_a_row_and_its_space_is_given_back(session: Session) -> None:
    await session.checkpoints(5)
    swept = await session.sweeper.sweep(0, OPERATOR)
    assert swept.gone.checkpoints == ("c2", "c3", "c4")
    assert swept.freed is not None
    assert swept.freed > 3 * 200_000
    assert session.ids == ["c1", "c5"]
    assert session.named() == {"c1", "c5"}
    assert session.store.verify().lost == {}
    (row,) = session.journal.rows(kinds=("checkpoints_pruned",))
    assert row.event == ev.CheckpointsPruned(ids=("c2", "c3", "c4"), why=OPERATOR)
    assert "c2, c3, c4" in swept.describe()


async def test_what_stays_can_be_gone_back_to(session: Session) -> None:
    await session.checkpoints(4)
    before = (session.work / "big").read_bytes()
    await session.sweeper.sweep(0, OPERATOR)
    await session.timeline.rollback("c1")
    assert not (session.work / "file-4").exists()
    await session.timeline.undo()
    assert (session.work / "big").read_bytes() == before


async def test_within_the_time_that_is_kept_nothing_goes(session: Session) -> None:
    await session.checkpoints(4)
    session.iterations(3)
    for keep in (FOREVER, 3600_000):
        assert not (await session.sweeper.sweep(keep, KEEP)).gone
    assert session.ids == ["c1", "c2", "c3", "c4"]
    assert await session.sweeper.tidy(None) == ""


async def test_raw_output_of_old_iterations_goes_and_logs_of_verdicts_stay(session: Session) -> None:
    session.iterations(3)
    log = ".proctor/iterations/0002/check.log"
    session.journal.append(ev.Judged(iteration=2, task=1, phase=Phase.WORK, verdict=Verdict.FAILED, log=log))
    swept = await session.sweeper.sweep(0, KEEP)
    assert swept.gone.iterations == (1, 2)
    left = sorted(str(path.relative_to(session.folder)) for path in (session.folder / "iterations").rglob("*"))
    assert left == [
        "iterations/0002",
        "iterations/0002/check.log",
        "iterations/0003",
        "iterations/0003/check.log",
        "iterations/0003/worker.jsonl",
    ]
    assert not (await session.sweeper.sweep(0, KEEP)).gone


async def test_shelves_and_what_was_set_aside_go_with_what_they_belong_to(session: Session) -> None:
    await session.checkpoints(3)
    commits = [one.taken.commit for one in session.journal.state().checkpoints]
    for commit in commits:
        (session.folder / "parked" / commit[:12]).mkdir(parents=True)
        (session.folder / "parked" / f"{commit[:12]}.1").mkdir()
    for name in ("kept/001-tasks.json", "kept/tasks.json", "checks/baseline-1/log", "checks/baseline-9/log"):
        (session.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (session.folder / name).write_text("x")
    await session.sweeper.sweep(0, KEEP)
    stays = {f"{commit[:12]}{tail}" for commit in (commits[0], commits[2]) for tail in ("", ".1")}
    assert {path.name for path in (session.folder / "parked").iterdir()} == stays
    assert {path.name for path in (session.folder / "kept").iterdir()} == {"tasks.json"}
    assert {path.name for path in (session.folder / "checks").iterdir()} == {"baseline-1"}


async def test_while_a_session_works_only_the_row_is_written_and_the_space_comes_later(session: Session) -> None:
    await session.checkpoints(3)
    present = await session.timeline.present()  # which no checkpoint names
    swept = await session.sweeper.sweep(0, OPERATOR, free=False)
    assert swept.gone.checkpoints == ("c2",)
    assert swept.freed is None
    assert session.ids == ["c1", "c3"]
    assert session.store.held(present.commit)
    await session.sweeper.sweep(FOREVER, KEEP)
    assert session.named() == {"c1", "c3"}


async def test_the_tree_that_the_next_look_is_held_against_stays(session: Session) -> None:
    await session.checkpoints(3)
    (session.work / "more").write_text("a worker's")
    snapshot = await session.timeline.snapshot("after")
    session.journal.append(
        ev.IterationStarted(iteration=1, task=1, key="1"),
        ev.IterationEnded(iteration=1, task=1, how=IterationEnd.EXITED, tree=snapshot.tree),
    )
    await session.sweeper.sweep(0, KEEP)
    (session.work / "mine").write_text("the operator's")
    taken = await session.timeline.adopt()
    assert taken is not None
    assert taken.edited


@pytest.mark.parametrize("at_once", [False, True])
async def test_what_was_only_looked_at_and_went_is_stored_anew_by_the_next_checkpoint(
    session: Session, at_once: bool
) -> None:
    for number in range(40):
        folder = session.work / f"folder-{number % 5}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file-{number}").write_text(f"{number}\n" * 20)
    await session.checkpoints(3)
    session.timeline.touched.begin(lambda: True)
    (session.work / "folder-1" / "deep" / "file-1").write_text("seen, and named by nothing")
    await session.timeline.present()
    await session.sweeper.sweep(0, KEEP)
    session.timeline.touched.add(["folder-2/deep/file-2"])
    (session.work / "folder-2" / "deep" / "file-2").write_text("touched")
    await session.timeline.checkpoint(ASKED, at_once=at_once)
    assert session.store.verify().lost == {}
    newest = session.journal.state().checkpoints[-1].taken
    assert newest.certainty is Certainty.CONFIRMED
    assert session.store.read(newest.commit, "folder-1/deep/file-1") == b"seen, and named by nothing"
    assert session.store.read(newest.commit, "folder-2/deep/file-2") == b"touched"


async def test_a_trap_in_the_workspace_hinders_no_sweep_however_long_it_takes(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.checkpoints(3)
    os.mkfifo(session.work / ".gitignore")
    monkeypatch.setattr(command, "_TRAP_CHECK", 0.001)
    swept = await session.sweeper.sweep(0, OPERATOR)
    assert swept.gone.checkpoints == ("c2",)
    assert session.named() == {"c1", "c3"}


STEPS = ["row", "refs", "repack", "prune", "folder"]


@pytest.mark.parametrize("step", STEPS)
async def test_killed_anywhere_it_is_old_or_gone_and_the_next_one_finishes(session: Session, step: str) -> None:
    await session.checkpoints(4)
    session.iterations(2)
    wanted = {one.id: one.taken.commit for one in session.journal.state().checkpoints if one.id in ("c1", "c4")}
    pid = os.fork()
    if not pid:
        try:
            _sweep_and_die(session, step)
        finally:
            os._exit(9)
    assert end_of(pid) == -signal.SIGKILL
    session.journal._behind = True  # the child has written for it
    gone = step != "row"
    assert session.ids == (["c1", "c4"] if gone else ["c1", "c2", "c3", "c4"])
    listed = {one.id: one.taken.commit for one in session.journal.state().checkpoints}
    assert session.store.verify(listed).lost == {}

    await session.sweeper.sweep(0, OPERATOR)
    assert session.named() == {"c1", "c4"}
    assert session.store.names().items() >= wanted.items()
    assert session.store.verify().lost == {}
    assert not (session.folder / "iterations" / "0001").exists()
    assert not {"trash", "sweeping"} & {path.name for path in session.folder.iterdir()}
    held = session.store.objects
    assert not [path.name for path in (held / "pack").iterdir() if path.name.startswith("tmp_")]
    assert sum(path.stat().st_size for path in held.rglob("*") if path.is_file()) < 3 * 200_000  # two checkpoints


def end_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _sweep_and_die(session: Session, step: str) -> None:
    """Sweep as the sweeper does, with a process that dies before or within one of the steps."""
    import asyncio

    def die(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_at(real: Callable[..., Any], word: str) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            return die() if word in args else real(*args, **more)

        return run

    git = session.store._git
    match step:
        case "row":
            session.journal.append = die  # type: ignore[method-assign]
        case "folder":
            os.rename = die
        case _:
            word = {"refs": "update-ref", "repack": "repack", "prune": "prune"}[step]
            git.run = die_at(git.run, word)  # type: ignore[method-assign]
    asyncio.new_event_loop().run_until_complete(session.sweeper.sweep(0, OPERATOR))


async def test_a_store_that_is_gone_hinders_nothing(session: Session) -> None:
    await session.checkpoints(3)
    session.iterations(2)
    shutil.rmtree(session.folder / "checkpoints.git")
    assert await session.sweeper.tidy(1) == ""
    assert not (session.folder / "iterations" / "0001").exists()
