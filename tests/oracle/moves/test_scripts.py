"""Tests in JavaScript, TypeScript and Go that moved, and such that are gone although something like them is there."""

from __future__ import annotations

import pytest

from .held import Files, stand_ins

SOURCE = "export const f = (a) => a + 1\n"
HEAD = "import { describe, expect, test } from 'vitest'\nimport { f } from './a'\n\n"
ONE = "test('adds', () => {\n  const got = f(1)\n  expect(got).toBe(2)\n})\n"
TWO = "test('adds one', () => expect(f(1)).toBe(2))\ntest('adds more', () => {\n  expect(f(3)).toBe(4);\n})\n"
EACH = "test.each([\n  [1, 2],\n  [3, 4],\n])('adds to %i', (a, want) => {\n  expect(f(a)).toBe(want)\n})\n"
KEYED = EACH.replace("[1, 2]", "{ a: 1, want: 2 }").replace("[3, 4]", "{ a: 3, want: 4 }")
KEYED = KEYED.replace("(a, want)", "({ a, want })")
LOOP = "test('adds', () => {\n  for (const [a, want] of [[1, 2], [3, 4]]) {\n    expect(f(a)).toBe(want)\n  }\n})\n"
GROUPS = "describe('A', () => {\n  test('adds', () => {\n    expect(f(1)).toBe(2)\n  })\n})\n"
GROUPS += GROUPS.replace("'A'", "'B'").replace("f(1)).toBe(2)", "f(3)).toBe(4)")
RENAMED = (HEAD + ONE).replace("f(", "g(").replace("f }", "g }").replace("adds", "sums")
THERE = HEAD.replace("./a", "../src/a")
TS = {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + ONE}

GO_MOD = {"go.mod": "module e.org/x\n"}
GO_SOURCE = "package m\n\nfunc F(a int) int { return a + 1 }\n"
GO_HEAD = 'package m\n\nimport "testing"\n\n'
GO_ONE = 'func TestF(t *testing.T) {\n\tgot := F(1)\n\tif got != 2 {\n\t\tt.Fatalf("got %d", got)\n\t}\n}\n'
GO_TWO = "".join(
    f'func Test{name}(t *testing.T) {{\n\tif got := F({a}); got != {want} {{\n\t\tt.Error("F({a})", got)\n\t}}\n}}\n\n'
    for name, a, want in (("A", 1, 2), ("B", 3, 4))
)
GO_OUTSIDE = 'package m_test\n\nimport (\n\t"testing"\n\n\t"e.org/x/m"\n)\n\n' + GO_ONE.replace("F(1", "m.F(1")
GO_TABLE = """\
func TestF(t *testing.T) {
	cases := []struct {
		name    string
		a, want int
	}{
		{"one", 1, 2},
		{name: "three", a: 3, want: 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := F(c.a); got != c.want {
				t.Errorf("F(%d) = %d, want %d", c.a, got, c.want)
			}
		})
	}
}
"""
GO = {**GO_MOD, "m/m.go": GO_SOURCE, "m/m_test.go": GO_HEAD + GO_ONE}


def go(source: str, test: str, **more: str) -> Files:
    """The package, moved to another folder."""
    return {**GO_MOD, "pkg/m/m.go": source, "pkg/m/m_test.go": test, **more}


