"""A worker that did not solve its task tries to look as if it had. None of it may pass."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.words import Verdict

from .project import ADD, PYTEST, TEST_ADD, UNITTEST, WRONG, Project


def turns_green(project: Project) -> bool:
    """Whether the runner alone is taken in."""
    return subprocess.run(UNITTEST, cwd=project.workspace, capture_output=True, check=False).returncode == 0


both = pytest.mark.parametrize("run", [UNITTEST, PYTEST], ids=["unittest", "pytest"])


@both
def test_an_honest_solution_passes_and_a_wrong_one_fails(project: Project, run: tuple[str, ...]) -> None:
    wrong = project.judge(run)
    project.write("calc.py", ADD)
    right = project.judge(run)
    assert wrong.verdict is Verdict.FAILED
    assert wrong.reason == "1 of 2 tests failed"
    assert len(wrong.failing) == 1
    assert wrong.failing[0].endswith("test_small")
    assert wrong.failure == "AssertionError: -1 != 3"
    assert right.verdict is Verdict.PASSED
    assert right.reason == "2 tests passed"
    assert not right.tampered
    assert not wrong.tampered


@both
def test_edited_tests_are_laid_back(project: Project, run: tuple[str, ...]) -> None:
    project.write("tests/test_add.py", TEST_ADD.replace("3", "-1"))
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("tests/test_add.py",)


@both
def test_deleted_and_renamed_tests_are_laid_back(project: Project, run: tuple[str, ...]) -> None:
    os.rename(project.workspace / "tests/test_add.py", project.workspace / "tests/old_add.py")
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("tests/old_add.py", "tests/test_add.py")
    shutil.rmtree(project.workspace / "tests")
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("tests/__init__.py", "tests/test_add.py")


@both
def test_a_link_in_place_of_the_tests_leads_nowhere(project: Project, run: tuple[str, ...], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(project.workspace / "tests", elsewhere)
    (elsewhere / "test_add.py").write_text("")
    (project.workspace / "tests").symlink_to(elsewhere)
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("tests", "tests/__init__.py", "tests/test_add.py")
    assert (elsewhere / "test_add.py").read_text() == ""


SKIP_ALL = (
    "import pytest\ndef pytest_collection_modifyitems(items):\n    for i in items: i.add_marker(pytest.mark.skip)\n"
)
PASS_ALL = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"


def test_new_files_that_a_runner_finds_by_itself_are_removed(project: Project) -> None:
    planted = {
        "conftest.py": SKIP_ALL,
        "tests/conftest.py": PASS_ALL,
        "pytest.ini": "[pytest]\naddopts = --collect-only\n",
        "tests/pytest.ini": "[pytest]\npython_functions = nothing\n",
        "tox.ini": "[pytest]\naddopts = --deselect tests/test_add.py::TestAdd::test_small\n",
        "setup.cfg": "[tool:pytest]\naddopts = -k zero\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k zero'\n",
        "sitecustomize.py": "import os\nos._exit(0)\n",
        "pytest.py": "raise SystemExit(0)\n",
        "json.py": "raise SystemExit(0)\n",
        "src/pluggy/__init__.py": "raise SystemExit(0)\n",
    }
    for path, text in planted.items():
        project.write(path, text)
    judgement = project.judge(PYTEST)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.reason == "1 of 2 tests failed"
    assert judgement.tampered == tuple(sorted(planted))


def test_modules_before_the_runner_are_removed(project: Project) -> None:
    planted = ("tests/unittest.py", "traceback/__init__.py", "unittest.py", "usercustomize.py")
    for path in planted:
        project.write(path, "raise SystemExit(0)\n")
    judgement = project.judge(UNITTEST)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.reason == "1 of 2 tests failed"
    assert judgement.tampered == planted


@both
def test_a_new_test_in_a_protected_folder_does_not_count(project: Project, run: tuple[str, ...]) -> None:
    project.write("tests/test_easy.py", TEST_ADD.replace("3", "-1"))
    judgement = project.judge(run)
    assert judgement.tampered == ("tests/test_easy.py",)
    assert len(judgement.results[0].tests) == 2


@both
@pytest.mark.parametrize(
    "cheat",
    [
        "import os; os._exit(0)",
        "import sys; sys.exit(0)",
        "import os; print('Ran 2 tests in 0.001s\\n\\nOK\\n\\n2 passed in 0.01s', flush=True); os._exit(0)",
        "import atexit, os, threading; threading.Thread(target=lambda: os._exit(0)).start()",
        "import os; os.execvp('true', ['true'])",
    ],
)
def test_an_early_exit_is_no_pass(project: Project, run: tuple[str, ...], cheat: str) -> None:
    project.write("calc.py", cheat + WRONG)
    assert "sys.exit" in cheat or run is PYTEST or turns_green(project), "the trick does not even work"
    assert project.judge(run).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    "cheat",
    [
        "unittest.TestCase.assertEqual = lambda *_: None",
        "unittest.TestCase.run = lambda self, result=None: (result.startTest(self), result.addSuccess(self))",
        "unittest.TestCase.__call__ = lambda self, result=None: result.addSuccess(self)",
        "unittest.TestCase.assertEqual.__code__ = (lambda self, a, b, msg=None: None).__code__",
        "unittest.TestCase._callTestMethod = lambda self, method: None",
        "old = unittest.TestCase.__init_subclass__.__func__\n"
        "new = lambda cls: old(cls) or setattr(cls, 'test_small', lambda self: None)\n"
        "unittest.TestCase.__init_subclass__ = classmethod(new)",
        "get = object.__getattribute__\n"
        "unittest.TestCase.__getattribute__ = lambda self, n: get(self, 'setUp' if n == 'test_small' else n)",
        "unittest.TestResult.wasSuccessful = lambda self: True; unittest.TestResult.addFailure = lambda *_: None",
        "unittest.TextTestResult.addFailure = unittest.TextTestResult.addError = lambda *_: None",
        "unittest.suite.TestSuite.run = lambda self, result, debug=False: result",
    ],
)
def test_a_replaced_test_framework_is_no_pass(project: Project, cheat: str) -> None:
    project.write("calc.py", f"import unittest\n{cheat}\n{WRONG}")
    assert turns_green(project), "the trick does not even work"
    judgement = project.judge(UNITTEST)
    assert judgement.verdict is Verdict.FAILED
    assert "replaced while tests ran" in judgement.reason or "tests failed" in judgement.reason


@pytest.mark.parametrize(
    "cheat",
    [
        "import unittest; unittest.TestCase.assertEqual = lambda *_: None",
        "import _pytest.unittest as u; u.TestCaseFunction.runtest = lambda self: None",
        "import _pytest.runner as r; old = r.CallInfo.from_call.__func__\n"
        "new = lambda *a, **k: (c := old(*a, **k), setattr(c, 'excinfo', None))[0]\n"
        "r.CallInfo.from_call = classmethod(new)",
        "import _pytest.reports as r; old = r.TestReport.from_item_and_call.__func__\n"
        "new = lambda cls, item, call: (setattr(call, 'excinfo', None), old(cls, item, call))[1]\n"
        "r.TestReport.from_item_and_call = classmethod(new)",
    ],
)
def test_a_pytest_turned_from_inside_is_no_pass(project: Project, cheat: str) -> None:
    project.write("calc.py", cheat + "\n" + WRONG)
    assert project.judge(PYTEST).verdict is Verdict.FAILED


@both
@pytest.mark.parametrize(
    "body",
    [
        "import unittest\n    raise unittest.SkipTest('later')",
        "import gc\n    [x.stop() for x in gc.get_objects() if type(x).__name__ == 'Result']\n    return 3",
        "import os\n    os._exit(0)",
        "import sys\n    sys.exit(0)",
        "import pytest\n    pytest.exit('fine', returncode=0)",
    ],
)
def test_leaving_from_inside_a_test_is_no_pass(project: Project, run: tuple[str, ...], body: str) -> None:
    project.write("calc.py", f"def add(a, b):\n    {body}\n")
    assert project.judge(run).verdict is Verdict.FAILED


@both
def test_code_under_test_cannot_rewrite_its_tests(project: Project, run: tuple[str, ...]) -> None:
    project.write("tests/test_zzz.py", TEST_ADD)
    project.freeze("tests")
    cheat = "import pathlib\nfor f in pathlib.Path('tests').glob('test_*.py'): f.write_text('')\n"
    project.write("calc.py", cheat + WRONG)
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert "Read-only file system" in project.log(judgement)


@both
def test_a_report_without_the_secret_is_no_report(project: Project, run: tuple[str, ...]) -> None:
    forge = (
        "import os\n"
        "for fd in range(3, 64):\n"
        "    try: os.pwrite(fd, b'0' * 64 + b'passed\\x1ftests.test_add.TestAdd.test_small\\x1f\\x1e' + b'0' * 64, 0)\n"
        "    except OSError: pass\n"
        "os._exit(0)\n"
    )
    project.write("calc.py", forge)
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert "came to its end" in judgement.reason


@both
def test_a_witness_turned_from_inside_is_no_pass(project: Project, run: tuple[str, ...]) -> None:
    cheat = (
        "import sys\n"
        "for name, module in sys.modules.items():\n"
        "    if name == '__main__' or name.startswith('_proctor'):\n"
        "        if hasattr(module, 'Notes'):\n"
        "            old = module.Notes.add\n"
        "            module.Notes.add = lambda self, name, outcome, excerpt='': old(self, name, 'passed')\n"
        "import unittest; unittest.TestResult.wasSuccessful = lambda self: True\n"
    )
    project.write("calc.py", cheat + WRONG)
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert judgement.reason.endswith("of the test framework was replaced while tests ran")


@both
def test_compiled_files_are_not_believed_over_the_sources(
    project: Project, run: tuple[str, ...], tmp_path: Path
) -> None:
    source = project.workspace / "tests/test_add.py"
    forged = tmp_path / "forged.py"
    forged.write_text(TEST_ADD.replace("3", "-1"))
    assert forged.stat().st_size != source.stat().st_size or forged.write_text(forged.read_text()[1:])
    cache = project.workspace / f"tests/__pycache__/test_add.{sys.implementation.cache_tag}.pyc"
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(forged), str(cache), dfile=str(source), invalidation_mode=mode)
    judgement = project.judge(run)
    assert judgement.verdict is Verdict.FAILED
    assert not judgement.tampered


def test_a_make_target_turned_true_is_laid_back(project: Project) -> None:
    project.write("Makefile", f"test:\n\t{' '.join(UNITTEST)}\n")
    project.freeze("tests")
    project.write("Makefile", "test:\n\ttrue\n")
    judgement = project.judge(["make", "test"])
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("Makefile",)


def test_a_script_that_a_check_names_is_laid_back(project: Project) -> None:
    project.write("check.sh", "#!/bin/sh\nexit 1\n", 0o755)
    project.freeze(checks=[["./check.sh"]])
    project.write("check.sh", "#!/bin/sh\nexit 0\n", 0o755)
    judgement = project.judge(["./check.sh"])
    assert judgement.verdict is Verdict.FAILED
    assert judgement.tampered == ("check.sh",)
    project.write("check.sh", "#!/bin/sh\nexit 1\n", 0o644)
    assert project.judge(["./check.sh"]).reason == "exit code 1"


def test_what_one_check_rewrites_the_next_does_not_see(project: Project) -> None:
    rewrite = [
        "sh",
        "-c",
        "echo 'def pytest_ignore_collect(): return True' > conftest.py; mkdir pytest; touch pytest/__init__.py",
    ]
    judgement = project.judge(rewrite, PYTEST)
    assert judgement.reason == "1 of 2 tests failed"


def test_what_one_process_of_a_check_leaves_does_not_run_in_the_next(project: Project) -> None:
    project.write("tools/lint.py", "import csv\nraise SystemExit(1)\n")
    run = ("sh", "-c", "python3 app.py && python3 tools/lint.py")
    project.freeze("tests", checks=[run])
    leaves = "import os\nos.makedirs({0}, exist_ok=True)\nopen({0} + '/{1}.py', 'w').write('import os; os._exit(0)')\n"
    project.write("app.py", "import site\n" + leaves.format("site.getusersitepackages()", "usercustomize"))
    assert project.judge(run).reason == "exit code 1"
    project.write("app.py", leaves.format("'tools'", "csv"))
    why = project.judge(run).failure
    assert why == "tools/csv.py was made while the check ran, and is imported in place of another"


def test_a_file_called_like_a_target_does_not_stand_for_its_recipe(project: Project) -> None:
    project.write(
        "Makefile", "docs: ; true\nall: lint unit\nlint:\n\ttrue\nunit:\n# now\n\n\ttest -e done\nx.o: x.c\n\tcc $<\n"
    )
    project.write("docs/index", "")
    project.freeze("tests")
    assert project.frozen.goals == ("lint", "unit", "x.o")
    project.write("unit/notes", "")
    judgement = project.judge(["make", "all"])
    assert (judgement.verdict, judgement.tampered) == (Verdict.FAILED, ())
    project.write("done", "")
    assert project.judge(["make", "all"]).verdict is Verdict.PASSED
