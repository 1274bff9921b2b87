"""Whether the checks catch incomplete work, measured on a real session: by hand, and beside the loop."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import checks
from proctor.journal import events as ev

Make = Callable[..., Workspace]
HUNK = {"file": "src/parcels/rates.py", "lines": [16, 16], "why": "the check passes without it"}
WAITS = 'import os\nif os.environ["PROCTOR_TASK"] == "2":\n    time.sleep(1000)\n'
TELLS = """
import os, time
print("idle", os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), flush=True)
time.sleep(1000)
"""


def test_half_checked_is_verified_and_the_audit_names_exactly_the_hunk_that_nothing_verifies(sample: Make) -> None:
    workspace = sample("half_checked")
    code, output = workspace.finish()
    assert code == 0, output
    state = workspace.state()
    assert state
    assert checks.said(state) == "checks unmeasured"
    found = json.loads(workspace.proctor("audit", "--json", check=True).stdout)
    (task,) = found["tasks"]
    assert (task["id"], task["caught"], task["unverified"]) == (1, 0.75, [HUNK])
    assert (task["measured"], task["parts"], task["flaky"], task["vacuous"]) == (4, 4, False, False)
    assert workspace.processes() == []


@pytest.mark.cases
def test_it_runs_by_itself_after_the_first_verified_task_in_idle_time_and_ends_with_its_supervisor(
    sample: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    workspace = sample("half_checked")
    workspace.contract("audit: never", "audit: 1m")
    tasks = json.loads((workspace.path / "tasks.json").read_text())
    check = {"run": ["python", "-c", TELLS], "timeout": "5s"}
    (workspace.path / "tasks.json").write_text(json.dumps([*tasks, {**tasks[0], "id": 2, "check": check}]))
    worker = workspace.path / "tools/worker.py"
    worker.write_text(worker.read_text().replace("brief = ", f"{WAITS}brief = ", 1))
    workspace.begin()
    log = workspace.path / ".proctor/audit/last"
    said = wait_until(lambda: [text for one in log.glob("*.log") if "idle" in (text := one.read_text())], "its words")
    assert said[0].startswith("idle True 19")
    (row,) = (e for e in workspace.events("audited") if isinstance(e, ev.Audited))
    assert (row.task, row.caught, row.measured) == (1, 3, 4)
    assert [one.where for one in row.unverified] == ["src/parcels/rates.py:16"]
    supervisor = workspace.supervisor()
    assert supervisor
    children = " ".join(one.read_text() for one in Path(f"/proc/{supervisor}/task").glob("*/children")).split()
    (auditor,) = (pid for pid in map(int, children) if "proctor.supervisor.auditor" in words(pid))
    assert os.sched_getscheduler(auditor) == os.SCHED_IDLE
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "nothing alive")
    assert not [name for name in os.listdir(scratch) if name.startswith("proctor-audit-")]


def words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
