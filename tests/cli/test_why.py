"""Why a session rests, as `status` and the last line of a run say it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from proctor.cli.main import main
from proctor.cli.run import last_line
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.journal.store import Journal, journal_path
from proctor.supervisor.client import Client
from proctor.words import Dimension, Exhaustion, SessionStatus

WHY = "budget:tokens"


@pytest.mark.parametrize(
    ("used", "raised", "says"),
    [
        (1_100, False, "parked: tokens 1.1k of 2k used, too little left to go on"),
        (2_000, False, "parked: tokens used up"),
        (2_000, True, "parked: tokens used up"),
    ],
)
def test_a_ceiling_that_is_not_reached_is_not_called_used_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], used: int, raised: bool, says: str
) -> None:
    ceiling = ev.CeilingFact(dimension=Dimension.TOKENS, limit=2_000, action=Exhaustion.PARK)
    rows: list[ev.Event] = [
        ev.SessionStarted(session="s", workspace=str(tmp_path), goal="g"),
        ev.ContractLoaded(contract="h", plan="p", ceilings=(ceiling,)),
        ev.Spent(figures={Dimension.TOKENS: ev.Figure(used)}),
    ]
    if raised:
        rows.append(ev.CeilingRaised(dimension=Dimension.TOKENS, by=500, limit=2_500, order="o"))
    with Journal(journal_path(tmp_path / ".proctor")) as journal:
        state = journal.append(*rows, ev.StatusChanged(status=SessionStatus.PARKED, why=WHY))
    client = cast("Client", SimpleNamespace(workspace=tmp_path, state=lambda: cast("State", state)))
    assert last_line(client).startswith(f"proctor: {says}; ")
    assert main(["status", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(f"{says}   ")


@pytest.mark.parametrize("words", [["run", "--head"], ["run", "--onc"], ["resume", "--reset"], ["status", "--js"]])
def test_an_option_is_written_in_full(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert words[-1] in capsys.readouterr().err
