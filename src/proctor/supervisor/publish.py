"""The session branch: what is verified and has no commit yet gets one, in order. Trouble is told, and tried again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.contract.model import Contract
from proctor.contract.values import Commits, SandboxKind
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal.state import GOOD, State, TaskState
from proctor.repository.branch import Branch, Point, Published, Verified, refusal
from proctor.repository.layout import Layout, find
from proctor.text import safe_line
from proctor.words import TaskStatus

if TYPE_CHECKING:  # who only looks for the place needs no session
    from proctor.supervisor.session import Session


def place(workspace: Path, contract: Contract) -> Layout | None:
    """The repository that gets the branch, None where none does. UsageError where one is asked for and cannot."""
    wanted = contract.state.commits
    if wanted is Commits.NONE or (wanted is None and contract.sandbox.kind is not SandboxKind.BWRAP):
        return None
    layout = find(workspace)
    why = refusal(layout)
    if why and wanted is Commits.SESSION_BRANCH:
        raise UsageError(f"state.commits: no session-branch here: {why}; leave it out, or say none")
    return None if why else layout


async def catch_up(s: Session) -> None:
    """Give every verified task without a commit its own. Never fails: one line in the log, and the next task tries."""
    if s.branch is None:
        return
    for task in _waiting(s.state):
        try:
            published = await asyncio.to_thread(_publish, s, s.branch, task)
        except Exception as error:  # whatever it is, the verdict stands and the work is in its checkpoint
            s.log("branch", f"task {task.id} is not on the session branch yet: {safe_line(str(error))}")
            return
        assert task.checkpoint is not None
        s.append(ev.TaskCommitted(task=task.id, checkpoint=task.checkpoint, commit=published.commit))
        for line in published.left:
            s.log("branch", f"not in the commit of task {task.id}: {line}")


def _waiting(state: State) -> list[TaskState]:
    """Verified tasks without a commit, the first verified first."""
    done = (task for task in state.tasks if task.status is TaskStatus.DONE and task.checkpoint)
    return sorted((t for t in done if t.checkpoint not in state.committed), key=lambda t: t.verified_by or 0)


def _publish(s: Session, layout: Layout, task: TaskState) -> Published:
    state = s.state
    points = {c.id: c.taken.commit for c in state.checkpoints}
    first = [c.id for c in state.checkpoints if c.taken.iteration == 0 and c.taken.checkpoint in GOOD]
    start = first[-1] if first else state.checkpoints[0].id  # the last before any work
    last = next(reversed(state.committed), start)
    assert state.born is not None
    branch = Branch(
        layout,
        s.store,
        session=state.session,
        start=Point(start, points[start]),
        born=state.born,
        scratch=s.state_dir / "branch",
        left_out=(*s.terms.owned(), *s.terms.contract.state.hide),
    )
    checkpoint = task.checkpoint or ""
    checks = tuple(check.title for check in task.checks)
    done = Verified(task.id, task.task, checks, Point(checkpoint, points[checkpoint]))
    return branch.publish(done, Point(last, points[last]), points, state.committed)
