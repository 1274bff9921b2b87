"""Whose an edit is: the operator's between runs and under a worker, the worker's where nothing stood before."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import IterationEnd, RequestKind, TamperKind, TaskStatus

Make = Callable[..., Workspace]


def prepared(sample: Make, worker: str, *checks: str, protect: str = "tools/", state: str = "") -> Workspace:
    """A workspace whose tasks have these shell lines as their checks, allowed one iteration."""
    workspace = sample("restless")
    (workspace.path / "tools/worker.py").write_text(f"import os, sys, time\nfrom pathlib import Path\n{worker}")
    tasks = [
        {"id": n, "task": f"Task {n}", "spec": "specs/1.md", "check": {"run": ["sh", "-c", check]}, "status": "pending"}
        for n, check in enumerate(checks, 1)
    ]
    (workspace.path / "tasks.json").write_text(json.dumps(tasks))
    workspace.contract("protect: [tests/, specs/, tools/]", f"protect: [{protect}]{state}")
    workspace.contract("iterations: {limit: 5,", "iterations: {limit: 1,")
    workspace.contract("progress:\n", "progress:\n  on_tampering: record\n")
    return workspace


def gone(workspace: Workspace) -> None:
    wait_until(lambda: not workspace.supervisor(), "the end of the session")


def finishes(workspace: Workspace) -> None:
    workspace.begin()
    gone(workspace)


def asked(workspace: Workspace) -> int:
    now = workspace.state()
    return next((r.id for r in now.open_requests if r.opened.request is RequestKind.EXPOSED), 0) if now else 0


def ends(workspace: Workspace) -> list[tuple[int, str]]:
    rows = workspace.events("iteration_ended")
    return [(e.iteration, e.how) for e in rows if isinstance(e, ev.IterationEnded)]


def tampered(workspace: Workspace) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(e.paths, e.kinds) for e in workspace.events("tampered") if isinstance(e, ev.Tampered)]


def test_a_check_that_the_operator_edits_between_runs_decides_whatever_workers_made(sample: Make) -> None:
    worker = """\
if os.environ["PROCTOR_TASK"] == "1":
    Path("newpkg").mkdir()
    Path("newpkg/__init__.py").touch()
    Path("conftest.py").write_text("collect_ignore = ['tests']")
else:
    Path("second").touch()
"""
    checks = "test -e newpkg/__init__.py", "sh checks/holds.sh"
    workspace = prepared(sample, worker, *checks, protect="tools/, checks/")
    (workspace.path / "checks").mkdir()
    holds = workspace.path / "checks/holds.sh"
    holds.write_text("test -e second\n")
    finishes(workspace)
    state = workspace.state()
    assert state
    assert [task.status for task in state.tasks] == [TaskStatus.DONE, TaskStatus.PENDING]
    assert tampered(workspace) == [(("conftest.py",), (TamperKind.RUNNER,))]
    frozen = state.oracle
    (workspace.path / "conftest.py").write_text("# still a worker's, for all that is known\n")
    holds.write_text("echo no; exit 1\n")
    (workspace.path / "checks/more.sh").touch()
    workspace.raise_ceiling("iterations", 2)
    finishes(workspace)
    state = workspace.state()
    assert state
    assert state.oracle != frozen
    assert (state.tasks[1].status, state.iteration) == (TaskStatus.FAILED, 2)
    assert {paths for paths, _ in tampered(workspace)} == {("conftest.py",)}
    assert not state.open_requests


def test_what_the_operator_replaces_under_a_worker_is_never_taken_back_with_its_work(sample: Make) -> None:
    worker = """\
if Path("seen").exists():
    Path("again").touch()
    sys.exit()
