"""Code that only looks alike, and code that only looks different: newlines, quotes, numbers, filled texts."""

from __future__ import annotations

import pytest

from .held import stand_ins
from .test_rust import CARGO, HALVE, OUTSIDE
from .test_scripts import GO, GO_HEAD, GO_ONE, GO_SOURCE, HEAD, ONE, SOURCE, THERE, go

RUN = ONE.replace("  expect(got).toBe(2)", "  run(() => { return expect(got).toBe(2) })")
COUNTS = ONE.replace("  const", "  run(() => {\n    got++\n    z\n  })\n  const")
NAMED = "const host = 'a'\n" + ONE.replace("f(1)", "f(`//${host}`)")
GO_INNER = GO_ONE.replace("F(1)", "func() (a int) {\n\t\treturn F(1)\n\t}()")
GO_CALL = GO_ONE.replace("\tgot :=", "\tfunc() {\n\t\tx := g\n\t\t(h)()\n\t}()\n\tgot :=")
GO_TEXTS = GO_ONE.replace("F(1)", "F(1, `a\nb`,\n\t\t2)")


def script(want: str) -> str:
    return ONE.replace("toBe(2)", f"toBe({want})")


def goes(want: str) -> str:
    return GO_ONE.replace("!= 2", f"!= {want}")


def rusts(want: str) -> str:
    return OUTSIDE.replace("3)", f"{want})")


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (RUN, RUN.replace("return ", "return\n"), False),
        (RUN, RUN.replace("{ return", "{\n    return").replace("2) }", "2);\n  }"), True),
        (RUN.replace("return ", "return;"), RUN.replace("return ", "return\n"), True),
        (COUNTS, COUNTS.replace("got++\n    z", "got\n    ++z"), False),
        (script("'${got}'"), script("`${got}`"), False),
        (script("`a${got}b`"), script("`a${got}b`"), True),
        (script("`a${got} }b`"), script("`a${got} }c`"), False),
        (script("'got'"), script("`got`"), True),
        (script("'got'"), script('"got"'), True),
        (script("'/a/'"), script("/a/"), False),
        (script("4"), script("4n"), False),
        (script("10"), script("010"), False),
        (script("1_000"), script("1000"), True),
        (NAMED, NAMED, True),
        (NAMED, NAMED.replace("'a'", "'b'"), False),
        (NAMED, NAMED.replace("  const got", "  const host = f(2)\n  const got"), False),
    ],
)
def test_a_script_is_the_same_as_one_that_means_the_same(old: str, new: str, moved: bool) -> None:
    before, after = (
        {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + old},
        {"src/a.ts": SOURCE, "test/a.test.ts": THERE + new},
    )
    assert bool(stand_ins(before, after, ["src/a.test.ts::adds"], ["test/a.test.ts::adds"])) is moved


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (GO_INNER, GO_INNER.replace("return F", "return\n\t\tF"), False),
        (GO_INNER, GO_INNER.replace("{\n\t\treturn F(1)\n\t}", "{ return F(1) }"), True),
        (GO_CALL, GO_CALL.replace("g\n\t\t(h", "g(h"), False),
        (GO_CALL, GO_CALL.replace("g\n\t\t(h", "g; (h"), True),
        (GO_TEXTS, GO_TEXTS.replace(",\n\t\t2)", ", 2)"), True),
        (goes(r'"\n"'), goes(r"`\n`"), False),
        (goes('"n"'), goes("`n`"), True),
        (goes("'a'"), goes('"a"'), False),
        (goes("1.0"), goes("1"), False),
        (goes("010"), goes("10"), False),
    ],
)
def test_a_go_test_is_the_same_as_one_that_means_the_same(old: str, new: str, moved: bool) -> None:
    after = go(GO_SOURCE, GO_HEAD + new)
    found = stand_ins({**GO, "m/m_test.go": GO_HEAD + old}, after, ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"])
    assert bool(found) is moved


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (rusts(r'"\n"'), rusts(r'r"\n"'), False),
        (rusts('"a"'), rusts('b"a"'), False),
        (rusts("'a'"), rusts('"a"'), False),
        (rusts("1u8"), rusts("1i64"), False),
        (rusts(r'"a\"b"'), rusts('r#"a"b"#'), True),
    ],
)
def test_a_rust_test_is_the_same_as_one_that_means_the_same(old: str, new: str, moved: bool) -> None:
    before, after = ({**CARGO, "src/lib.rs": HALVE, f"tests/{at}.rs": text} for at, text in (("a", old), ("b", new)))
    assert bool(stand_ins(before, after, ["my-q/a::halves"], ["my-q/b::halves"])) is moved


ASKED = "func TestF(t *testing.T) {\n\tb := New()\n\tif b.Error(1) != 2 {\n\t\tt.Fatal(b)\n\t}\n}\n"
INNER = ASKED.replace("\tb :=", '\tt.Run("x", func(n *testing.T) { n.Error(1) })\n\tb :=')


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (ASKED, ASKED.replace("Fatal(b)", 'Errorf("%d", b)'), True),
        (ASKED, ASKED.replace("b.Error(1)", "b.Error(0)"), False),
        (ASKED.replace("Fatal(b)", "Error(b)"), ASKED.replace("Fatal(b)", "Log(b)"), False),
        (ASKED.replace("t.Fatal(b)", "kit(t.Error(1))"), ASKED.replace("t.Fatal(b)", "kit(t.Error(2))"), False),
        *((one, one.replace("n.Error(1)", "n.Error(2)"), moved)
          for one, moved in ((INNER, True), (INNER.replace("(n *testing", "(n *kit"), False),
                             (INNER.replace("{ n.", "{ n := New(); n."), False))),
    ],
)  # fmt: skip
def test_a_go_test_may_fail_with_other_words_and_only_what_it_fails_by_says_them(
    old: str, new: str, moved: bool
) -> None:
    found = stand_ins(
        {**GO, "m/m_test.go": GO_HEAD + old},
        go(GO_SOURCE, GO_HEAD + new),
        ["e.org/x/m::TestF"],
        ["e.org/x/pkg/m::TestF"],
    )
    assert bool(found) is moved
