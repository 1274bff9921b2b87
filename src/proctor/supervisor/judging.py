"""Judging: when checks run, on which tree, and what their verdicts change."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from proctor.checkpoint.repository import NotRestored, Snapshot
from proctor.errors import Unrecoverable, UsageError
from proctor.journal import events as ev
from proctor.journal.state import CUT_SHORT, TaskState
from proctor.journal.stream import iteration_dir
from proctor.oracle import absent
from proctor.oracle.bench import REASON
from proctor.oracle.check import Judgement, compare, judge, load_judgement
from proctor.oracle.moves.ask import Moves
from proctor.oracle.toolchains import commands
from proctor.progress import fingerprint
from proctor.progress.memory import in_vain
from proctor.supervisor import policies
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Interrupted, Session
from proctor.text import file_name, safe_line
from proctor.trees import remove_tree
from proctor.words import AtSoft, CheckpointKind, IterationEnd, Phase, TaskStatus, Verdict
from proctor.workspace import files

GO_BACK_AFTER = 2
"""Failed verdicts after which `on_failed: keep` takes the tree back; what was cut short is not among them, nor what led
to fewer failing tests than ever before."""
_NOT_FOUND = re.compile(r"exit code 12[67]\b")
"""By the shells' convention: a program that is not there, or that is none."""
BENCH = "bench"
"""The folder of the copy that is judged, kept while a supervisor is up."""
SAYS_NOTHING = frozenset({Verdict.PASSED, Verdict.INFRA, Verdict.UNSTABLE})
"""Verdicts that make no claim false."""


async def run(s: Session, commit: str, checks: tuple[ev.CheckFact, ...], folder: Path) -> Judgement:
    """Run checks on a commit, in a sandbox of their own, off the loop. A stop, a rollback, a full disk ends them."""
    optional = not s.at_soft(AtSoft.SKIP_OPTIONAL_CHECKS)
    unwanted = False

    def heed() -> None:
        if unwanted or s.disk.said:
            raise Interrupted

    def work() -> Judgement:
        policy = policies.for_check(s.workspace, s.terms.contract)
        return judge(
            commit,
            s.frozen,
            checks,
            store=s.store,
            backend=s.backend,
            policy=policy,
            out=folder,
            optional=optional,
            kept=s.state_dir / BENCH / "tree",
            heed=heed,
        )

    judging = asyncio.get_running_loop().run_in_executor(s.executor, work)
    with s.disk.over(s.backend.kill_all):
        while not judging.done():
            await asyncio.wait({judging}, timeout=0.1)
            unwanted = any(order.verb in ("stop", "rollback", "undo") for order in s.wishes)
            if unwanted:
                s.backend.kill_all()  # and the next check, should one begin now
    ended = judging.exception()
    s.disk.check()
    if unwanted:
        raise Interrupted from ended
    return judging.result()


def clear(s: Session) -> None:
    """Give the room of the kept copy back."""
    remove_tree(s.state_dir / BENCH)


def reason(judgement: Judgement) -> str:
    """Why, with the first words of the failure itself."""
    said = safe_line(judgement.failure, 200)
    known = judgement.verdict is Verdict.PASSED or not said or said in judgement.reason
    return judgement.reason if known else f"{judgement.reason}: {said}"


def judged(judgement: Judgement, tree: str, **where: object) -> ev.Judged:
    """The row of a verdict."""
    digest = fingerprint.failure(judgement.check, judgement.verdict, judgement.failing, judgement.failure)
    return ev.Judged(
        verdict=judgement.verdict,
        reason=reason(judgement),
        failing=judgement.failing[:200],
        failures=len(judgement.failing),
        moved=tuple(f"{old} -> {new}" for old, new in judgement.moved.items())[:200],
        digest=digest,
        tree=tree,
        check=judgement.check,
        seconds=round(judgement.seconds, 3),
        log=judgement.log,
        **where,  # type: ignore[arg-type]
    )


