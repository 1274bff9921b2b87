"""The verbs about checkpoints while a worker runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from harness import Workspace, wait_until


def test_every_verb_about_checkpoints_answers_while_a_worker_runs(sample: Callable[..., Workspace]) -> None:
    workspace = sample("csv_tool", pause=0.1)
    workspace.begin("--yes")
    wait_until(lambda: workspace.rows("task_done"), "a verified task")
    workspace.freeze()

    taken = json.loads(workspace.proctor("checkpoint", "--name", "mine", "--json", check=True).stdout)
    number = taken["checkpoint_taken"]["id"]
    workspace.proctor("checkpoint", check=True)
    workspace.proctor("checkpoint", check=True)
    refused = workspace.proctor("checkpoint", "--name", "mine")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    shown = json.loads(workspace.proctor("show", "--id", "mine", "--json", check=True).stdout)
    assert shown["id"] == number
    assert [one["task"] for one in shown["record"]["done"]] == [1]
    assert workspace.proctor("checkpoints", "--verify").returncode == 0
    assert json.loads(workspace.proctor("diff", "--from", "mine", "--json", check=True).stdout)["patch"] == ""

    pruned = json.loads(workspace.proctor("prune", "--keep", "0", "--json", check=True).stdout)
    gone = pruned["checkpoints_pruned"]["ids"]
    assert gone
    assert number not in gone
    assert "when the session ends" in pruned["said"]
    assert workspace.proctor("stop").returncode == 0
    wait_until(lambda: not workspace.supervisor(), "the end of the session")
    state = workspace.state()
    assert state
    refs = workspace.path / ".proctor" / "checkpoints.git"
    names = [line.split("/")[-1] for line in _refs(refs)]
    assert not set(gone) & set(names)
    assert {one.id for one in state.checkpoints} <= set(names)
    assert workspace.proctor("checkpoints", "--verify").returncode == 0


def _refs(store: Path) -> list[str]:
    command = ["git", "--git-dir", str(store), "for-each-ref", "--format=%(refname)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
