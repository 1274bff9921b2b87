"""What of a session's past may go: what is old and needed by nothing, and never anything else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from proctor.journal import events as ev
from proctor.journal.fold import fold_all
from proctor.journal.state import State
from proctor.supervisor.retention import dispensable, needed_checkpoints
from proctor.words import CheckpointKind, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ASKED, SAFETY, TASK = CheckpointKind.ASKED, CheckpointKind.SAFETY, CheckpointKind.TASK


class Past:
    """Rows a day apart."""

    def __init__(self) -> None:
        self.rows: list[ev.Row] = []
        self.add(ev.TasksLoaded(tasks=(ev.TaskFact(id=1, task="one"), ev.TaskFact(id=2, task="two"))))
        self.take(CheckpointKind.START)

    def add(self, *events: ev.Event) -> None:
        for event in events:
            seq = len(self.rows) + 1
            self.rows.append(ev.Row(seq=seq, at=START + seq * DAY, token=1, event=event))

    def take(self, kind: CheckpointKind, **more: object) -> str:
        state = self.state
        marks = more.pop("marks", state.marks)
        name = state.next_checkpoint
        self.add(ev.CheckpointTaken(id=name, checkpoint=kind, commit=name, tree=name, marks=marks, **more))  # type: ignore[arg-type]
        return name

    def verify(self, task: int) -> str:
        done = ev.TaskMark(id=task, status=TaskStatus.DONE, verified_by=len(self.rows) + 2)
        marks = tuple(done if mark.id == task else mark for mark in self.state.marks)
        name = self.take(TASK, task=task, marks=marks)
        self.add(ev.TaskDone(task=task, iteration=1, checkpoint=name))
        return name

    def roll_back(self, to: str) -> str:
        safety = self.take(SAFETY)
        self.add(
            ev.RollbackBegun(safety=safety, target=to, way="rollback"),
            ev.RolledBack(safety=safety, target=to, way="rollback"),
        )
        return safety

    @property
    def state(self) -> State:
        return fold_all(self.rows)

    def gone(self, days: float = 0) -> set[str]:
        end = self.rows[-1].at
        return set(dispensable(self.state, {}, end - days * DAY + DAY / 2).checkpoints)


def test_what_is_old_and_needed_by_nothing_goes() -> None:
    past = Past()
    old = past.take(ASKED)
    past.take(ASKED)
    assert past.gone() == {old}


def test_what_is_young_stays() -> None:
    past = Past()
    old, young = past.take(ASKED), past.take(ASKED)
    past.take(ASKED)
    assert past.gone(days=2) == {old}
    assert young not in past.gone(days=2)


def test_the_start_what_is_named_the_last_good_one_and_the_newest_stay() -> None:
    past = Past()
    named = past.take(ASKED, name="before-refactor")
    good, newest = past.take(ASKED), past.take(SAFETY)
    assert needed_checkpoints(past.state) >= {"c1", named, good, newest}


def test_what_undo_and_redo_go_to_stays() -> None:
    past = Past()
    first, second = past.take(ASKED), past.take(ASKED)
    safety = past.roll_back(first)
    past.take(ASKED)
    assert past.gone() == {second} - {past.state.checkpoint(safety).good}  # type: ignore[union-attr]
    assert {first, safety} <= needed_checkpoints(past.state)


def test_what_a_pending_rollback_needs_stays() -> None:
    past = Past()
    target = past.take(ASKED)
    safety = past.take(SAFETY)
    past.add(ev.RollbackBegun(safety=safety, target=target, way="rollback"))
    past.take(ASKED)
    assert not past.gone() & {target, safety}


def test_each_verified_task_keeps_its_newest_checkpoint_also_when_it_was_taken_back() -> None:
    past = Past()
    one = past.verify(1)
    past.roll_back("c1")
    again, two = past.verify(1), past.verify(2)
    past.take(ASKED)
    assert not past.gone() & {again, two}
    assert one in needed_checkpoints(past.state)  # the safety checkpoint, to which undo goes, has the task done by it


def test_the_good_checkpoint_as_of_one_that_stays_does_too() -> None:
    past = Past()
    good = past.take(ASKED)
    past.take(SAFETY, name="mine")
    past.take(ASKED)
    past.take(ASKED)
    assert good in needed_checkpoints(past.state)


def test_what_the_session_branch_ends_with_stays() -> None:
    past = Past()
    task = past.verify(1)
    past.add(ev.TaskCommitted(task=1, checkpoint=task, commit="f" * 40))
    past.take(ASKED)
    assert task not in past.gone()


def test_an_id_is_never_used_twice() -> None:
    past = Past()
    for _ in range(3):
        past.take(ASKED)
    past.add(ev.CheckpointsPruned(ids=("c3", "c4")))
    assert [c.id for c in past.state.checkpoints] == ["c1", "c2"]
    assert past.state.next_checkpoint == "c5"


def test_old_iterations_go_but_for_the_last_one() -> None:
    past = Past()
    for number in (1, 2, 3):
        past.add(ev.IterationStarted(iteration=number, task=1, key=str(number)))
    ended = {1: START, 2: START + 100 * DAY, 3: START}
    assert dispensable(past.state, ended, START + DAY).iterations == (1,)
