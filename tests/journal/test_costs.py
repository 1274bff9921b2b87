"""Checks held against the work that they judge, over the last tasks."""

from __future__ import annotations

from journal.test_state import rows
from proctor.journal import events as ev
from proctor.journal.costs import dear
from proctor.journal.fold import fold_all
from proctor.words import IterationEnd, Phase, Verdict

TASKS = ev.TasksLoaded(
    tasks=tuple(ev.TaskFact(id=n, task=f"t{n}", checks=(ev.CheckFact(run=("c",)),)) for n in range(1, 5))
)


def judged(task: int, phase: Phase, seconds: float, act_seconds: float = 0.0) -> ev.Judged:
    return ev.Judged(
        task=task, iteration=task, verdict=Verdict.PASSED, phase=phase, seconds=seconds, act_seconds=act_seconds
    )


def iteration(task: int, check: float, act: float) -> list[ev.Event]:
    return [
        ev.IterationStarted(iteration=task, task=task, key=""),
        judged(task, Phase.BASELINE, 50.0),
        ev.IterationEnded(iteration=task, task=task, how=IterationEnd.EXITED),
        judged(task, Phase.WORK, check, act),
        judged(task, Phase.REPEAT, check),
        ev.TaskDone(task=task, iteration=task, checkpoint=f"c{task}"),
        ev.Settled(iteration=task, task=task, amounts={}),
    ]


def told(*more: ev.Event, tasks: int = 4, act: float = 3.0) -> tuple[float, float] | None:
    work = [event for task in range(1, tasks + 1) for event in iteration(task, 1.0, act)]
    return dear(fold_all(rows(TASKS, *work, *more)).costs)


def test_checks_of_three_tasks_that_take_longer_than_their_work_are_dear() -> None:
    assert told(act=1.5) == (6.0, 4.5)
    assert told(act=1.5, tasks=2) is None
    assert told(act=2.0) is None


def test_an_old_check_that_is_run_again_costs_the_task_at_hand() -> None:
    assert told(judged(1, Phase.REGRESSION, 20.0), tasks=3) == (26.0, 9.0)


def test_what_is_run_again_at_the_end_is_no_tasks_cost() -> None:
    again = [judged(task, Phase.REGRESSION, 20.0) for task in (1, 2, 3, 4)]
    assert told(*again, judged(4, Phase.FINAL, 20.0)) is None
