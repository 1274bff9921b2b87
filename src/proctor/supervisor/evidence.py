"""What an iteration's change did to checks: looked at after the verdict, written beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.journal.stream import iteration_dir
from proctor.oracle import looking, tamper
from proctor.oracle.check import Judgement
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Session
from proctor.workspace import files

MOST_PATHS = 200


async def of(s: Session, acted: Acted, task: TaskState, judgement: Judgement) -> list[ev.Tampered | ev.Suspected]:
    """The rows of what was tampered with and of what is suspected; none where a change is clean."""
    intent = s.state.intent
    seen = looking.Seen()
    if intent is not None and intent.tree and (intent.tree != acted.snapshot.tree or judgement.tampered):
        what = looking.Looked(
            before=intent.tree,
            after=acted.snapshot.commit,
            others=_others(s, acted.iteration),
            laid_back=judgement.tampered,
            told=_told(s, task),
        )
        folder = iteration_dir(s.state_dir, acted.iteration)
        seen = await asyncio.to_thread(looking.look, what, s.frozen, s.store, folder)
    found: list[ev.Tampered | ev.Suspected] = []
    paths = tuple(judgement.tampered[:MOST_PATHS])
    if paths or seen.tampering:
        kinds = tuple(tamper.kind(path, s.frozen) for path in paths)
        named, more = _some(seen.tampering)
        it = acted.iteration
        found.append(ev.Tampered(iteration=it, task=acted.task, paths=paths, kinds=kinds, findings=named, more=more))
    if seen.suspicion:
        named, more = _some(seen.suspicion)
        found.append(ev.Suspected(iteration=acted.iteration, task=acted.task, findings=named, more=more))
    return found


def _some(findings: Sequence[ev.Finding]) -> tuple[tuple[ev.Finding, ...], int]:
    return tuple(findings[: looking.MOST]), max(0, len(findings) - looking.MOST)


def _others(s: Session, iteration: int) -> set[str]:
    """Paths that the operator alone wrote while the worker stood still, and the harness's own files."""
    mine = (row.event for row in s.journal.rows(kinds=("operator_wrote",)))
    wrote = {path for e in mine if isinstance(e, ev.OperatorWrote) and e.iteration == iteration for path in e.mine}
    names = s.terms.contract.state
    return wrote | {names.tasks, names.progress, names.rules}


def _told(s: Session, task: TaskState) -> list[str]:
    """What a worker may write down because it was told: the task, its spec, the plan, the rules."""
    names = s.terms.contract.state
    told = [names.plan, names.rules, *([task.spec] if task.spec else [])]
    return [
        s.terms.contract.goal,
        task.task,
        *s.state.notes,
        *(files.read_optional(s.workspace, n) or "" for n in told),
    ]
