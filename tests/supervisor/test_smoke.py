"""A smoke check that cannot be run is the operator's to mend, unless it could be run before a worker was there."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from proctor.errors import Unrecoverable
from proctor.journal import events as ev
from proctor.oracle.check import Judgement
from proctor.supervisor import judging, standing
from proctor.supervisor.session import Session
from proctor.words import Phase, Verdict

GONE = Judgement(Verdict.FAILED, "command not found (exit code 127): sh: 1: nosuch: not found", log="LOG")
NO_COPY = Judgement(Verdict.INFRA, "the copy to judge could not be made", log="LOG")
FAILS = ev.Judged(iteration=0, task=None, phase=Phase.SMOKE, verdict=Verdict.FAILED)


@pytest.mark.parametrize(
    ("smoked", "broken", "said", "ends"),
    [
        ("", None, GONE, True),
        ("before", None, GONE, False),
        ("", FAILS, GONE, False),
        ("", ev.Judged(iteration=0, task=None, phase=Phase.SMOKE, verdict=Verdict.INFRA), GONE, True),
        ("before", None, NO_COPY, True),
    ],
)
def test_a_smoke_check_that_cannot_be_run_any_more_is_for_the_next_worker(
    monkeypatch: pytest.MonkeyPatch, smoked: str, broken: ev.Judged | None, said: Judgement, ends: bool
) -> None:
    async def snapshot(_: str) -> SimpleNamespace:
        return SimpleNamespace(commit="c", tree="t")

    async def run(*_: object) -> Judgement:
        return said

    monkeypatch.setattr(judging, "run", run)
    rows: list[ev.Judged] = []
    s = SimpleNamespace(
        append=rows.append,
        state=SimpleNamespace(smoked=smoked, broken=broken, iteration=1),
        state_dir=Path("/nowhere"),
        terms=SimpleNamespace(smoke_checks=lambda: (ev.CheckFact(run=("x",)),)),
        timeline=SimpleNamespace(snapshot=snapshot),
    )
    what = r"^progress\.smoke: it cannot be run: .*; install what it runs, or name another; see LOG$"
    expected: AbstractContextManager[object] = pytest.raises(Unrecoverable, match=what) if ends else nullcontext()
    with expected:
        asyncio.run(standing.smoke(cast("Session", s)))
    assert [row.verdict for row in rows] == [Verdict.INFRA if ends else Verdict.FAILED]
