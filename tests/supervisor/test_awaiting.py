"""Checks whose proof the worker would write itself: said before the run, and with the verdict."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.journal.events import CheckFact
from proctor.oracle.bench import CheckResult
from proctor.oracle.check import Judgement
from proctor.oracle.runners import Outcome
from proctor.supervisor.awaiting import told
from proctor.supervisor.proofs import own
from proctor.words import Verdict

CONTRACT = """\
goal: Try the checks
worker: {kind: command, command: [sh]}
budget: {iterations: {limit: 1, on_exhaustion: stop}}
progress: {checks: [{run: [sh]}]}
state: {protect: [kept]}
"""
RUN = ("python", "-m", "unittest", "tests.test_mul")


@pytest.fixture
def contract(tmp_path: Path) -> Contract:
    (tmp_path / "proctor.yaml").write_text(CONTRACT)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_add.py").touch()
    (tmp_path / "check.sh").touch()
    return load(tmp_path)


@pytest.mark.parametrize(
    ("run", "lacks"),
    [
        ("python -m unittest tests.test_mul", "tests/test_mul.py"),
        ("python -m unittest -v tests.test_mul.Mul.test_two", "tests/test_mul.py"),
        ("python -m pytest -q tests/test_mul.py::test_two", "tests/test_mul.py"),
        ("pytest -q tests/unit", "tests/unit"),
        ("npx vitest run src/mul.test.ts", "src/mul.test.ts"),
        ("sh tools/verify.sh", "tools/verify.sh"),
        ("python kept/test_mul.py", "kept/test_mul.py"),
        ("python -m unittest tests.test_add", ""),
        ("python -m unittest discover -s tests -p test_*.py", ""),
        ("pytest -q -k mul", ""),
        ("pytest -q tests", ""),
        ("sh check.sh", ""),
        ("sh -c 'pytest -q tests/test_mul.py'", "tests/test_mul.py"),
        ("sh -c 'cd mul && pytest -q tests/test_mul.py'", ""),
        ("python -m unittest discover", ""),
        ("go test ./mul", ""),
        ("ruff check mul.py", ""),
    ],
)
def test_a_check_that_rests_on_what_is_not_there_is_named_with_what_to_do(
    contract: Contract, tmp_path: Path, run: str, lacks: str
) -> None:
    said = told(
        tmp_path, contract, [("task 1", CheckFact(run=tuple(shlex.split(run)))), ("task 2", CheckFact(run=("ls",)))]
    )
    begins = [f"task 1: the check rests on {lacks}, not there yet: "] if lacks else []
    assert [line[: len(begin)] for line, begin in zip(said, begins, strict=True)] == begins
    assert all(("keep the worker from writing" in line) is lacks.startswith("kept") for line in said)


def test_without_any_test_a_runner_of_all_tests_is_named_once_for_all_tasks(contract: Contract, tmp_path: Path) -> None:
    (tmp_path / "tests" / "test_add.py").unlink()
    runs = [(f"task {n}", CheckFact(run=("pytest", "-q"))) for n in (1, 2, 3)]
    (line,) = told(tmp_path, contract, runs)
    assert line.startswith("task 1 and 2 more: the check runs tests, and no test is there yet: the worker will write")


def judgement(verdict: Verdict = Verdict.PASSED, *passed: str, run: tuple[str, ...] = RUN) -> Judgement:
    tests = dict.fromkeys(passed, Outcome.PASSED)
    return Judgement(verdict, "", results=(CheckResult(run, verdict, "", tests=tests),))


@pytest.mark.parametrize(
    ("new", "ids", "files"),
    [
        (["tests/test_mul.py"], ["tests.test_mul.Mul.test_two"], ("tests/test_mul.py",)),
        (["tests/test_mul.py"], ["test_mul.Mul.test_two"], ("tests/test_mul.py",)),
        (["tests/test_mul.py"], ["tests/test_mul.py::test_two"], ("tests/test_mul.py",)),
        (["tests/test_mul.py"], ["old", "tests/test_mul.py::test_two"], ("tests/test_mul.py",)),
        (["tests/test_mul.py"], ["tests/test_add.py::test_two", "tests/test_mul.py::test_two"], ()),
        (["tests/test_mul.py"], ["tests/test_multiply.py::test_two"], ()),
        (["tests/test_mul.py"], [], ("tests/test_mul.py",)),
        (["tests/test_other.py"], [], ()),
        ([], ["tests.test_mul.Mul.test_two"], ()),
    ],
)
def test_a_pass_is_by_the_worker_s_own_tests_where_these_are_all_that_decides(
    new: list[str], ids: list[str], files: tuple[str, ...]
) -> None:
    assert own(new, judgement(Verdict.FAILED, "old"), judgement(Verdict.PASSED, *ids)) == files


@pytest.mark.parametrize(("new", "files"), [([], ()), (["unit/test_mul.py::test_more"], ("unit/test_mul.py",))])
def test_tests_that_moved_are_not_the_worker_s_own(new: list[str], files: tuple[str, ...]) -> None:
    there = "unit/test_mul.py::test_two"
    after = replace(judgement(Verdict.PASSED, there, *new), moved={"test_mul.py::test_two": there})
    assert own(["unit/test_mul.py"], judgement(Verdict.FAILED, "test_mul.py::test_two"), after) == files
    assert own(["unit/test_mul.py"], judgement(Verdict.FAILED), after) == ()
