"""Tests that were folded together or taken apart, where something is made anew for each of them, or is not."""

from __future__ import annotations

import pytest

from .held import CALC, Files, stand_ins
from .test_scripts import EACH, GO, GO_HEAD, HEAD, LOOP, SOURCE

APP = "import pytest\nimport app\n"
TWO = "\n\ndef test_a():\n    assert app.add(1) == 1\n\n\ndef test_b():\n    assert app.add(2) == 2\n"
ONE = "\n\ndef test_a():\n    assert app.add(1) == 1\n    assert app.add(2) == 2\n"
ROWS = (
    "\n\n@pytest.mark.parametrize('n, want', [(1, 1), (2, 2)])\ndef test_a(n, want):\n    assert app.add(n) == want\n"
)
LOOPED = "\n\ndef test_a():\n    for n, want in [(1, 1), (2, 2)]:\n        assert app.add(n) == want\n"
FIXTURE = "\n\n@pytest.fixture\ndef store():\n    return app.reset()\n"
AUTOUSE = FIXTURE.replace("fixture", "fixture(autouse=True)")
HELD: dict[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "a setup": ("\n\ndef setup_function():\n    app.reset()\n", "each"),
    "a setup of the module": ("\n\ndef setup_module():\n    app.reset()\n", ""),
    "an autouse fixture": (AUTOUSE, "each"),
    "an autouse fixture of an odd name": (AUTOUSE.replace("store", "__all__"), "each"),
    "a mark of the module": (FIXTURE + "\n\npytestmark = pytest.mark.usefixtures('store')\n", "each"),
    "a fixture that is not asked for": (FIXTURE, ""),
}


def python(before: str, after: str, **more: str) -> bool:
    """Whether all tests of a file are found in what it became."""
    tests = [line[4:].partition("(")[0].strip() for line in before.splitlines() if line.startswith("def test")]
    new = ["a[1-1]", "a[2-2]"] if "parametrize" in after else ["a"]
    files = {"app.py": CALC, **{path.replace("_py", ".py"): text for path, text in more.items()}}
    gone = [f"test_x.py::{name}" for name in tests]
    found = stand_ins(
        {**files, "test_x.py": before}, {**files, "test_y.py": after}, gone, [f"test_y.py::test_{one}" for one in new]
    )
    return found.keys() == set(gone)


@pytest.mark.parametrize("how", HELD)
def test_python_tests_are_folded_only_where_each_is_run_as_it_was(how: str) -> None:
    beside, each = HELD[how]
    head = APP + beside
    assert python(head + TWO, head + ROWS)
    for folded in (ONE, LOOPED):
        assert python(head + TWO, head + folded) is not bool(each)
        assert python(APP + TWO, APP + folded, conftest_py=head) is not bool(each)
    assert python(head + LOOPED, head + ROWS) is not bool(each)


def test_what_a_python_test_is_given_is_made_anew_for_each() -> None:
    asked = TWO.replace("()", "(tmp_path)"), ONE.replace("()", "(tmp_path)"), ROWS.replace("a(n", "a(tmp_path, n")
    assert python(APP + asked[0], APP + asked[2])
    assert not python(APP + asked[0], APP + asked[1])
    marked = "\n\n@pytest.mark.usefixtures('tmp_path')\ndef test"
    assert not python(APP + TWO.replace("\n\ndef test", marked), APP + ONE.replace("\n\ndef test", marked))


UNIT = "import unittest\nimport app\n\n\nclass A(unittest.TestCase):\n    N = 0\n"
UNIT_TWO = UNIT + TWO.replace("\n\n\n", "\n\n")[1:].replace("\n", "\n    ").replace("()", "(self)").rstrip(" ")
UNIT_ONE = UNIT + ONE.replace("\n\n\n", "\n\n")[1:].replace("\n", "\n    ").replace("()", "(self)").rstrip(" ")


@pytest.mark.parametrize(
    ("was", "now", "folded"),
    [
        ("", "", True),
        ("N = 0", "def setUp(self):\n        app.reset()", False),
        ("N = 0", "@classmethod\n    def setUpClass(cls):\n        app.reset()", True),
        ("unittest.TestCase", "app.Case", False),
    ],
)
def test_a_class_of_tests_makes_its_object_anew(was: str, now: str, folded: bool) -> None:
    before, after = UNIT_TWO.replace(was or " ", now or " "), UNIT_ONE.replace(was or " ", now or " ")
    gone = ["test_x.py::A::test_a", "test_x.py::A::test_b"]
    assert (len(stand_ins({"test_x.py": before}, {"test_y.py": after}, gone, ["test_y.py::A::test_a"])) == 2) is folded


JS_TWO = "test('a', () => {\n  expect(f(1)).toBe(2)\n})\ntest('b', () => {\n  expect(f(3)).toBe(4)\n})\n"
JS_ONE = "test('a', () => {\n  expect(f(1)).toBe(2)\n  expect(f(3)).toBe(4)\n})\n"
BEFORE = "beforeEach(() => {\n  f(0)\n})\n"
ONCE = BEFORE.replace("Each", "All")
ROW_IDS = ("adds to 1", "adds to 3")
GROUP = "describe('A', () => {\n  HOOK\n  test('x', () => {\n    expect(f(1)).toBe(want)\n  })\n})\n"
OUT = "describe('A', () => {\n  HOOK\n})\ntest('x', () => {\n  expect(f(1)).toBe(want)\n})\n"
WANTS = "const want = 2"
PAIR = "describe('A', () => {\n  const want = 2\n  ONE})\ndescribe('B', () => {\n  const want = 3\n  TWO})\n"
SAID = "test('%s', () => {\n    expect(f(%s)).toBe(want)\n  })\n"
AS_IT_WAS = PAIR.replace("ONE", SAID % ("x", 1)).replace("TWO", SAID % ("y", 2))
CROSSED = PAIR.replace("ONE", SAID % ("y", 2)).replace("TWO", SAID % ("x", 1))


