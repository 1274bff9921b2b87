"""Judging a checkpoint: every required check passes on a copy that rests on the frozen set, or it is no pass."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from proctor.errors import Unrecoverable
from proctor.journal.events import CheckFact
from proctor.oracle import runners
from proctor.oracle.bench import REASON, WALLED, Bench, CheckResult, shown
from proctor.oracle.borrowed import Removed
from proctor.oracle.frozen import Frozen, write_whole
from proctor.oracle.moves.ask import Moves
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import Backend
from proctor.text import safe_line
from proctor.trees import scratch_folder
from proctor.units import counted
from proctor.words import Verdict

_KEPT = "judgement.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Judgement(msgspec.Struct, frozen=True):
    """The verdict over all checks, with the words of the one that decided; only `passed` proves anything.

    `failure` is a raw message (exception type and text) for a digest; `tampered` are the paths that were undone.
    """

    verdict: Verdict
    reason: str
    check: str = ""
    failing: tuple[str, ...] = ()
    failure: str = ""
    tampered: tuple[str, ...] = ()
    seconds: float = 0.0
    log: str = ""
    results: tuple[CheckResult, ...] = ()
    commit: str = ""
    """The checkpoint that was judged."""
    moved: dict[str, str] = {}
    """Tests that are gone by their ids, each with the one that stands for it."""


class Materialises(Protocol):
    """The part of `checkpoint.Store` that a judge needs."""

    def materialise(self, commit: str, dest: Path, exclude: tuple[str, ...] = ()) -> object: ...

    def refresh(self, commit: str, dest: Path, exclude: tuple[str, ...] = ()) -> object: ...

    def not_kept(self, commit: str) -> Collection[str]: ...


def judge(
    commit: str,
    frozen: Frozen,
    checks: Sequence[CheckFact],
    *,
    store: Materialises,
    backend: Backend,
    policy: Policy,
    out: Path,
    optional: bool = True,
    kept: Path | None = None,
    heed: Callable[[], object] = tuple,
) -> Judgement:
    """Run checks on a checkpoint and say what they prove; all required ones must pass.

    `policy` names the workspace, hidden paths, limits and the variables that checks get; what it says of walls is not
    asked. `out` gets the logs and the judgement itself. With `optional` off, optional checks are left out. The first
    required check that does not pass decides; after it only optional ones run. `kept` is a folder of this caller's
    alone: under walls the copy stands there, and where one stood before, only what differs is written. Blocks for as
    long as the checks take: call it from a thread that stays (`Backend.launch`). Unrecoverable when the disk is full.
    What `heed` raises, which is called again and again while the copy is put right, ends it.
    """
    out.mkdir(parents=True, exist_ok=True)
    with scratch_folder("proctor-judge-") as scratch:
        try:
            tree = kept if kept is not None and backend.name == WALLED else scratch / "tree"
            bench = Bench(scratch, frozen, backend, policy, out, tree=tree, heed=heed)
            copy = store.materialise if tree is not kept else store.refresh
            copy(commit, tree, exclude=policy.hide)
            tampered = bench.prepare(lambda: store.not_kept(commit))
            judgement = _decide(_run_all(bench, checks, optional), tampered)
        except OSError as error:
            if error.errno in _FULL:
                where = error.filename or scratch
                raise Unrecoverable(f"{where}: the disk is full; free some space", "disk") from error
            judgement = Judgement(Verdict.INFRA, f"the copy to judge could not be made: {safe_line(str(error))}")
        except Removed as error:
            tampered = tuple(map(shown, sorted({*error.laid_back, *error.paths})))
            judgement = Judgement(Verdict.INFRA, safe_line(str(error)), tampered=tampered)
    judgement = msgspec.structs.replace(judgement, commit=commit)
    write_whole(out / _KEPT, msgspec.json.encode(judgement))
    return judgement


def load_judgement(out: Path) -> Judgement | None:
    """The judgement that `judge` left in a folder; None if it left none that can be read."""
    try:
        return msgspec.json.decode((out / _KEPT).read_bytes(), type=Judgement)
    except (OSError, msgspec.MsgspecError):
        return None


def baseline_verdict(judgement: Judgement) -> Verdict:
    """What a judgement before the work means: `failed` is as it should be, `vacuous` a check that proves nothing,
    `infra` one that never gave an answer."""
    match judgement.verdict:
        case Verdict.PASSED:
            return Verdict.VACUOUS
        case Verdict.TIMEOUT:
            return Verdict.INFRA
    return judgement.verdict


def compare(baseline: Judgement, after: Judgement, moves: Moves | None = None) -> Judgement:
    """The later judgement held against the one before the work: a pass stands only if every test that ran before
    exists and passes. `moves` tells which of those that are gone stand elsewhere or by another name: asking blocks."""
    if after.verdict is not Verdict.PASSED:
        return after
    before = {result.run: result for result in baseline.results}
    moved: dict[str, str] = {}
    for result in after.results:
        twin = before.get(result.run)
        broken = runners.compare(twin.tests, result.tests) if twin and not result.optional else {}
        gone = [name for name, how in broken.items() if how == runners.GONE]
        if twin and gone and moves is not None:
            passed = {name: outcome is runners.Outcome.PASSED for name, outcome in result.tests.items()}
            moved |= moves.stand_ins(gone, passed, twin.tests)
            broken = {name: how for name, how in broken.items() if name not in moved}
        if broken:
            first, how = next(iter(broken.items()))
            more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            return msgspec.structs.replace(
                after,
                verdict=Verdict.FAILED,
                reason=safe_line(f"{how}: {first}{more}", REASON),
                check=safe_line(result.title, REASON),
                failing=tuple(broken),
                failure=how,
                log=result.log,
            )
    if not moved:
        return after
    first, there = next(iter(moved.items()))
    more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
    said = f"{after.reason}; {counted(len(moved), 'test')} moved: {first} -> {there}{more}"
    return msgspec.structs.replace(after, reason=safe_line(said, REASON), moved=moved)


def _decide(results: Sequence[CheckResult], tampered: tuple[str, ...]) -> Judgement:
    required = [result for result in results if not result.optional]
    if not required:
        return Judgement(Verdict.VACUOUS, "no check decides", tampered=tampered, results=tuple(results))
    decisive = next((result for result in required if result.verdict is not Verdict.PASSED), required[-1])
    return Judgement(
        verdict=decisive.verdict,
        reason=decisive.reason,
        check=safe_line(decisive.title, REASON),
        failing=decisive.failing,
        failure=decisive.failure,
        tampered=tampered,
        seconds=round(sum(result.seconds for result in results), 3),
        log=decisive.log,
        results=tuple(results),
    )


def _run_all(bench: Bench, checks: Sequence[CheckFact], optional: bool) -> list[CheckResult]:
    results: list[CheckResult] = []
    for check in sorted(checks, key=lambda check: check.optional):
        failed = any(result.verdict is not Verdict.PASSED for result in results if not result.optional)
        if optional if check.optional else not failed:
            results.append(bench.run(check, len(results) + 1))
    return results
