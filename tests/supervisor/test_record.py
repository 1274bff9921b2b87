"""What is kept with a checkpoint about the work: one record, in the objects and in the row, that agree."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.checkpoint.repository import Store
from proctor.errors import Unrecoverable, UsageError
from proctor.journal import events as ev
from proctor.journal.store import Journal, Reader
from proctor.supervisor import handles, record
from proctor.supervisor.timeline import Timeline
from proctor.words import CheckpointKind, Dimension, Phase, RequestKind, TaskStatus, Verdict

ASKED = CheckpointKind.ASKED


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "a.py").write_text("a = 1\n")
    (work / "gone.txt").write_text("soon\n")
    return work


@pytest.fixture
def store(work: Path, tmp_path: Path) -> Store:
    return Store(work, tmp_path / "checkpoints.git")


@pytest.fixture
def journal(tmp_path: Path, work: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.db")
    tasks = tuple(ev.TaskFact(id=n, task=f"task {n}") for n in (1, 2, 3))
    journal.append(ev.SessionStarted(session="s", workspace=str(work), goal=""), ev.TasksLoaded(tasks=tasks))
    yield journal
    journal.close()


@pytest.fixture
def timeline(journal: Journal, store: Store) -> Timeline:
    return Timeline(journal, store, lambda: ("plan-1", "rules-1"))


def newest(journal: Journal) -> ev.CheckpointTaken:
    return journal.state().checkpoints[-1].taken


async def verify(timeline: Timeline, task: int, iteration: int) -> None:
    await timeline.verified(await timeline.snapshot("after"), task, iteration)


async def test_a_record_says_where_the_work_stands(timeline: Timeline, journal: Journal, store: Store) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    verdict = ev.Judged(iteration=1, task=2, phase=Phase.WORK, verdict=Verdict.FAILED, reason="2 failed", tree="t")
    asked = ev.RequestOpened(id=1, request=RequestKind.TOOL, what="shell git push", task=2)
    used = ev.Spent(figures={Dimension.TOKENS: ev.Figure(812)})
    journal.append(verdict, ev.TaskMoved(task=3, status=TaskStatus.REVIEW, why="no check"), asked, used)
    position = journal.state().seq
    await timeline.checkpoint(ASKED)

    found = record.decode(store.meta(newest(journal).commit))
    assert found is not None
    assert [(one.task, one.request, one.status, one.why) for one in found.blockers] == [
        (3, None, "review", "no check"),
        (2, 1, "tool", "shell git push"),
    ]
    assert [(one.task, one.verdict, one.reason) for one in found.verdicts] == [(2, "failed", "2 failed")]
    assert (found.position, found.plan, found.rules) == (position, "plan-1", "rules-1")
    assert found.used == {Dimension.TOKENS: ev.Figure(812)}
    assert (found.environment, found.continuation, found.ledger) == (None, None, None)


async def test_the_row_and_what_lies_with_the_objects_agree(timeline: Timeline, journal: Journal, store: Store) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    await verify(timeline, 1, 1)
    await timeline.checkpoint(ASKED)
    for one in journal.state().checkpoints:
        found = record.decode(store.meta(one.taken.commit))
        assert found is not None
        taken = one.taken
        row = (taken.id, taken.position, taken.iteration, taken.plan, taken.rules, taken.used)
        assert row == (found.id, found.position, found.iteration, found.plan, found.rules, found.used)
        assert [(m.id, m.status) for m in taken.marks] == [(m.id, m.status) for m in found.marks]


async def test_verified_work_is_named_by_row_checkpoint_and_the_hashes_of_what_it_changed(
    timeline: Timeline, journal: Journal, store: Store, work: Path
) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    (work / "src" / "b.py").write_text("b = 2\n")
    (work / "gone.txt").unlink()
    await verify(timeline, 1, 1)
    task = journal.state().task(1)
    assert task is not None
    of_task = journal.state().checkpoint(task.checkpoint or "")
    assert of_task is not None
    found = record.decode(store.meta(of_task.taken.commit))
    assert found is not None
    assert found.work is not None
    assert found.work.since == "c1"
    blob = next(one.oid for one in store.entries(of_task.taken.commit) if one.path == "src/b.py")
    assert found.work.files == {"src/b.py": blob, "gone.txt": None}

    await timeline.checkpoint(ASKED)
    later = record.decode(store.meta(newest(journal).commit))
    assert later is not None
    (done,) = later.done
    assert (done.task, done.row, done.checkpoint) == (1, task.verified_by, of_task.id)
    assert (done.commit, done.tree) == (of_task.taken.commit, of_task.taken.tree)


async def test_the_mark_of_a_verified_task_names_the_row_that_verified_it(timeline: Timeline, journal: Journal) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    await verify(timeline, 2, 1)
    (row,) = journal.rows(kinds=("task_done",))
    taken = journal.state().checkpoints[-1].taken
    assert [mark.verified_by for mark in taken.marks] == [None, row.seq, None]


async def test_work_taken_back_is_not_what_later_work_is_held_against(
    timeline: Timeline, journal: Journal, store: Store, work: Path
) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    (work / "one").write_text("1")
    await verify(timeline, 1, 1)
    await timeline.rollback("c1")
    (work / "two").write_text("2")
    await verify(timeline, 2, 2)
    found = record.decode(store.meta(journal.state().checkpoints[-1].taken.commit))
    assert found is not None
    assert found.work is not None
    assert (found.work.since, set(found.work.files)) == ("c1", {"two"})


async def test_no_row_promises_work_that_is_lost(
    timeline: Timeline, journal: Journal, store: Store, work: Path
) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    (work / "one").write_text("1")
    await verify(timeline, 1, 1)
    start = journal.state().checkpoints[0].taken.commit
    store.gc({start})
    rows = journal.state().seq
    with pytest.raises(Unrecoverable, match="verified work"):
        await timeline.checkpoint(ASKED)
    assert journal.state().seq == rows


@pytest.mark.parametrize("at", ["snapshot", "append"])
async def test_killed_between_the_objects_and_the_row_there_is_no_checkpoint_and_its_id_is_free(
    journal: Journal, work: Path, tmp_path: Path, at: str
) -> None:
    store = Store(work, tmp_path / "checkpoints.git")
    timeline = Timeline(journal, store)
    await timeline.checkpoint(CheckpointKind.START)
    (work / "more").write_text("more")
    pid = os.fork()
    if not pid:
        try:
            _die_after(store, journal, at)
        finally:
            os._exit(9)
    assert end_of(pid) == -signal.SIGKILL
    with Reader(tmp_path / "journal.db") as reader:
        assert [one.id for one in reader.state().checkpoints] == ["c1"]
    await timeline.checkpoint(ASKED)
    taken = newest(journal)
    assert taken.id == "c2"
    assert store.read(taken.commit, "more") == b"more"
    found = record.decode(store.meta(taken.commit))
    assert found is not None
    assert found.id == "c2"


def end_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _die_after(store: Store, journal: Journal, at: str) -> None:
    """Take a checkpoint as the timeline does, and die: after its objects, or just before its row is written."""
    one = record.record(journal.state())
    store.snapshot(one.id, None, record.encode(one))
    if at == "append":
        journal._pen.execute("BEGIN IMMEDIATE")
    os.kill(os.getpid(), signal.SIGKILL)


async def test_a_name_stands_wherever_an_id_does(timeline: Timeline, journal: Journal, work: Path) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    (work / "src" / "a.py").write_text("better\n")
    await timeline.checkpoint(ASKED, name="before-refactor")
    (work / "src" / "a.py").write_text("worse\n")
    back = await timeline.rollback("before-refactor")
    assert back.target == "c2"
    assert (work / "src" / "a.py").read_text() == "better\n"
    assert handles.find(journal.state(), "start").id == "c1"


@pytest.mark.parametrize("name", ["c7", "C7", "start", "present", "-x", "two words", "a/b", "", "x" * 65, "ä"])
async def test_a_name_that_could_mean_something_else_is_refused(
    timeline: Timeline, journal: Journal, name: str
) -> None:
    await timeline.checkpoint(CheckpointKind.START)
    with pytest.raises(UsageError):
        handles.check_name(journal.state(), name)


async def test_a_name_is_given_once(timeline: Timeline, journal: Journal) -> None:
    await timeline.checkpoint(ASKED, name="mine")
    with pytest.raises(UsageError, match="c1 is called 'mine' already"):
        await timeline.checkpoint(ASKED, name="mine")
    assert len(journal.state().checkpoints) == 1


async def test_what_was_pruned_says_when(timeline: Timeline, journal: Journal) -> None:
    for _ in range(2):
        await timeline.checkpoint(ASKED)
    journal.append(ev.CheckpointsPruned(ids=("c1",)))
    with pytest.raises(UsageError, match=r"c1 was pruned on \d{4}-"):
        await timeline.rollback("c1")


def test_a_record_of_before_there_were_records_is_none() -> None:
    assert record.decode(b'{"marks": [], "plan": "", "position": 3}') is None
    assert record.decode(b"") is None
