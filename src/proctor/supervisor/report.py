"""What the harness writes into the workspace: statuses in the task list, entries in the log."""

from __future__ import annotations

from datetime import UTC, datetime

from proctor.contract.problems import FILE
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal import findings
from proctor.journal.state import CUT_SHORT
from proctor.oracle.check import Judgement
from proctor.supervisor import revising
from proctor.supervisor.act import Acted
from proctor.supervisor.decide import CONFLICT
from proctor.supervisor.ending import Ending
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.units import counted, format_amount
from proctor.words import Dimension, IterationEnd, Source, TaskStatus, Verdict
from proctor.workspace import tasks
from proctor.workspace.log import Entry
from proctor.workspace.marking import Mark

NOT_JUDGED = "not judged: its worker was cut short before it did anything"


def read_tasks(s: Session) -> None:
    """Read the operator's task list; what the journal knows of a task stays."""
    names = s.terms.contract.state
    read = tasks.read(s.workspace, names.tasks, names.plan, s.terms.default_checks())
    known = tuple(ev.TaskFact(id=t.id, task=t.task, spec=t.spec, checks=t.checks) for t in s.state.tasks)
    if read != known:
        s.append(ev.TasksLoaded(tasks=read))
    s.projection.keep()
    revising.plan(s)


def marks(s: Session) -> list[Mark]:
    """What the journal says of every task."""
    state = s.state
    commits = state.committed if s.branch else {c.id: c.taken.commit for c in state.checkpoints}
    return [
        Mark(
            t.id,
            t.status,
            t.verified_by,
            commits.get(t.checkpoint or "") if t.status is TaskStatus.DONE else None,
            t.why or None,
        )
        for t in state.tasks
    ]


def restore(s: Session) -> None:
    """Undo what a worker did to the harness's files since it started, and say so; an operator's edits stay."""
    if not s.dirty:
        return
    s.dirty = False
    try:
        undone = s.projection.restore()
        if FILE in s.state.exposed:
            undone += s.projection.put_back(FILE, s.contract_text)
            s.append(ev.TakenOver(paths=(FILE,), by="put back"))
    except UsageError as error:
        undone = (str(error),)
    for line in undone:
        s.log("workspace", line)


def conflicts(s: Session, number: int, task: ev.TaskId) -> None:
    """Take a worker's `conflict:` lines in the log for what they are: a claim that its check is wrong."""
    try:
        said = s.projection.conflicts()
    except UsageError:
        return  # what stands there is no log; it is put right and said
    if said:
        s.append(ev.ClaimRecorded(iteration=number, task=task, status=CONFLICT, why=safe_line("; ".join(said), 1_000)))


def iteration(s: Session, acted: Acted, judgement: Judgement | None, mended: bool = False) -> None:
    """Project the task list and add the iteration's entry to the log."""
    task = s.state.task(acted.task)
    cut = acted.ended.how in CUT_SHORT - {IterationEnd.SUSPENDED}
    unjudged = "not judged: the project was mended before it" if mended else NOT_JUDGED if cut else "not judged"
    verdict = str(judgement.verdict) if judgement else unjudged
    claim = f"claimed {task.claim}" if task and task.claim else "no claim"
    found = judgement.reason if judgement else acted.ended.detail
    open_tasks = s.state.open_tasks
    following = f"task {open_tasks[0].id}: {open_tasks[0].task}" if open_tasks else "no task is open"
    size = f"{counted(acted.ended.files, 'file')}, {counted(acted.ended.lines, 'line')} changed; {claim}"
    if task and (commit := s.state.committed.get(task.checkpoint or "")):
        size += f"; commit {commit[:12]}"
    found = "; ".join(filter(None, (found if verdict != Verdict.PASSED else "", _tampering(s, acted.iteration))))
    entry(s, f"task {acted.task} {verdict}", size, found, following)


def _tampering(s: Session, iteration: int) -> str:
    """What was tampered with in an iteration, "" for nothing."""
    if s.state.tampered_in != iteration:
        return ""
    said = [f"{one.where} ({findings.why(one)})" for one in s.state.findings[:3]]
    more = f" and {len(s.state.findings) - 3} more" if len(s.state.findings) > 3 else ""
    undone = "" if s.state.gamed_in == iteration else ", undone for the verdict"
    return f"tampering: {', '.join(said) or 'what checks rest on was changed'}{more}{undone}"


def went_back(s: Session, back: ev.RolledBack) -> None:
    """Project the task list anew after a rollback."""
    mine = f"; {counted(len(back.mine), 'edit')} of the operator's left in place" if back.mine else ""
    taken = [str(task.id) for task in s.state.tasks if task.taken_back]
    found = f"before it: {back.safety}" + (f"; taken back: task {', '.join(taken)}" if taken else "")
    done = f"{counted(back.changed, 'file')} put back by the harness{mine}"
    entry(s, f"{back.way} to {back.target}", done, found, "")


def ended(s: Session, ending: Ending) -> None:
    """The session's last entry."""
    done = sum(t.status is TaskStatus.DONE for t in s.state.tasks)
    figures = s.account.figures()
    used = ", ".join(
        f"{dimension} {format_amount(dimension, figures[dimension].used)}"
        for dimension in (Dimension.WALL_CLOCK, Dimension.TOKENS, Dimension.COST)
        if dimension in figures and figures[dimension].source is not Source.UNKNOWN
    )
    why = f", {ending.why}" if ending.why else ""
    entry(s, f"session {ending.status}{why}", f"{done} of {len(s.state.tasks)} tasks verified; {used}", "", "")


def entry(s: Session, headline: str, done: str, found: str, following: str) -> None:
    """One entry in the log, and the task list as the journal has it; what stands in the way is put right and said."""
    restore(s)
    known = project(s)
    try:
        s.projection.append(Entry(datetime.now(UTC), headline, done, found, following), known)
    except UsageError as error:
        s.log("workspace", str(error))


def project(s: Session) -> list[Mark]:
    """Write the task list as the journal has it; the marks that it got."""
    known = marks(s)
    try:
        s.projection.project(known)
    except UsageError as error:
        s.log("workspace", str(error))
    return known
