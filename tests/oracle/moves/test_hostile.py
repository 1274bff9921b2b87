"""Tests that say in a new place what they said, in files that make something else of it: none of them moved."""

from __future__ import annotations

import pytest

from .held import CALC, Files, stand_ins
from .test_rust import CARGO, HALVE, OUTSIDE
from .test_scripts import GO_HEAD, GO_MOD, GO_ONE, GO_SOURCE, ONE, SOURCE, THERE, TS, go

TEST = "import app\n\nWANT = 4\n\n\ndef test_work():\n    assert app.f(2) == WANT\n"
BARE = TEST.replace("\nWANT = 4\n", "").replace("WANT", "4")
ROWS = "import pytest\nimport app\n\nROWS = [(2, 4)]\n\n\n@pytest.mark.parametrize('n, want', ROWS)\n"
ROWS += "def test_work(n, want):\n    assert app.f(n) == want\n"
UNIT = "import unittest\nimport app\n\n\nclass A(unittest.TestCase):\n    def test_work(self):\n"
UNIT += "        self.assertEqual(app.f(2), 4)\n"
LOOP = "import app\n\n\ndef test_work():\n    for n, want in [(2, 4)]:\n        assert app.f(n) == want\n"
SUB = UNIT.replace("self.assertEqual(app.f(2), 4)", "for n, want in [(2, 4)]:\n            with self.subTest():\n"
                   "                self.assertEqual(app.f(n), want)")  # fmt: skip
OTHER = TEST + "\n\ndef test_other(n=3):\n    assert app.f(n) == 6\n"
FROM = "from app import f\n\n\ndef test_work():\n    assert f(2) == 4\n"
IN = "\n    assert"
INSTEAD = "lambda x: 4"
LOCAL = BARE.replace(IN, "\n    want = 4" + IN).replace("== 4", "== want")
INNER = FROM.replace(IN, "\n    def g():\n        from app import f\n" + IN)
HELPED = "import app\n\n\ndef ok(a):\n    from app import want\n    assert a == want\n\n\n"
HELPED += "def test_work():\n    ok(app.f(2))\n"


NAMES = (["test_a.py::test_work"], ["test_b.py::test_work"])


def also(said: str, of: str = TEST) -> str:
    return f"{of}\n\n{said}\n"


