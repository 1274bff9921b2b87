"""Drift, looked at after each iteration: what it left behind becomes a row, and so does a light that changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.oracle.frozen import is_within
from proctor.progress import drift
from proctor.progress.naming import lines_that_take_leave, names
from proctor.supervisor import named, report
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.words import Drift, IterationEnd, Light, TaskStatus
from proctor.workspace import brief, files

MOST_NAMED = 20
"""Paths that open tasks and rules name, in one row."""
MOST_STALE = 10
MOST_EVIDENCE = 8
NEARLY_ALL = 0.9
"""Share of the changed files that a folder holds if the change lies in it."""
TOLD_ELSEWHERE = frozenset({Drift.PLAN_ROT, Drift.TEST_GAMING, Drift.SILENT_REGRESSION})
"""Lights of which the operator has a request or a notice already when they fire."""


async def survey(s: Session, acted: Acted, before: str) -> None:
    """Write down what an iteration left behind, held against the tree `before` it, if that is known; before the harness
    writes its own entry into the log."""
    if acted.ended.how in (IterationEnd.START_FAILED, IterationEnd.SUSPENDED):
        return
    try:
        row = await asyncio.to_thread(_surveyed, s, acted, before)
    except ProctorError as error:  # a light that is not lit must not cost the iteration
        s.log_once("drift", f"what the iteration left behind could not be looked at: {safe_line(str(error), 200)}")
        return
    s.append(row)


def _surveyed(s: Session, acted: Acted, before: str) -> ev.Surveyed:
    changed = s.store.diff(before, acted.snapshot.commit) if before else ()
    paths = [change.path for change in changed]
    try:
        grown, contradicted = s.projection.news(report.marks(s))
        stale = _stale(s, acted)
    except UsageError:
        grown, contradicted, stale = 0, 0, ()  # what stands there is no log; it is put right and said
    return ev.Surveyed(
        iteration=acted.iteration,
        task=acted.task,
        folder=safe_line(folder_of(paths), 300),
        files=len(paths),
        named=_named(s),
        grown=grown,
        contradicted=contradicted,
        stale=stale,
        undone=min(1, s.state.drift.put_back),
    )


def folder_of(paths: Iterable[str]) -> str:
    """The deepest folder that holds nearly all of some paths; "" where that is the workspace itself."""
    left = list(paths)
    enough = NEARLY_ALL * len(left)
    folder, at = "", 0
    while left:
        held = Counter(path[at:end] for path in left if (end := path.find("/", at)) >= 0)
        name, count = max(held.items(), key=lambda one: one[1], default=("", 0))
        if count < enough:
            break
        left = [path for path in left if path.startswith(f"{name}/", at)]
        at += len(name) + 1
        folder = left[0][: at - 1]
    return folder


def _named(s: Session) -> tuple[ev.Named, ...]:
    """What is there and is named by tasks that are open, and by the rules; but for what no worker may write."""
    rules = files.read_optional(s.workspace, s.terms.contract.state.rules) or ""
    tasks = [(task, spec) for task, spec in named.told(s).tasks if task.status is not TaskStatus.DONE]
    texts = [(f"task {task.id}", f"{task.task}\n{spec}") for task, spec in tasks]
    closed = s.terms.protected(s.workspace)
    found = [
        ev.Named(by, safe_line(path, 200))
        for by, text in (*texts, ("the rules", rules))
        for path in sorted(names(text).paths)
        if not is_within(path, closed) and named.there(s, path)
    ]
    return tuple(found[:MOST_NAMED])


def _stale(s: Session, acted: Acted) -> tuple[str, ...]:
    """Paths that the end of the log names, that were there at the start and are gone."""
    text = files.read_optional(s.workspace, s.terms.contract.state.progress, files.LOG_LIMIT) or ""
    tail = text[-brief.LOG_TAIL :]
    wanted = names(tail).paths - names(lines_that_take_leave([tail])).paths
    base = s.state.checkpoints[0].taken if s.state.checkpoints else None
    if base is None or not wanted:
        return ()
    gone = named.gone_paths(s, base.commit, acted.snapshot.commit, wanted)
    return tuple(safe_line(path, 200) for path in gone[:MOST_STALE])


def record(s: Session) -> None:
    """Write down each light that changed, and tell the operator of one that fires."""
    state = s.state
    for one in drift.lights(state):
        if one.light is state.drift.light(one.drift):
            continue
        why = safe_line(one.why, 300)
        evidence = tuple(safe_line(line, 300) for line in one.evidence[:MOST_EVIDENCE])
        s.append(
            ev.DriftSeen(
                drift=one.drift, light=one.light, why=why, evidence=evidence, task=one.task, iteration=state.iteration
            )
        )
        if one.light is Light.FIRING and one.drift not in TOLD_ELSEWHERE:
            s.notice(f"drift: {one.drift.replace('_', ' ')}: {why}", f"drift:{one.drift}")


def answered(s: Session, iteration: int) -> bool:
    """Whether what a light is answered is written down already: a decision may be taken twice."""
    return any(one.iteration == iteration for one in s.state.drift.answered)
