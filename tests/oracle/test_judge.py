"""Verdicts: what an honest check says, and what a check that cannot speak is taken for."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.journal.events import CheckFact
from proctor.oracle import bench
from proctor.oracle.check import Judgement, baseline_verdict, compare, judge, load_judgement
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Limits, Policy
from proctor.words import Verdict

from .project import ADD, PYTEST, UNITTEST, WRONG, Project

both = pytest.mark.parametrize("run", [UNITTEST, PYTEST], ids=["unittest", "pytest"])
TRUE, FALSE = ("true",), ("false",)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize("name", ["py", "iniconfig", "pluggy"])
def test_a_folder_called_like_a_module_of_the_runner_s_stands_behind_it(project: Project, name: str) -> None:
    project.write(f"{name}/low.py", "def low(a, b):\n    return min(a, b)\n")
    project.write(f"{name}/test_low.py", "from low import low\n\n\ndef test_low():\n    assert low(2, 1) == 1\n")
    project.freeze(f"{name}/test_low.py")
    judgement = project.judge([sys.executable, "-m", "pytest", "-q", name])
    assert judgement.verdict is Verdict.PASSED, project.log(judgement)


def test_a_command_passes_by_its_exit_code_and_the_expected_text(project: Project) -> None:
    say = python("print('all 16 ported')")
    assert project.judge(say).reason == "exit code 0"
    assert project.judge(CheckFact(run=say, expect="16 ported")).verdict is Verdict.PASSED
    judgement = project.judge(CheckFact(run=say, expect="17 ported"))
    assert judgement.verdict is Verdict.FAILED
    assert judgement.reason == "exit code 0, but the output does not hold '17 ported'"
    assert project.judge(CheckFact(run=python("print('ported'); exit(3)"), expect="ported")).reason == "exit code 3"


def test_a_failed_command_leaves_its_last_words(project: Project) -> None:
    judgement = project.judge(python("print('start'); raise ValueError('no such row')"))
    assert judgement.failure == "ValueError: no such row"
    assert judgement.failing == ()
    assert "Traceback" in project.log(judgement)


def test_b5_a_check_that_never_ends_is_a_timeout(project: Project) -> None:
    judgement = project.judge(["sh", "-c", "setsid sleep 1000 & sleep 1000"], timeout=0.3)
    assert judgement.verdict is Verdict.TIMEOUT
    assert judgement.reason == "no end after 0.3 s"
    assert judgement.seconds < 1000, "nor is what it started waited for"


def test_g2_a_check_that_cannot_start_is_infra(project: Project) -> None:
    for argv in (["no-such-command"], [sys.executable + "-gone", "-m", "pytest"], ["sh", "-c", "no-such-command"]):
        judgement = project.judge(argv)
        assert (judgement.verdict, judgement.reason) == (Verdict.INFRA, "command not found (exit code 127)")
    assert project.judge(["./calc.py"]).reason == "not executable (exit code 126)"
    assert project.judge(["true", "\0"]).reason.startswith("could not start: ")
    assert project.judge(["/usr/bin/python3", "-m", "pytest"]).reason == "pytest could not start (exit code 1)"
    assert project.judge([*PYTEST, "--no-such-option"]).reason == "pytest could not start (exit code 4)"


def test_a_check_killed_at_a_limit_is_infra_and_a_crash_is_a_failure(project: Project) -> None:
    assert project.judge(["sh", "-c", "kill -9 $$"]).verdict is Verdict.INFRA
    crash = project.judge(python("import os; os.abort()"))
    assert (crash.verdict, crash.reason) == (Verdict.FAILED, "died of signal 6 (Aborted)")


def test_output_without_end_is_cut_and_ended(project: Project) -> None:
    judgement = project.judge(["yes", "\x1b[31m"])
    assert (judgement.verdict, judgement.reason) == (Verdict.INFRA, "it wrote more than 256M of output")
    assert Path(judgement.log).stat().st_size <= 8 << 20


def test_a_flood_does_not_change_the_verdict(project: Project) -> None:
    project.write("calc.py", ADD + "import os\nfor _ in range(300): os.write(1, os.urandom(65536))\n")
    judgement = project.judge(UNITTEST)
    assert judgement.verdict is Verdict.PASSED
    assert Path(judgement.log).stat().st_size == 8 << 20


@both
def test_g4_nothing_run_and_all_skipped_are_no_pass(project: Project, run: tuple[str, ...]) -> None:
    project.write("tests/test_add.py", "")
    project.freeze("tests")
    assert project.judge(run).reason == "no test ran"
    project.write(
        "tests/test_add.py", "import unittest\n@unittest.skip('later')\nclass A(unittest.TestCase):\n def test(s): 0"
    )
    project.freeze("tests")
    judgement = project.judge(run)
    assert (judgement.verdict, judgement.reason) == (Verdict.FAILED, "the one test was skipped")


@both
def test_skips_beside_passes_are_a_pass(project: Project, run: tuple[str, ...]) -> None:
    more = """