HELD: dict[str, tuple[str, str]] = {
    # another name for it, and calls that reach it
    "self is the source": (TEST, also(f"def test_z():\n    self = app\n    self.f = {INSTEAD}\n    assert 1")),
    "self is given the source": (TEST, also(f"def h(self):\n    self.f = {INSTEAD}\n\n\ndef test_z():\n    h(app)")),
    "an update of its names": (TEST, also("def test_z():\n    app.CACHE.update({2: 4})\n    assert 1")),
    "a wrapper of it": (TEST, also("import functools\n\n\ndef test_z():\n"
                                   "    functools.update_wrapper(app, K, ('f',), ())\n    assert 1")),
    "a file that is written": (TEST, also("def test_z():\n    open('app.py', 'w').write('')\n    assert 1")),
    "a plugin of a class": (TEST, also("class Z:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True")),
    "the plugins of a run": (TEST, also("def test_z(request):\n    request.config.x(app)\n    assert 1")),
    "a hook that is imported": (TEST, "from kit import setup_function\n" + TEST),
    "a name of Python's that is imported": (TEST, "from kit import name as __name__\n" + TEST),
    "an inlined call that is waited for": (
        BARE.replace("    assert", "    got = app.f(2)\n    with app.raises():\n        app.check(got)\n    assert"),
        BARE.replace("    assert", "    with app.raises():\n        app.check(app.f(2))\n    assert"),
    ),
    # what runs as the file is read
    "a class body": (TEST, also(f"class TestZ:\n    app.f = {INSTEAD}\n\n    def test_z(self):\n        assert app.f")),
    "a class body with global": (TEST, also("class TestZ:\n    global WANT\n    WANT = 0\n\n    def test_z(self):\n"
                                            "        assert 1")),
    "a class body by a loop": (TEST, also("class Z:\n    for app.f in [len]:\n        pass")),
    "a default": (TEST, also("def test_z(x=app.__dict__.update(f=len)):\n    assert x")),
    "a default of a lambda": (TEST, also("def test_z(x=(lambda y=app.bend(): y)):\n    assert x")),
    "an annotation": (TEST, also("def h() -> setattr(app, 'f', len): ...")),
    "an annotation that is looked up": (TEST, also("def h(x: app.kit[0]): ...")),
    "an annotation of a name": (TEST, also("x: app.bend() = 1")),
    "a decorator": (TEST, also("@app.bend\ndef test_z():\n    assert 1")),
    "a mark that calls": (TEST, also("import pytest\n\n\n@pytest.mark.x(app.bend())\ndef test_z():\n    assert 1")),
    "a base": (TEST, also("class Z(app.bend()):\n    pass")),
    "a base that is told of it": (TEST, also("class Z(app.Kit):\n    pass")),
    "a metaclass": (TEST, also("class Z(metaclass=app.Kit):\n    pass")),
    "a descriptor": (TEST, also("class Z:\n    def __set_name__(self, a, b):\n        pass")),
    "a constant that is worked out": (TEST, also("Z = [app for app.f in [len]]")),
    "a text that is worked out": (TEST, also("Z = f'{app.bend()}'")),
    "a walrus": (TEST, also("assert (WANT := 1)")),
    "a loop": (TEST, also("for WANT in [0]:\n    pass")),
    "a with": (TEST, also("with app.bend() as WANT:\n    pass")),
    "a try": (TEST, also("try:\n    WANT\nexcept Exception as WANT:\n    pass")),
    "what is not for a run by name": (TEST, also(f"if __name__ != '__main__':\n    app.f = {INSTEAD}")),
    "the other branch of it": (TEST, also(f"if __name__ == '__main__':\n    pass\nelse:\n    app.f = {INSTEAD}")),
    "plugins": (TEST, also("pytest_plugins = ['kit']")),
    "a module's own lookup": (TEST, also("def __getattr__(name):\n    return 0")),
    # what runs before it, or around it
    "another test with global": (TEST, also("def test_a():\n    global WANT\n    WANT = 0\n    assert 1")),
    "another test that puts something there": (TEST, also(f"def test_a():\n    app.f = {INSTEAD}\n    assert 1")),
    "another test that deletes": (TEST, also("def test_a():\n    del app.f\n    assert 1")),
    "another test that patches": (TEST, also("def test_a():\n    mock.patch('app.f').start()\n    assert 1")),
    "another test by its module": (TEST, also("def test_a():\n    import sys\n    sys.modules['app'].f = len")),
    "another test by a name": (TEST, also("def test_a():\n    vars(app)['f'] = len")),
    "a nested function": (TEST, also("def test_a():\n    def g():\n        global WANT\n        WANT = 0\n    g()")),
    "a helper that is called": (TEST, also("def z():\n    app.f = len\n\n\ndef test_a():\n    z()")),
    "a list that another test empties": (TEST.replace("= 4", "= [4]"), also("def test_a():\n    WANT.clear()",
                                                                           TEST.replace("= 4", "= [4]"))),
    "a setup of its class": (UNIT, UNIT.replace("    def t", "    def setUp(self):\n        app.f = len\n\n    def t")),
    "a fixture by another's mark": (TEST, "from kit import fixture\n" + also("@fixture\ndef z():\n    return 1")),
    # how it is defined
    "more arguments": (TEST, TEST.replace("test_work()", "test_work(*WANT)")),
    "more keywords": (TEST, TEST.replace("test_work()", "test_work(**kw)")),
    "an argument of a name": (TEST, TEST.replace("test_work()", "test_work(WANT=0)")),
    "an argument of the import's name": (BARE, BARE.replace("test_work()", "test_work(app=app.kit)")),
    "a result that is worked out": (TEST, TEST.replace("test_work()", "test_work() -> app.bend()")),
    "a generator": (UNIT, UNIT + "        assert (yield) is None\n"),
    "a generator in a loop": (LOOP, LOOP.replace("[(2, 4)]", "[(2, 4) if 1 else (yield)]")),
    "a mark of another pytest": (BARE, "from kit import pytest\n" + BARE.replace("def t", "@pytest.mark.slow\ndef t")),
    "a mark that does more": (BARE, "import pytest\n" + BARE.replace("def t", "@pytest.mark.flaky\ndef t")),
    "a table by another": (BARE, ROWS.replace("import pytest", "from kit import pytest")),
    "a table by another's function": (BARE, ROWS.replace("import pytest", "from kit import parametrize")
                                      .replace("pytest.mark.", "")),
    "a row by another": (BARE, "from kit import param\n" + ROWS.replace("[(2, 4)]", "[param(2, 4)]")),
    "rows that are given twice": (BARE, ROWS.replace("(2, 4)", "(2, 0)") + "\n\nROWS = [(2, 4)]\n"),
    "rows that are imported": (BARE, ROWS.replace("\n\n\n@", "\nfrom kit import ROWS\n\n\n@")),
    "rows that are changed": (BARE, ROWS.replace("\n\n\n@", "\nROWS[0] = (2, 0)\n\n\n@")),
    "rows that work": (BARE, ROWS.replace("(2, 4)", "(2, 4)[:app.bend()]")),
    "names of rows that work": (BARE, ROWS.replace("ROWS)", "ROWS, ids=app.bend())")),
    "a fixture by a row": (BARE, ROWS.replace("ROWS)", "ROWS, True)")),
    "a subtest of another": (BARE, LOOP.replace("import app", "import app\nfrom kit import self").replace(
        "        assert", "        with self.subTest():\n            assert")),
    "a subtest that is told much": (SUB.replace("Test()", "Test(1)"), SUB.replace("Test()", "Test(app.g())")),
    # where names lead
    "a local import over a constant": (LOCAL, LOCAL.replace(IN, "\n    from kit import want" + IN)),
    "two local imports": (FROM, FROM[21:].replace(IN, "\n    from kit import f" + IN) + "    from app import f\n"),
    "an import in a function inside": (INNER, INNER.replace("app", "kit", 1)),
    "a helper's own import": (HELPED, HELPED.replace("from app", "from kit")),
    "a name that builtins have": (TEST, TEST.replace("\nWANT = 4\n", "")),
    "two imports of a name": (FROM, FROM.replace("\n\n\n", "\nfrom kit import f\n\n\n")),
    "an import under a condition": (FROM, FROM.replace("\n\n\n", "\nif app:\n    from kit import f\n\n\n")),
    "a constant of a function": (TEST, TEST.replace("WANT = 4", "def want():\n    pass\n\n\nWANT = 4\nWANT = want()")),
    "an expected text that is renamed": ("import app\n\n\ndef test_work():\n    assert app.f() == 'f'\n",
                                         "import app\n\n\ndef test_work():\n    assert app.g() == 'g'\n"),
}  # fmt: skip


