"""What a run without a screen says of a question."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from proctor.cli import run
from proctor.journal import events as ev
from proctor.journal.state import RequestState, State
from proctor.supervisor.client import Client
from proctor.words import RequestKind, RequestOutcome

ASKED = ev.RequestOpened(
    id=3, request=RequestKind.TOOL, what="shell rm -r build", why="denied 2 times already; it is asked again"
)
WAITS = RequestState(id=3, opened=ASKED, at=datetime.now(UTC))


@pytest.mark.parametrize(
    ("here", "state", "lines"),
    [
        (False, WAITS, ["proctor approve '{0}' --id 3   or   proctor deny '{0}' --id 3 --reason …"]),
        (True, WAITS, ["proctor approve --id 3   or   proctor deny --id 3 --reason …"]),
        (False, replace(WAITS, outcome=RequestOutcome.GRANTED), None),
    ],
)
def test_a_question_that_waits_says_what_was_answered_so_far_and_the_command_that_answers_it(
    here: bool,
    state: RequestState,
    lines: list[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workspace = tmp_path / "a b"
    workspace.mkdir()
    monkeypatch.chdir(workspace if here else tmp_path)
    client = cast("Client", SimpleNamespace(workspace=workspace, state=lambda: State(requests=(state,))))
    run.print_question(client, 3)
    wanted = [] if lines is None else [f"    {line}" for line in (ASKED.why, *(one.format(workspace) for one in lines))]
    assert capsys.readouterr().out.splitlines() == wanted
