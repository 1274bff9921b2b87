"""Sessions in git workspaces: one commit for each verified task on the session's branch, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev

Make = Callable[..., Workspace]


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def repository(workspace: Workspace, commits: str = "") -> Path:
    """The workspace as a committed repository; `commits` is what the contract says of them."""
    workspace.contract("  commits: none\n", commits)
    git(workspace.path, "init", "-q", "-b", "trunk")
    git(workspace.path, "config", "user.name", "Olga")
    git(workspace.path, "config", "user.email", "olga@example.org")
    git(workspace.path, "add", "-A")
    git(workspace.path, "commit", "-q", "-m", "First")
    return workspace.path


def picture(work: Path) -> dict[str, object]:
    """What a session must leave alone: HEAD, index, other refs, configuration, hooks."""
    kept = [path for path in (work / ".git").rglob("*") if path.is_file()]
    named = {str(path.relative_to(work / ".git")): path for path in kept}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if not name.startswith(("objects/", "refs/heads/proctor/"))
    }


def branch(work: Path) -> str:
    return git(work, "for-each-ref", "--format=%(refname:short)", "refs/heads/proctor").strip()


def trailers(work: Path, key: str) -> list[str]:
    listed = git(
        work, "log", "--reverse", f"--format=%(trailers:key=Proctor-{key},valueonly)", f"trunk..{branch(work)}"
    )
    return listed.split("\n\n") if key == "Check" else listed.split()


def test_each_verified_task_is_one_commit_and_all_else_is_as_it_was(sample: Make) -> None:
    workspace = sample("csv_tool")
    work = repository(workspace)
    (work / ".env").write_text("SECRET=1\n")
    (work / ".git" / "info" / "exclude").write_text(".env\n")
    before = picture(work)
    code, output = workspace.finish("--yes")
    assert code == 0, output
    assert picture(work) == before
    closed = [e for e in workspace.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert [e.by for e in closed] == ["flag --yes"]
    session = workspace.status()["session"]
    assert branch(work) == f"proctor/{session}"
    assert trailers(work, "Task") == ["1", "2", "3", "4", "5"]
    assert set(trailers(work, "Session")) == {session}
    done = [e for e in workspace.events("task_done") if isinstance(e, ev.TaskDone)]
    assert trailers(work, "Checkpoint") == [e.checkpoint for e in done]
    assert git(work, "log", "-1", "--format=%an <%ae>", branch(work)).strip() == "Olga <olga@example.org>"
    names = git(work, "diff", "--name-only", "trunk", branch(work)).split()
    assert names
    assert not {"tasks.json", "PROGRESS.md", "RULES.md", "proctor.yaml", ".env"} & set(names)
    assert git(work, "diff", "--stat", branch(work), "--", "src") == ""  # the tree is what was verified
    commits = git(work, "rev-list", "--reverse", f"trunk..{branch(work)}").split()
    assert [task["commit"] for task in json.loads((work / "tasks.json").read_text())] == commits
    assert [task["commit"] for task in workspace.status()["tasks"]] == commits
    assert commits[0][:12] in (work / "PROGRESS.md").read_text()
    assert not (work / ".proctor" / "branch").exists()
    assert git(work, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.kills
@pytest.mark.parametrize("kills", [1, 4])
def test_kills_leave_each_task_one_commit(sample: Make, kills: int) -> None:
    workspace = sample("csv_tool", pause=0.05)
    work = repository(workspace, "  commits: session-branch\n")
    for number in range(1, kills + 1):
        workspace.begin("--yes")
        wait_until(lambda n=number: len(workspace.rows("task_done")) >= n, "a verified task")
        if pid := workspace.supervisor():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not workspace.processes(), "nothing alive")
    code, output = workspace.finish("--yes")
    assert code == 0, output
    assert trailers(work, "Task") == ["1", "2", "3", "4", "5"]
    done = [e.task for e in workspace.events("task_committed") if isinstance(e, ev.TaskCommitted)]
    assert done == [1, 2, 3, 4, 5]


def once(workspace: Workspace) -> None:
    """One iteration, which verifies the first task."""
    code, output = workspace.finish("--yes", "--once")
    assert code == 130, output
    assert next(task["status"] for task in workspace.status()["tasks"]) == "done"


@pytest.mark.cases
def test_a_branch_that_cannot_be_written_fails_no_session_and_is_caught_up_later(sample: Make) -> None:
    workspace = sample("csv_tool")
    work = repository(workspace)
    git(work, "branch", "proctor")  # no branch can lie below it
    once(workspace)
    told = [e.text for e in workspace.events("logged") if isinstance(e, ev.Logged) and e.room == "branch"]
    assert len(told) == 1
    assert told[0].startswith("task 1 is not on the session branch yet: ")
    assert workspace.events("task_committed") == []
    git(work, "branch", "-D", "proctor")
    once(workspace)
    assert trailers(work, "Task")[0] == "1"


def test_where_the_contract_wants_none_there_is_no_branch(sample: Make) -> None:
    workspace = sample("csv_tool")
    repository(workspace, "  commits: none\n")
    once(workspace)
    assert workspace.events("task_committed") == []
    assert json.loads((workspace.path / "tasks.json").read_text())[0]["commit"]
    assert branch(workspace.path) == ""


def test_a_session_branch_without_a_repository_is_refused_by_name(sample: Make) -> None:
    workspace = sample("csv_tool")
    workspace.contract("  commits: none\n", "  commits: session-branch\n")
    for verb, words in (("run", ["--headless"]), ("check", [])):
        refused = workspace.proctor(verb, *words)
        assert refused.returncode == 2, refused.stdout
        (line,) = [line for line in refused.stderr.splitlines() if line]
        assert "state.commits: no session-branch here: there is no git repository" in line
