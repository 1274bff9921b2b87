"""Orders that end the running step."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.supervisor import obey, report
from proctor.supervisor.desk import Desk
from proctor.supervisor.session import Session
from proctor.words import RequestKind


@pytest.mark.parametrize("works", [True, False])
def test_after_a_way_back_no_question_is_open_whose_answer_nobody_would_hear(
    monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    async def undo(*, redo: bool) -> ev.RolledBack:
        if not works:
            raise UsageError("nothing to undo")
        return ev.RolledBack(target="c1", way="undo", tree="t", safety="c2")

    monkeypatch.setattr(report, "went_back", lambda *_: None)
    withdrawn: list[RequestKind] = []
    answers: list[str] = []
    s = SimpleNamespace(
        state=SimpleNamespace(intent=None),
        timeline=SimpleNamespace(undo=undo),
        paused=False,
        settle_motion=lambda: None,
        wishes=[SimpleNamespace(verb="undo", args={})],
        wish=asyncio.Event(),
    )
    desk = SimpleNamespace(
        withdraw=lambda _, *kinds: withdrawn.extend(kinds),
        close=lambda _order, outcome, _detail: answers.append(outcome),
    )
    assert asyncio.run(obey.carry_out(cast("Session", s), cast("Desk", desk))) is None
    assert answers == (["done"] if works else ["refused"])
    assert set(RequestKind) - set(withdrawn) == {RequestKind.TOOL, RequestKind.HOST}
    assert s.paused
