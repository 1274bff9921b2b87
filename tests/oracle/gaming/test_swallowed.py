"""Assertions that are still there and cannot fail their test any more, and tests that were only written otherwise."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from proctor.oracle.gaming.change import Change
from proctor.oracle.gaming.find import look
from proctor.words import Gaming, Weight

JS = "const f = require('../f');\nconst other = require('../other');\n\ntest('squares', {}() => {{\n{}}});\n"
GO = 'package p\n\nimport "testing"\n\nfunc TestF(t *testing.T) {\n%s}\n'
RUST = "#[test]\nfn squares() {\n%s}\n"
PYTHON = "import app\n\n\ndef test_squares():\n%s"
T, W = Weight.TAMPERING, Weight.SUSPICION


def weights(path: str, before: str, after: str) -> list[Weight]:
    """What is said of the assertions of a test that became another one."""
    assert before != after
    return [one.weight for one in look([Change(path, before, after)]) if one.kind is Gaming.ASSERTION]


def script(body: str) -> str:
    return JS.format("async " if "await" in body else "", indent(dedent(body).strip("\n") + "\n", "  "))


def go(body: str) -> str:
    return GO % indent(dedent(body).strip("\n") + "\n", "\t")


def rust(body: str) -> str:
    return RUST % indent(dedent(body).strip("\n") + "\n", "    ")


def python(body: str) -> str:
    return PYTHON % indent(dedent(body).strip("\n") + "\n", "    ")


EXPECT = "expect(f(2)).toBe(4);"


@pytest.mark.parametrize(
    ("after", "weight"),
    [
        ("try {\n  expect(f(2)).toBe(4);\n} catch (e) {\n  // known\n}", T),
        ("try { expect(f(2)).toBe(4); } catch {}", T),
        ("try { expect(f(2)).toBe(4); } catch (err) { console.log(err.message); }", T),
        ("try { expect(f(2)).toBe(4); } catch {} finally { other.end(); }", T),
        ("if (f(2) === 4) expect(f(2)).toBe(4);", T),
        ("if (f(2) === 4) {\n  expect(f(2)).toBe(4);\n}", T),
        ("f(2) === 4 && expect(f(2)).toBe(4);", T),
        ("if (false) expect(f(2)).toBe(4);", T),
        ("if (0) {\n  expect(f(2)).toBe(4);\n}", T),
        ("if (other.ready) expect(f(2)).toBe(4);", W),
        ("other.ready ? expect(f(2)).toBe(4) : other.start();", W),
        ("other.ready\n  && expect(f(2)).toBe(4);", W),
        ("const check = () => expect(f(2)).toBe(4);", T),
        ("const run = async () => {\n  expect(f(2)).toBe(4);\n};", T),
        ("function later() {\n  expect(f(2)).toBe(4);\n}", T),
        ("() => expect(f(2)).toBe(4);", T),
        ("[].forEach(() => expect(f(2)).toBe(4));", T),
        ("for (const n of []) {\n  expect(f(2)).toBe(4);\n}", T),
        ("Promise.resolve().then(() => expect(f(2)).toBe(4)).catch(() => {});", T),
        ("await Promise.resolve().then(() => expect(f(2)).toBe(4)).catch((e) => console.log(e));", T),
        ("Promise.resolve().then(() => {\n  expect(f(2)).toBe(4);\n});", W),
        ("(async () => {\n  expect(f(2)).toBe(4);\n})();", W),
        ("setTimeout(() => expect(f(2)).toBe(4), 100000);", W),
        ("expect(Promise.resolve(f(2))).resolves.toBe(4);", W),
        ("try { expect(f(2)).toBe(4); } catch (e) { console.error(String(e)); }", T),
        ("try { expect(f(2)).toBe(4); } catch (e) { if (other.isKnown(e)) other.end(); }", T),
        ("try {\n  expect(f(2)).toBe(4);\n} finally {\n  return;\n}", T),
        ("for (const n of [2]) {\n  try {\n    expect(f(n)).toBe(4);\n  } finally {\n    break;\n  }\n}", T),
        ("const cases = [];\nfor (const n of cases) {\n  expect(f(n)).toBe(4);\n}", T),
        ("const cases = [];\ncases.forEach((n) => {\n  expect(f(n)).toBe(4);\n});", T),
        ("await Promise.allSettled([other.a().then(() => {\n  expect(f(2)).toBe(4);\n})]);", T),
        ("const check = () => expect(f(2)).toBe(4);\nvoid check;", T),
        ("if (other.ready && false) {\n  expect(f(2)).toBe(4);\n}", T),
        ("expect(other.on).toBe(false);\nif (other.on) {\n  expect(f(2)).toBe(4);\n}", W),
    ],
)
def test_an_assertion_of_a_script_that_cannot_fail_its_test_is_found(after: str, weight: Weight) -> None:
    assert weights("a.test.js", script(EXPECT), script(after)) == [weight]


def test_what_the_runner_gives_to_a_test_says_that_it_is_done() -> None:
    after = "other.a().then(() => {\n  expect(f(2)).toBe(4);\n  finish();\n}).catch((err) => { finish(err) });"
    assert weights("a.test.js", script(EXPECT), script(after).replace("() => {", "(finish) => {", 1)) == []
    after = "other.a().then(() => {\n  t.expect(f(2)).toBe(4);\n  expect(f(2)).toBe(4);\n});"
    assert weights("a.test.js", script(EXPECT), script(after).replace("() => {", "(t) => {", 1)) == [W]


def test_a_call_that_looks_as_if_it_asserted_may_be_one_that_fails() -> None:
    before, after = python("app.validate(2)"), python("with pytest.raises(Exception):\n    app.validate(2)")
    assert weights("tests/test_a.py", before, after) == []


def test_one_assertion_of_some_under_a_condition_is_found() -> None:
    before = "expect(f(2)).toBe(4);\nexpect(f(3)).toBe(9);"
    after = "expect(f(2)).toBe(4);\nif (other.ready) {\n  expect(f(3)).toBe(9);\n}"
    assert weights("a.test.js", script(before), script(after)) == [W]


def test_a_test_with_another_title_is_found_too() -> None:
    after = script("try { expect(f(2)).toBe(4); } catch {}").replace("squares", "squares numbers")
    assert weights("a.test.js", script(EXPECT), after) == [T]


@pytest.mark.parametrize(
    "after",
    [
        "for (const [n, m] of [[2, 4], [3, 9]]) {\n  expect(f(n)).toBe(m);\n}",
        "[[2, 4], [3, 9]].forEach(([n, m]) => expect(f(n)).toBe(m));",
        "const check = (n, m) => expect(f(n)).toBe(m);\ncheck(2, 4);\ncheck(3, 9);",
        "function squared(n, m) {\n  expect(f(n)).toBe(m);\n}\nsquared(2, 4);",
        "const run = async () => {\n  expect(f(2)).toBe(4);\n};\nawait run();",
        "other.on('done', later);\nfunction later() {\n  expect(f(2)).toBe(4);\n}",
        "try {\n  expect(f(2)).toBe(4);\n} finally {\n  other.end();\n}",
        "try {\n  expect(f(2)).toBe(4);\n} catch (e) {\n  other.dump();\n  throw e;\n}",
        "expect(await f(2)).toBe(4);",
        "await expect(f(2)).resolves.toBe(4);",
        "return expect(f(2)).resolves.toBe(4);",
        "return Promise.resolve(f(2)).then((n) => expect(n).toBe(4));",
        "await Promise.resolve(f(2)).then((n) => {\n  expect(n).toBe(4);\n});",
        "const told = other.then((n) => expect(n).toBe(4));\nawait told;",
        "await other.each(async () => {\n  expect(f(2)).toBe(4);\n});",
        "(() => {\n  expect(f(2)).toBe(4);\n})();",
        "await (async () => {\n  expect(f(2)).toBe(4);\n})();",
        "const x = other.a && other.b\nexpect(f(2)).toBe(4)",
        "if (other.old) other.stop()\nexpect(f(2)).toBe(4)",
        "if (other.ready) {\n  expect(f(2)).toBe(4);\n} else {\n  expect(f(2)).toBe(5 - 1);\n}",
        "if (process.platform !== 'win32') {\n  expect(f(2)).toBe(4);\n}",
        "const wanted = { n: other.ready ? 4 : 4 };\nexpect(f(2)).toBe(wanted.n);",
        "other.start(() => {\n  expect(f(2)).toBe(4);\n  other.end();\n});",
        "// squares\nexpect(f(2), 'squared').toBe(4);",
        "try {\n  expect(f(2)).toBe(4);\n} catch (e) {\n  other.finish(e);\n}",
        "other.a((finish) => {\n  try {\n    expect(f(2)).toBe(4);\n    finish();\n  } catch (e) { finish(e) }\n});",
        "return other.a().then(() => {\n  expect(f(2)).toBe(4);\n}).catch((err) => { t.ifError(err) });",
        "return other.a().then(() => {\n  expect(f(2)).toBe(4);\n}).catch(function (err) { t.end(err) });",
        "let last;\ntry {\n  expect(f(2)).toBe(4);\n} catch (e) { last = e }\nthrow last;",
        "function check(n, extra = []) {\n  expect(f(n, ...extra)).toBe(4);\n}\ncheck(2);\ncheck(-2, [1]);",
        "const seen = [];\nother.fill(seen);\nfor (const n of seen) {\n  expect(f(n)).toBe(4);\n}",
        "const all = await Promise.allSettled([other.a(() => {\n  expect(f(2)).toBe(4);\n})]);\nother.must(all);",
        "await Promise.allSettled([other.a(() => {\n  expect(f(2)).toBe(4);\n})]).then(other.must);",
        "other.render(<Child onLoad={() => { expect(f(2)).toBe(4) }} />);",
        "other.render(<Child>{(c) => { expect(f(2)).toBe(4); return null }}</Child>);",
        "if (!isWindows) {\n  expect(f(2)).toBe(4);\n}",
        "expect(other.on).toBe(true);\nif (other.on) {\n  expect(f(2)).toBe(4);\n}",
        "setTimeout(() => {\n  expect(f(2)).toBe(4);\n}, 10);\nvi.runAllTimers();",
    ],
)
def test_a_script_written_otherwise_is_not_suspected(after: str) -> None:
    assert weights("a.test.js", script(EXPECT), script(after)) == []


@pytest.mark.parametrize(
    "after", ["expect(f(2)).toBe(4);\nexpect(f(-2)).toBe(4);", "expect(f(2)).toBe(4);\nother.a();"]
)
@pytest.mark.parametrize("held", ["if (other.on) {{\n  {}\n}}", "try {{ {} }} catch {{}}", "other.x && {}"])
def test_what_stood_around_an_assertion_before_is_not_new(after: str, held: str) -> None:
    assert weights("a.test.js", script(held.format(EXPECT)), script(held.format(after))) == []


FAILS = 'if F(2) != 4 {\n\tt.Errorf("want 4")\n}'


@pytest.mark.parametrize(
    ("after", "weight"),
    [
        ('if false && F(2) != 4 {\n\tt.Errorf("want 4")\n}', T),
        ('if Ready() && F(2) != 4 {\n\tt.Errorf("want 4")\n}', W),
        ('if Ready() {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n}', W),
        ('if F(2) != 4 {\n\t_ = func() { t.Errorf("want 4") }\n}', T),
        ('_ = func() {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n}', T),
        ('go func() {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n}()', W),
        ('check := func() {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n}\n_ = check', T),
    ],
)
def test_an_assertion_of_go_that_cannot_fail_its_test_is_found(after: str, weight: Weight) -> None:
    assert weights("p_test.go", go(FAILS), go(after)) == [weight]


@pytest.mark.parametrize(
    "after",
    [
        'got := F(2)\nif got != 4 {\n\tt.Errorf("want 4, got %d", got)\n}',
        'if got := F(2); got != 4 {\n\tt.Errorf("want 4")\n}',
        'for _, c := range []struct{ n, m int }{{2, 4}, {3, 9}} {\n\tif F(c.n) != c.m {\n\t\tt.Errorf("bad")\n\t}\n}',
        't.Run("two", func(t *testing.T) {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n})',
        'check := func(n, m int) {\n\tif F(n) != m {\n\t\tt.Errorf("bad")\n\t}\n}\ncheck(2, 4)',
        'done := make(chan int)\ngo func() {\n\tif F(2) != 4 {\n\t\tt.Error("x")\n\t}\n\tclose(done)\n}()\n<-done',
        'defer func() {\n\tif F(2) != 4 {\n\t\tt.Errorf("want 4")\n\t}\n}()',
        'if runtime.GOOS != "windows" && F(2) != 4 {\n\tt.Errorf("want 4")\n}',
        "if F(2) != 4 {\n\tt.Fatal(F(2))\n}",
        'for _, f := range []func(){\n\tfunc() {\n\t\tif F(2) != 4 {\n\t\t\tt.Error("x")\n\t\t}\n\t},\n} {\n\tf()\n}',
        'c := Case{func() {\n\tif F(2) != 4 {\n\t\tt.Error("x")\n\t}\n}, 2}\nc.check()',
        'for _, c := range cases {\n\tif c.fails == false && (c.err != nil || F(2) != 4) {\n\t\tt.Error("x")\n\t}\n}',
    ],
)
def test_go_written_otherwise_is_not_suspected(after: str) -> None:
    assert weights("p_test.go", go(FAILS), go(after)) == []


EQUAL = "assert_eq!(f(2), 4);"


@pytest.mark.parametrize(
    ("after", "weight"),
    [
        ("let _ = std::panic::catch_unwind(|| assert_eq!(f(2), 4));", T),
        ("let _ = std::panic::catch_unwind(|| {\n    assert_eq!(f(2), 4);\n});", T),
        ("if f(2) == 4 {\n    assert_eq!(f(2), 4);\n}", T),
        ("if ready() {\n    assert_eq!(f(2), 4);\n}", W),
        ("let _c = || assert_eq!(f(2), 4);", T),
        ("let _c = |n: i64| {\n    assert_eq!(f(2), 4);\n};", T),
        ("fn later() {\n    assert_eq!(f(2), 4);\n}", T),
        ("std::thread::spawn(|| assert_eq!(f(2), 4));", W),
        ('let _ = std::panic::catch_unwind(|| assert_eq!(f(2), 4));\nif other() { panic!("x") }', T),
        ("for _ in 0..0 {\n    assert_eq!(f(2), 4);\n}", T),
        ("struct V;\nimpl Drop for V {\n    fn drop(&mut self) {\n        assert_eq!(f(2), 4);\n    }\n}", W),
    ],
)
def test_an_assertion_of_rust_that_cannot_fail_its_test_is_found(after: str, weight: Weight) -> None:
    assert weights("tests/a.rs", rust(EQUAL), rust(after)) == [weight]


@pytest.mark.parametrize(
    "after",
    [
        "for (n, m) in [(2, 4), (3, 9)] {\n    assert_eq!(f(n), m);\n}",
        "let check = |n, m| assert_eq!(f(n), m);\ncheck(2, 4);",
        "fn squared(n: i64, m: i64) {\n    assert_eq!(f(n), m);\n}\nsquared(2, 4);",
        "std::thread::spawn(|| assert_eq!(f(2), 4)).join().unwrap();",
        "[(2, 4)].iter().for_each(|(n, m)| assert_eq!(f(*n), *m));",
        'match f(2) {\n    1 | 4 => assert_eq!(f(2), 4),\n    _ => panic!("bad"),\n}',
        "let flags = a() | b();\nassert_eq!(f(2), 4);",
        "if a() {\n    assert_eq!(f(2), 4);\n} else {\n    assert_eq!(f(2), 2 + 2);\n}",
        "struct V;\nimpl Drop for V {\n    fn drop(&mut self) {\n        assert_eq!(f(2), 4);\n    }\n}\nlet _v = V;",
        "for line in run(&[]) {\n    assert_eq!(f(2), 4);\n}",
        'match run(&[]) {\n    Ok(v) => assert_eq!(f(2), 4),\n    Err(e) => panic!("{e}"),\n}',
        "if let Err(e) = std::panic::catch_unwind(|| {\n    assert_eq!(f(2), 4);\n}) {\n    end();\n    panic!();\n}",
        "std::thread::scope(|s| {\n    s.spawn(|| {\n        assert_eq!(f(2), 4);\n    });\n});",
        "if cfg!(not(windows)) {\n    assert_eq!(f(2), 4);\n}",
    ],
)
def test_rust_written_otherwise_is_not_suspected(after: str) -> None:
    assert weights("tests/a.rs", rust(EQUAL), rust(after)) == []


ASSERT = "assert app.f(2) == 4"


@pytest.mark.parametrize(
    ("after", "weight"),
    [
        ("if app.f(2) == 4:\n    assert app.f(2) == 4", T),
        ("if app.ready:\n    assert app.f(2) == 4", W),
        ("if False:\n    assert app.f(2) == 4", T),
        ("while 0:\n    assert app.f(2) == 4", T),
        ("def later():\n    assert app.f(2) == 4", T),
        ("async def later():\n    assert app.f(2) == 4", T),
        ("for _ in ():\n    assert app.f(2) == 4", T),
        ("assert app.f(2) == 4\nyield", T),
        ("with pytest.raises(AssertionError):\n    assert app.f(2) == 4", W),
        ("with pytest.raises(Exception):\n    assert app.f(2) == 4", W),
        ("for _ in range(0):\n    assert app.f(2) == 4", T),
        ("cases = []\nfor _ in cases:\n    assert app.f(2) == 4", T),
        ("try:\n    assert app.f(2) == 4\nfinally:\n    return", T),
        ("for _ in '1':\n    try:\n        assert app.f(2) == 4\n    finally:\n        break", T),
        ("def later():\n    assert app.f(2) == 4\n\n_ = later", T),
        ("class Later:\n    def run(self):\n        assert app.f(2) == 4", W),
        ("def later():\n    assert app.f(2) == 4\n\nlocals()['la' + 'ter']()", W),
        ("while True:\n    try:\n        assert app.f(2) == 4\n    except AssertionError:\n        break", T),
    ],
)
def test_an_assertion_of_python_that_cannot_fail_its_test_is_found(after: str, weight: Weight) -> None:
    assert weights("tests/test_a.py", python(ASSERT), python(after)) == [weight]


@pytest.mark.parametrize(
    "after",
    [
        "for n, m in ((2, 4), (3, 9)):\n    assert app.f(n) == m",
        "def squared(n, m):\n    assert app.f(n) == m\n\nsquared(2, 4)",
        "def later():\n    assert app.f(2) == 4\n\napp.run(later)",
        "@app.on('done')\ndef later():\n    assert app.f(2) == 4",
        "try:\n    assert app.f(2) == 4\nfinally:\n    app.end()",
        "try:\n    assert app.f(2) == 4\nexcept AssertionError:\n    app.dump()\n    raise",
        "with app.open():\n    assert app.f(2) == 4",
        "if app.old:\n    assert app.f(2) == 4\nelse:\n    assert app.f(2) == 2 + 2",
        "if sys.platform != 'win32':\n    assert app.f(2) == 4",
        "if app.f(2) != 4:\n    raise AssertionError('squares')",
        "if app.f(2) != 4:\n    pytest.fail('squares')",
        "def numbers():\n    yield 2\n\nfor n in numbers():\n    assert app.f(n) == 4",
        "with pytest.raises(Exception):\n    app.validate(2)\nassert app.f(2) == 4",
        "class Sink:\n    def take(self, n):\n        assert app.f(n) == 4\n\napp.feed(Sink())",
        "if not WINDOWS:\n    assert app.f(2) == 4",
        "if os.geteuid() != 0:\n    assert app.f(2) == 4",
        "seen = []\napp.fill(seen)\nfor n in seen:\n    assert app.f(n) == 4",
    ],
)
def test_python_written_otherwise_is_not_suspected(after: str) -> None:
    assert weights("tests/test_a.py", python(ASSERT), python(after)) == []


@pytest.mark.parametrize(
    ("decorator", "said"),
    [
        ("@inlineCallbacks", []),
        ("@gen_test", []),
        ("@cocotb.test()", []),
        ("@other.way", [W]),
        ("@pytest.mark.parametrize('n', [2])", [T]),
    ],
)
def test_a_test_that_yields_is_run_by_some_decorators(decorator: str, said: list[Weight]) -> None:
    plain = python(ASSERT).replace("def test", f"{decorator}\ndef test")
    assert weights("tests/test_a.py", plain, plain.replace(ASSERT, f"n = yield app.g(2)\n    {ASSERT}")) == said


def test_assertions_by_name_and_on_a_condition_are_found_in_unittest() -> None:
    before = "class A(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(2), 4)\n"
    for after, weight in (
        ("f(2) == 4 and self.assertEqual(f(2), 4)", T),
        ("app.ready and self.assertEqual(f(2), 4)", W),
        ("later = lambda: self.assertEqual(f(2), 4)", T),
        ("self.assertEqual(f(2), 4) if app.ready else None", W),
    ):
        assert weights("tests/test_a.py", before, before.replace("self.assertEqual(f(2), 4)", after)) == [weight], after


def test_conditions_without_end_are_read_within_bounds() -> None:
    after = script("if (other.a) { " * 400 + EXPECT * 300 + " }" * 400)
    assert set(weights("a.test.js", script(EXPECT), after)) == {W}
