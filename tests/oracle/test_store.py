"""The oracle on real checkpoints."""

from __future__ import annotations

import subprocess
from pathlib import Path

from proctor.checkpoint.repository import Store
from proctor.journal.events import CheckFact
from proctor.oracle.check import Judgement, judge
from proctor.oracle.freeze import freeze
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.words import Verdict

from .project import ADD, TEST_ADD, UNITTEST, WRONG, Project


def test_a_checkpoint_of_a_git_workspace_is_judged(tmp_path: Path) -> None:
    project = Project(tmp_path)
    subprocess.run(["git", "init", "-q", project.workspace], check=True)
    project.write(".gitignore", ".venv/\n")
    project.write("calc.py", WRONG)
    project.write("tests/__init__.py", "")
    project.write("tests/test_add.py", TEST_ADD)
    project.write("check.sh", "#!/bin/sh\n. .venv/bin/answer\n", 0o755)
    project.write(".venv/pyvenv.cfg", "")
    project.write(".venv/bin/answer", "exit 7\n")
    state = project.workspace / ".proctor"
    store = Store(project.workspace, state / "checkpoints.git")
    checks = (CheckFact(run=UNITTEST), CheckFact(run=("./check.sh",)))
    frozen = freeze(project.workspace, state / "oracle", ["tests"], [c.run for c in checks], store.list_ignored())
    assert frozen.borrowed == (".venv",)

    def verdict(name: str) -> Judgement:
        commit = store.snapshot(name, None, b"").commit
        policy = Policy(workspace=project.workspace)
        return judge(commit, frozen, checks, store=store, backend=choose("bwrap"), policy=policy, out=state / name)

    assert verdict("c1").reason == "1 of 2 tests failed"
    project.write("calc.py", ADD)
    project.write("tests/test_add.py", "")
    (project.workspace / "check.sh").chmod(0o644)
    second = verdict("c2")
    assert second.verdict is Verdict.FAILED
    assert second.reason == "exit code 7"
    assert second.results[0].verdict is Verdict.PASSED
    assert second.tampered == ("check.sh", "tests/test_add.py")
    assert (project.workspace / "tests/test_add.py").read_text() == ""
