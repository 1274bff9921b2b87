"""The audit beside the loop: what it runs waits for everything else."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from proctor.cli.run import flags

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


def test_a_demo_measures_nothing() -> None:
    given = argparse.Namespace(once=False, yes=True)
    assert flags(given) == ["--yes"]
    given.no_audit = True
    assert flags(given) == ["--yes", "--no-audit"]
