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

from harness import PROCTOR, Workspace, wait_until
from proctor.journal import events as ev
from proctor.supervisor.client import Client
from proctor.words import CheckpointKind, RequestOutcome, SessionStatus, TaskStatus, Verdict

Make = Callable[..., Workspace]


def answer_when_asked(workspace: Workspace, verb: str = "approve", *words: str) -> ev.RequestOpened:
    state = wait_until(lambda: (s := workspace.state()) and s.open_requests and s, "a request")
    request = state.open_requests[0]
    workspace.proctor(verb, "--id", str(request.id), *words, check=True)
    return request.opened


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A session that was run to its end with all requests granted, for the tests that look at what it left."""
    folder = tmp_path_factory.mktemp("t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        workspace = Workspace.sample("csv_tool", folder / "w")
        try:
            run = workspace.start("--yes")
            output, _ = run.communicate(timeout=120)
            assert run.returncode == 0, output
            yield workspace
        finally:
            workspace.settle()


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
    closed = [e for e in ended.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert [e.by for e in closed] == ["flag --yes"]
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


def test_a_finished_session_starts_no_worker_and_stays_done(ended: Workspace) -> None:
    before = len(ended.events("iteration_started"))
    again = ended.start()
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output
    assert len(ended.events("iteration_started")) == before


def test_five_tasks_are_verified_once_each_with_one_false_claim_and_one_answer(sample: Make) -> None:
    workspace = sample("csv_tool")
    run = workspace.start("--json")
    opened = answer_when_asked(workspace, "deny", "--reason", "not today")
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert Counter(e.task for e in workspace.events("task_done") if isinstance(e, ev.TaskDone)) == Counter(range(1, 6))
    assert len(workspace.events("false_claim")) == 1
    closed = [e for e in workspace.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert [(e.id, e.outcome, e.reason) for e in closed] == [(opened.id, RequestOutcome.DENIED, "not today")]
    printed = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert [row["seq"] for row in printed] == [row.seq for row in workspace.rows()]
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.DONE
    assert workspace.processes() == []


def test_the_follower_may_die_and_a_second_supervisor_is_refused(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    run = workspace.start("--yes")
    pid = wait_until(workspace.supervisor, "a supervisor")
    before = verified(workspace)
    run.send_signal(signal.SIGKILL)
    run.wait()
    refused = workspace.proctor("run", "--headless")
    assert refused.returncode == 2
    assert str(pid) in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    goes_on(workspace, before)


def test_a_sigkilled_supervisor_leaves_nothing_alive_and_the_next_run_finishes(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    workspace.begin("--yes")
    wait_until(lambda: workspace.live("worker").get("alive") and workspace.rows("task_done"), "a worker after a task")
    pid = workspace.supervisor()
    assert pid is not None
    before = workspace.status()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "nothing alive", 10)
    assert workspace.status()["status"] == "interrupted"
    run = workspace.start("--yes")
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    done = Counter(e.task for e in workspace.events("task_done") if isinstance(e, ev.TaskDone))
    assert done == Counter(range(1, 6))
    after = workspace.status()
    assert after["session"] == before["session"]
    for name, figure in before["budget"].items():
        assert after["budget"][name]["used"] >= figure["used"]


def test_stop_ends_the_session_and_run_goes_on_from_the_tree(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    run = workspace.start("--yes")
    wait_until(lambda: workspace.live("worker").get("alive"), "a worker")
    stopped = workspace.proctor("stop")
    assert stopped.returncode == 0, stopped.stderr
    run.communicate(timeout=30)
    assert run.returncode == 130
    assert workspace.processes() == []
    before = verified(workspace)
    workspace.begin("--yes")
    goes_on(workspace, before)


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


def test_pause_freezes_the_worker_and_the_active_clock(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.2)
    workspace.begin("--yes")
    wait_until(lambda: workspace.live("worker").get("alive"), "a worker")
    assert workspace.proctor("pause").returncode == 0
    wait_until(lambda: workspace.live("worker").get("frozen"), "frozen")
    before = workspace.status()["budget"]["wall_clock"]["used"]
    beats = workspace.live("gauges")
    wait_until(lambda: workspace.live("gauges") != beats or None, "elapsed moves on")
    assert workspace.status()["budget"]["wall_clock"]["used"] == before
    assert workspace.status()["status"] == "paused"
    done = verified(workspace)
    assert workspace.proctor("resume").returncode == 0
    goes_on(workspace, done)


def test_a_note_reaches_the_next_brief(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    workspace.begin("--yes")
    wait_until(lambda: workspace.live("worker").get("alive"), "a worker")
    noted = subprocess.run(
        [*PROCTOR, "note", str(workspace.path), "mind", "the", "commas"], capture_output=True, text=True, check=True
    )
    assert "next brief" in noted.stdout

    def told() -> list[bool]:
        briefs = sorted((workspace.path / ".proctor" / "iterations").glob("*/brief.md"))
        return ["mind the commas" in brief.read_text() for brief in briefs]

    wait_until(lambda: True in told()[:-1], "a brief after the one that has the note")
    assert workspace.proctor("stop").returncode == 0
    assert sum(told()) == 1


def test_an_order_for_an_earlier_supervisor_expires(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.1)
    workspace.begin("--yes")
    pid = wait_until(workspace.supervisor, "a supervisor")
    os.kill(pid, signal.SIGSTOP)
    with Client(workspace.path) as client:
        order = client.order("stop")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.supervisor(), "dead")
    before = verified(workspace)
    workspace.begin("--yes")
    goes_on(workspace, before)
    answers = {e.order: e.outcome for e in workspace.events("order_taken") if isinstance(e, ev.OrderTaken)}
    assert answers[order] == "expired"


def test_a_rollback_that_would_change_nothing_is_refused_and_costs_no_worker(sample: Make) -> None:
    workspace = sample("restless")
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.open_requests, "a request")
    kept = workspace.proctor("checkpoint", "--note", "as it is")
    assert kept.returncode == 0, kept.stderr
    refused = workspace.proctor("rollback")
    assert refused.returncode == 2
    assert "nothing to take back" in refused.stderr
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.ASKING
    assert state.open_requests
    assert workspace.live("worker")["alive"]


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
    run = workspace.start()
    run.communicate(timeout=120)
    assert run.returncode == 4
    assert mine.read_text() == "answer = 42\n"
    state = workspace.state()
    assert state is not None
    assert [b.way for b in state.rollbacks if not b.failed]


def test_the_contract_is_the_operators_and_no_rollback_touches_it(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.3)
    workspace.begin("--yes")
    wait_until(lambda: workspace.rows("task_done"), "a verified task")
    workspace.proctor("stop")
    wait_until(lambda: not workspace.supervisor(), "stopped")
    workspace.contract("goal: ", "goal: (revised) ")
    back = workspace.proctor("rollback", "--to", "c1")
    assert back.returncode == 0, back.stderr
    assert "(revised)" in (workspace.path / "proctor.yaml").read_text()
