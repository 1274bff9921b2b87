"""The one loop. Load, select, reserve, act, judge, commit, decide: seven steps, each a function below.

Steps take and return values; what happened is in the journal before the next step relies on it. A step that the
operator interrupts raises `Interrupted`, and the order is carried out between steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from msgspec.structs import replace

from proctor.budget.reserve import DoesNotFit
from proctor.budget.reserve import reserve as share
from proctor.checkpoint.record import Change, Snapshot, raw
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.oracle.check import Judgement
from proctor.repository import aside
from proctor.supervisor import (
    before,
    briefing,
    drifting,
    evidence,
    freezing,
    judging,
    obey,
    outcome,
    proofs,
    publish,
    report,
    rot,
    standing,
)
from proctor.supervisor.act import BACK_OFF, Acted, by_itself, put_right, run_worker
from proctor.supervisor.decide import Move, decide
from proctor.supervisor.desk import Desk
from proctor.supervisor.disk import Full
from proctor.supervisor.ending import Ending
from proctor.supervisor.session import Interrupted, Session
from proctor.text import safe_line
from proctor.words import AtSoft, Dimension, IterationEnd, SessionStatus, Step, TaskStatus, Verdict


async def run(s: Session, desk: Desk) -> Ending:
    """Go round until something ends the session."""
    await publish.catch_up(s)
    go = before.settle
    while True:
        try:
            ending = await go(s, desk)
            go = one_pass
        except Interrupted:
            ending = await obey.carry_out(s, desk)
        except Full as short:  # the iteration stays pending: what the worker left is taken down when there is room
            s.log("disk", str(short))
            s.notice(str(short), "disk", "high")
            ending = Ending(SessionStatus.PARKED, "disk")
        if ending is not None:
            return ending


async def one_pass(s: Session, desk: Desk) -> Ending | None:
    """One iteration: the seven steps in their order."""
    acted = await load(s)
    if s.state.settled > s.state.decided:
        return await settle(s, desk, s.state.settled)
    if acted is None:
        task = await select(s, desk)
        if isinstance(task, Ending):
            return task
        lacking = reserve(s, task)
        if lacking is not None:
            return await outcome.exhausted(s, desk, lacking)
        acted = await act(s, desk, task)
    judgement = await judge(s, acted)
    await commit(s, acted, judgement)
    return await settle(s, desk, acted.iteration)


async def load(s: Session) -> Acted | None:
    """Wait until the session may work, and pick up an iteration that an earlier supervisor left pending."""
    s.enter(Step.LOAD)
    await s.until(lambda: not (s.paused or s.waiting_requests))
    s.work()
    return await pending(s)


async def pending(s: Session) -> Acted | None:
    """The iteration whose outcome is unknown: its tree is judged, its worker is not run again."""
    intent = s.state.intent
    if intent is None:
        return None
    async with by_itself(s):
        await put_right(s, intent.iteration)
    snapshot = await s.timeline.snapshot("after")
    ended = s.state.intent_end
    if ended is None:
        seen = await s.timeline.seen()
        changed = _plain(await asyncio.to_thread(_work, s, seen, snapshot.tree)) if seen else []
        left = f"in no checkpoint: {safe_line(', '.join(snapshot.skipped[:3]), 200)}" if snapshot.skipped else ""
        ended = replace(await _ended(s, intent, IterationEnd.INTERRUPTED, snapshot, changed), detail=left)
        s.append(ended)
    s.account.begin(intent.model, s.state.begun)
    return Acted(intent.iteration, intent.task, snapshot, ended)


async def select(s: Session, desk: Desk) -> TaskState | Ending:
    """The next open task whose check is known to fail now, or any while the project is broken and to be mended first;
    the end of the session where there is none."""
    s.enter(Step.SELECT)
    while True:
        s.heed()
        await freezing.adopt(s)
        rotten = await rot.reopen(s)
        open_tasks = s.state.open_tasks
        if s.at_soft(AtSoft.NO_NEW_TASKS) and not s.options.once:
            begun = tuple(task for task in open_tasks if task.iterations)
            if open_tasks and not begun:
                return Ending(SessionStatus.PARKED, f"budget:{outcome.highest_dimension(s)}")
            open_tasks = begun
        if not open_tasks:
            ending = await outcome.finish(s, desk)
            if ending is not None:
                return ending
            continue
        task = open_tasks[0]
        if gone := rotten.get(task.id):
            drifting.record(s)
            await rot.ask(s, desk, task, gone)
            continue
        if judging.cannot_pass(s, task):
            continue
        await standing.smoke(s)
        if s.state.broken or task.known_to_fail or await judging.baseline(s, task):
            found = s.state.task(task.id)
            assert found is not None
            return found


def reserve(s: Session, task: TaskState) -> DoesNotFit | None:
    """Set the task's share of every ceiling aside, or say which ceiling forbids to start it."""
    s.enter(Step.RESERVE, task.id)
    outcome.degrade(s)
    bound = s.binding()
    if bound is not None and bound.action is not None:
        return DoesNotFit(bound.dimension, 1, 0, bound.action)
    state = s.state
    verified = [t.spent for t in state.tasks if t.status is TaskStatus.DONE]
    amounts = share(s.ceilings, s.account.figures(), len(state.open_tasks), verified, task.spent)
    if isinstance(amounts, DoesNotFit):
        return amounts
    s.append(ev.Reserved(iteration=state.iteration + 1, task=task.id, amounts=amounts))
    return None