def baseline_folder(s: Session, task: ev.TaskId) -> Path:
    """Where the judgement of a task's check before the work is kept."""
    return s.state_dir / "checks" / f"baseline-{file_name(str(task))}"


def before(s: Session, task: ev.TaskId) -> Judgement | None:
    """The judgement of a task's check before the work."""
    return load_judgement(baseline_folder(s, task))


async def of_work(s: Session, acted: Acted, task: TaskState) -> Judgement:
    """The verdict after the work, held against the one before it; where a repair came first, the smoke check's too, and
    where that was all, no more than the smoke check's."""
    repair = s.state.intent is not None and s.state.intent.repair
    smoke = s.terms.smoke_checks() if repair else ()
    where = Where(acted.snapshot, acted.iteration, task.id, iteration_dir(s.state_dir, acted.iteration))
    if only_repairs(s):
        return await confirmed(s, smoke, dataclasses.replace(where, task=None))
    return await confirmed(s, (*smoke, *task.checks), where, before(s, task.id))


def without_work(s: Session, acted: Acted) -> bool:
    """Whether a worker was cut short before it changed or claimed anything: there is nothing to judge."""
    intent, task = s.state.intent, s.state.task(acted.task)
    if acted.ended.how not in CUT_SHORT or intent is None or task is None or task.claim or task.conflict:
        return False
    return bool(intent.tree) and acted.snapshot.tree == intent.tree


def only_repairs(s: Session) -> bool:
    """Whether the iteration at hand had the project to mend and nothing else."""
    return s.state.intent is not None and s.state.intent.repair_only


@dataclass(frozen=True, slots=True)
class Where:
    """What is judged, for whom, and where its output goes."""

    snapshot: Snapshot
    iteration: int
    task: ev.TaskId | None
    folder: Path


async def confirmed(
    s: Session, checks: tuple[ev.CheckFact, ...], where: Where, baseline: Judgement | None = None
) -> Judgement:
    """The verdict of checks; a pass only if it comes again each time on a fresh copy, as often as each check asks."""
    judgement = await held(s, checks, where, where.folder, baseline)
    for number in range(1, max((check.repeat for check in checks if not check.optional), default=0) + 1):
        if judgement.verdict is not Verdict.PASSED:
            break
        again = tuple(check for check in checks if not check.optional and check.repeat >= number)
        said = await held(s, again, where, where.folder / f"repeat-{number}", baseline)
        s.append(judged(said, where.snapshot.tree, iteration=where.iteration, task=where.task, phase=Phase.REPEAT))
        if said.verdict is Verdict.INFRA:
            judgement = said
        elif said.verdict is not Verdict.PASSED:
            why = f"passed, then {said.verdict} on the same tree: {said.reason}"
            judgement = replace(said, verdict=Verdict.UNSTABLE, reason=safe_line(why, REASON))
    return judgement


async def held(
    s: Session, checks: tuple[ev.CheckFact, ...], where: Where, folder: Path, baseline: Judgement | None
) -> Judgement:
    """The verdict of checks, held against the one before the work."""
    judgement = await run(s, where.snapshot.commit, checks, folder)
    if baseline is None:
        return judgement
    moves = Moves(s.store, s.frozen, baseline.commit, where.snapshot.commit)
    return await asyncio.to_thread(compare, baseline, judgement, moves)


def cannot_pass(s: Session, task: TaskState) -> bool:
    """Whether a task has no check that decides; it then needs a person."""
    if not all(check.optional for check in task.checks):
        return False
    why = "no check decides" if task.checks else "no check"
    s.append(ev.TaskMoved(task=task.id, status=TaskStatus.REVIEW, why=why))
    return True


