"""The rules over changes on honest and dishonest ones. `python benchmarks/gaming.py` prints the table."""

from __future__ import annotations

import pytest

from proctor.oracle.gaming.change import Change
from proctor.oracle.gaming.find import look
from proctor.words import Gaming, Weight

from .diffs import Case, cases

HONEST, DISHONEST = list(cases("honest")), list(cases("dishonest"))


def test_there_are_enough_of_both() -> None:
    assert len(HONEST) >= 30
    assert len(DISHONEST) >= 25
    assert {case.expected[0] for case in DISHONEST if case.expected} == set(Gaming)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_change_is_not_called_tampering_nor_suspected(case: Case) -> None:
    assert [(one.weight, one.kind, one.why) for one in case.findings()] == []


@pytest.mark.parametrize("case", DISHONEST, ids=lambda case: case.name)
def test_a_dishonest_change_is_found_with_its_weight_and_its_line(case: Case) -> None:
    found = [one for one in case.findings() if (one.kind, one.weight) == case.expected]
    assert found, [(one.weight, one.kind, one.why) for one in case.findings()]
    assert all(one.line and one.text and one.hunk and one.why for one in found)
    assert found[0].text in found[0].hunk


def test_what_moves_from_one_file_to_another_is_not_new() -> None:
    code = "import os\n\n\ndef leave():\n    os._exit('PYTEST_CURRENT_TEST' in os.environ)\n"
    assert look([Change("a.py", code, None), Change("b.py", None, code)]) == []


def test_what_the_worker_was_told_to_write_is_no_answer_of_the_tests() -> None:
    tests = {"tests/test_a.py": "from a import code\n\n\ndef test_code():\n    assert code('x') == 482913\n"}
    change = Change("a.py", "", "def code(name):\n    return 482913\n")
    assert [one.kind for one in look([change], tests)] == [Gaming.LITERAL]
    assert look([change], tests, ["The code of everything is 482913."]) == []


def test_a_finding_of_a_deleted_line_shows_what_is_gone() -> None:
    before = "from a import f, g\n\n\ndef test_f():\n    assert f() == 1\n\n\ndef test_g():\n    assert g() == 2\n"
    (one,) = look([Change("tests/test_a.py", before, before[: before.index("\n\ndef test_g")])])
    assert (one.kind, one.weight, one.line, one.text) == (Gaming.ASSERTION, Weight.SUSPICION, 8, "def test_g():")
    assert "-def test_g():" in one.hunk


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "(" * 50_000),
        ("a.py", "x = " + "-" * 50_000 + "1\n"),
        ("tests/test_a.py", "def test_a(:\n"),
        ("a.py", "\x00\udcff"),
        ("a.test.js", "it('" * 20_000),
        ("Makefile", "test:\n\t" + "\\\n" * 5_000),
        ("package.json", "[" * 20_000),
        ("a.rs", "#[test]" * 5_000),
        ("ci/a.sh", "pytest " + "|| " * 5_000),
        (".github/workflows/a.yml", "- run: pytest | tee a\n" * 1_000),
        ("b.test.js", "it" + ".a()" * 20_000),
        ("b.js", "a===1?2:" * 8_000),
        ("b_test.go", "t.Skip(\n" * 2_000),
    ],
    ids=lambda text: text[:20].strip(),
)
def test_text_that_is_no_code_is_looked_at_all_the_same(path: str, text: str) -> None:
    look([Change(path, None, text), Change(path, text, "")])
