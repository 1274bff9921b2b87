"""Other tests beside one that moved: such as only ask something, and such as change what it wants or asks with."""

from __future__ import annotations

import pytest

from .held import CALC, stand_ins
from .test_rust import CARGO, HALVE, OUTSIDE
from .test_scripts import GO, GO_HEAD, GO_ONE, GO_SOURCE, HEAD, ONE, SOURCE, THERE, go

CHAI = "import * as chai from 'chai'\nimport { use, Assertion } from 'chai'\nimport { f, WANT } from './a'\n\n"
WANTS = ONE.replace("toBe(2)", "toEqual(WANT)")


@pytest.mark.parametrize(
    ("said", "moved"),
    [
        ("chai.expect(1).to.equal(1)", True),
        ("chai.use((a) => a)", False),
        ("use((a) => a)", False),
        ("chai.Assertion.overwriteMethod('equal', (a) => a)", False),
        ("Assertion.addMethod('equal', (a) => a)", False),
        ("const { config } = chai", False),
        ("beforeEach(() => f(0))", False),
        ("before(() => f(0))", False),
        ("const before = f(0)\n  before(1)", True),
        ("test.beforeEach(() => f(0))", False),
        ("test('b', () => f(0))", False),
        ("expect(/a/.test('a')).toBe(true)", True),
        ("expect(f({ test: 1, expect: 2 })).toBe(1)", True),
        ("expect(f(2)).not.toEqual(expect.objectContaining({ a: 1 }))", True),
        ("expect.extend({ toBe() {} })", False),
        ("const { extend } = expect", False),
        ("bend(expect)", False),
        ("assert.equal(f(2), 3)", True),
        ("assert(f(2))", True),
        ("bend(assert)", False),
        ("expect(f(3)).toEqual(WANT)", True),
        ("expect(WANT.map((a) => a)).toEqual([1])", True),
        ("expect(f(WANT)).toEqual(4)", True),
        ("g(1, WANT, 2)", True),
        ("WANT.push(1)", False),
        ("const w = WANT\n  w.push(1)", False),
        ("const all = [1]\n  all.push(1)", True),
        ("store.add(1)", True),
    ],
)
def test_another_test_of_a_script_asks_only(said: str, moved: bool) -> None:
    other = f"test('z', () => {{\n  {said}\n}})\n"
    before = {"src/a.ts": SOURCE, "src/a.test.ts": CHAI + WANTS}
    after = {"src/a.ts": SOURCE, "test/a.test.ts": CHAI.replace("./a", "../src/a") + WANTS + other}
    assert bool(stand_ins(before, after, ["src/a.test.ts::adds"], ["test/a.test.ts::adds"])) is moved


def test_a_table_may_have_columns_of_the_runners_names() -> None:
    rows = "test.each([{ input: 1, expect: 2 }])('adds', ({ input, expect: want }) => {\n  f(input, want)\n})\n"
    before, after = {"src/a.ts": SOURCE, "src/a.test.ts": HEAD + ONE}, {"src/a.ts": SOURCE}
    after["test/a.test.ts"] = THERE + ONE + rows.replace("'adds'", "'more'")
    assert stand_ins(before, after, ["src/a.test.ts::adds"], ["test/a.test.ts::adds"])


GO_WANTS = GO_ONE.replace("!= 2", "!= Want")


@pytest.mark.parametrize(
    ("said", "moved"),
    [
        ("if F(3) != Want {\n\t\tt.Fatal()\n\t}", True),
        ("if F(Want) != 3 || len(Want) != 2 {\n\t\tt.Fatal()\n\t}", True),
        ("assert.Equal(t, Want, F(3))", True),
        ("copy(Want, []int{0})", False),
        ('fmt.Sscan("0", &Want)', False),
        ("p := Want\n\tcopy(p, []int{0})", False),
        ("Want.Set(0)", False),
    ],
)
def test_another_go_test_asks_only(said: str, moved: bool) -> None:
    other = f"\nfunc TestZ(t *testing.T) {{\n\t{said}\n}}\n"
    before, after = {**GO, "m/m_test.go": GO_HEAD + GO_WANTS}, go(GO_SOURCE, GO_HEAD + GO_WANTS + other)
    assert bool(stand_ins(before, after, ["e.org/x/m::TestF"], ["e.org/x/pkg/m::TestF"])) is moved


RUST_WANTS = "use my_q::{halve, LIMIT};\n" + OUTSIDE.partition("\n")[2].replace("3)", "LIMIT)")


@pytest.mark.parametrize(
    ("said", "moved"),
    [
        ("assert_eq!(halve(3), LIMIT);", True),
        ("assert_eq!(halve(3), my_q::LIMIT);", True),
        ("LIMIT.store(0);", False),
        ("my_q::LIMIT.store(0);", False),
        ("set(&LIMIT);", False),
        ("let l = LIMIT;\n    l.store(0);", False),
        ("let l = LIMIT;\n    assert_eq!(halve(l), 1);", True),
    ],
)
def test_another_rust_test_asks_only(said: str, moved: bool) -> None:
    other = f"\n#[test]\nfn z() {{\n    {said}\n}}\n"
    before = {**CARGO, "src/lib.rs": HALVE, "tests/a.rs": RUST_WANTS}
    after = {**CARGO, "src/lib.rs": HALVE, "tests/b.rs": RUST_WANTS + other}
    assert bool(stand_ins(before, after, ["my-q/a::halves"], ["my-q/b::halves"])) is moved


NAMED = "from app import f, WANT\n\n\ndef test_work():\n    assert f(2) == WANT\n"
BY_MODULE = "import app\n\n\ndef test_work():\n    assert app.f(2) == app.WANT\n"
SHARED = "import app\n\nWANT = [4]\n\n\ndef wants():\n    return WANT\n\n\ndef other():\n    return 1\n\n\n"
SHARED += "def test_work():\n    assert app.f(2) == wants()\n"


@pytest.mark.parametrize(
    ("of", "said", "moved"),
    [
        *((of, said, moved) for of, app in ((NAMED, ""), (BY_MODULE, "app.")) for said, moved in (
            (f"assert {app}f(3) == {app}WANT", True),
            (f"assert {app}f({app}WANT) == len({app}WANT)", True),
            (f"{app}WANT.clear()", False),
            (f"got = {app}WANT\n    got.append(1)", False),
            (f"got = {app}WANT\n    assert {app}f(got) == 1", True),
            (f"assert {app}WANT.made() == 1", True),
            (f"shuffle({app}WANT)", False),
            (f"assert {app}g(1, {app}WANT)", True),
        )),
        (BY_MODULE, "from app import WANT\n    WANT.clear()", False),
        (BY_MODULE, "want = [1]\n    want.append(app.f(3))\n    assert want", True),
        (SHARED, "assert other() == 1", True),
        (SHARED, "wants().clear()", False),
    ],
)  # fmt: skip
def test_another_python_test_asks_only(of: str, said: str, moved: bool) -> None:
    before, after = (
        {"app.py": CALC, "test_a.py": of},
        {"app.py": CALC, "test_b.py": f"{of}\n\ndef test_z():\n    {said}\n"},
    )
    assert bool(stand_ins(before, after, ["test_a.py::test_work"], ["test_b.py::test_work"])) is moved