def here(test: str) -> Files:
    return {**GO_MOD, "m/m.go": GO_SOURCE, "m/m_test.go": GO_HEAD + test}


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        (TS, {"src/a.ts": SOURCE, "test/a.test.ts": THERE + ONE}, "src/a.test.ts::adds", "test/a.test.ts::adds"),
        (TS, {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + ONE.replace("'adds", "'one more")}, "src/a.test.ts::adds",
         "src/a.test.ts::one more"),
        (TS, {"src/a.ts": SOURCE.replace("f ", "g "), "src/a.test.ts": RENAMED}, "src/a.test.ts::adds",
         "src/a.test.ts::sums"),
        ({"src/a.ts": SOURCE, "src/a.test.ts": HEAD + GROUPS}, {"src/a.ts": SOURCE, "test/a.test.ts": THERE + GROUPS},
         "src/a.test.ts::A > adds;src/a.test.ts::B > adds", "test/a.test.ts::A > adds;test/a.test.ts::B > adds"),
        *(({"src/a.ts": SOURCE, "src/a.test.ts": HEAD + TWO}, {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + rows},
           "src/a.test.ts::adds one;src/a.test.ts::adds more", "src/a.test.ts::adds to 1;src/a.test.ts::adds to 3")
          for rows in (EACH, KEYED)),
        ({"src/a.ts": SOURCE, "src/a.test.ts": HEAD + TWO}, {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + LOOP},
         "src/a.test.ts::adds one;src/a.test.ts::adds more", "src/a.test.ts::adds"),
        ({"a.js": "", "a.test.js": "const { f } = require('./a')\n" + ONE},
         {"a.js": "", "test/a.test.js": "const { f } = require('../a')\n" + ONE}, "a.test.js::adds",
         "test/a.test.js::adds"),
        (GO, go(GO_SOURCE, GO_HEAD + GO_ONE), "e.org/x/m::TestF", "e.org/x/pkg/m::TestF"),
        (GO, go(GO_SOURCE, GO_HEAD + GO_ONE.replace("TestF", "TestG")), "e.org/x/m::TestF", "e.org/x/pkg/m::TestG"),
        (GO, {**GO, "m/m.go": GO_SOURCE.replace("F(", "Next("),
              "m/m_test.go": GO_HEAD + GO_ONE.replace("F(1", "Next(1").replace("TestF", "TestNext")},
         "e.org/x/m::TestF", "e.org/x/m::TestNext"),
        (here(GO_TWO), here(GO_TABLE), "e.org/x/m::TestA;e.org/x/m::TestB",
         "e.org/x/m::TestF;e.org/x/m::TestF/one;e.org/x/m::TestF/three"),
        ({**GO_MOD, "m/m.go": GO_SOURCE, "m/m_test.go": GO_OUTSIDE},
         go(GO_SOURCE, GO_OUTSIDE.replace("x/m", "x/pkg/m")),
         "e.org/x/m::TestF", "e.org/x/pkg/m::TestF"),
    ],
    ids=["a file moved", "another title", "renamed with what it tests", "in groups", "folded into rows",
         "into keyed rows", "into a loop", "required", "a package moved", "and the test renamed", "a function renamed",
         "folded into a table", "tested from outside"],
)  # fmt: skip
def test_a_test_that_is_there_by_another_id_is_found(before: Files, after: Files, gone: str, new: str) -> None:
    assert stand_ins(before, after, gone.split(";"), new.split(";")).keys() == set(gone.split(";"))


@pytest.mark.parametrize(
    "text",
    [
        THERE + ONE.replace("2)", "3)"),
        THERE + ONE.replace("f(1)", "f(2)"),
        THERE + ONE.replace("toBe(2)", "toBeDefined()"),
        THERE + ONE.replace("expect(got).toBe(2)", "expect(got)"),
        THERE + ONE.replace("(got)", "(2)"),
        THERE + ONE.replace("  const", "  return\n  const"),
        THERE + ONE.replace("  expect(got).toBe(2)", "  if (got === 2) {\n    expect(got).toBe(2)\n  }"),
        THERE + ONE.replace("const got = f(1)", "const f = () => 2\n  const got = f(1)"),
        THERE.replace("../src/a", "../src/stub") + ONE,
        THERE.replace("import { f } from '../src/a'", "const f = () => 2") + ONE,
        THERE + "vi.mock('../src/a', () => ({ f: () => 2 }))\n" + ONE,
        THERE + "const _ = (() => {\n  globalThis.f = () => 2\n})()\n" + ONE,
        THERE + "const _ = Object.assign(globalThis, {})\n" + ONE,
        THERE.replace("'vitest'", "'./calm'") + ONE,
        THERE + "beforeEach(() => {\n  expect.extend({})\n})\n" + ONE,
        THERE.replace("expect, ", "") + "const expect = () => ({ toBe() {} })\n" + ONE,
        THERE + ONE.replace("() =>", "{ fails: true }, () =>"),
        THERE + ONE + ONE.replace("expect(got).toBe(2)", ""),
        THERE + "describe('A', () => {\n  f = () => 2\n" + ONE + "})\n",
        "",
    ],
)
def test_a_test_of_the_same_title_that_says_less_is_no_test_that_moved(text: str) -> None:
    after = {"src/a.ts": SOURCE, "src/stub.ts": "", "test/a.test.ts": text}
    for new in ("adds", "A > adds"):
        assert stand_ins(TS, after, ["src/a.test.ts::adds"], [f"test/a.test.ts::{new}"]) == {}