async def act(s: Session, desk: Desk, task: TaskState) -> Acted:
    """Write the intent, run one worker, and take down the tree it left."""
    number = s.state.iteration + 1
    narrow = task.narrow or s.at_soft(AtSoft.NARROW)
    key = f"{s.state.session}/{task.id}/{number}"
    brief = await briefing.build(s, task)
    before = await s.timeline.present()
    model = briefing.model(s)
    work = await asyncio.to_thread(s.store.without_ignored, before)
    intent = ev.IterationStarted(
        iteration=number, task=task.id, key=key, model=model, narrow=narrow, tree=before.tree, work=work
    )
    if s.state.broken:
        intent = replace(intent, repair=True, repair_only=not task.known_to_fail)
    s.enter(Step.ACT, task.id)
    async with by_itself(s):
        s.disk.begin()
        s.append(intent)
        try:
            how, code, detail = await run_worker(s, desk, intent, brief)
        finally:
            await put_right(s, number)
    s.disk.check()
    s.heed("rollback", "undo")
    report.restore(s)
    snapshot = await s.timeline.snapshot("after")
    whole = await asyncio.to_thread(_work, s, before.commit, snapshot.commit)
    s.touched(s.blast.add(_counted(whole, s.blast.files)))
    changed = _plain(whole)
    if how is IterationEnd.START_FAILED and changed:
        how = IterationEnd.EXITED  # the tree says that it worked, though the watcher had not said so yet
    active = s.account.iteration_used().get(Dimension.WALL_CLOCK, 0)
    ended = await _ended(s, intent, how, snapshot, changed)
    ended = replace(ended, exit_code=code, active_ms=active, detail=detail, hindered=s.hindered)
    s.append(ended)
    await s.timeline.careful(snapshot)
    s.check_budget()
    return Acted(number, task.id, snapshot, ended)


def _work(s: Session, before: str, after: str) -> list[Change]:
    """What a worker changed between two checkpoints, but for the innards of repositories that were renamed."""
    changed = s.store.diff(before, after, ignored=True)
    innards = aside.on_disk(s.workspace, (raw(change.path) for change in changed))
    return [change for change in changed if not innards.is_innards(raw(change.path))]


def _plain(changed: list[Change]) -> list[Change]:
    """Without what ignore rules leave out."""
    return [change for change in changed if not change.ignored]


def _counted(changed: list[Change], touched: Collection[str]) -> list[Change]:
    """What of a change counts as touched: ignored files too, once a worker wrote the rules that say what is ignored."""
    paths = (*touched, *(change.path for change in changed))
    return changed if any(path.rpartition("/")[2] == ".gitignore" for path in paths) else _plain(changed)


