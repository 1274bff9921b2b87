"""Between two runs: what the operator changes of the plan and its checks is his decision, recorded with its diff."""

from __future__ import annotations

import json
from collections.abc import Callable

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import SessionStatus

Make = Callable[..., Workspace]

WORKER = """\
from pathlib import Path
count = len(list(Path(".").glob("*.made")))
Path(f"{count}.made").touch()
"""


def tasks(workspace: Workspace, **checks: list[str]) -> None:
    listed = [
        {"id": name, "task": f"Make {name}", "spec": "specs/new.md", "check": {"run": run, "repeat": 0}}
        for name, run in checks.items()
    ]
    (workspace.path / "tasks.json").write_text(json.dumps(listed))


def test_a_revised_check_is_recorded_with_its_diff_and_a_flag_grants_nothing(sample: Make) -> None:
    workspace = sample("restless")
    (workspace.path / "tools/worker.py").write_text(WORKER)
    (workspace.path / "specs/new.md").write_text("One file.\n")
    (workspace.path / "check.sh").write_text("test -e 0.made\n")
    workspace.contract("protect: [tests/, specs/, tools/]", "protect: [tools/]")
    workspace.contract("iterations: {limit: 5,", "iterations: {limit: 1,")
    tasks(workspace, one=["sh", "check.sh"], two=["test", "-e", "1.made"])
    workspace.finish("--yes")
    first = workspace.events("plan_revised")
    assert [(e.changed, e.diff) for e in first if isinstance(e, ev.PlanRevised)] == [((), "")]

    tasks(workspace, one=["sh", "check.sh"], two=["test", "-e", "5.made"])
    (workspace.path / "specs/new.md").write_text("Six files.\n")
    (workspace.path / "check.sh").write_text("exit 0\n")
    workspace.contract("protect: [tools/]", "protect: [tools/, more/]")
    workspace.raise_ceiling("iterations", 2)
    _, output = workspace.finish("--yes")
    revised = workspace.events("plan_revised")[1:]
    assert [e.changed for e in revised if isinstance(e, ev.PlanRevised)] == [("state.protect", "task two")], output
    assert isinstance(revised[0], ev.PlanRevised)
    assert revised[0].by == "operator"
    assert "+more" in revised[0].diff
    assert '+check: {"run":["test","-e","5.made"]' in revised[0].diff
    frozen = workspace.events("oracle_frozen")[1:]
    assert [e.changed for e in frozen if isinstance(e, ev.OracleFrozen)] == [("check.sh", "specs/new.md")]
    assert isinstance(frozen[0], ev.OracleFrozen)
    assert "-One file.\n+Six files." in frozen[0].diff
    assert workspace.events("tampered") == []
    shown = workspace.proctor("show").stdout
    assert "revised     the plan and its checks, by you: state.protect, task two" in shown
    assert "+Six files." in shown


def test_what_the_operator_changes_while_no_worker_runs_is_frozen_anew_and_no_tampering(sample: Make) -> None:
    workspace = sample("restless")
    (workspace.path / "tools/worker.py").write_text(WORKER)
    (workspace.path / "specs/new.md").write_text("One file.\n")
    (workspace.path / "check.sh").write_text("test -e 5.made\n")
    workspace.contract("protect: [tests/, specs/, tools/]", "protect: [tools/]")
    workspace.contract(
        "iterations: {limit: 5,  on_exhaustion: park}", "iterations: {limit: 1, on_exhaustion: escalate}"
    )
    tasks(workspace, one=["sh", "check.sh"])
    workspace.begin()
    asked = wait_until(lambda: (now := workspace.state()) and now.open_requests, "the question")
    (workspace.path / "check.sh").write_text("test -e 1.made\n")
    workspace.proctor("extend", "--dimension", "iterations", "--by", "1", check=True)
    wait_until(lambda: not workspace.supervisor(), "the end")
    frozen = [e.changed for e in workspace.events("oracle_frozen") if isinstance(e, ev.OracleFrozen)]
    assert frozen == [(), ("check.sh",)], asked
    assert workspace.events("tampered") == []
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.DONE