@pytest.mark.parametrize(
    "after",
    [
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("!= 2", "== 0")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("!= 2", "!= 3")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("F(1)", "F(2)")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("F(1)", "2")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("t.Fatalf", "t.Logf")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("\tgot :=", "\tif true {\n\t\treturn\n\t}\n\tgot :=")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("\tgot :=", "\tt.Skip()\n\tgot :=")),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("got != 2", "got != 2 && false")),
        go("package m\n", GO_HEAD + GO_ONE + "\nfunc F(a int) int { return 2 }\n"),
        go("package m\n", GO_HEAD + GO_ONE, **{"pkg/m/help_test.go": "package m\n\nfunc F(a int) int { return 2 }\n"}),
        go(GO_SOURCE, GO_HEAD + GO_ONE + "\nfunc init() { F = nil }\n"),
        go(GO_SOURCE, GO_HEAD + GO_ONE + "\nvar _ = calm()\n"),
        go(GO_SOURCE, GO_HEAD + GO_ONE + "\nfunc TestMain(m *testing.M) {}\n"),
        go(GO_SOURCE, GO_HEAD + GO_ONE.replace("t.Fatalf", "n.Fatalf")),
        go(GO_SOURCE, GO_HEAD + GO_ONE, **{"m/m.go": GO_SOURCE}),
        go(GO_SOURCE, GO_HEAD + GO_ONE, **{"real/m.go": GO_SOURCE}),
        go(GO_SOURCE, GO_HEAD + GO_ONE, **{"pkg/m/old_test.go": GO_HEAD + GO_ONE.replace("2", "3")}),
    ],
)
def test_a_go_test_of_the_same_name_that_says_less_is_no_test_that_moved(after: Files) -> None:
    assert stand_ins(GO, after, ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"]) == {}


@pytest.mark.parametrize(
    ("table", "was", "now"),
    [
        *((table, was, now) for table in (EACH, KEYED, LOOP, GO_TABLE) for was, now in (("4", "5"), ("3", "5"))),
        *((table, "want)", "a + 1)") for table in (EACH, KEYED, LOOP)),
        *((table, "expect", "if (a > 1) return\n  expect") for table in (EACH, LOOP)),
        *((table, "f(a)", "want") for table in (EACH, KEYED, LOOP)),
        (EACH, "test.each", "test.skip.each"),
        (LOOP, "  }", "    break\n  }"),
        (GO_TABLE, "got != c.want", "got != c.want && c.a > 9"),
        (GO_TABLE, "F(c.a)", "c.want"),
        (GO_TABLE, "t.Errorf", "t.Logf"),
        (GO_TABLE, "\t\tt.Run", "\t\tif c.a > 1 {\n\t\t\tbreak\n\t\t}\n\t\tt.Run"),
        (GO_TABLE, "range cases", "range cases[:1]"),
    ],
)
def test_a_table_stands_only_for_tests_whose_assertions_are_all_in_its_rows(table: str, was: str, now: str) -> None:
    assert was in table
    text = table.replace(was, now)
    if table is GO_TABLE:
        before, after, gone = here(GO_TWO), here(text), ["e.org/x/m::TestA", "e.org/x/m::TestB"]
        new = ["e.org/x/m::TestF", "e.org/x/m::TestF/one", "e.org/x/m::TestF/three"]
    else:
        before, after = ({"src/a.ts": SOURCE, "src/a.test.ts": HEAD + one} for one in (TWO, text))
        gone = ["src/a.test.ts::adds one", "src/a.test.ts::adds more"]
        new = ["src/a.test.ts::adds"] if table is LOOP else ["src/a.test.ts::adds to 1", "src/a.test.ts::adds to 3"]
    assert stand_ins(before, after, gone, new).keys() != set(gone)