async def baseline(s: Session, task: TaskState) -> bool:
    """See the task's check fail before the work: on what is there, or where work on the task is there already, on the
    last good tree. False when it does not fail, and the task needs a person."""
    snapshot = await s.timeline.snapshot("baseline")
    tree, judgement = snapshot.tree, await run(s, snapshot.commit, task.checks, baseline_folder(s, task.id))
    refused = not all(check.allow_vacuous for check in task.checks if not check.optional)
    if judgement.verdict is Verdict.PASSED and refused and task.iterations:
        good = s.state.checkpoint(s.state.good)
        if good is not None and good.taken.tree != tree:
            earlier = await run(s, good.taken.commit, task.checks, baseline_folder(s, task.id))
            if earlier.verdict is Verdict.FAILED:
                tree, judgement = good.taken.tree, earlier
    judgement = await completed(s, judgement, task)
    row = judged(judgement, tree, iteration=s.state.iteration, task=task.id, phase=Phase.BASELINE)
    vacuous = judgement.verdict is Verdict.PASSED
    if vacuous and refused:
        why = "the check passes and was never seen to fail" if task.iterations else "the check passes before any work"
        said = replace(row, verdict=Verdict.VACUOUS, reason=why)
        s.append(said, ev.TaskMoved(task=task.id, status=TaskStatus.REVIEW, why=why))
        return False
    if never_ran(judgement) and (judgement.verdict is Verdict.INFRA or await _cannot_start(s, judgement)):
        s.append(replace(row, verdict=Verdict.INFRA))
        fix = f"install what it runs, name it in the task if it is the work, or give it another{see(judgement.log)}"
        raise Unrecoverable(f"task {task.id}: its check cannot be run: {row.reason}; {fix}", "oracle")
    if judgement.verdict in (Verdict.TIMEOUT, Verdict.UNSTABLE):
        why = f"the check gives no clear verdict before the work: {judgement.reason}"
        s.append(row, ev.TaskMoved(task=task.id, status=TaskStatus.REVIEW, why=why))
        return False
    s.append(replace(row, verdict=Verdict.FAILED, reason="passes, and the contract allows it") if vacuous else row)
    for result in judgement.results if not vacuous else ():
        if result.verdict is Verdict.PASSED and not result.optional:
            name = safe_line(result.title or " ".join(result.run), 120)
            s.log(
                "oracle", f"task {task.id}: `{name}` passes before any work: by itself it proves nothing of this task"
            )
    return True


async def completed(s: Session, judgement: Judgement, task: TaskState | None = None) -> Judgement:
    """The judgement of checks that have to be seen to fail; `infra` where one lacks what it starts, and nothing in the
    workspace or the task could bring that. Where that is not sure, the operator is told."""
    for number, result in enumerate(judgement.results):
        lack = await asyncio.to_thread(absent.lack, result, s.workspace, s.frozen, _told(s, task))
        if lack is None or result.optional:
            continue
        if lack.sure and await _is_gone(s, lack.trial):
            why = safe_line(f"{lack.what}, and the check ended with: {result.reason}", REASON)
            said = replace(result, verdict=Verdict.INFRA, reason=why)
            results = (*judgement.results[:number], said, *judgement.results[number + 1 :])
            return replace(judgement, verdict=Verdict.INFRA, reason=why, failure="", log=result.log, results=results)
        whose = f"task {task.id}" if task else "progress.smoke"
        s.log("oracle", f"{whose}: {safe_line(lack.what, 200)}: if that is not the work, install it; see {result.log}")
    return judgement


async def _is_gone(s: Session, trial: Sequence[str]) -> bool:
    """Whether what a check says that it lacks is not there; before the first worker nobody could make it lie."""
    if not s.state.iteration:
        return True
    policy = policies.for_check(s.workspace, s.terms.contract)
    return bool(trial) and await asyncio.to_thread(absent.is_gone, trial, s.backend, policy)


async def _cannot_start(s: Session, judgement: Judgement) -> bool:
    """Whether a check that ended like one that could not start is one that cannot."""
    ended = (result.run for result in judgement.results if result.run and _NOT_FOUND.search(result.reason))
    return not s.state.iteration or any([await _is_gone(s, commands.trial(run)) for run in ended])


