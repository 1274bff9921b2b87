"""Whose the scripts are that checks start."""

from __future__ import annotations

import pytest

from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Artifact
from proctor.oracle.toolchains.owners import judges, of_work, owned

CLI = ("python", "cli.py", "2", "3")


def test_what_a_check_runs_to_look_at_what_comes_out_is_the_work() -> None:
    made = CheckFact(run=("node", "bin/site.js"), artifact=Artifact(path="out/index.html"))
    assert of_work([CheckFact(run=CLI, expect="5"), made]) == {"cli.py", "bin/site.js"}
    assert of_work([CheckFact(run=("./convert", "x"), expect="5")]) == {"convert"}
    assert of_work([], [CheckFact(run=("python", "./app.py"))]) == {"app.py"}


def test_what_a_check_is_judged_by_is_its_own() -> None:
    assert of_work([CheckFact(run=CLI)]) == frozenset()
    assert owned(CheckFact(run=CLI)) == {"cli.py"}
    assert of_work([CheckFact(run=CLI, expect="5"), CheckFact(run=CLI)]) == frozenset(), "two checks, and one owns it"
    assert of_work([CheckFact(run=("python", "verify.py"), expect="ok")]) == frozenset()
    assert of_work([CheckFact(run=("bash", "runtests.sh"), expect="ok")]) == frozenset()
    assert owned(CheckFact(run=("python", "verify.py"))) == frozenset(), "nobody would take it for the work"
    assert of_work([CheckFact(run=("pytest", "cli.py"), expect="5"), CheckFact(run=(), expect="5")]) == frozenset()


JUDGING = """verify.py check_totals.py totalsCheck.js run-tests.sh tools/x.py ci/report.js .github/x.sh test_it.py
    src/compare.py Validator.rb e2e.sh run_spec.lua
    runtests.sh run_all.sh unittests selfcheck.py smoketest.sh regression.sh bin/chk"""
OTHERS = (
    "cli.py bin/cli.js main.go special.py cipher.py run.sh src/testament.py approve.py latest.py app all.py contest.py"
)


@pytest.mark.parametrize("path", JUDGING.split())
def test_scripts_are_known_that_are_called_or_placed_like_one_that_judges(path: str) -> None:
    assert judges(path)


@pytest.mark.parametrize("path", OTHERS.split())
def test_other_scripts_may_be_the_work(path: str) -> None:
    assert not judges(path)
