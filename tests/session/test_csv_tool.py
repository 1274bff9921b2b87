"""The main job from outside: the real command, the real sandbox, a scripted worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from harness import PATIENCE, Workspace, wait_until
from proctor.journal import events as ev
from proctor.supervisor.client import Client
from proctor.words import CheckpointKind, RequestOutcome, SessionStatus, TaskStatus, Verdict

Make = Callable[..., Workspace]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str]]:
    """A session that ran to its end and whose one request was denied, and what it printed as JSON."""
    folder = tmp_path_factory.mktemp("t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        workspace = Workspace.sample("csv_tool", folder / "w")
        try:
            run = workspace.start("--json")
            state = wait_until(lambda: (s := workspace.state()) and s.open_requests and s, "a request")
            workspace.proctor("deny", "--id", str(state.open_requests[0].id), "--reason", "not today", check=True)
            output, _ = run.communicate(timeout=PATIENCE)
            assert run.returncode == 0, output
            yield workspace, output
        finally:
            workspace.settle()


@pytest.fixture
def ended(told: tuple[Workspace, str]) -> Workspace:
    """That session, for the tests that look at what it left."""
    return told[0]


def verified(workspace: Workspace) -> int:
    """How often a task was verified up to now."""
    return len(workspace.rows("task_done"))


def goes_on(workspace: Workspace, before: int) -> None:
    """Waits until one more is verified."""
    wait_until(lambda: verified(workspace) > before, "a further task")


def test_the_workspace_tells_what_happened(ended: Workspace) -> None:
    listed = json.loads((ended.path / "tasks.json").read_text())
    assert [task["status"] for task in listed] == ["done"] * 5
    assert all(task["verified_by"] and task["commit"] for task in listed)
    log = (ended.path / "PROGRESS.md").read_text()
    assert log.count("passed") >= 5
    assert "session done" in log
    checked = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-t", ".", "-s", "tests"],
        cwd=ended.path,
        capture_output=True,
        check=False,
    )
    assert checked.returncode == 0
    status = ended.status()
    assert status["status"] == "done"
    assert {task["verdict"] for task in status["tasks"]} == {"passed"}
    assert status["budget"]["tokens"]["used"] > 0
    assert status["budget"]["cost"]["source"] in ("reported", "estimated")


def test_verdicts_and_claims_are_recorded_side_by_side(ended: Workspace) -> None:
    judged = [e for e in ended.events("judged") if isinstance(e, ev.Judged) and e.phase == "work"]
    assert Counter(e.verdict for e in judged) == Counter({Verdict.PASSED: 5, Verdict.FAILED: 1})
    baselines = [e for e in ended.events("judged") if isinstance(e, ev.Judged) and e.phase == "baseline"]
    assert {e.verdict for e in baselines} == {Verdict.FAILED}
    assert len(baselines) == 5


def test_five_tasks_are_verified_once_each_with_one_false_claim_and_one_answer(told: tuple[Workspace, str]) -> None:
    workspace, output = told
    assert Counter(e.task for e in workspace.events("task_done") if isinstance(e, ev.TaskDone)) == Counter(range(1, 6))
    assert len(workspace.events("false_claim")) == 1
    (opened,) = workspace.events("request_opened")
    assert isinstance(opened, ev.RequestOpened)
    closed = [e for e in workspace.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert [(e.id, e.outcome, e.reason) for e in closed] == [(opened.id, RequestOutcome.DENIED, "not today")]
    printed = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert [row["seq"] for row in printed] == [row.seq for row in workspace.rows()]
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.DONE
    assert workspace.processes() == []


def test_a_finished_session_starts_no_worker_and_stays_done(ended: Workspace) -> None:
    before = len(ended.events("iteration_started"))
    code, output = ended.finish()
    assert code == 0, output
    assert len(ended.events("iteration_started")) == before


@pytest.mark.cases
def test_the_follower_may_die_a_second_supervisor_is_refused_and_a_sigkilled_one_leaves_nothing_alive(
    sample: Make,
) -> None:
    workspace = sample("csv_tool", pause=0.1)
    run = workspace.start("--yes")
    pid = wait_until(workspace.supervisor, "a supervisor")
    run.send_signal(signal.SIGKILL)
    run.wait()
    refused = workspace.proctor("run", "--headless")
    assert refused.returncode == 2
    assert str(pid) in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    wait_until(lambda: workspace.live("worker").get("alive") and workspace.rows("task_done"), "a worker after a task")

    before = workspace.status()
    os.kill(pid, signal.SIGSTOP)
    with Client(workspace.path) as client:
        order = client.order("stop")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "nothing alive")
    assert workspace.status()["status"] == "interrupted"
    code, output = workspace.finish("--yes")
    assert code == 0, output
    answers = {e.order: e.outcome for e in workspace.events("order_taken") if isinstance(e, ev.OrderTaken)}
    assert answers == {order: "expired"}, "an order for an earlier supervisor"
    done = Counter(e.task for e in workspace.events("task_done") if isinstance(e, ev.TaskDone))
    assert done == Counter(range(1, 6))
    after = workspace.status()
    assert after["session"] == before["session"]
    for name, figure in before["budget"].items():
        assert after["budget"][name]["used"] >= figure["used"]


def test_stop_ends_the_session_no_rollback_touches_the_contract_and_run_goes_on_from_the_tree(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    run = workspace.start("--yes")
    wait_until(lambda: workspace.live("worker").get("alive") and workspace.rows("task_done"), "a worker after a task")
    stopped = workspace.proctor("stop")
    assert stopped.returncode == 0, stopped.stderr
    run.communicate(timeout=PATIENCE)
    assert run.returncode == 130
    assert workspace.processes() == []
    before = verified(workspace)
    workspace.begin("--yes")
    goes_on(workspace, before)
    workspace.proctor("stop")
    wait_until(lambda: not workspace.supervisor(), "stopped")
    workspace.contract("goal: ", "goal: (revised) ")
    back = workspace.proctor("rollback", "--to", "c1")
    assert back.returncode == 0, back.stderr
    assert "(revised)" in (workspace.path / "proctor.yaml").read_text()


def test_rollback_and_undo_while_a_worker_runs(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.3)
    workspace.begin("--yes")
    wait_until(lambda: workspace.rows("task_done"), "a verified task")
    wait_until(lambda: workspace.live("worker").get("alive"), "the next worker")
    state = workspace.state()
    assert state is not None
    assert state.tasks[0].status is TaskStatus.DONE
    further = workspace.proctor("rollback", "--to", state.checkpoints[0].id)
    assert further.returncode == 0, further.stderr
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.PAUSED
    assert state.tasks[0].status is TaskStatus.PENDING
    assert state.tasks[0].taken_back
    undone = workspace.proctor("undo")
    assert undone.returncode == 0, undone.stderr
    state = workspace.state()
    assert state is not None
    assert state.tasks[0].status is TaskStatus.DONE
    kinds = [c.taken.checkpoint for c in state.checkpoints]
    assert kinds.count(CheckpointKind.SAFETY) >= 2
    done = verified(workspace)
    assert workspace.proctor("resume").returncode == 0
    goes_on(workspace, done)


def test_pause_freezes_the_worker_and_the_active_clock_and_a_note_reaches_the_next_brief(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.2)
    workspace.begin("--yes")
    workspace.freeze()
    before = workspace.status()["budget"]["wall_clock"]["used"]
    beats = workspace.live("gauges")
    wait_until(lambda: workspace.live("gauges") != beats or None, "elapsed moves on")
    assert workspace.status()["budget"]["wall_clock"]["used"] == before
    assert workspace.status()["status"] == "paused"
    done = verified(workspace)
    assert workspace.proctor("resume").returncode == 0
    noted = workspace.proctor("note", "mind", "the", "commas")
    assert "next brief" in noted.stdout
    goes_on(workspace, done)

    def told() -> list[bool]:
        briefs = sorted((workspace.path / ".proctor" / "iterations").glob("*/brief.md"))
        return ["mind the commas" in brief.read_text() for brief in briefs]

    wait_until(lambda: True in told()[:-1], "a brief after the one that has the note")
    assert workspace.proctor("stop").returncode == 0
    assert sum(told()) == 1


def test_what_the_operator_changes_between_iterations_is_never_taken_back(sample: Make) -> None:
    workspace = sample("plateau")
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.iteration >= 1, "an iteration")
    workspace.proctor("pause")
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.PAUSED, "paused")
    workspace.proctor("stop")
    wait_until(lambda: not workspace.supervisor(), "stopped")
    mine = workspace.path / "src" / "mine.py"
    mine.write_text("answer = 42\n")
    code, output = workspace.finish()
    assert code == 4, output
    assert mine.read_text() == "answer = 42\n"
    state = workspace.state()
    assert state is not None
    assert [b.way for b in state.rollbacks if not b.failed]
