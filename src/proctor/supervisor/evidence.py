"""What an iteration's change did to checks: looked at while these run, written beside their verdict."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Any

from msgspec.structs import replace

from proctor.contract.values import OnTampering
from proctor.journal import events as ev
from proctor.journal import findings
from proctor.journal.state import TaskState
from proctor.journal.stream import iteration_dir
from proctor.oracle import looking, tamper
from proctor.oracle.check import Judgement
from proctor.oracle.runners import Outcome
from proctor.supervisor import judging, publish
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Session
from proctor.units import counted
from proctor.words import RequestKind, RequestOutcome, Response, TaskStatus, Verdict

Rows = list[ev.Tampered | ev.Suspected]

UNANSWERED = (None, RequestOutcome.WITHDRAWN)
"""Outcomes of a question that is still to be asked."""
MOST_PATHS = 200
MOST_HUNKS = 5
"""Hunks that a request shows; the iteration's folder has all."""


@contextlib.asynccontextmanager
async def beside(s: Session, acted: Acted, task: TaskState) -> AsyncIterator[Callable[[Judgement], Awaitable[Rows]]]:
    """Looks at a change while its checks run; what this gives says the rows that come of it and of the verdict."""
    before = _before(s)
    begun: asyncio.Task[looking.Seen] | None = None
    if before and before != acted.snapshot.tree:
        begun = asyncio.create_task(_look(s, acted, task, before))
    try:
        yield lambda judgement: _rows(s, acted, task, judgement, begun)
    finally:
        if begun is not None and not begun.done():
            begun.cancel()


_SAME = ("expect.golden", "artifact.equals")
"""The keys of a check whose files it wants to be put out as they are."""


def _before(s: Session) -> str:
    """The tree from which a change is looked at."""
    return _again(s) or (s.state.intent.tree if s.state.intent else "")


def _again(s: Session) -> str:
    """The tree before what was held back or not looked at, if there is any: it may still be there."""
    return s.state.unlooked if s.terms.contract.progress.on_tampering is not OnTampering.RECORD else ""


async def _look(s: Session, acted: Acted, task: TaskState, before: str, laid_back: Sequence[str] = ()) -> looking.Seen:
    names = s.terms.contract.state
    what = looking.Looked(
        before=before,
        after=acted.snapshot.commit,
        others=others(s, acted.iteration),
        laid_back=laid_back,
        told=(s.terms.contract.goal, task.task, *s.state.notes),
        told_in=tuple(filter(None, (names.plan, names.rules, task.spec))),
        failed=await asyncio.to_thread(_failed, s),
        first=_first(s),
        runs=[" ".join(check.run) for check in _checks(s)],
        wanted=[text for check in _checks(s) for text in (check.expected.text, check.expected.equals) if text],
        compared=[path for check in _checks(s) for key, path in check.files.items() if key in _SAME],
    )
    folder = iteration_dir(s.state_dir, acted.iteration)
    return await asyncio.to_thread(looking.look, what, s.frozen, s.store, folder)


def _checks(s: Session) -> list[ev.CheckFact]:
    of_tasks = [check for task in s.state.tasks for check in task.checks]
    return [*of_tasks, *s.terms.final_checks(), *s.terms.smoke_checks()]


def _failed(s: Session) -> frozenset[str]:
    """The tests that failed before the work on any task that is open, by their ids."""
    known = (judging.before(s, task.id) for task in s.state.tasks if task.known_to_fail)
    results = (result for judgement in known if judgement is not None for result in judgement.results)
    return frozenset(id for one in results for id, outcome in one.tests.items() if outcome is Outcome.FAILED)


def _first(s: Session) -> str:
    """The tree that the session began with, as far as it is kept."""
    return next((one.taken.commit for one in s.state.checkpoints if one.taken.iteration == 0), "")


async def _rows(
    s: Session, acted: Acted, task: TaskState, judgement: Judgement, begun: asyncio.Task[looking.Seen] | None
) -> Rows:
    """The rows of what was tampered with and of what is suspected; none where a change is clean."""
    seen = await begun if begun is not None else looking.Seen()
    before = _before(s)
    if before and judgement.tampered:  # these are told from the worker's own files, and by more than their difference
        seen = await _look(s, acted, task, before, judgement.tampered)
    if _again(s) and s.state.gamed_in and seen.unread:
        seen = looking.Seen(tampering=(*seen.tampering, *seen.suspicion), own=True)
    found: Rows = []
    paths = tuple(judgement.tampered[:MOST_PATHS])
    every = seen.tampering
    seen = _news(seen, s.state.accepted, () if judgement.verdict is Verdict.PASSED else s.state.let_go)
    if paths or seen.tampering:
        kinds = tuple(tamper.kind(path, s.frozen) for path in paths)
        named, more = _some([one for one in every if one in seen.tampering or one.path in paths])
        row = ev.Tampered(iteration=acted.iteration, task=acted.task, paths=paths, kinds=kinds, own=seen.own)
        found.append(replace(row, findings=named, more=more))
    if seen.suspicion:
        named, more = _some(seen.suspicion)
        found.append(ev.Suspected(iteration=acted.iteration, task=acted.task, findings=named, more=more))
    return found


def _news(seen: looking.Seen, accepted: Collection[str], let_go: Collection[str]) -> looking.Seen:
    """Without what the operator let go on: with a pass, or where nothing passes, so that nothing rests on it."""

    def news(some: Sequence[ev.Finding]) -> tuple[ev.Finding, ...]:
        return tuple(one for one in some if one.exact not in accepted and one.identity not in let_go)

    heavy, light = news(seen.tampering), news(seen.suspicion)
    return looking.Seen(heavy, light, seen.own and bool(heavy))