@pytest.mark.parametrize(
    ("old", "new", "gone", "there", "moved"),
    [
        (JS_TWO, JS_ONE, ("a", "b"), ("a",), True),
        (BEFORE + JS_TWO, BEFORE + JS_ONE, ("a", "b"), ("a",), False),
        (ONCE + JS_TWO, ONCE + JS_ONE, ("a", "b"), ("a",), True),
        (BEFORE + JS_TWO, BEFORE + LOOP, ("a", "b"), ("adds",), False),
        (BEFORE + JS_TWO, BEFORE + EACH, ("a", "b"), ROW_IDS, True),
        (LOOP, EACH, ("adds",), ROW_IDS, True),
        (BEFORE + LOOP, BEFORE + EACH, ("adds",), ROW_IDS, False),
        (JS_TWO.replace("()", "({ page })", 1).replace("b', ()", "b', ({ page })"), JS_ONE.replace("()", "({ page })"),
         ("a", "b"), ("a",), False),
        (WANTS + "\n" + GROUP.replace("HOOK", BEFORE), WANTS + "\n" + OUT.replace("HOOK", BEFORE), ("A > x",), ("x",),
         False),
        (GROUP.replace("HOOK", BEFORE + WANTS), BEFORE + WANTS + "\n" + OUT.replace("HOOK", ""), ("A > x",), ("x",),
         True),
        (AS_IT_WAS, AS_IT_WAS, ("A > x", "B > y"), ("A > x", "B > y"), True),
        (AS_IT_WAS, CROSSED, ("A > x",), ("B > x",), False),
        (AS_IT_WAS, CROSSED, ("B > y",), ("A > y",), False),
    ],
    ids=["two in one", "with a setup", "with a setup of the file", "into a loop with a setup", "into rows with a setup",
         "a loop taken apart", "a loop taken apart with a setup", "given something", "out of a group's setup",
         "a group with all it has", "two groups", "into another group", "and the other way"],
)  # fmt: skip
def test_scripts_are_folded_only_where_each_test_is_run_as_it_was(
    old: str, new: str, gone: tuple[str, ...], there: tuple[str, ...], moved: bool
) -> None:
    before, after = {"a.ts": SOURCE, "a.test.ts": HEAD + old}, {"a.ts": SOURCE, "b.test.ts": HEAD + new}
    found = stand_ins(before, after, [f"a.test.ts::{one}" for one in gone], [f"b.test.ts::{one}" for one in there])
    assert (len(found) == len(gone)) is moved


GO_TWO = "".join(
    f"func Test{name}(t *testing.T) {{\n\tdefer reset()\n\tif F({n}) != {want} {{\n\t\tt.Fatal()\n\t}}\n}}\n"
    for name, n, want in (("A", 1, 2), ("B", 3, 4))
)
GO_LOOP = """\
func TestF(t *testing.T) {
	for _, c := range []struct{ a, want int }{{1, 2}, {3, 4}} {
		defer reset()
		if F(c.a) != c.want {
			t.Fatal()
		}
	}
}
"""
GO_RUN = GO_LOOP.replace("\t\tdefer", '\t\tt.Run("x", func(t *testing.T) {\n\t\tdefer')
GO_RUN = GO_RUN.replace("\t\t}\n\t}\n}", "\t\t}\n\t\t})\n\t}\n}")


@pytest.mark.parametrize(
    ("folded", "end", "moved"),
    [(GO_LOOP, "", True), (GO_LOOP, "defer reset()\n", False), (GO_LOOP, 't.Setenv("A", "b")\n', False),
     (GO_RUN, "defer reset()\n", True)],
    ids=["nothing", "deferred", "put back", "deferred in subtests"],
)  # fmt: skip
def test_what_a_go_test_does_at_its_end_is_done_after_each(folded: str, end: str, moved: bool) -> None:
    gone, new = ["e.org/x/m::TestA", "e.org/x/m::TestB"], ["TestF", "TestF/x", "TestF/x#01"]
    before, after = ({**GO, "m/m_test.go": GO_HEAD + text.replace("defer reset()\n", end)} for text in (GO_TWO, folded))
    assert (len(stand_ins(before, after, gone, [f"e.org/x/m::{one}" for one in new])) == 2) is moved


def test_a_conftest_that_was_not_changed_is_read_too() -> None:
    conftest: Files = {"b/conftest.py": APP + AUTOUSE.replace("reset()", "add(0)")}
    gone, new = ["a/test_x.py::test_a"], ["b/test_x.py::test_a"]
    calm: Files = {"b/conftest.py": APP + FIXTURE}
    for files, moved in ((calm, True), (conftest, False)):
        before, after = {**files, "a/test_x.py": APP + ONE}, {**files, "b/test_x.py": APP + ONE}
        assert bool(stand_ins(before, after, gone, new)) is moved
