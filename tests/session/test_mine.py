"""What the operator writes while a worker stands still is told from the worker's, and stays on request."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import TaskStatus

Make = Callable[..., Workspace]


def test_edits_made_during_a_pause_are_the_operator_s_and_stay(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.3)
    workspace.begin("--yes")
    wait_until(lambda: workspace.rows("task_done"), "a verified task")
    workspace.freeze()
    mine = workspace.path / "notes.txt"
    mine.write_text("mine\n")
    wait_until(lambda: workspace.rows("operator_wrote"), "what the watcher saw")

    shown = json.loads(workspace.proctor("rollback", "--to", "c1", "--preview", "--json", check=True).stdout)
    assert "notes.txt" in shown["mine"]

    took = json.loads(workspace.proctor("rollback", "--to", "c1", "--keep-mine", "--json", check=True).stdout)
    assert "notes.txt" in took["stays"]
    assert mine.read_text() == "mine\n"
    state = workspace.state()
    assert state is not None
    assert state.rollbacks[-1].mine == tuple(took["stays"])
    log = (workspace.path / "PROGRESS.md").read_text()
    assert "of the operator's left in place" in log
    assert workspace.proctor("undo").returncode == 0
    assert mine.read_text() == "mine\n"
    workspace.proctor("stop")


@pytest.mark.parametrize("removed", [True, False])
def test_a_test_that_the_operator_changes_during_a_pause_is_not_put_to_the_worker(sample: Make, removed: bool) -> None:
    workspace = sample("csv_tool", pause=0.3)
    workspace.begin("--yes", "--once")
    workspace.freeze()
    test = workspace.path / "tests/test_quoting.py"
    if removed:
        test.unlink()
    else:
        test.write_text(f"{test.read_text()}\n# looked at\n")
    wait_until(lambda: workspace.rows("operator_wrote"), "what the watcher saw")
    workspace.proctor("resume", check=True)
    wait_until(lambda: not workspace.supervisor(), "the end of the session")
    assert not workspace.rows("tampered", "suspected")
    frozen = [e.changed for e in workspace.events("oracle_frozen") if isinstance(e, ev.OracleFrozen)]
    assert frozen[1:] == [("tests/test_quoting.py",)]
    state = workspace.state()
    assert state is not None
    assert (state.tasks[0].status is TaskStatus.DONE) is not removed
