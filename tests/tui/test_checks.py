"""What the screen says of the checks themselves."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from proctor.journal import checks as known
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.tui.panels import checks, header
from proctor.tui.rows import from_row
from proctor.tui.spans import plain, width
from proctor.tui.view import View
from proctor.words import TaskStatus

from .test_panels import NOW, a_state, a_view

PLACES = (ev.Unverified(file="src/a\x1b[31m.py", lines=(10, 14)), ev.Unverified(file="logo", why="the check is flaky"))
ROW = ev.Audited(task=2, checkpoint="c2", caught=29, measured=100, parts=120, unverified=PLACES, more=3)


def measured(*rows: ev.Audited) -> View:
    """A session whose second task was verified on `c2`."""
    state = a_state()
    tasks = tuple(replace(task, checkpoint="c2") if task.id == 2 else task for task in state.tasks)
    return a_view(replace(state, tasks=tasks, audited=rows))


def test_the_header_says_that_nothing_is_measured_and_then_what_the_checks_catch() -> None:
    assert "checks unmeasured" in plain(header.header(a_view(), 120))
    assert "checks catch 29%" in plain(header.header(measured(ROW), 120))
    assert "checks unmeasured" in plain(header.header(measured(replace(ROW, checkpoint="c1")), 120)), "of another tree"


def test_the_table_has_each_task_and_every_place_that_nothing_verifies() -> None:
    rows = (ROW, ev.Audited(task=4, vacuous=True), ev.Audited(task=5, flaky=True))
    for room in (40, 80, 160):
        lines = checks.page(measured(*rows), room)
        assert all(width(one) <= room for one in lines)
    shown = [plain(one) for one in lines]
    row = next(one for one in shown if one.startswith("2 Detect"))
    assert "29%" in row
    assert "100 of 120 tried" in row
    assert any(one.startswith("    src/a") and ".py:10-14" in one for one in shown)
    assert "    logo  the check is flaky" in shown
    assert "    and 3 places more: proctor audit --json" in shown
    assert "no check to measure" in next(one for one in shown if one.startswith("1 "))
    checked = TaskState(id=1, task="", checks=(ev.CheckFact(run=("pytest",)),))
    assert known.unmeasured(checked).why == "measured once verified"
    assert known.unmeasured(replace(checked, status=TaskStatus.DONE)).why == "not measured yet"
    assert "proves nothing" in next(one for one in shown if one.startswith("4 "))
    assert "flaky" in next(one for one in shown if one.startswith("5 "))
    assert "\x1b" not in "".join(shown)


def test_as_long_as_nothing_is_measured_the_page_says_what_measures_it() -> None:
    def said(view: View) -> str:
        return " ".join(map(plain, checks.page(view, 80)))

    assert "`proctor audit` measures at once" in said(dataclasses.replace(a_view(), alive=False))
    assert "idle time" in said(a_view())
    assert "`proctor audit`" not in said(measured(ROW))


def test_the_log_tells_what_was_found_and_the_first_place() -> None:
    entry = from_row(ev.Row(seq=1, at=NOW, token=1, event=ROW))
    assert entry
    assert entry.text.startswith("task 2: its check catches 29 of 100 parts taken out; nothing verifies src/a")
    assert "\x1b" not in entry.text
    assert from_row(ev.Row(seq=1, at=NOW, token=1, event=ev.Audited(task=4))) is None
