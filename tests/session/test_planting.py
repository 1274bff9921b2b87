"""A worker that makes git repositories: they are renamed, told, and no work of its."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from harness import Workspace
from proctor.journal import events as ev

Make = Callable[..., Workspace]

WORKER = """\
import subprocess
from pathlib import Path
for words in (["lib"], ["--bare", "bare"]):
    subprocess.run(["git", "init", "-q", *words], check=True)
Path("lib/x.py").write_text("x = 1\\n")
with Path("own.py").open("a") as own:
    own.write("x = 1\\n")
"""


def git(workspace: Workspace, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=workspace.path, capture_output=True, text=True, check=True).stdout


def test_the_repositories_of_a_worker_are_neither_its_work_nor_in_its_commits(sample: Make) -> None:
    workspace = sample("restless")
    (workspace.path / "tools/worker.py").write_text(WORKER)
    checks = {1: "test -e own.py", 2: "test $(wc -l < own.py) = 2"}
    tasks = [
        {"id": n, "task": f"Task {n}", "spec": "specs/1.md", "check": {"run": ["sh", "-c", run]}, "status": "pending"}
        for n, run in checks.items()
    ]
    (workspace.path / "tasks.json").write_text(json.dumps(tasks))
    workspace.contract("  commits: none\n", "")
    git(workspace, "init", "-q", "-b", "trunk")
    for words in (["add", "-A"], ["-c", "user.name=o", "-c", "user.email=o@o", "commit", "-qm", "First"]):
        git(workspace, *words)
    _, output = workspace.finish("--yes")
    ended = [e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded)]
    assert [(e.files, e.lines) for e in ended] == [(2, 2), (1, 1)], output
    renamed = [e for e in workspace.events("quarantined") if isinstance(e, ev.Quarantined)]
    assert renamed[0].paths == ("bare/HEAD", "lib/.git")
    assert renamed[1].now == ("bare/HEAD.quarantined-2", "lib/.git.quarantined-2")
    branch = git(workspace, "for-each-ref", "--format=%(refname)", "refs/heads/proctor").strip()
    assert git(workspace, "diff", "--name-only", "trunk", branch).split() == ["own.py"]
    state = workspace.state()
    assert state is not None
    assert state.quarantined == ("bare/HEAD", "lib/.git")