@pytest.mark.parametrize("how", HELD)
def test_a_python_file_that_makes_another_test_of_the_same_words_holds_none_that_moved(how: str) -> None:
    old, new = HELD[how]
    app = CALC.replace("speed", "f")
    sources = {"app.py": app.replace("f(", "g(") if "renamed" in how else app, "kit.py": "f = want = ROWS = 0\n"}
    before = {**sources, "app.py": app, "test_a.py": old}
    inside = "A." if old.startswith("import unittest") else ""
    gone, there = (f"test_{name}.{inside}test_work" for name in "ab")
    honest = old.replace("f()", "g()") if "renamed" in how else old
    assert stand_ins(before, {**sources, "test_b.py": honest}, [gone], [there])
    for id in (there, f"{there}[2-0]"):
        assert stand_ins(before, {**sources, "test_b.py": new}, [gone], [id]) == {}


GENTLE = {
    "a type": BARE.replace("test_work()", "test_work() -> None"),
    "another test": also("def test_z(tmp_path: Path) -> None:\n    x = {}\n    x[1] = app.f(3)\n    assert x"),
    "a fixture": also("import pytest\n\n\n@pytest.fixture\ndef z():\n    yield app.f(1)"),
    "a class of tests": also("class TestZ:\n    A = 3\n\n    def test_z(self):\n        a = 1\n        assert a"),
    "a constant": also("MORE = {'a': [1, -2]}"),
    "a sorting mark": "import pytest\n" + BARE.replace("def t", "@pytest.mark.slow\ndef t"),
    "a run by name": also("if __name__ == '__main__':\n    app.main()"),
    "an import of a new module": "import fresh\n" + TEST,
}


