"""The audit beside the loop: what it runs waits for everything else."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.cli.run import flags
from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor.auditor import offline

CONTRACT = """\
goal: Try it
worker: {kind: command, command: ["true"]}
budget: {iterations: {limit: 9, on_exhaustion: park}}
progress: {checks: [{run: ["true"]}]}
"""
WAITS = """
import os, time
until, said = time.monotonic() + 20, ""
while time.monotonic() < until and "nice 19" not in said:
    said = open("/proc/self/autogroup").read() if os.path.exists("/proc/self/autogroup") else "nice 19"
    time.sleep(0.01)
print(os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), said.split()[-2:], flush=True)
"""
RUNS = """
import sys
from pathlib import Path
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run
from proctor.supervisor.auditor import Idle, be_idle
be_idle()
workspace, code = Path(sys.argv[1]), sys.argv[2]
output = workspace.parent / "output"
run(Idle(choose("bwrap")), ["python", "-c", code], Policy(workspace), 30, output, 1 << 20)
print(output.read_text(), end="")
"""


def test_what_a_check_starts_runs_only_when_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    command = [sys.executable, "-c", RUNS, str(tmp_path / "w"), WAITS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, start_new_session=True)
    assert done.stdout == "True 19 ['nice', '19']\n", done.stderr


def test_nothing_is_run_by_a_contract_that_the_session_did_not_take_in(tmp_path: Path) -> None:
    contract = tmp_path / "proctor.yaml"
    contract.write_text(CONTRACT)
    (tmp_path / ".proctor").mkdir()
    journal = Journal(tmp_path / ".proctor" / "journal.db")
    journal.append(ev.ContractLoaded(contract=load(tmp_path).hash, plan=""))
    journal.close()
    contract.write_text(f"{CONTRACT}sandbox: {{kind: none}}\n")
    with pytest.raises(UsageError, match="not what the session ran by"):
        offline(tmp_path, 1.0, lambda _: None)


def test_a_demo_measures_nothing() -> None:
    given = argparse.Namespace(once=False, yes=True)
    assert flags(given) == ["--yes"]
    given.no_audit = True
    assert flags(given) == ["--yes", "--no-audit"]
