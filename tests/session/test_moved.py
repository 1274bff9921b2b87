"""A task to move tests, as a session verifies it: not while a worker's tests ask for less."""

from __future__ import annotations

import json
from collections.abc import Callable

import yaml

from harness import Workspace
from proctor.journal import events as ev
from proctor.words import Phase, Verdict

CALC = "def speed(a):\n    return 7 + 3 * a\n"
TEST = """\
import unittest

from calc import speed


class TestSpeed(unittest.TestCase):
    def test_some(self):
        self.assertEqual(speed(12), 43)

    def test_none(self):
        self.assertEqual(speed(0), 7)
"""
WORKER = f"""\
from pathlib import Path

unit = Path("tests/unit")
is_first = not unit.exists()
unit.mkdir(exist_ok=True)
(unit / "__init__.py").touch()
(unit / "test_all.py").write_text({TEST!r}.replace("43" if is_first else "x", "speed(12)"))
Path("tests/test_all.py").unlink(missing_ok=True)
"""


def test_moved_tests_count_once_they_ask_for_all_that_they_did(sample: Callable[..., Workspace]) -> None:
    workspace = sample("plateau")
    (workspace.path / "tests").mkdir(exist_ok=True)
    files = {"calc.py": CALC, "tests/__init__.py": "", "tests/test_all.py": TEST, "tools/worker.py": WORKER}
    for path, text in files.items():
        (workspace.path / path).write_text(text)
    run = ["python3", "-m", "unittest", "discover", "-s", "tests", "-t", ".", "-p", "test_all.py"]
    checks = [{"run": run, "repeat": 0}, {"run": ["test", "-d", "tests/unit"], "repeat": 0}]
    (workspace.path / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Move the tests", "check": checks}]))
    contract = yaml.safe_load((workspace.path / "proctor.yaml").read_text())
    contract["progress"] = {"on_tampering": "record", "audit": "never", "on_failed": "never"}
    contract["state"] = {"protect": ["tools"]}
    (workspace.path / "proctor.yaml").write_text(yaml.safe_dump(contract))

    code, output = workspace.finish()
    assert code == 0, output

    judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged) and e.phase is Phase.WORK]
    assert [e.verdict for e in judged] == [Verdict.FAILED, Verdict.PASSED]
    old, new = "tests.test_all.TestSpeed", "tests.unit.test_all.TestSpeed"
    assert judged[0].reason == f"test disappeared: {old}.test_some"
    assert set(judged[1].moved) == {f"{old}.{name} -> {new}.{name}" for name in ("test_some", "test_none")}
    assert "; 2 tests moved: " in judged[1].reason
    assert any("tests moved: " in line for line in workspace.proctor("show").stdout.splitlines())