async def _ended(
    s: Session, intent: ev.IterationStarted, how: IterationEnd, snapshot: Snapshot, changed: list[Change]
) -> ev.IterationEnded:
    return ev.IterationEnded(
        iteration=intent.iteration,
        task=intent.task,
        how=how,
        files=len(changed),
        lines=sum(change.added + change.removed for change in changed),
        tree=snapshot.tree,
        work=await asyncio.to_thread(s.store.without_ignored, snapshot),
    )


async def judge(s: Session, acted: Acted) -> Judgement | None:
    """The harness runs the check on what is there; None where no worker ran, where one was cut short before it did
    anything, or where it had the project to mend and nothing else, and has done so."""
    s.enter(Step.JUDGE, acted.task)
    s.heed("stop", "rollback", "undo")
    if acted.ended.how in (IterationEnd.START_FAILED, IterationEnd.SUSPENDED):
        return None
    task = s.state.task(acted.task)
    if task is None or task.status is TaskStatus.DONE:
        return None
    report.conflicts(s, acted.iteration, acted.task)
    if judging.without_work(s, acted):
        return None
    mine = evidence.others(s, acted.iteration)
    await freezing.take_over(s, mine)
    async with evidence.beside(s, acted, task) as seen_with:
        judgement = await judging.of_work(s, acted, task)
        judgement = await proofs.marked(s, judging.before(s, task.id), judgement, mine)
        seen = await seen_with(judgement)
    mended = judgement.verdict is Verdict.PASSED and judging.only_repairs(s)
    judging.record(s, acted, judgement, seen, mended=mended)
    return None if mended else judgement


async def commit(s: Session, acted: Acted, judgement: Judgement | None) -> None:
    """One transaction: the verified task with its checkpoint, and the reservation settled."""
    s.enter(Step.COMMIT, acted.task)
    task = s.state.task(acted.task)
    passed = judgement is not None and judgement.verdict is Verdict.PASSED
    before = s.state.intent.tree if s.state.intent else ""
    mended = judging.only_repairs(s) and s.state.broken is None
    if judgement is not None and not passed and task is not None:
        await judging.go_back(s, acted, task, judgement)
    used = s.account.end()

    def settled() -> tuple[ev.Event, ...]:
        """Counted when the rows are written: the clocks go on meanwhile."""
        spent = ev.Spent(figures=s.account.figures())
        return spent, ev.Settled(iteration=acted.iteration, task=acted.task, amounts=used)

    if passed and not evidence.holds_back(s, acted.iteration):
        await s.timeline.verified(acted.snapshot, acted.task, acted.iteration, settled)
        await publish.catch_up(s)
        await standing.after(s, acted)
    else:
        s.append(*settled())
    await drifting.survey(s, acted, before)
    report.iteration(s, acted, judgement, mended)
    s.check_budget()


async def settle(s: Session, desk: Desk, iteration: int) -> Ending | None:
    """Decide, carry it out, and write it down last: a restart in between decides again, from the same facts; and so
    does a session that goes on after a question, or after a ceiling."""
    s.enter(Step.DECIDE)
    await evidence.resume(s, iteration)
    while True:
        facts = outcome.facts_after(s, iteration)
        decision = decide(facts)
        outcome.record(s, iteration, decision, facts.standing)
        ending = await outcome.apply(s, desk, decision)
        if ending is not None or decision.move is not Move.ESCALATE or decision.signal is not None:
            break
    if not decision.for_now:
        s.append(ev.Decided(iteration=iteration, move=decision.move, why=decision.why))
    if ending is None and s.options.once:  # one worker, also where the last checks open a task again
        ending = None if s.state.open_tasks else await outcome.finish(s, desk)
        return ending or Ending(SessionStatus.PARKED, "operator")
    s.heed()
    if facts.start_failures:
        await s.pause(BACK_OFF[min(facts.start_failures, len(BACK_OFF)) - 1])
    elif s.hindered:
        await s.pause(BACK_OFF[0])
    return ending
