"""A worker that the operator cut short before it did anything: there is nothing to judge, and no failure to tell."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import IterationEnd, Phase, TaskStatus, Verdict

Make = Callable[..., Workspace]
IDLE = "import time\nprint('at work', flush=True)\n%stime.sleep(600)\n"
CHANGES = "open('src/half.txt', 'w').write('half')\n"
CLAIMS = """import json, os
print(json.dumps({"proctor": "claim", "task": int(os.environ["PROCTOR_TASK"]), "status": "done"}), flush=True)
"""


@pytest.fixture
def workspace(sample: Make) -> Workspace:
    workspace = sample("restless")
    workspace.contract("progress:\n", "progress:\n  on_failed: never\n")
    return workspace


def begins(workspace: Workspace, does: str = "") -> None:
    """A worker is at work, and has done what it does."""
    (workspace.path / "tools" / "worker.py").write_text(IDLE % does)
    workspace.begin()
    wait_until(lambda: workspace.live("worker").get("alive"), "a worker")
    if does == CHANGES:
        wait_until((workspace.path / "src" / "half.txt").exists, "its change")
    if does == CLAIMS:
        wait_until(lambda: workspace.events("claim_recorded"), "its claim")


def verdicts(workspace: Workspace) -> list[Verdict]:
    rows = workspace.events("judged")
    return [e.verdict for e in rows if isinstance(e, ev.Judged) and e.phase is Phase.WORK]


def parks(workspace: Workspace) -> None:
    workspace.proctor("park", check=True)
    wait_until(lambda: not workspace.supervisor(), "parked")


def test_a_task_that_is_parked_before_any_work_is_not_judged_and_stays_open(workspace: Workspace) -> None:
    begins(workspace)
    parks(workspace)
    state = workspace.state()
    assert state
    assert verdicts(workspace) == []
    assert state.tasks[0].status is TaskStatus.PENDING
    assert (state.settled, state.decided) == (1, 1)
    log = (workspace.path / "PROGRESS.md").read_text()
    assert "not judged: its worker was cut short before it did anything" in log
    assert "failed" not in log


@pytest.mark.parametrize("does", [CHANGES, CLAIMS], ids=["changes", "claims"])
def test_what_was_changed_or_claimed_before_the_end_is_judged(workspace: Workspace, does: str) -> None:
    begins(workspace, does)
    parks(workspace)
    assert verdicts(workspace) == [Verdict.FAILED]
    assert len(workspace.events("false_claim")) == (does == CLAIMS)


@pytest.mark.parametrize("does", ["", CHANGES], ids=["nothing", "changes"])
def test_a_contract_that_is_saved_under_a_worker_is_no_failure_of_its_task(workspace: Workspace, does: str) -> None:
    begins(workspace, does)
    saved = workspace.path / "saved"
    saved.write_text((workspace.path / "proctor.yaml").read_text() + "# mine\n")
    os.replace(saved, workspace.path / "proctor.yaml")
    wait_until(lambda: len(workspace.events("iteration_started")) > 1, "a fresh worker")
    ended = next(e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded))
    assert ended.how is IterationEnd.UNCOVERED
    assert ended.detail.startswith("proctor.yaml was replaced on the host, as an editor does that saves by renaming: ")
    assert ended.detail.endswith("no failure of the task; pause before you save")
    logged = [e.text for e in workspace.events("logged") if isinstance(e, ev.Logged) and e.room == "sandbox"]
    assert any(text.endswith("so stop, save it, run") for text in logged)
    state = workspace.state()
    assert state
    assert state.tasks[0].status is TaskStatus.PENDING
    assert state.tasks[0].failed == 0
    assert verdicts(workspace) == ([Verdict.FAILED] if does else [])
