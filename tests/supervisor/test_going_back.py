"""Going back in a session's past: whose edits go or stay, what is said of it, what is not rolled back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint import history
from proctor.checkpoint.repository import Store
from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor import toll
from proctor.supervisor.authors import KINDS
from proctor.supervisor.timeline import Timeline
from proctor.words import CheckpointKind, Dimension, IterationEnd, RequestKind, TaskStatus


class Past:
    """A workspace with its journal, in which an operator and workers take turns."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.journal = Journal(folder / "journal.db")
        self.store = Store(self.work, folder / "checkpoints.git")
        self.timeline = Timeline(self.journal, self.store)

    def again(self, folder: Path) -> None:
        """Another process takes over."""
        self.journal.close()
        self.__init__(folder)  # type: ignore[misc]

    async def iteration(self, **files: str) -> None:
        """One worker that writes files."""
        number = self.journal.state().iteration + 1
        tree = (await self.timeline.present()).tree
        self.journal.append(ev.IterationStarted(iteration=number, task=1, key="", tree=tree))
        for name, text in files.items():
            write(self.work / name, text)
        tree = (await self.timeline.snapshot("after")).tree
        self.journal.append(ev.IterationEnded(iteration=number, task=1, how=IterationEnd.EXITED, tree=tree))
        self.journal.append(ev.Settled(iteration=number, task=1, amounts={}))

    def before(self, to: str | None = None, *, keep_mine: bool = False) -> toll.Toll:
        return toll.before(self.store, self.journal.state(), self._rows, to, keep_mine=keep_mine)

    def after(self) -> toll.Toll:
        state = self.journal.state()
        return toll.after(self.store, state, self._rows, state.rollbacks[-1])

    def _rows(self) -> Iterator[ev.Row]:
        return self.journal.rows(kinds=KINDS)


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Past]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("a", "b", "c", "d"):
        write(tmp_path / "work" / name, "1\n")
    past = Past(tmp_path)
    past.journal.append(ev.SessionStarted(session="s", workspace=str(past.work), goal=""))
    yield past
    past.journal.close()


