"""A task that takes some iterations, each with fewer failing tests than the one before, under the usual contract."""

from __future__ import annotations

import json
from collections.abc import Callable

from harness import Workspace
from proctor.journal import events as ev
from proctor.words import Phase

TESTS = """\
import unittest

import steps


class Steps(unittest.TestCase):
    def test_one(self):
        self.assertGreater(steps.DONE, 0)

    def test_two(self):
        self.assertGreater(steps.DONE, 1)

    def test_three(self):
        self.assertGreater(steps.DONE, 2)

    def test_four(self):
        self.assertGreater(steps.DONE, 3)
"""
WORKER = """\
import re, sys
sys.stdin.read()
done = int(re.search(r"\\d+", open("steps.py").read())[0])
open("steps.py", "w").write(f"DONE = {done + 1}\\n")
"""


def test_what_comes_nearer_is_not_taken_back(sample: Callable[..., Workspace]) -> None:
    workspace = sample("plateau")
    (workspace.path / "tools" / "worker.py").write_text(WORKER)
    (workspace.path / "steps.py").write_text("DONE = 0\n")
    (workspace.path / "tests" / "test_steps.py").write_text(TESTS)
    check = {"run": ["python", "-m", "unittest", "tests.test_steps"]}
    (workspace.path / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Go all the way", "check": check}]))
    code, output = workspace.finish()
    assert code == 0, output
    judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged) and e.phase is Phase.WORK]
    assert [len(e.failing) for e in judged] == [3, 2, 1, 0]
    assert not workspace.rows("rolled_back")
