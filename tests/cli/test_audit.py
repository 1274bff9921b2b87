"""The audit's report as a table."""

from __future__ import annotations

from proctor.cli.audit import lines
from proctor.journal import checks
from proctor.journal import events as ev
from proctor.journal.state import State, TaskState
from proctor.words import TaskStatus


def test_the_table_names_every_place_and_says_what_is_wrong_with_a_check() -> None:
    done = TaskState(id=1, task="Write\x1b[2J it", status=TaskStatus.DONE, checkpoint="c2")
    places = tuple(ev.Unverified(file="a\x07.py", lines=(line, line + 1)) for line in range(1, 91, 3))
    one = ev.Audited(task=1, checkpoint="c2", caught=10, measured=40, parts=50, unverified=places, more=2, flaky=True)
    rows = (one, ev.Audited(task=2, vacuous=True))
    tasks = (done, TaskState(id=2, task="Try it"), TaskState(id=3, task="Do it"))
    state = State(tasks=tasks, audited=rows)
    shown = list(lines(checks.report(state)))
    assert shown[0].startswith("checks catch 25%")
    assert "25%" in shown[1]
    assert "40 of 50 tried" in shown[1]
    assert len(shown[1]) < 80
    assert shown[2].endswith("flaky")
    assert shown[3].endswith(".py:1-2  the check passes without it")
    assert shown[23].endswith("and 12 places more")
    assert shown[25].endswith("passes before the work: it proves nothing")
    assert shown[27].endswith("no check to measure")
    assert not any(character in "".join(shown) for character in "\x1b\x07")
    assert next(lines(checks.report(State(tasks=tasks)))) == "checks unmeasured"