class B(unittest.TestCase):
    @unittest.skip("x")
    def test(self): 0

    @unittest.expectedFailure
    def test_x(self): 1 / 0

class C(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls().skipTest("x")

    def test(self): 0
"""
    tests = project.workspace / "tests/test_add.py"
    tests.write_text(tests.read_text() + more)
    project.freeze("tests")
    project.write("calc.py", ADD)
    judgement = project.judge(run)
    assert (judgement.verdict, judgement.reason) == (Verdict.PASSED, "2 tests passed, 3 skipped")


@both
def test_a_module_that_cannot_be_imported_fails_by_name(project: Project, run: tuple[str, ...]) -> None:
    (project.workspace / "calc.py").unlink()
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.failing[0] in ("tests.test_add", "tests/test_add.py")
    assert judgement.failure == "ModuleNotFoundError: No module named 'calc'"


def test_g5_all_required_checks_must_pass_and_optional_ones_never_decide(project: Project) -> None:
    nice = CheckFact(run=FALSE, optional=True)
    judgement = project.judge(nice, TRUE, TRUE)
    assert judgement.verdict is Verdict.PASSED
    assert [result.verdict for result in judgement.results] == [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED]
    judgement = project.judge(FALSE, TRUE, nice)
    assert judgement.verdict is Verdict.FAILED
    assert [result.run for result in judgement.results] == [FALSE, FALSE]
    assert [result.optional for result in judgement.results] == [False, True]
    assert len(project.judge(TRUE, nice, optional=False).results) == 1


def test_a9_without_a_required_check_nothing_is_proved(project: Project) -> None:
    assert project.judge(CheckFact(run=TRUE, optional=True)).verdict is Verdict.VACUOUS
    assert project.judge().verdict is Verdict.VACUOUS


def test_a_check_builds_on_what_the_one_before_it_built(project: Project) -> None:
    assert project.judge(["sh", "-c", "echo x > built"], ["test", "-s", "built"]).verdict is Verdict.PASSED
    assert not (project.workspace / "built").exists()


def test_a_check_sees_the_workspace_at_its_own_path_and_cannot_touch_it(project: Project) -> None:
    code = f"import os; assert os.getcwd() == {str(project.workspace)!r}; open('calc.py', 'w').write('x')"
    assert project.judge(python(code)).verdict is Verdict.PASSED
    assert (project.workspace / "calc.py").read_text() == WRONG


def test_a_check_gets_no_variables_but_its_own_and_no_network(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    log = project.log(project.judge(["env"]))
    assert "CI=true" in log
    assert not any(word in log for word in ("hunter2", "nothing"))
    connect = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    assert "unreachable" in project.judge(python(connect)).failure


def test_what_a_check_puts_on_pythons_path_is_there_for_the_tests_and_not_for_the_runner(project: Project) -> None:
    project.write("src/calendar.py", "mine = 1\n")
    project.write("src/plug.py", "import calendar\nassert not hasattr(calendar, 'mine')\n")
    project.write(
        "tests/test_path.py",
        "import calendar, os, subprocess, sys\n\ndef test_path():\n    assert calendar.mine\n"
        "    assert os.environ['PYTHONPATH'] == 'src'\n"
        "    subprocess.run([sys.executable, '-c', 'import plug'], check=False)\n",
    )
    project.freeze("tests")
    pytest_itself = str(Path(sys.executable).with_name("pytest"))
    run = [
        "env",
        "PYTHONPATH=src",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
        pytest_itself,
        "-p",
        "plug",
        "tests/test_path.py",
    ]
    assert project.judge(run).reason == "1 test passed"


def test_a_check_does_not_see_hidden_files(project: Project) -> None:
    project.write("secrets/key", "hunter2")
    project.hide = ("secrets",)
    assert project.judge(["cat", "secrets/key"]).verdict is Verdict.FAILED


def test_a_check_over_its_limits_never_passes(project: Project) -> None:
    judgement = judge(
        project.copies.snapshot(project.workspace),
        project.frozen,
        [CheckFact(run=python("open('big', 'wb').write(bytes(4 << 20))"))],
        store=project.copies,
        backend=choose("bwrap"),
        policy=Policy(workspace=project.workspace, limits=Limits(file_size=1 << 20)),
        out=project.out,
    )
    assert judgement.verdict in (Verdict.FAILED, Verdict.INFRA)


def test_a_judgement_can_be_read_again(project: Project) -> None:
    judgement = project.judge(UNITTEST)
    assert load_judgement(project.out / "1") == judgement
    assert load_judgement(project.out / "2") is None
    (project.out / "1" / "judgement.json").write_bytes(b"{")
    assert load_judgement(project.out / "1") is None


@both
def test_what_failed_before_must_pass_and_what_passed_must_not_fail(project: Project, run: tuple[str, ...]) -> None:
    before = project.judge(run)
    project.write("calc.py", ADD)
    after = project.judge(run)
    assert compare(before, after) == after
    project.write(
        "tests/test_add.py", (project.workspace / "tests/test_add.py").read_text().replace("test_zero", "nothing")
    )
    project.freeze("tests")
    fewer = compare(before, project.judge(run))
    assert fewer.verdict is Verdict.FAILED
    assert fewer.reason.startswith("test disappeared: ")
    assert fewer.failing[0].endswith("test_zero")


@both
def test_a_module_that_could_not_be_loaded_before_stands_for_its_tests(project: Project, run: tuple[str, ...]) -> None:
    (project.workspace / "calc.py").unlink()
    before = project.judge(run)
    project.write("calc.py", ADD)
    assert compare(before, project.judge(run)).verdict is Verdict.PASSED


def test_g6_a_baseline_that_passes_proves_nothing_and_one_without_answer_is_infra() -> None:
    meanings = {
        Verdict.PASSED: Verdict.VACUOUS,
        Verdict.FAILED: Verdict.FAILED,
        Verdict.TIMEOUT: Verdict.INFRA,
        Verdict.INFRA: Verdict.INFRA,
        Verdict.VACUOUS: Verdict.VACUOUS,
    }
    for verdict, meaning in meanings.items():
        assert baseline_verdict(Judgement(verdict, "")) is meaning


def test_a_name_that_is_not_text_does_no_harm(project: Project) -> None:
    bad = project.workspace / "tests" / "b\udcffd.py"
    bad.write_text("x = 1")
    project.freeze("tests")
    bad.write_text("x = 2")
    judgement = project.judge(UNITTEST)
    assert judgement.tampered == ("tests/b\\xffd.py",)
    assert load_judgement(project.out / "1") == judgement


def test_a_check_that_leaves_a_deep_closed_tree_is_judged_and_nothing_stays(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    outside = tmp_path / "outside"
    outside.mkdir(0o755)
    dig = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    close = f"os.symlink({str(outside)!r}, 'link'); os.chmod('.', 0o500)"
    assert project.judge(python(dig + close)).verdict is Verdict.PASSED
    assert list((tmp_path / "scratch").iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o755


FORGE = """
import sys
from importlib.machinery import PathFinder
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "_pytest.runner":
            spec = PathFinder.find_spec(name, path)
            load = spec.loader.exec_module
            def forge(module):
                load(module)
                module.pytest_runtest_call = lambda item: None
            spec.loader.exec_module = forge
            return spec
sys.meta_path.insert(0, Finder())
"""


def test_a_module_called_like_one_of_pythons_library_runs_with_the_tests_and_not_before_them(project: Project) -> None:
    project.write("html.py", "")
    project.freeze("tests/")
    project.write("html.py", FORGE)
    project.write("csv.py", FORGE)
    for path in ("org/__init__.py", "org/python/__init__.py", "org/python/core.py", "_winapi.py"):
        project.write(path, FORGE)
    assert project.judge(PYTEST).reason == "1 of 2 tests failed"
    project.write("html.py", "def add(a, b): return a + b\n")
    project.write("calc.py", "from html import add\n")
    assert project.judge(PYTEST).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    "command",
    ["echo b > zz/expected.txt", "mv zz old; mkdir zz; echo b > zz/expected.txt", "ln -sf b zz/expected.txt"],
)
def test_a_frozen_file_that_has_no_wall_around_it_is_looked_at_after_the_check(
    project: Project, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(bench, "_PROTECTED", 1)
    project.write("conftest.py", "")
    project.write("zz/expected.txt", "a\n")
    project.write("tests/golden/expected.txt", "")
    run = ("sh", "-c", f"{command}; echo b > b; diff b zz/expected.txt || true")
    frozen = project.freeze("tests", checks=[("diff", "tests/expected.txt", "zz/expected.txt")])
    project.frozen = replace(frozen, items=tuple(replace(item, declared=False) for item in frozen.items))
    judgement = project.judge(run)
    assert judgement.reason == "exit code 0, but zz/expected.txt was rewritten while the check ran"
    assert project.judge(("sh", "-c", "cat zz/expected.txt; touch zz/new; mkdir made")).verdict is Verdict.PASSED


def test_what_checks_name_gets_a_wall_before_what_is_found(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_PROTECTED", 1)
    project.write("conftest.py", "")
    project.write("zz/verify.sh", "echo true > zz/verify.sh\n")
    run = ("sh", "zz/verify.sh")
    project.freeze(checks=[run])
    judgement = project.judge(run)
    assert "read-only" in project.log(judgement).lower()