def _some(findings: Sequence[ev.Finding]) -> tuple[tuple[ev.Finding, ...], int]:
    return tuple(findings[: looking.MOST]), max(0, len(findings) - looking.MOST)


def others(s: Session, iteration: int) -> set[str]:
    """Paths that the operator alone wrote while the worker stood still, and the harness's own files."""
    mine = (row.event for row in s.journal.rows(kinds=("operator_wrote",)))
    wrote = {path for e in mine if isinstance(e, ev.OperatorWrote) and e.iteration == iteration for path in e.mine}
    names = s.terms.contract.state
    return wrote | {names.tasks, names.progress, names.rules}


# --- what follows ---------------------------------------------------------------------------------


def holds_back(s: Session, iteration: int) -> bool:
    """Whether a pass may rest on what the worker did to the check, so that the operator says what it is worth."""
    return s.state.gamed_in == iteration and s.terms.contract.progress.on_tampering is not OnTampering.RECORD


async def accept(s: Session) -> None:
    """The operator has looked at a pass that was held back and lets it count, on the tree that was judged."""
    task = s.state.task(s.state.settled_task)
    if task is None or task.last is None or not holds_back(s, s.state.settled):
        return
    snapshot = await s.timeline.snapshot("after")
    open_pass = task.status is not TaskStatus.DONE and task.last.verdict is Verdict.PASSED
    if open_pass and task.last.iteration == s.state.settled and task.last.tree == snapshot.tree:
        await s.timeline.verified(snapshot, task.id, s.state.settled)
        await publish.catch_up(s)


async def resume(s: Session, iteration: int) -> None:
    """Carry out what the operator said of an iteration, if a supervisor was killed before it could."""
    if _outcome(s, iteration) is RequestOutcome.GRANTED:
        await accept(s)


def _outcome(s: Session, iteration: int) -> RequestOutcome | None:
    """What the question about tampering in an iteration was answered; None while it is open, and where nobody was asked
    or the question was withdrawn."""
    asked = (r for r in s.state.requests if r.opened.request is RequestKind.TAMPERING)
    return next((r.outcome for r in asked if r.opened.iteration == iteration and r.outcome not in UNANSWERED), None)


def answer(s: Session, iteration: int) -> Response | None:
    """What is answered to what was seen in an iteration: what the operator said, else what the contract says; None
    where he lets it go on, or it is only recorded."""
    progress, state = s.terms.contract.progress, s.state
    if (said := _outcome(s, iteration)) is not None:
        return None if said is RequestOutcome.GRANTED else Response.PARK
    seen = ((state.tampered_in, progress.on_tampering), (state.suspected_in, progress.on_suspicion))
    answers = (how for when, how in seen if when == iteration and how is not OnTampering.RECORD)
    return next((Response(how) for how in answers), None)


def _asked(s: Session) -> tuple[tuple[ev.Finding, ...], tuple[ev.Finding, ...]]:
    """The tampering and the suspicion of the iteration that was settled last, as far as they are not only recorded."""
    progress, state = s.terms.contract.progress, s.state
    of_tampering = state.tampered_in == state.settled and progress.on_tampering is not OnTampering.RECORD
    of_suspicion = state.suspected_in == state.settled and progress.on_suspicion is not OnTampering.RECORD
    return state.findings if of_tampering else (), state.suspicions if of_suspicion else ()


def question(s: Session) -> tuple[str, str]:
    """What the operator is asked, and why."""
    state = s.state
    heavy, light = _asked(s)
    if light and not heavy:
        return "go on after a suspicious change?", _said(light)
    why = "what the checks rest on was changed, or something put in its way; that was undone for the verdict"
    said = _said((*heavy, *light)) or why
    if any(one.identity in state.let_go for one in heavy):
        task = state.task(state.settled_task)
        passed = task is not None and task.last is not None and task.last.verdict is Verdict.PASSED
        again = "it is still there, and another tree passes with it" if passed else "it was done once more"
        said = f"you let this go on before; {again}: {said}"
    return "go on after tampering?", said


def shown(s: Session) -> dict[str, Any]:
    """The hunks that go with the question."""
    rows: list[str] = []
    heavy, light = _asked(s)
    for lines, ones in findings.together((*heavy, *light)[:MOST_HUNKS]):
        rows += [*(f"{one.where}  {findings.why(one)}" for one in ones), *filter(None, [lines])]
    hunk = "\n".join(rows)
    return {"hunk": hunk} if hunk else {}


def _said(found: Sequence[ev.Finding]) -> str:
    others = ", ".join(dict.fromkeys(one.kind.replace("_", " ") for one in found[1:]))
    more = f"; and {counted(len(found) - 1, 'finding')} more ({others})" if others else ""
    first = ": ".join(filter(None, (found[0].where, findings.why(found[0])))) if found else ""
    return f"{first}{more}"


def is_open_conflict(s: Session, task: TaskState) -> bool:
    """Whether a worker calls the check of an open task wrong, and the operator has not said yet that it stands."""
    asked = (r for r in s.state.requests if r.opened.request is RequestKind.CONFLICT and r.opened.task == task.id)
    return bool(task.conflict) and task in s.state.open_tasks and all(r.outcome in UNANSWERED for r in asked)
