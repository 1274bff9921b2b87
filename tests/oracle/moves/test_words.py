"""Tests that were put in a class, or in another form of function, or that fail with more words: honest all of them."""

from __future__ import annotations

import pytest

from .held import CALC, stand_ins
from .test_rust import CARGO, HALVE, OUTSIDE
from .test_scripts import GO, GO_HEAD, HEAD, ONE, SOURCE, THERE, go

BARE = "import app\n\n\ndef test_work():\n    got = app.f(2)\n    assert got == 4\n"
CLASS = "import unittest\nimport app\n\n\nclass TestWork(unittest.TestCase):\n    def test_work(self):\n"
UNIT = CLASS + "        self.assertEqual(app.f(2), 4)\n"
IN = CLASS + "        got = app.f(2)\n        assert got == 4\n"
PLAIN = IN.replace("(unittest.TestCase)", "").replace("import unittest\n", "")


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (BARE, PLAIN, True),
        (BARE, IN, True),
        (IN, BARE, True),
        (BARE, PLAIN.replace("    def", "    app.f = len\n\n    def"), False),
        (BARE, PLAIN.replace("    def", "    def setup_method(self):\n        app.f = len\n\n    def"), False),
        (BARE, PLAIN.replace("TestWork", "TestWork(app.Case)"), False),
        (BARE, PLAIN.replace("TestWork", "app"), False),
        (BARE, PLAIN + "\n\nclass TestWork:\n    pass\n", False),
        (BARE.replace("def", "async def"), IN.replace("def", "async def"), False),
        (BARE, BARE.replace("== 4", "== 4, 'no'"), True),
        (BARE, BARE.replace("== 4", "== 4, f'no {got} of {app.f}'"), True),
        (BARE, BARE.replace("== 4", "== 4, app.skip()"), False),
        (BARE, BARE.replace("== 4", "== 4, f'{app.skip()}'"), False),
        (BARE, BARE.replace("got == 4", "(got == 4, 'no')"), False),
        (UNIT, UNIT.replace("4)", "4, 'no')"), True),
        (UNIT, UNIT.replace("4)", "4, msg='no')"), True),
        (UNIT, UNIT.replace("4)", "4, app.skip())"), False),
        (UNIT.replace("Equal(app.f(2), 4)", "True(app.f(2))"), UNIT.replace("Equal(app.f(2), 4)", "True(app.f(2), '')"),
         True),
        (UNIT.replace("Equal", "Raises"), UNIT.replace("Equal", "Raises").replace("4)", "4, 'no')"), False),
    ],
)  # fmt: skip
def test_a_python_test_in_another_form_is_the_same(old: str, new: str, moved: bool) -> None:
    def id(text: str) -> str:
        classes = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("class")]
        return "".join(f"{one.partition('(')[0].strip(':')}::" for one in classes[:1]) + "test_work"

    before, after = {"app.py": CALC, "test_a.py": old}, {"app.py": CALC, "test_b.py": new}
    assert bool(stand_ins(before, after, [f"test_a.py::{id(old)}"], [f"test_b.py::{id(new)}"])) is moved


ASSERT = "import assert from 'node:assert'\n"
EQUAL = ONE.replace("expect(got).toBe(2)", "assert.equal(got, 2)")
OWN = ONE.replace("  const", "  const expect = f(3)\n  const")


@pytest.mark.parametrize(
    ("head", "old", "new", "moved"),
    [
        ("", ONE, ONE.replace("() =>", "function ()"), True),
        ("", ONE.replace("() =>", "async () =>"), ONE.replace("() =>", "async function ()"), True),
        ("", ONE.replace("() =>", "async () =>"), ONE.replace("() =>", "function ()"), False),
        ("", ONE.replace("f(1)", "f(this.x)"), ONE.replace("f(1)", "f(this.x)").replace("() =>", "function ()"), False),
        ("", ONE, ONE.replace("(got)", "(got, 'no')"), True),
        ("", ONE, ONE.replace("(got)", "(got, bend())"), False),
        ("", ONE, ONE.replace("(got)", "(got, 2)"), False),
        ("", OWN, OWN.replace("(got)", "(got, 'no')"), False),
        ("import { expect } from 'kit'\n", ONE, ONE.replace("(got)", "(got, 'no')"), False),
        (ASSERT, EQUAL, EQUAL.replace(", 2)", ", 2, 'no')"), True),
        ("", EQUAL, EQUAL.replace(", 2)", ", 2, 'no')"), True),
        ("import assert from 'kit'\n", EQUAL, EQUAL.replace(", 2)", ", 2, 'no')"), False),
        ("", EQUAL.replace("assert.", "kit."), EQUAL.replace("assert.equal(got, 2)", "kit.equal(got, 2, 'no')"), False),
        ("", ONE.replace("(got)", "([got, 2])"), ONE.replace("(got)", "([got, 2], 'no')"), True),
    ],
)  # fmt: skip
def test_a_script_in_another_form_is_the_same(head: str, old: str, new: str, moved: bool) -> None:
    files = (HEAD.replace("expect, ", "") + head + old, THERE.replace("expect, ", "") + head + new)
    before, after = {"src/a.ts": SOURCE, "src/a.test.ts": files[0]}, {"src/a.ts": SOURCE, "test/a.test.ts": files[1]}
    assert bool(stand_ins(before, after, ["src/a.test.ts::adds"], ["test/a.test.ts::adds"])) is moved


GO_EQUAL = "func TestF(t *testing.T) {\n\tassert.Equal(t, 2, F(1))\n}\n"


@pytest.mark.parametrize(("module", "moved"), [("github.com/stretchr/testify/assert", True), ("e.org/assert", False)])
def test_a_go_assertion_of_testify_may_have_words(module: str, moved: bool) -> None:
    head = GO_HEAD.replace('"testing"', f'"testing"\nimport "{module}"')
    after = go(GO["m/m.go"], head + GO_EQUAL.replace("(1))", '(1), "no %d", t)'))
    found = stand_ins({**GO, "m/m_test.go": head + GO_EQUAL}, after, ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"])
    assert bool(found) is moved


@pytest.mark.parametrize(
    ("words", "head", "moved"),
    [('"no {}", halve', "", True), ('"no {}", bend()', "", False), ('"no"', "use my_q::assert_eq;\n", False)],
)
def test_a_rust_assertion_may_have_words(words: str, head: str, moved: bool) -> None:
    old, new = head + OUTSIDE, head + OUTSIDE.replace(", 3)", f", 3, {words})")
    before, after = ({**CARGO, "src/lib.rs": HALVE, f"tests/{at}.rs": text} for at, text in (("a", old), ("b", new)))
    assert bool(stand_ins(before, after, ["my-q/a::halves"], ["my-q/b::halves"])) is moved
