"""A question that nobody answers for a minute, on the real clock, with every agent that can ask one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.agents import ASKING, BY_NAME, present
from agents.cells import ASKED, CHANGE, END, LOOK, Cell, opened
from harness import PATIENCE, wait_until
from models.script import Shell, Turn, steps
from models.server import Models
from proctor.journal import events as ev
from proctor.words import Dimension, SessionStatus

pytestmark = pytest.mark.agents
MINUTE = 60.0


@pytest.mark.parametrize("name", [agent.name for agent in ASKING])
def test_a_minute_unanswered_is_no_call_and_no_active_second(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cell", (name, "unanswered"))
    present(name)
    with Models(steps(LOOK, Turn("A mark first.", (Shell(ASKED),)), CHANGE, END)) as models:
        cell = Cell.made(BY_NAME[name], tmp_path, models)
        try:
            child = cell.workspace.start()
            request = opened(cell)
            wait_until(lambda: (s := cell.workspace.state()) and s.status is SessionStatus.ASKING, "the status")
            calls, began, active = len(models.rows), time.monotonic(), _active(cell)
            wait_until(lambda: time.monotonic() - began > MINUTE or child.poll() is not None, "a minute", MINUTE + 30)
            assert child.poll() is None
            assert len(models.rows) == calls
            assert _active(cell) == active
            done = cell.workspace.proctor("approve", "--id", str(request.id))
            assert done.returncode == 0, done.stderr
            cell.ended(child)
            _held_to_the_journal(cell, request.id)
            cell.verified()
            cell.metered()
        finally:
            cell.workspace.settle()
    record_property("said", "ok")


@pytest.mark.parametrize("name", [agent.name for agent in ASKING])
def test_a_question_that_is_open_when_the_supervisor_dies_is_asked_again_and_granted_once(
    name: str, tmp_path: Path
) -> None:
    present(name)
    with Models(steps(LOOK, Turn("A mark first.", (Shell(ASKED),)), CHANGE, END)) as models:
        cell = Cell.made(BY_NAME[name], tmp_path, models)
        try:
            first = cell.workspace.start()
            lost = opened(cell)
            os.kill(wait_until(cell.workspace.supervisor), signal.SIGKILL)
            first.wait(PATIENCE)
            cell.nothing_left()
            assert not (cell.workspace.path / ASKED.split()[1]).exists()
            child = cell.workspace.start()
            wait_until(lambda: opened(cell).id > lost.id, "asked again", MINUTE)
            again = opened(cell)
            done = cell.workspace.proctor("approve", "--id", str(again.id))
            assert done.returncode == 0, done.stderr
            late = cell.workspace.proctor("approve", "--id", str(lost.id))
            assert "already withdrawn" in late.stderr
            cell.ended(child)
            closed = [row for row in cell.workspace.events("request_closed") if isinstance(row, ev.RequestClosed)]
            assert [row.outcome for row in closed if row.by != "rule"] == ["withdrawn", "granted"]
            cell.verified()
        finally:
            cell.workspace.settle()


def _active(cell: Cell) -> int:
    """Milliseconds of active time, as a client sees them now."""
    return int(cell.workspace.status()["budget"]["wall_clock"]["used"])


def _held_to_the_journal(cell: Cell, request: int) -> None:
    """The journal's own rows: no call between the question and the answer, and of that minute nothing was spent.

    The call that brought the question may end after it: some agents ask before they have the stream's last bytes.
    """
    rows = cell.workspace.rows()
    asked = next(row for row in rows if isinstance(row.event, ev.RequestOpened) and row.event.id == request)
    answered = next(row for row in rows if isinstance(row.event, ev.RequestClosed) and row.event.id == request)
    assert (answered.at - asked.at).total_seconds() >= MINUTE
    calls = [row for row in rows if isinstance(row.event, ev.ModelAsked | ev.ModelCall)]
    before = {row.event.call for row in calls if row.seq < asked.seq}
    assert {row.event.call for row in calls if row.seq < answered.seq} == before
    state = cell.workspace.state()
    assert state
    assert state.born
    whole = (rows[-1].at - state.born).total_seconds() * 1000
    assert state.used[Dimension.WALL_CLOCK].used <= whole - MINUTE * 1000
