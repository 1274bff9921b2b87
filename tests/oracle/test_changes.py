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


HOLLOW = {
    "tests/test_a.py": 'def test_a():\n    """It works."""\n    x = 1\n    print("ok")\n',
    "tests/test_b.py": "class T(unittest.TestCase):\n    def test_a(self): ...\n",
    "src/a.test.ts": "test('a', async () => {\n  // later\n})\n",
    "a/a_test.go": "func TestA(t *testing.T) {\n}\n",
    "src/a.rs": "#[test]\nfn it_works() {}\n",
}
HONEST_AND_SHORT = {
    "tests/test_a.py": "def test_imports():\n    import calc\n\n\ndef test_app(app):\n    pass\n",
    "tests/test_b.py": "class T(TestCase):\n    def setUp(self):\n        start()\n    def test_a(self): ...\n",
    "tests/test_c.py": "def test_a():\n    run()\n\n\ndef helper():\n    pass\n",
    "src/a.test.ts": "test('a', () => { mount() })\nconst test_b = () => {}\n",
    "a/a_test.go": "func TestA(t *testing.T) { Run() }\nfunc helper(t *testing.T) {}\n",
    "src/a.rs": "fn it_works() {}\n",
}


@pytest.mark.parametrize(("path", "text"), HOLLOW.items())
def test_a_new_test_that_holds_nothing_is_suspected(path: str, text: str) -> None:
    (one,) = look([Change(path, None, text)])
    assert (one.kind, one.weight) == (Gaming.ASSERTION, Weight.SUSPICION)
    assert one.why.endswith("asserts nothing and calls nothing: it passes whatever the work is")
    assert look([Change(path, text, f"{text}\n")]) == []


@pytest.mark.parametrize(("path", "text"), HONEST_AND_SHORT.items())
def test_a_new_test_that_calls_or_is_given_something_is_not(path: str, text: str) -> None:
    assert look([Change(path, None, text)]) == []


def test_a_hunk_has_its_lines_in_the_order_of_a_diff_with_those_that_are_gone() -> None:
    before = "import a\n\n\ndef test_a():\n    one()\n    with raises(ValueError):\n        two()\n    three()\n"
    after = "def test_a():\n    one()\n    pass\n    three()\n"
    change = Change("test_a.py", before, after)
    shown = " def test_a():\n     one()\n-    with raises(ValueError):\n-        two()\n+    pass\n     three()"
    assert change.hunk(3) == change.hunk(2) == change.hunk(6, gone=True) == shown