@pytest.mark.parametrize("how", GENTLE)
def test_what_only_stands_beside_it_does_no_harm(how: str) -> None:
    old = BARE if "WANT" not in GENTLE[how] else TEST
    before, after = {"app.py": CALC, "test_a.py": old}, {"app.py": CALC, "fresh.py": "", "test_b.py": GENTLE[how]}
    assert stand_ins(before, after, ["test_a.py::test_work"], ["test_b.py::test_work"])


def test_tests_that_were_put_in_one_do_not_change_what_comes_after() -> None:
    two = "import app\n\n\ndef test_a():\n    app.put(1)\n    assert app.f(1) == 1\n"
    two += "\n\ndef test_b():\n    assert app.f(2) == 2\n"
    one = two.replace("\n\n\ndef test_b():", "")
    gone = ["test_x.py::test_a", "test_x.py::test_b"]
    assert list(stand_ins({"test_x.py": two}, {"test_y.py": one}, gone, ["test_y.py::test_a"])) == gone[:1]


KIT = "import pytest, app\n\n\n@pytest.fixture(autouse=True)\ndef calm(monkeypatch):\n"
KIT += (
    "    monkeypatch.setattr(app, 'f', len)\n\n\ndef ok():\n    return 1\n\n\nloud = pytest.fixture(autouse=True)(ok)\n"
)


@pytest.mark.parametrize("unchanged", [True, False])
@pytest.mark.parametrize(
    ("said", "used", "moved"),
    [
        ("from kit import ok", "ok()", True),
        ("import kit", "1", True),
        ("import json", "1", True),
        ("from json import loads", "1", True),
        ("from kit import calm", "1", False),
        ("from kit import calm as ok", "1", False),
        ("from kit import loud", "1", False),
        ("from kit import calm", "calm", None),
        ("from kit import calm as ok", "ok", None),
    ],
)
def test_a_fixture_that_nothing_has_to_ask_for_comes_with_no_import(
    said: str, used: str, moved: bool | None, unchanged: bool
) -> None:
    """None: held only where the file that has it can be read, which is one that is new or was changed."""
    new = also(f"def test_z():\n    assert {used}", f"{said}\n{BARE}")
    before = {"app.py": CALC, "test_a.py": BARE, **({"kit.py": KIT} if unchanged else {})}
    found = stand_ins(before, {"app.py": CALC, "kit.py": KIT, "test_b.py": new}, *NAMES)
    assert bool(found) is (unchanged if moved is None else moved)


def test_an_import_that_the_file_had_needs_no_use() -> None:
    before = {"app.py": CALC, "kit.py": KIT.partition("@")[0] + "def ok():\n    return 1\n"}
    old = also("def test_z():\n    assert ok()", f"from kit import ok\n{BARE}")
    assert stand_ins({**before, "test_a.py": old}, {**before, "test_b.py": f"from kit import ok\n{BARE}"}, *NAMES)


