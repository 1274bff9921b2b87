"""What is not there is told from what fails: the operator's to install, or the work itself."""

from __future__ import annotations

import asyncio
import shlex
from types import SimpleNamespace
from typing import Any, cast

import pytest

from proctor.oracle.absent import Lack, is_gone, lack
from proctor.oracle.bench import CheckResult
from proctor.oracle.check import Judgement
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.supervisor import judging, policies
from proctor.words import Verdict

from .project import PYTEST, Project

PLUGIN = "ImportError: Error importing plugin"


@pytest.mark.parametrize(
    ("run", "said", "told", "found"),
    [
        ("sh -c 'nosuch || exit 1'", "sh: 1: nosuch: not found", "Write add", ("program nosuch", True)),
        ("bash -c 'nosuch'", "bash: line 1: nosuch: command not found", "", ("program nosuch", True)),
        ("zsh -c 'nosuch; exit 1'", "zsh:1: command not found: nosuch", "", ("program nosuch", True)),
        ("env nosuch", "env: \u2018nosuch\u2019: No such file or directory", "", ("program nosuch", True)),
        ("make lint", "make: nosuch: No such file or directory", "", ("program nosuch", True)),
        ("make lint", "/bin/sh: 1: nosuch: not found", "", ("program nosuch", True)),
        ("python -m nosuch", "/usr/bin/python3: No module named nosuch", "", ("module nosuch", True)),
        ("python -m nosuch.cli", "python: No module named nosuch.cli", "Write add", ("module nosuch.cli", True)),
        ("python -m mypy", "/usr/bin/python3: No module named mypy", "Make mypy pass", ("module mypy", True)),
        ("npx vitest", "npm error code ENOTCACHED", "", ("what it needs was not fetched", True)),
        ("go test", "a_test.go:2:5: no required module provides package x.org/y; to add it:", "", ("x.org/y", True)),
        ("go test", "a_test.go:2:5: no required module provides package x.org/y; to add it:", "x.org/y", ("x", False)),
        ("go test", "a_test.go:2:5: no required module provides package ex.org/calc/y; to add it:", "", None),
        ("python -m greet", "/usr/bin/python3: No module named greet", "Write greet.py", ("module greet", False)),
        (
            "python -m greet",
            "python: No module named greet",
            "- [ ] Say it (check: `python -m greet`)",
            ("module", True),
        ),
        ("python -m calc.cli", "/usr/bin/python3: No module named calc.cli", "", ("module calc.cli", False)),
        ("sh -c 'greet || exit 1'", "sh: 1: greet: not found", "Write the Greet command", ("program greet", False)),
        ("python tools/check.py", "ModuleNotFoundError: No module named 'store'", "", ("module store", False)),
        (
            "python tools/check.py",
            "FileNotFoundError: [Errno 2] No such file or directory: 'jq'",
            "",
            ("program jq", False),
        ),
        ("pytest -p nosuch", f"{PLUGIN} \"nosuch\": No module named 'nosuch'", "Write add", ("plugin nosuch", True)),
        (
            "env PYTEST_PLUGINS=no.such pytest",
            f"{PLUGIN} \"no.such\": No module named 'no'",
            "",
            ("plugin no.such", True),
        ),
        ("pytest", f"{PLUGIN} \"declared.late\": No module named 'declared'", "", ("plugin declared.late", True)),
        (
            "pytest -p greet",
            f"{PLUGIN} \"greet\": No module named 'greet'",
            "Write the plugin greet",
            ("plugin", False),
        ),
        ("pytest -p calc.plug", f"{PLUGIN} \"calc.plug\": No module named 'calc.plug'", "", ("plugin", False)),
        ("pytest -p calc", f"{PLUGIN} \"calc\": No module named 'store'", "", None),
        ("pytest", f"E   {PLUGIN} \"nosuch\": No module named 'nosuch'", "", None),
        ("sh deploy.sh", "deploy.sh: 3: ehco: not found", "", None),
        ("sh -c 'cat notes'", "cat: notes: No such file or directory", "", None),
        ("sh -c './greet'", "sh: 1: ./greet: not found", "", None),
        ("python -m unittest", "AssertionError: nosuch: not found", "", None),
    ],
)
def test_g2_what_a_check_starts_and_nobody_at_work_could_bring_says_nothing_of_the_work(
    project: Project, run: str, said: str, told: str, found: tuple[str, bool] | None
) -> None:
    project.write("Makefile", "lint:\n\tnosuch --all || exit 1\n")
    project.write("deploy.sh", "ehco done\n")
    project.write("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p declared.late'\n")
    project.write("go.mod", "module ex.org/calc\n")
    project.freeze("tests")
    log = project.write("log", f"one line\n{said}\nanother\n")
    result = CheckResult(tuple(shlex.split(run)), Verdict.FAILED, "exit code 1", log=str(log))
    lacking = lack(result, project.workspace, project.frozen, [told])
    log.unlink()
    if found is None:
        assert lacking is None
    else:
        assert isinstance(lacking, Lack)
        assert (lacking.what.startswith(found[0]), lacking.sure) == (True, found[1])


def test_once_a_worker_has_run_the_sandbox_is_asked_whether_something_is_missing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.freeze("tests")
    monkeypatch.setattr(policies, "for_check", lambda workspace, _: Policy(workspace=workspace))
    run = ("sh", "-c", "python3 app.py > out && grep -q 42 out && nosuch")

    def verdict(missing: str, iteration: int) -> Verdict:
        log = project.write("../log", f"sh: 1: {missing}: not found\n")
        result = CheckResult(run, Verdict.FAILED, "exit code 1", log=str(log))
        task = SimpleNamespace(id="2", task="Write add", spec=None)
        session = SimpleNamespace(
            state=SimpleNamespace(iteration=iteration),
            terms=SimpleNamespace(contract=SimpleNamespace(state=SimpleNamespace(plan=None))),
            backend=choose("bwrap"),
            workspace=project.workspace,
            frozen=project.frozen,
            log=lambda *_: None,
        )
        judgement = Judgement(Verdict.FAILED, "exit code 1", results=(result,))
        return asyncio.run(judging.completed(cast(Any, session), judgement, cast(Any, task))).verdict

    assert verdict("grep", 0) is Verdict.INFRA
    assert verdict("grep", 1) is Verdict.FAILED
    assert verdict("nosuch", 1) is Verdict.INFRA


def test_a_plugin_that_is_not_there_keeps_pytest_from_running_a_test(project: Project) -> None:
    project.freeze("tests")
    result = project.judge([*PYTEST, "-p", "no_such_plugin"]).results[0]
    lacking = lack(result, project.workspace, project.frozen, ["Write add"])
    assert lacking is not None
    assert (lacking.what, lacking.sure) == ("plugin no_such_plugin was not found", True)
    assert is_gone(lacking.trial, choose("bwrap"), Policy(workspace=project.workspace))
