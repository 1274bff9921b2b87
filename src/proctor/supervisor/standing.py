"""What was verified still stands: the smoke check before a worker starts, and old checks run again after a pass."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.checkpoint.repository import Snapshot
from proctor.errors import Unrecoverable
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.oracle.check import Judgement
from proctor.supervisor import judging
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Session
from proctor.text import file_name
from proctor.words import Phase, TaskStatus, Verdict

TWICE = 2
"""Regressions of a task after which it needs a person: its check may contradict another's."""
NOT_RUN = (Verdict.INFRA, Verdict.VACUOUS)


async def smoke(s: Session) -> None:
    """Run the smoke check on what a worker would find, unless it is known to pass there. Unrecoverable if it cannot be
    run, unless that is since a worker was there: what it takes to run it is then for the next one to mend."""
    checks = s.terms.smoke_checks()
    if not checks:
        return
    snapshot = await s.timeline.snapshot("smoke")
    if snapshot.tree == s.state.smoked and s.state.broken is None:
        return
    judgement = await judging.run(s, snapshot.commit, checks, s.state_dir / "checks" / "smoke")
    if not s.state.smoked and s.state.broken is None:
        judgement = await judging.completed(s, judgement)
    row = judging.judged(judgement, snapshot.tree, iteration=s.state.iteration, task=None, phase=Phase.SMOKE)
    ran = s.state.smoked or (s.state.broken is not None and s.state.broken.verdict is not Verdict.INFRA)
    if judgement.verdict is Verdict.INFRA or (judging.never_ran(judgement) and not ran):
        s.append(replace(row, verdict=Verdict.INFRA))
        fix = f"install what it runs, or name another{judging.see(judgement.log)}"
        raise Unrecoverable(f"progress.smoke: it cannot be run: {row.reason}; {fix}", "oracle")
    s.append(row)


async def after(s: Session, acted: Acted) -> None:
    """Run checks of verified tasks again on the tree of a new pass, those first whose last pass is oldest, for as long
    as the contract's share of the iteration allows; at least one."""
    share = s.terms.contract.progress.regression
    left = acted.ended.active_ms / 1000 * share / 100
    for number, task in enumerate(_due(s, acted.snapshot) if share else ()):
        assert task.proved is not None
        if number and task.proved.seconds > left:
            return
        left -= await _again(s, task, acted.snapshot, acted.iteration)


async def at_end(s: Session) -> str | None:
    """Run the smoke check and that of every verified task again on what is there now; in a line what cannot be run, or
    that the smoke check fails. A task whose check does not pass, or not twice, is open again.
    """
    snapshot = await s.timeline.snapshot("regression")
    for task in _due(s, snapshot):
        await _again(s, task, snapshot, s.state.iteration, last=True)
        now = s.state.task(task.id)
        if now is not None and now.status is TaskStatus.DONE and now.proved == task.proved:
            return f"the check of task {task.id} cannot be run again"
    await smoke(s)
    return f"the smoke check: {s.state.broken.reason}" if s.state.broken else None


def _due(s: Session, snapshot: Snapshot) -> list[TaskState]:
    """Verified tasks whose checks have not passed on this very tree."""
    done = (task for task in s.state.tasks if task.status is TaskStatus.DONE and task.proved is not None)
    told = [task for task in done if task.proved and task.proved.tree != snapshot.tree]
    return sorted(told, key=lambda task: task.proved.iteration if task.proved else 0)


async def _again(s: Session, task: TaskState, snapshot: Snapshot, iteration: int, *, last: bool = False) -> float:
    """Run one task's check again, and once more if it fails; the seconds it took."""
    first = await _judge(s, task, snapshot, iteration, "1")
    if first.verdict is Verdict.PASSED or first.verdict in NOT_RUN:
        return first.seconds
    second = await _judge(s, task, snapshot, iteration, "2")
    if second.verdict not in NOT_RUN and (second.verdict is not Verdict.PASSED or last):
        _reopen(s, task, iteration, first)
    return first.seconds + second.seconds


async def _judge(s: Session, task: TaskState, snapshot: Snapshot, iteration: int, name: str) -> Judgement:
    folder = s.state_dir / "checks" / f"again-{file_name(str(task.id))}-{name}"
    where = judging.Where(snapshot, iteration, task.id, folder)
    judgement = await judging.held(s, task.checks, where, folder, judging.before(s, task.id))
    s.append(judging.judged(judgement, snapshot.tree, iteration=iteration, task=task.id, phase=Phase.REGRESSION))
    return judgement


def _reopen(s: Session, task: TaskState, iteration: int, judgement: Judgement) -> None:
    assert task.proved is not None
    reason = judging.reason(judgement)
    row = ev.Regressed(
        iteration=iteration,
        task=task.id,
        verdict=judgement.verdict,
        reason=reason,
        passed_in=task.proved.iteration,
        checkpoint=_last_good(s, task),
    )
    rows: list[ev.Event] = [row]
    if task.regressions + 1 >= TWICE:
        why = "verified and lost again, twice: does its check contradict another task's?"
        rows.append(ev.TaskMoved(task=task.id, status=TaskStatus.REVIEW, why=why))
    s.append(*rows)
    back = f"; `proctor rollback --to {row.checkpoint}` takes all back to there" if row.checkpoint else ""
    s.notice(f"task {task.id} fails again: {reason}{back}", f"regression:{task.id}", "high")


def _last_good(s: Session, task: TaskState) -> str:
    """The newest checkpoint on which this task's check is known to have passed; "" where no tree is."""
    if not task.proved or not task.proved.tree:
        return ""
    found = [c.id for c in s.state.checkpoints if c.taken.tree == task.proved.tree]
    return found[-1] if found else task.checkpoint or ""