@pytest.mark.parametrize(
    ("place", "moved"), [("conftest.py", True), ("a/conftest.py", False), ("b/conftest.py", False)]
)
def test_a_conftest_that_stays_where_it_is_must_count_as_it_did(place: str, moved: bool) -> None:
    test = BARE.replace("test_work()", "test_work(car)")
    before, after = {"app.py": CALC, place: "x = 1\n"}, {"app.py": CALC, place: "x = 1\n"}
    gone, new = ["a/test_a.py::test_work"], ["b/test_a.py::test_work"]
    found = stand_ins({**before, "a/test_a.py": test}, {**after, "b/test_a.py": test}, gone, new)
    assert bool(found) is moved


WANTED = THERE + "let want = 2\n" + ONE.replace("toBe(2)", "toBe(want)")
ROW = "test.each([BENT])('adds', (a, want) => {\n  expect(f(a)).toBe(want)\n})\n"
SCRIPTS = {
    "rows that are worked out": THERE + ROW.replace("BENT", "[1, 2].map(() => 0)"),
    "rows that are chosen": THERE + ROW.replace("BENT", "[1, 2] && [1, 0]"),
    "rows that are spread": THERE
    + ROW.replace("(a, want)", "({ a, want })").replace("BENT", "{ a: 1, want: 2, ...{} }"),
    "rows by a computed key": THERE
    + ROW.replace("(a, want)", "({ a, want })").replace("BENT", "{ a: 1, want: 2, ['want']: 0 }"),
    "rows under other names": THERE
    + ROW.replace("(a, want)", "({ a: want, want: a })").replace("BENT", "{ a: 1, want: 2 }"),
    "a tagged text": THERE + ONE + "const z = bend`x`\n",
    "a text that is worked out": THERE + ONE + "const z = `${bend()}`\n",
    "a static block": THERE + ONE + "class Z { static { bend() } }\n",
    "a static field": THERE + ONE + "class Z { static x = bend() }\n",
    "an enum": THERE + ONE + "enum Z { a = bend() }\n",
    "a group's default": THERE + "describe('g', (x = bend()) => {\n" + ONE + "})\n",
    "a group's options": THERE + "describe('g', { retry: 3 }, () => {\n" + ONE + "})\n",
    "after a group": THERE + "describe('g', () => {\n" + ONE + "}, bend())\n",
    "in a group": THERE + "describe('g', () => {\nbend()\n" + ONE + "})\n",
    "a group that is left out": THERE + "describe.skip('g', () => {\n" + ONE + "})\n",
    "another test sets it": WANTED + "test('a', () => {\n  want = 0\n  expect(1).toBe(1)\n})\n",
    "another test sets it behind a name": WANTED + "test('a', () => {\n  want = 0;\n  [1].map((want) => want)\n})\n",
    "another test sets it after another line": WANTED + "test('a', () => {\n  let a\n  want = 0\n})\n",
    "another test counts it": WANTED + "test('a', () => {\n  want++\n})\n",
    "another test adds to it": WANTED + "test('a', () => {\n  want -= 2\n})\n",
    "another test takes it apart": WANTED + "test('a', () => {\n  [want] = [0]\n})\n",
    "another test mocks": THERE + ONE + "test('a', () => {\n  vi.spyOn(a, 'f')\n})\n",
    "another test reaches a prototype": THERE + ONE + "test('a', () => {\n  Number.prototype.x = 1\n})\n",
    "another test reaches all": THERE + ONE + "test('a', () => {\n  globalThis.f = 1\n})\n",
    "another test extends": THERE + ONE + "test('a', () => {\n  expect.extend({ toBe() {} })\n})\n",
    "a value that is global": THERE + ONE.replace("toBe(2)", "toBe(want)"),
    "a function that sets it": WANTED + "function z() {\n  want = 0\n}\n",
    "an import of everything": THERE + "import './kit'\n" + ONE,
    "two imports of a name": THERE + "import { f } from './kit'\n" + ONE,
}


