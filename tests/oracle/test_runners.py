"""What reports prove."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.oracle.runners import (
    Outcome,
    Report,
    compare,
    last_words,
    read_report,
    weigh,
)
from proctor.oracle.toolchains.commands import Kind
from proctor.oracle.witness import FIELD, RECORD
from proctor.words import Verdict

SECRET = "s" * 64
PASSED, FAILED, SKIPPED = Outcome


def report(*records: tuple[str, ...], secret: str = SECRET) -> bytes:
    return (secret + RECORD.join(FIELD.join(record) for record in records) + RECORD + secret).encode()


def test_a_report_is_read() -> None:
    found = read_report(report(("passed", "t.A.x", ""), ("failed", "t.A.y", "E: no")), SECRET)
    assert found == Report({"t.A.x": PASSED, "t.A.y": FAILED}, {"t.A.y": "E: no"})
    assert read_report(report(), SECRET) == Report({})
    assert read_report(report(("unsealed", "TestCase.run", "")), SECRET) == Report({}, unsealed=("TestCase.run",))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        SECRET.encode(),
        report(("passed", "a", "")) * 2,
        report(("passed", "a", ""))[:-1],
        report(("passed", "a", ""), secret="0" * 64),
        report(("wonderful", "a", "")),
        b"\xff" * 1000,
    ],
)
def test_a_report_that_is_not_whole_is_no_report(data: bytes) -> None:
    assert read_report(data, SECRET) is None


@given(st.binary())
def test_no_bytes_break_the_reader_or_pass_for_a_report(data: bytes) -> None:
    assert read_report(data, SECRET) is None
    read_report(SECRET.encode() + data + RECORD.encode() + SECRET.encode(), SECRET)


def test_ids_are_safe_to_show_and_stay_apart() -> None:
    long = "t" * 1000
    found = read_report(
        report(("passed", long + "a", ""), ("failed", long + "b", ""), ("passed", "\x1b[31mred", "")), SECRET
    )
    assert found is not None
    assert len(found.tests) == 3
    assert found.failing[0].startswith("ttt")
    assert "red" in found.tests


def test_a_failure_is_not_taken_back_by_a_later_pass() -> None:
    found = read_report(report(("failed", "a", "x"), ("passed", "a", "")), SECRET)
    assert found is not None
    assert found.failing == ("a",)


@pytest.mark.parametrize(
    ("code", "found", "verdict", "reason"),
    [
        (0, Report({"a": PASSED, "b": SKIPPED}), Verdict.PASSED, "1 test passed, 1 skipped"),
        (0, None, Verdict.FAILED, "exit code 0 before pytest came to its end"),
        (0, Report({"a": FAILED}), Verdict.FAILED, "1 of 1 test failed"),
        (1, Report({"a": PASSED}), Verdict.FAILED, "exit code 1 although no test failed"),
        (5, Report({}), Verdict.FAILED, "no test ran"),
        (0, Report({"a": SKIPPED}), Verdict.FAILED, "the one test was skipped"),
        (4, None, Verdict.INFRA, "pytest could not start (exit code 4)"),
        (
            0,
            Report({"a": PASSED}, {}, ("T.run",)),
            Verdict.FAILED,
            "T.run of the test framework was replaced while tests ran",
        ),
    ],
)
def test_a_pass_needs_tests_that_ran_and_an_exit_code(
    code: int, found: Report | None, verdict: Verdict, reason: str
) -> None:
    assert weigh(Kind.PYTEST, code, found, b"") == (verdict, reason)


@given(st.integers(0, 255), st.dictionaries(st.text(max_size=3), st.sampled_from(Outcome)), st.booleans())
def test_only_exit_code_0_with_a_pass_and_no_failure_passes(code: int, tests: dict[str, Outcome], whole: bool) -> None:
    verdict, _ = weigh(Kind.UNITTEST, code, Report(tests) if whole else None, b"")
    proved = code == 0 and whole and PASSED in tests.values() and FAILED not in tests.values()
    assert (verdict is Verdict.PASSED) is proved


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ({"a": FAILED, "b": PASSED}, {"a": PASSED, "b": PASSED, "c": FAILED}, {}),
        ({"a": FAILED}, {"b": PASSED}, {"a": "test disappeared"}),
        ({"a": PASSED}, {}, {"a": "test disappeared"}),
        ({"a": FAILED, "b": PASSED}, {"a": SKIPPED, "b": FAILED}, {"a": "test skipped", "b": "test failed"}),
        ({"a": SKIPPED}, {}, {}),
        ({"t/a.py": FAILED}, {"t/a.py::x": PASSED}, {}),
        ({"t/a.py": PASSED}, {"t/a.py::x": PASSED}, {"t/a.py": "test disappeared"}),
        ({"t.a": FAILED, "A": FAILED}, {"t.a.A.x": PASSED}, {}),
        ({"t.a": FAILED}, {"t.ab.A.x": PASSED}, {"t.a": "test disappeared"}),
        ({}, {"a": FAILED}, {}),
    ],
)
def test_what_ran_before_must_pass_after(
    before: dict[str, Outcome], after: dict[str, Outcome], broken: dict[str, str]
) -> None:
    assert compare(before, after) == broken


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", ""),
        (b"a\n\nb\n", "b"),
        (b"Traceback:\n x\nKeyError: 'a'\nbye\n", "KeyError: 'a'"),
        (b"not ok 1 - adds\n# done", "not ok 1 - adds"),
        (b"\xff\x1b[31merror: red\x1b[0m", "error: red"),
    ],
)
def test_the_last_words_name_the_failure(output: bytes, words: str) -> None:
    assert last_words(output).strip("\ufffd") == words


def test_g2_a_recipe_whose_program_is_not_there_says_nothing_of_the_work() -> None:
    for line in (
        b"make: nose: No such file or directory",
        b"/bin/sh: 1: nose: not found",
        b"bash: line 1: nose: command not found",
    ):
        verdict, why = weigh(None, 2, None, line + b"\nmake: *** [Makefile:2: test] Error 127\n")
        assert (verdict, why.partition(": ")[0]) == (Verdict.INFRA, "command not found (exit code 127 of a recipe)")
    own = b"make: ./greet: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n"
    assert weigh(None, 2, None, own)[0] is Verdict.FAILED