Path("seen").touch()
time.sleep(1000)
"""
    workspace = prepared(sample, worker, "exit 1", state="\n  hide: [.env]")
    workspace.contract("progress:\n", "progress:\n  on_failed: rollback\n")
    workspace.contract("iterations: {limit: 1,", "iterations: {limit: 2,")
    secret = workspace.path / ".env"
    secret.write_text("OLD=1\n")
    workspace.begin()
    wait_until((workspace.path / "seen").exists, "a worker at work")
    (workspace.path / "new").write_text("NEW=2\n")
    os.replace(workspace.path / "new", secret)
    gone(workspace)
    assert ends(workspace) == [(1, IterationEnd.UNCOVERED), (2, IterationEnd.EXITED)]
    assert secret.read_text() == "NEW=2\n"
    assert (workspace.path / "seen").exists()
    assert not (workspace.path / "again").exists(), "the second failed verdict does take its work back"
    logged = [e.text for e in workspace.events("logged") if isinstance(e, ev.Logged)]
    assert any("the tree stays as it is" in text and "rollback --to" in text for text in logged)


MAKES = """\
Path("Makefile").write_text("all:\\n")
if Path("slow").exists():
    time.sleep(1000)
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_protected_file_that_a_worker_makes_is_judged_and_never_frozen_without_a_word(
    sample: Make, killed: bool
) -> None:
    workspace = prepared(sample, MAKES, "test -e Makefile", protect="tools/, Makefile")
    workspace.contract("progress:\n", "progress:\n  on_failed: never\n")
    if killed:
        (workspace.path / "slow").touch()
        workspace.begin()
        wait_until((workspace.path / "Makefile").exists, "the worker's file")
        pid = workspace.supervisor()
        assert pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not workspace.processes(), "the end of all")
    else:
        finishes(workspace)
        assert ends(workspace) == [(1, IterationEnd.EXITED)]
        assert tampered(workspace) == [(("Makefile",), (TamperKind.ADDED,))]
        assert workspace.events("exposed") == [ev.Exposed(iteration=1, paths=("Makefile",))]
    state = workspace.state()
    assert state
    assert state.tasks[0].verified_by is None
    workspace.raise_ceiling("iterations", 2)
    workspace.begin()
    number = wait_until(lambda: asked(workspace), "the question")
    assert workspace.state().oracle == state.oracle  # type: ignore[union-attr]
    workspace.proctor("approve", "--id", str(number), check=True)
    wait_until(lambda: (now := workspace.state()) and now.oracle != state.oracle and not now.exposed, "frozen")


def test_a_protected_file_that_the_operator_makes_between_runs_is_his(sample: Make) -> None:
    workspace = prepared(sample, "Path('work').touch()", "test -e Makefile", protect="tools/, Makefile")
    finishes(workspace)
    state = workspace.state()
    assert state
    (workspace.path / "Makefile").write_text("all:\n")
    workspace.raise_ceiling("iterations", 2)
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.open_requests, "the question about a check that passes already")
    now = workspace.state()
    assert now
    assert now.oracle != state.oracle
    assert (workspace.events("exposed"), workspace.events("tampered")) == ([], [])


def test_a_worker_that_changed_a_file_and_failed_at_once_did_start(sample: Make) -> None:
    workspace = prepared(sample, "Path('work').write_text('x'); os._exit(1)", "exit 1")
    finishes(workspace)
    assert ends(workspace) == [(1, IterationEnd.EXITED)]
    assert workspace.events("judged")


def test_a_worker_that_was_cut_short_is_told_with_what_it_changed(sample: Make) -> None:
    workspace = prepared(sample, "Path('work').write_text('x\\n'); time.sleep(1000)", "exit 1")
    workspace.begin()
    wait_until(lambda: (p := workspace.path / "work").exists() and p.read_text(), "a worker at work")
    pid = workspace.supervisor()
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "the end of all")
    finishes(workspace)
    (ended,) = [e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded)]
    assert (ended.how, ended.files, ended.lines) == (IterationEnd.INTERRUPTED, 1, 1)


def test_a_task_whose_work_came_back_with_an_undo_is_still_known_to_have_failed_before_it(sample: Make) -> None:
    worker = """\
if Path("done").exists():
    sys.exit()
if Path("tried").exists():
    Path("done").touch()
    time.sleep(1000)
Path("tried").touch()
"""
    workspace = prepared(sample, worker, "test -e done")
    workspace.contract("iterations: {limit: 1,", "iterations: {limit: 3,")
    workspace.begin()
    wait_until((workspace.path / "done").exists, "work that would pass")
    workspace.proctor("pause", check=True)
    for verb, there in (("rollback", False), ("undo", True)):
        workspace.proctor(verb, check=True)
        wait_until(lambda there=there: (workspace.path / "done").exists() is there, f"the {verb}")
    workspace.proctor("resume", check=True)
    gone(workspace)
    state = workspace.state()
    assert state
    assert (state.tasks[0].status, state.tasks[0].why) == (TaskStatus.DONE, "")