@pytest.mark.parametrize("how", SCRIPTS)
def test_a_script_that_makes_another_test_of_the_same_words_holds_none_that_moved(how: str) -> None:
    old = WANTED.replace("../src/a", "./a") if "want" in SCRIPTS[how] else TS["src/a.test.ts"]
    after = {"src/a.ts": SOURCE, "test/kit.ts": "export const z = 1\n", "test/a.test.ts": SCRIPTS[how]}
    before = {"src/a.ts": SOURCE, "src/a.test.ts": old}
    honest = {**after, "test/a.test.ts": old.replace("./a", "../src/a")}
    assert stand_ins(before, honest, ["src/a.test.ts::adds"], ["test/a.test.ts::adds"])
    for new in ("adds", "g > adds"):
        assert stand_ins(before, after, ["src/a.test.ts::adds"], [f"test/a.test.ts::{new}"]) == {}


GLOBALS = "import { f } from './a'\n\ndescribe('A', () => {\n" + ONE.replace("test(", "it(") + "})\n"


@pytest.mark.parametrize("name", ["describe", "it", "expect"])
@pytest.mark.parametrize(
    ("said", "moved"),
    [
        ("", True),
        ("import { NAME } from 'vitest'\n", True),
        ("import { NAME } from './kit'\n", False),
        ("import { z as NAME } from '../src/a'\n", False),
        ("import NAME from 'calm'\n", False),
        ("const { NAME } = require('./kit')\n", False),
        ("function NAME(title, body) {\n  return title\n}\n", False),
        ("const NAME = (title, body) => title\n", False),
        ("const [NAME] = ['a']\n", False),
        ("describe('B', () => {\n  const NAME = 1\n})\n", False),
    ],
)
def test_a_runners_name_is_the_runners_only_where_nothing_else_has_it(name: str, said: str, moved: bool) -> None:
    shown = said.replace("NAME", name)
    of_vitest = shown if moved else ""
    before = {"src/a.ts": SOURCE, "src/a.test.ts": of_vitest + GLOBALS}
    after = {"src/a.ts": SOURCE, "test/kit.ts": "", "test/a.test.ts": shown + GLOBALS.replace("./a", "../src/a")}
    assert bool(stand_ins(before, after, ["src/a.test.ts::A > adds"], ["test/a.test.ts::A > adds"])) is moved


def test_a_runners_name_that_is_extended_by_a_module_stays_what_it_is() -> None:
    head = "import { expect, test } from './kit'\n\n"
    before = {"test/kit.ts": "", "test/a.test.ts": head + ONE}
    after = {"test/kit.ts": "", "test/unit/a.test.ts": head.replace("./kit", "../kit") + ONE}
    assert stand_ins(before, after, ["test/a.test.ts::adds"], ["test/unit/a.test.ts::adds"])


GO_WANT = "var want = 2\n\n" + GO_ONE.replace("!= 2", "!= want")
GO_RUN = """\
var want = 2

func TestF(t *testing.T) {
	for _, c := range []struct{ a int }{{1}} {
		t.Run("x", func(t *testing.T) {
			got := F(c.a)
			if got != want {
				t.Fatalf("got %d", got)
			}
		})
	}
}
"""
GO_A = "\nfunc TestA(t *testing.T) {\n\t%s\n}\n"
GOES = {
    "another test sets it": {"t": GO_WANT + GO_A % "want = F(0)"},
    "another test sets it with another": {"t": GO_WANT + GO_A % "a := 0\n\twant, a = 0, 1"},
    "another test counts it": {"t": GO_WANT + GO_A % "want++"},
    "another test has its place": {"t": GO_WANT + GO_A % "p := &want\n\t*p = 0"},
    "another file sets it": {"t": GO_WANT, "pkg/m/z_test.go": GO_HEAD + GO_A % "want = 0"},
    "a source sets it": {"t": GO_WANT, "pkg/m/z.go": "package m\n\nfunc init() { want = 0 }\n"},
    "its value in a source": {"t": GO_WANT.partition("\n")[2], "pkg/m/z.go": "package m\n\nvar want = 0\n"},
    "a variable that is worked out": {"t": GO_WANT + "\nvar _ = bend()\n"},
    "a variable of a function": {"t": GO_WANT + "\nvar _ = func() int { want = 0; return 1 }()\n"},
    "variables in brackets": {"t": GO_WANT + "\nvar (\n\ta = bend()\n)\n"},
    "a method": {"t": GO_WANT + "\nfunc (e *E) Error() string { return \"\" }\n"},
    "an import for what it does": {"t": GO_WANT.replace("var want", 'import _ "e.org/x/z"\n\nvar want')},
    "an import of all names": {"t": GO_WANT.replace("var want", 'import . "e.org/x/z"\n\nvar want')},
    "a subtest of another": {"t": GO_RUN.replace("t.Run", "kit.Run")},
    "a subtest of another t": {"t": GO_RUN.replace("c :=", "t :=").replace("c.a", "t.a")},
    "a parallel of another": {"t": GO_WANT.replace("\tgot :=", "\tkit.Parallel()\n\tgot :=")},
}  # fmt: skip


