"""Plan rot: what a task is told about was there when the plan was accepted, and is gone now.

What never was there is for a task to make, and what some line of the plan, a task or a spec says is to be removed or
renamed may go. A task that names what is gone waits: until the plan is revised, the thing is there again, or the
operator holds to the plan as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.progress.naming import Names
from proctor.supervisor import freezing, outcome, report
from proctor.supervisor.asking import PROCTOR
from proctor.supervisor.desk import Desk
from proctor.supervisor.named import Told, gone_paths, gone_words, there, told
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.words import Drift, RequestKind, RequestOutcome, TaskStatus
from proctor.workspace import files

SET_ASIDE = "plan_rot: "
"""How the reason begins of a task that waits for its plan."""
MOST = 10
"""Gone names of one task that are named."""
LONGEST = 2_000
"""Characters of a name: no plan names a longer one."""
LOOK_EVERY = 0.5
"""Seconds between looks at the plan while the operator is asked."""
REVISED = "the plan fits again"


async def look(s: Session) -> Mapping[ev.TaskId, tuple[str, ...]]:
    """What each task that is not verified names and is gone, but for what the operator holds to; written down where it
    changed. A plan that names nothing of the kind is accepted as of now."""
    state = s.state
    if not state.drift.window(Drift.PLAN_ROT) or not state.checkpoints:
        return {}
    said = told(s)
    waiting = [task for task in state.tasks if task.status in (TaskStatus.PENDING, TaskStatus.FAILED) or _aside(task)]
    base = state.checkpoint(state.drift.base) or state.checkpoints[0]
    present = await s.timeline.seen()
    rotten: dict[ev.TaskId, tuple[str, ...]] = {}
    if present and state.drift.plan and base.taken.tree != state.tree:
        try:
            rotten = await asyncio.to_thread(_rotten, s, said, waiting, base.taken.commit, present)
        except ProctorError as error:
            s.log_once("drift", f"whether the plan still fits could not be seen: {safe_line(str(error), 200)}")
            return {}
    known = {one.task: one.gone for one in state.drift.rot}
    rows: list[ev.Event] = [
        ev.PlanRotted(task=task.id, gone=rotten.get(task.id, ()))
        for task in waiting
        if rotten.get(task.id, ()) != known.get(task.id, ())
    ]
    if not rotten and said.rev != state.drift.plan:
        rows.append(ev.PlanAccepted(plan=said.rev, checkpoint=state.checkpoints[-1].id))
    if rows:
        s.append(*rows)
    return rotten


def _rotten(
    s: Session, said: Told, tasks: list[TaskState], base: str, present: str
) -> dict[ev.TaskId, tuple[str, ...]]:
    """Blocks: call it from a thread."""
    may_go = said.may_go()
    wanted = {task.id: said.of(task).without(may_go) for task in tasks}
    every = Names(*(frozenset().union(*(getattr(one, kind) for one in wanted.values())) for kind in Names._fields))
    names_of = s.terms.contract.state
    prose = {names_of.plan, names_of.tasks, names_of.progress, names_of.rules, *(t.spec for t in tasks if t.spec)}
    gone = {
        *gone_paths(s, base, present, every.paths - prose),
        *gone_words(s.store, base, present, every, prose),
    }
    lost = {name for name in gone if shown(name) not in s.state.drift.confirmed}
    found = {}
    for task in tasks:
        one = wanted[task.id]
        mine = {*one.paths, *one.symbols, *(f"make {t}" for t in one.targets), *(f"script {x}" for x in one.scripts)}
        if lacking := sorted(lost & mine):
            found[task.id] = tuple(map(shown, lacking[:MOST]))
    return found


def shown(name: str) -> str:
    """A name as rows have it, and so as the operator holds to it: whole."""
    return safe_line(name, LONGEST)


def _aside(task: TaskState) -> bool:
    return task.status is TaskStatus.BLOCKED and task.why.startswith(SET_ASIDE)


def again(s: Session) -> None:
    """Open the tasks that were set aside: in a new run they are looked at, and asked about, anew."""
    s.append(*(ev.TaskMoved(task=task.id, status=TaskStatus.PENDING) for task in s.state.tasks if _aside(task)))


async def reopen(s: Session) -> Mapping[ev.TaskId, tuple[str, ...]]:
    """Open the tasks that waited for a plan that fits again; what the others name and is gone."""
    rotten = await look(s)
    back = [task.id for task in s.state.tasks if _aside(task) and task.id not in rotten]
    if back:
        s.append(*(ev.TaskMoved(task=task, status=TaskStatus.PENDING, why=REVISED) for task in back))
    return rotten


async def ask(s: Session, desk: Desk, task: TaskState, gone: tuple[str, ...]) -> None:
    """The plan names what is gone. Granted: it stands all the same. Denied: the task is set aside until it is revised.
    If it is revised meanwhile, nothing is left to be asked."""
    more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    some = ", ".join(safe_line(name, 200) for name in gone[:3]) + more
    opened = desk.opened(
        RequestKind.PLAN_ROT,
        f"task {task.id} names what is gone: {some}. Does the plan stand?",
        "it was there when the plan was accepted. Yes: the plan stands. No: the task waits until the plan is revised; "
        "revise it now, and nothing is left to be asked",
        task=task.id,
    )
    watch = asyncio.create_task(_until_it_fits(s, desk, task.id, opened))
    try:
        granted = await outcome.answered(s, desk, opened, outcome.asking(opened))
    finally:
        watch.cancel()
    s.work()
    closed = s.state.request(opened.id)
    if granted:
        s.append(ev.PlanConfirmed(gone=gone, by=closed.by if closed else ""))
    elif closed is not None and closed.outcome is RequestOutcome.DENIED:
        s.append(ev.TaskMoved(task=task.id, status=TaskStatus.BLOCKED, why=f"{SET_ASIDE}{some} is gone"))


async def _until_it_fits(s: Session, desk: Desk, task: ev.TaskId, opened: ev.RequestOpened) -> None:
    """Withdraw the question once the plan was revised, or what it names is there again."""
    gone = next((one.gone for one in s.state.drift.rot if one.task == task), ())
    names_of = s.terms.contract.state

    def seen() -> tuple[object, ...]:
        try:
            return files.read_optional(s.workspace, names_of.tasks), told(s).rev, [there(s, path) for path in gone]
        except UsageError as error:  # it is being written, or is no file of text just now
            return (str(error),)

    before: tuple[object, ...] = ()  # it may have been revised while the question was put
    while True:
        await asyncio.sleep(LOOK_EVERY)
        try:
            if before == (before := seen()):
                continue
            report.read_tasks(s)
            await freezing.adopt(s)
        except UsageError as error:
            s.log_once("drift", f"the plan is not revised yet: {error}")
            continue
        if task not in await look(s):
            desk.close_request(opened, RequestOutcome.WITHDRAWN, PROCTOR, REVISED)
            return
