"""A pass is a pass when it comes again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import MagicMock

import pytest

from proctor.checkpoint.record import Snapshot
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.oracle.bench import CheckResult
from proctor.oracle.check import Judgement
from proctor.supervisor import judging
from proctor.supervisor.inbox import new_order
from proctor.supervisor.session import Interrupted, Session
from proctor.words import Phase, TaskStatus, Verdict

PASSED, FAILED, INFRA = (Judgement(one, f"it {one}") for one in (Verdict.PASSED, Verdict.FAILED, Verdict.INFRA))


@pytest.mark.parametrize(
    ("said", "repeat", "verdict", "repeats"),
    [
        ([PASSED, PASSED], 1, Verdict.PASSED, [Verdict.PASSED]),
        ([PASSED], 0, Verdict.PASSED, []),
        ([FAILED], 1, Verdict.FAILED, []),
        ([PASSED, FAILED], 1, Verdict.UNSTABLE, [Verdict.FAILED]),
        ([PASSED, PASSED, FAILED], 3, Verdict.UNSTABLE, [Verdict.PASSED, Verdict.FAILED]),
        ([PASSED, INFRA], 1, Verdict.INFRA, [Verdict.INFRA]),
    ],
)
def test_a_pass_that_does_not_repeat_is_unstable(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    said: list[Judgement],
    repeat: int,
    verdict: Verdict,
    repeats: list[Verdict],
) -> None:
    folders: list[Path] = []

    async def run(_: object, __: object, ___: object, folder: Path) -> Judgement:
        folders.append(folder)
        return said[len(folders) - 1]

    monkeypatch.setattr(judging, "run", run)
    rows: list[ev.Judged] = []
    s = cast("Session", SimpleNamespace(append=rows.append))
    snapshot = cast("Snapshot", SimpleNamespace(commit="c", tree="t"))
    checks = (ev.CheckFact(run=("x",), repeat=repeat), ev.CheckFact(run=("y",), repeat=9, optional=True))
    found = asyncio.run(judging.confirmed(s, checks, judging.Where(snapshot, 1, 1, tmp_path)))
    assert found.verdict is verdict
    assert [(row.phase, row.verdict) for row in rows] == [(Phase.REPEAT, one) for one in repeats]
    assert len(set(folders)) == len(said) == len(folders)
    if verdict is Verdict.UNSTABLE:
        assert found.reason == "passed, then failed on the same tree: it failed"


@pytest.mark.parametrize("checks", [(), (ev.CheckFact(run=("x",), optional=True),)])
def test_a_task_whose_checks_decide_nothing_waits_for_a_person_and_for_no_worker(
    checks: tuple[ev.CheckFact, ...],
) -> None:
    rows: list[ev.Event] = []
    s = cast("Session", SimpleNamespace(append=rows.append))
    assert judging.cannot_pass(s, TaskState(id=1, task="t", checks=checks))
    assert [row.status for row in rows if isinstance(row, ev.TaskMoved)] == [TaskStatus.REVIEW]


def test_of_several_checks_one_that_passes_before_any_work_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results = (
        CheckResult(("lint",), Verdict.PASSED, "exit code 0"),
        CheckResult(("nice",), Verdict.PASSED, "exit code 0", optional=True),
        CheckResult(("pytest",), Verdict.FAILED, "2 failed"),
    )

    async def run(*_: object) -> Judgement:
        return Judgement(Verdict.FAILED, "2 failed", results=results)

    async def snapshot(_: str) -> object:
        return SimpleNamespace(commit="c", tree="t")

    monkeypatch.setattr(judging, "run", run)
    monkeypatch.setattr(judging, "baseline_folder", lambda *_: tmp_path)
    said: list[str] = []
    s = SimpleNamespace(
        timeline=SimpleNamespace(snapshot=snapshot),
        state=SimpleNamespace(iteration=0),
        workspace=tmp_path,
        frozen=None,
        append=lambda *_: None,
        log=lambda _, text: said.append(text),
    )
    checks = tuple(ev.CheckFact(run=one.run, optional=one.optional) for one in results)
    assert asyncio.run(judging.baseline(cast("Session", s), TaskState(id=1, task="t", checks=checks)))
    [line] = said
    assert "`lint` passes before any work" in line


async def test_a_stop_does_not_wait_until_the_copy_of_a_huge_tree_is_put_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    s = cast("Session", MagicMock())
    s.executor, s.state_dir, s.wishes = None, tmp_path, []  # type: ignore[assignment]
    s.disk.said = ""

    def judge(*_: object, heed: Callable[[], object], **__: object) -> None:
        s.wishes.append(new_order("stop", "s", None, "", {}))
        while True:
            heed()

    monkeypatch.setattr(judging, "judge", judge)
    with pytest.raises(Interrupted):
        await judging.run(s, "c", (), tmp_path)