@pytest.mark.parametrize("how", GOES)
def test_a_go_package_that_makes_another_test_of_the_same_words_holds_none_that_moved(how: str) -> None:
    before = {**GO_MOD, "m/m.go": GO_SOURCE, "m/m_test.go": GO_HEAD + GO_WANT}
    files: Files = {name: text for name, text in GOES[how].items() if name != "t"}
    gone, new = ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"]
    assert stand_ins(before, go(GO_SOURCE, GO_HEAD + GO_WANT), gone, new)
    assert stand_ins(before, go(GO_SOURCE, GO_HEAD + GOES[how]["t"], **files), gone, new) == {}


def test_a_go_table_that_is_written_out_stands_for_its_rows() -> None:
    before = {**GO_MOD, "m/m.go": GO_SOURCE, "m/m_test.go": GO_HEAD + GO_WANT}
    assert stand_ins(before, go(GO_SOURCE, GO_HEAD + GO_RUN), ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"])


RUST = {**CARGO, "src/lib.rs": HALVE, "tests/a.rs": OUTSIDE}
RUSTS = {
    "a macro": {"tests/b.rs": OUTSIDE + "\nmacro_rules! z {\n    () => {};\n}\n"},
    "a macro in the source": {"tests/b.rs": OUTSIDE, "src/lib.rs": HALVE + "macro_rules! assert_eq { () => {} }\n"},
    "a trait": {"tests/b.rs": "use my_q::stub::Halve;\n" + OUTSIDE},
    "an impl": {"tests/b.rs": OUTSIDE + "\nimpl PartialEq for Z {\n    fn eq(&self) -> bool { true }\n}\n"},
    "a module": {"tests/b.rs": OUTSIDE + "\nmod stub;\n"},
    "a module by a path": {"tests/b.rs": '#[path = "x.rs"]\nmod stub;\n' + OUTSIDE},
    "a condition": {"tests/b.rs": '#![cfg(feature = "x")]\n' + OUTSIDE},
    "a static": {"tests/b.rs": OUTSIDE + "\nstatic mut Z: i32 = 1;\n"},
    "another crate": {"tests/b.rs": "#[macro_use]\nextern crate calm;\n" + OUTSIDE},
    "a test that must fail": {"tests/b.rs": OUTSIDE.replace("fn ", "#[should_panic]\nfn ")},
    "a test that reaches": {"tests/b.rs": OUTSIDE + '\n#[test]\nfn z() {\n    std::env::set_var("a", "b");\n}\n'},
    "two imports": {"tests/b.rs": "use calm::halve;\n" + OUTSIDE},
}


@pytest.mark.parametrize("how", RUSTS)
def test_a_rust_file_that_makes_another_test_of_the_same_words_holds_none_that_moved(how: str) -> None:
    gone, new = ["my-q/a::halves"], ["my-q/b::halves"]
    there = {**CARGO, "src/lib.rs": HALVE, "tests/b.rs": OUTSIDE}
    assert stand_ins(RUST, there, gone, new)
    assert stand_ins(RUST, {**there, **RUSTS[how]}, gone, new) == {}
