"""The question whether a plan stands that names what is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.journal import events as ev
from proctor.supervisor import freezing, report, rot
from proctor.words import RequestKind, RequestOutcome


async def test_a_plan_revised_while_the_question_was_put_withdraws_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def nothing(*_: object) -> dict[str, object]:
        return {}

    (tmp_path / "tasks.json").write_text("[]")
    monkeypatch.setattr(rot, "LOOK_EVERY", 0)
    monkeypatch.setattr(rot, "look", nothing)
    monkeypatch.setattr(rot, "told", lambda _: SimpleNamespace(rev="the revised one"))
    monkeypatch.setattr(freezing, "adopt", nothing)
    monkeypatch.setattr(report, "read_tasks", lambda _: None)
    closed: list[RequestOutcome] = []
    session: Any = SimpleNamespace(
        workspace=tmp_path,
        state=SimpleNamespace(drift=SimpleNamespace(rot=())),
        terms=SimpleNamespace(contract=SimpleNamespace(state=SimpleNamespace(tasks="tasks.json"))),
    )
    desk: Any = SimpleNamespace(close_request=lambda _, outcome, *__: closed.append(outcome))
    opened = ev.RequestOpened(id=1, request=RequestKind.PLAN_ROT, what="does it stand?")
    await asyncio.wait_for(rot._until_it_fits(session, desk, 1, opened), 60)
    assert closed == [RequestOutcome.WITHDRAWN]