def _told(s: Session, task: TaskState | None) -> Iterator[str]:
    """All that a task asks for."""
    yield task.task if task else ""
    for path in filter(None, (task.spec if task else None, s.terms.contract.state.plan)):
        with contextlib.suppress(UsageError):
            yield files.read_optional(s.workspace, path) or ""


def see(log: str) -> str:
    """Where more is said, as the end of a line; a check that did not start has no log."""
    return f"; see {log}" if log else ""


def never_ran(judgement: Judgement) -> bool:
    """Whether a check that has to be seen to fail gave no answer at all."""
    return judgement.verdict is Verdict.INFRA or _NOT_FOUND.search(judgement.reason) is not None


def record(
    s: Session,
    acted: Acted,
    judgement: Judgement,
    seen: Sequence[ev.Tampered | ev.Suspected],
    *,
    mended: bool = False,
) -> None:
    """Write the verdict, what was seen of tampering, and a claim that the verdict contradicts. Of a project that was
    `mended` the verdict is one of the smoke check, and no task's."""
    where: dict[str, object] = {"iteration": acted.iteration, "task": acted.task, "phase": Phase.WORK}
    if mended:
        where |= {"task": None, "phase": Phase.SMOKE}
    where["act_seconds"] = acted.ended.active_ms / 1000
    rows: list[ev.Event] = [judged(judgement, acted.snapshot.tree, **where)]
    rows += seen
    said = s.state.drift.said
    claimed_done = said is not None and (said.iteration, said.task) == (acted.iteration, acted.task)
    if claimed_done and judgement.verdict not in SAYS_NOTHING:
        rows.append(ev.FalseClaim(iteration=acted.iteration, task=acted.task, verdict=judgement.verdict))
    s.append(*rows)


async def go_back(s: Session, acted: Acted, task: TaskState, judgement: Judgement) -> None:
    """After a failed verdict the tree stays or goes back, as the contract says; nothing is lost either way. What the
    operator has written since stays in place, unless the oracle was tampered with.

    Where the operator replaced something under the worker it stays, and later iterations go back to no more than this.
    """
    rule = s.terms.contract.progress.on_failed
    if rule == "never" or not s.state.good:
        return
    cut_short = acted.ended.how is IterationEnd.INTERRUPTED and bool(s.state.exposed)
    if acted.ended.how is IterationEnd.UNCOVERED or s.moved_in == acted.iteration or cut_short:
        before = s.state.good
        if not await s.timeline.takes_back(before):
            return
        kept = await s.timeline.checkpoint(CheckpointKind.ASKED, "with what was replaced under a worker")
        s.log(
            "checkpoint",
            f"the tree stays as it is, checkpoint {kept.id}: what was replaced while the worker ran may be yours; "
            f"`proctor rollback --to {before}` takes all of it back",
        )
        return
    if judgement.verdict is Verdict.INFRA:
        return
    failed = in_vain(s.memory(), task.id, CUT_SHORT) if acted.ended.how not in CUT_SHORT else 0
    again = failed > 0 and failed % GO_BACK_AFTER == 0
    if rule == "rollback" or s.state.tampered_in == acted.iteration or again:
        good = s.state.checkpoint(s.state.good)
        assert good is not None
        if await s.timeline.takes_back(good.id):
            try:
                await s.timeline.rollback(way="failed_verdict", keep_mine=not judgement.tampered)
            except (NotRestored, UsageError) as error:
                s.log("checkpoint", f"the tree stays as it is after the failed verdict: {error}")


async def final(s: Session) -> str | None:
    """The check after the last task, on a clean checkout; None if it passes, else one line."""
    checks = s.terms.final_checks()
    if not checks:
        return None
    snapshot: Snapshot = await s.timeline.snapshot("final")
    where = Where(snapshot, s.state.iteration, None, s.state_dir / "checks" / "final")
    judgement = await confirmed(s, checks, where)
    s.append(judged(judgement, snapshot.tree, iteration=s.state.iteration, task=None, phase=Phase.FINAL))
    return None if judgement.verdict is Verdict.PASSED else judgement.reason or str(judgement.verdict)
