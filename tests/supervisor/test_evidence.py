"""What an answer about tampering is worth."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from proctor.contract.values import OnTampering
from proctor.journal import events as ev
from proctor.oracle import looking, tamper
from proctor.oracle.check import Judgement
from proctor.supervisor import evidence
from proctor.supervisor.act import Acted
from proctor.supervisor.session import Session
from proctor.words import RequestKind, RequestOutcome, Response, TamperKind, Verdict


@pytest.mark.parametrize(
    ("outcome", "response"),
    [
        (None, Response.ESCALATE),
        (RequestOutcome.WITHDRAWN, Response.ESCALATE),
        (RequestOutcome.GRANTED, None),
        (RequestOutcome.DENIED, Response.PARK),
        (RequestOutcome.EXPIRED, Response.PARK),
    ],
)
def test_a_question_that_was_withdrawn_is_asked_again_and_a_denial_that_nobody_waited_for_parks(
    outcome: RequestOutcome | None, response: Response | None
) -> None:
    progress = SimpleNamespace(on_tampering=OnTampering.ESCALATE, on_suspicion=OnTampering.RECORD)
    opened = SimpleNamespace(request=RequestKind.TAMPERING, iteration=3)
    state = SimpleNamespace(tampered_in=3, suspected_in=0, requests=[SimpleNamespace(opened=opened, outcome=outcome)])
    s = SimpleNamespace(terms=SimpleNamespace(contract=SimpleNamespace(progress=progress)), state=state)
    assert evidence.answer(cast("Session", s), 3) is response


async def _seen(*found: ev.Finding) -> looking.Seen:
    return looking.Seen(tampering=found)


def test_the_same_tampering_is_named_again_with_its_lines_though_it_was_let_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tamper, "kind", lambda *_: TamperKind.CHANGED)
    frozen = ev.Finding(kind="assertion", path="tests/a.py", line=3, why="test_a asserted", hunk="-    assert a()")
    own = ev.Finding(kind="sniffing", path="b.py", line=1)
    state = SimpleNamespace(
        unlooked="", intent=None, accepted=(), let_go=(frozen.identity, own.identity), gamed_in=0, tampered_in=4,
        suspected_in=0, settled=4, settled_task=1, task=lambda _: None,
    )  # fmt: skip
    progress = SimpleNamespace(on_tampering=OnTampering.ESCALATE, on_suspicion=OnTampering.RECORD)
    terms = SimpleNamespace(contract=SimpleNamespace(progress=progress))
    s = cast("Session", SimpleNamespace(state=state, frozen=None, terms=terms))
    judgement = Judgement(Verdict.FAILED, "", tampered=("tests/a.py",))

    async def rows() -> evidence.Rows:
        begun = asyncio.create_task(_seen(frozen, own))
        return await evidence._rows(s, cast("Acted", SimpleNamespace(iteration=4, task=1)), None, judgement, begun)  # type: ignore[arg-type]

    (row,) = asyncio.run(rows())
    assert isinstance(row, ev.Tampered)
    assert (row.paths, row.findings, row.own) == (("tests/a.py",), (frozen,), False)
    state.findings = row.findings
    why = "you let this go on before; it was done once more: tests/a.py:3: test_a asserted"
    assert evidence.question(s) == ("go on after tampering?", why)
    assert evidence.shown(s)["hunk"] == "tests/a.py:3  test_a asserted\n-    assert a()"