async def test_the_operator_s_edits_are_told_apart_and_go_where_nobody_keeps_them(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    write(past.work / "b", "mine\n")
    await past.timeline.adopt()
    await past.iteration(a="worker\n", c="worker\n")
    write(past.work / "c", "mine, then\n")
    write(past.work / "new", "mine\n")
    expected = past.before("c1")
    assert (expected.mine, expected.both) == (("b", "new"), ("c",))
    assert [change.path for change in expected.others] == ["a"]
    back = await past.timeline.rollback("c1")
    assert (past.work / "b").read_text() == "1\n"
    assert not (past.work / "new").exists()
    assert back.mine == ()
    took = past.after()
    assert (took.mine, took.both, took.changes) == (expected.mine, expected.both, expected.changes)
    assert took.safety == back.safety


async def test_edits_stay_where_the_operator_keeps_them_and_undo_and_redo_are_exact(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n", c="worker\n")
    write(past.work / "c", "mine, then\n")
    write(past.work / "new", "mine\n")
    then = photograph(past.work)
    told = past.before(keep_mine=True)
    assert (told.stays, [change.path for change in told.changes]) == (("c", "new"), ["a"])
    back = await past.timeline.rollback(keep_mine=True)
    assert back.mine == ("c", "new")
    kept = photograph(past.work)
    assert kept[b"a"] == photograph(past.work)[b"b"]
    assert kept == {**then, b"a": kept[b"b"]}
    assert past.journal.state().tree == back.tree == (await past.timeline.present()).tree
    assert await past.timeline.adopt() is None
    assert past.after().stays == ("c", "new")
    await past.timeline.undo()
    assert photograph(past.work) == then
    await past.timeline.undo(redo=True)
    assert photograph(past.work) == kept


async def test_where_all_that_differs_is_the_operator_s_nothing_is_taken_back(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    write(past.work / "b", "mine\n")
    with pytest.raises(UsageError, match="all that differs from c1 is your own work"):
        await past.timeline.rollback(keep_mine=True)
    assert (past.work / "b").read_text() == "mine\n"
    assert past.journal.state().rollbacks == ()


async def test_an_edit_is_still_the_operator_s_after_it_was_rolled_back_and_brought_back(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n")
    write(past.work / "b", "mine\n")
    await past.timeline.rollback()
    assert past.before("c1").mine == ()
    await past.timeline.undo()
    assert past.before("c1").mine == ("b",)


async def test_who_wrote_what_is_known_after_what_nobody_needs_was_let_go(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n")
    await past.timeline.checkpoint(CheckpointKind.ASKED)
    write(past.work / "b", "mine\n")
    await past.timeline.adopt()
    past.store.gc([one.taken.commit for one in past.journal.state().checkpoints])
    found = past.before("c1")
    assert (found.mine, found.both) == (("b",), ())


async def test_a_rollback_killed_on_its_way_leaves_edits_in_place_at_the_next_start(
    past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n")
    odd = os.fsdecode(b"odd\xff")
    write(past.work / odd, "mine\n")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(past.store, "restore", killed)
        with pytest.raises(KeyboardInterrupt):
            await past.timeline.rollback(keep_mine=True)
    past.again(tmp_path)
    assert past.journal.state().rollback is not None
    back = await past.timeline.resume()
    assert back is not None
    assert (past.work / odd).read_text() == "mine\n"
    assert (past.work / "a").read_text() == "1\n"
    assert await past.timeline.resume() is None


async def test_chosen_paths_go_back_at_the_next_start_and_nothing_else(
    past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n", b="worker\n")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(past.store, "restore", killed)
        with pytest.raises(KeyboardInterrupt):
            await past.timeline.rollback(paths=["a"])
    past.again(tmp_path)
    back = await past.timeline.resume()
    assert back is not None
    assert back.paths == ("a",)
    assert [(past.work / name).read_text() for name in ("a", "b")] == ["1\n", "worker\n"]
    assert past.journal.state().tree == back.tree
    assert await past.timeline.adopt() is None


async def test_a_resume_that_fails_is_said_once_and_does_not_bar_the_way(
    past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(past.store, "restore", killed)
        with pytest.raises(KeyboardInterrupt):
            await past.timeline.rollback()
    past.again(tmp_path)
    write(past.work / "a", "written meanwhile\n")
    with pytest.raises(ProctorError, match="written after the safety checkpoint"):
        await past.timeline.resume()
    assert (past.work / "a").read_text() == "written meanwhile\n"
    past.again(tmp_path)
    assert await past.timeline.resume() is None
    await past.timeline.rollback()
    assert (past.work / "a").read_text() == "1\n"
    await past.timeline.undo()
    assert (past.work / "a").read_text() == "written meanwhile\n"


async def test_a_snapshot_that_fails_lists_no_checkpoint_and_takes_no_other_in_its_place(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n")

    def fails(*_: object, **__: object) -> None:
        raise ProctorError("no room")

    was = photograph(past.work)
    with monkeypatch.context() as patched:
        patched.setattr(past.store, "snapshot", fails)
        for wish in (past.timeline.checkpoint(CheckpointKind.ASKED), past.timeline.rollback("c1")):
            with pytest.raises(ProctorError, match="no room"):
                await wish
    assert [one.id for one in past.journal.state().checkpoints] == ["c1"]
    assert past.journal.state().rollback is None
    assert photograph(past.work) == was
    assert [change.path for change in past.before("c1").changes] == ["a"]


@pytest.mark.parametrize("depth", [10, pytest.param(history.DEPTH, marks=pytest.mark.cases)])
async def test_rollbacks_are_undone_and_done_again_by_one_process_after_another(
    past: Past, tmp_path: Path, depth: int
) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    for number in range(depth):
        write(past.work / "a", f"v{number}\n")
        await past.timeline.rollback("c1")
    for number in reversed(range(depth)):
        if number % 10 == 5:
            past.again(tmp_path)
        await past.timeline.undo()
        assert (past.work / "a").read_text() == f"v{number}\n"
    with pytest.raises(UsageError, match="nothing to undo"):
        await past.timeline.undo()
    past.again(tmp_path)
    for number in range(1, depth):
        await past.timeline.undo(redo=True)
        assert (past.work / "a").read_text() == f"v{number}\n"
    await past.timeline.undo(redo=True)
    assert (past.work / "a").read_text() == "1\n"
    with pytest.raises(UsageError, match="nothing to redo"):
        await past.timeline.undo(redo=True)


async def test_tasks_return_and_what_was_verified_later_is_taken_back_but_nothing_spent(past: Past) -> None:
    tasks = tuple(ev.TaskFact(id=number, task=f"t{number}") for number in (1, 2))
    past.journal.append(ev.TasksLoaded(tasks=tasks))
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="one\n")
    await past.timeline.verified(await past.timeline.snapshot("x"), 1, 1)
    await past.iteration(b="two\n")
    await past.timeline.verified(await past.timeline.snapshot("y"), 2, 2)
    past.journal.append(
        ev.Spent(figures={Dimension.TOKENS: ev.Figure(500)}),
        ev.RequestOpened(id=1, request=RequestKind.TOOL, what="w"),
        ev.CeilingRaised(dimension=Dimension.TOKENS, by=5, limit=9),
    )
    before = past.journal.state()
    first = before.tasks[0].checkpoint
    told = past.before(first)
    assert [(one.task, one.now, one.then, one.taken_back) for one in told.tasks] == [
        (2, TaskStatus.DONE, TaskStatus.PENDING, True)
    ]
    back = await past.timeline.rollback(first)
    assert back.said == ("task 2 was verified since and is open again",)
    after = past.journal.state()
    assert past.after().tasks == told.tasks
    assert [task.status for task in after.tasks] == [TaskStatus.DONE, TaskStatus.PENDING]
    assert [task.taken_back for task in after.tasks] == [False, True]
    same = ("used", "requests", "raised", "iteration", "settled", "notes", "false_claims", "fired")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    await past.timeline.undo()
    assert [task.status for task in past.journal.state().tasks] == [TaskStatus.DONE, TaskStatus.DONE]
    assert not any(task.taken_back for task in past.journal.state().tasks)


async def test_the_lines_name_the_operator_s_edits_first(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    await past.iteration(a="worker\n", c="worker\n")
    write(past.work / "c", "mine, then\n")
    for number in range(25):
        write(past.work / f"m{number:02}", "mine\n")
    told = past.before()
    lines = toll.lines(told)
    assert lines[0] == "  25 files go, 2 change"
    assert lines[1] == "  yours, written since then:"
    assert lines[2] == "    goes        m00  +0 -1"
    assert lines[22] == "    and 5 more"
    assert lines[23:25] == ["  yours and a worker's:", "    changes     c  +1 -1"]
    assert toll.facts(told)["mine"] == told.mine
    assert "+1" in told.patch


async def test_a_worker_that_only_committed_is_taken_back_as_well(past: Past, tmp_path: Path) -> None:
    session = tmp_path / "session"
    session.mkdir()
    git(session, "init", "-q", "-b", "main", ".")
    git(session, "commit", "-q", "--allow-empty", "-m", "first")
    past.store = Store(past.work, tmp_path / "checkpoints.git", repository=session / ".git")
    past.timeline = Timeline(past.journal, past.store)
    await past.timeline.checkpoint(CheckpointKind.START)
    first = git(session, "rev-parse", "HEAD").strip()
    assert not await past.timeline.takes_back(None)
    git(session, "commit", "-q", "--allow-empty", "-m", "the worker's")
    second = git(session, "rev-parse", "HEAD").strip()
    assert await past.timeline.takes_back(None)
    told = past.before()
    assert (told.changes, told.takes_edits) == ((), False)
    assert f"branch main {second[:8]} -> {first[:8]}" in told.repositories[0]
    await past.timeline.rollback()
    assert git(session, "rev-parse", "HEAD").strip() == first
    assert not await past.timeline.takes_back("c1")
    with pytest.raises(UsageError, match="nothing to take back"):
        await past.timeline.rollback()
    await past.timeline.undo()
    assert git(session, "rev-parse", "HEAD").strip() == second


async def test_the_operator_s_change_is_adopted_also_after_what_nobody_needs_was_let_go(past: Past) -> None:
    await past.timeline.checkpoint(CheckpointKind.START)
    past.store.gc([one.taken.commit for one in past.journal.state().checkpoints])
    write(past.work / "b", "mine\n")
    adopted = await past.timeline.adopt()
    assert adopted is not None
    assert adopted.edited
    await past.iteration(a="worker\n")
    past.store.gc([one.taken.commit for one in past.journal.state().checkpoints])
    write(past.work / "b", "mine, again\n")
    assert await past.timeline.adopt() is not None
