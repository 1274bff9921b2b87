"""What an answer about tampering is worth."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from proctor.contract.values import OnTampering
from proctor.supervisor import evidence
from proctor.supervisor.session import Session
from proctor.words import RequestKind, RequestOutcome, Response


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
