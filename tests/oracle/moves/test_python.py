"""Python tests that moved, and such that are gone although something like them is there."""

from __future__ import annotations

import pytest

from .held import CALC, Files, stand_ins

TEST = "from calc import speed\n\n\ndef test_speed():\n    got = speed(12)\n    assert got == 43\n"
HERE = {"calc.py": CALC, "test_all.py": TEST}
ROWS = """\
import pytest
from calc import speed


@pytest.mark.parametrize("a, want", [(12, 43), (0, 7)])
def test_speeds(a, want):
    assert speed(a) == want
"""
BY_MODULE = "import calc\n\n\ndef test_speed():\n    assert calc.speed(12) == 43\n"
THREE = "from calc import speed\n\n\n" + "".join(
    f"def test_{name}():\n    assert speed({a}) == {want}\n\n\n" for name, a, want in (("some", 12, 43), ("none", 0, 7))
)
HELPED = "from calc import speed\n\nA = sorted([1])\n\n\ndef twice(a):\n    return 2 * speed(a)\n\n\n"
HELPED += "def test_helped():\n    assert twice(0) == 14\n"
IN_CLASS = """\
import unittest
from calc import speed


class TestSpeed(unittest.TestCase):
    def setUp(self):
        self.a = 12

    def test_speed(self):
        self.assertEqual(speed(self.a), 43)
"""
MOVED = {"calc.py": CALC, "tests/unit/test_all.py": TEST}


def renamed(text: str) -> str:
    return text.replace("speed", "velocity")


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        (HERE, MOVED, "test_all.py::test_speed", "tests/unit/test_all.py::test_speed"),
        (HERE, {**HERE, "test_all.py": TEST.replace("test_speed", "test_of_speed")}, "test_all.py::test_speed",
         "test_all.py::test_of_speed"),
        (HERE, {path: renamed(text) for path, text in HERE.items()}, "test_all.py::test_speed",
         "test_all.py::test_velocity"),
        (HERE, {"calc.py": CALC, "t/test_all.py": BY_MODULE},
         "test_all.py::test_speed", "t/test_all.py::test_speed"),
        (HERE, {"pkg/calc.py": CALC, "test_all.py": TEST.replace("calc", "pkg.calc").replace("test_s", "test_the_s")},
         "test_all.py::test_speed", "test_all.py::test_the_speed"),
        (HERE, {"calc.py": CALC, "test_all.py": TEST.replace("test_speed", "test_more") + "    assert speed(1) == 2\n"},
         "test_all.py::test_speed", "test_all.py::test_more"),
        ({"calc.py": CALC, "test_all.py": IN_CLASS}, {"calc.py": CALC, "tests/test_all.py": IN_CLASS},
         "test_all.py::TestSpeed::test_speed", "tests/test_all.py::TestSpeed::test_speed"),
        ({"calc.py": CALC, "tests/test_all.py": IN_CLASS}, {"calc.py": CALC, "tests/unit/test_all.py": IN_CLASS},
         "tests.test_all.TestSpeed.test_speed", "tests.unit.test_all.TestSpeed.test_speed"),
        ({"calc.py": CALC, "test_all.py": ROWS}, {"calc.py": CALC, "tests/test_all.py": ROWS},
         "test_all.py::test_speeds[12-43] test_all.py::test_speeds[0-7]",
         "tests/test_all.py::test_speeds[12-43] tests/test_all.py::test_speeds[0-7]"),
        ({"calc.py": CALC, "test_all.py": THREE}, {"calc.py": CALC, "test_all.py": ROWS},
         "test_all.py::test_some test_all.py::test_none",
         "test_all.py::test_speeds[12-43] test_all.py::test_speeds[0-7]"),
        ({"calc.py": CALC, "test_all.py": THREE},
         {"calc.py": CALC, "test_all.py": "from calc import speed\n\n\ndef test_speeds():\n"
          "    for a, want in [(0, 7), (12, 43)]:\n        assert speed(a) == want\n"},
         "test_all.py::test_some test_all.py::test_none", "test_all.py::test_speeds"),
        ({"calc.py": CALC, "test_all.py": THREE},
         {"calc.py": CALC, "test_all.py": "from calc import speed\n\n\ndef test_speeds():\n"
          "    assert speed(0) == 7\n    assert speed(12) == 43\n"},
         "test_all.py::test_some test_all.py::test_none", "test_all.py::test_speeds"),
        (HERE, {"calc.py": CALC, "tests/test_all.py": TEST + "\n\ndef helper():\n    pass\n"},
         "test_all.py", "tests/test_all.py::test_speed"),
        ({"calc.py": CALC, "test_a.py": HELPED, "test_b.py": THREE},
         {"calc.py": CALC, "tests/test_all.py": "A = sorted([1])\n" + THREE + HELPED},
         "test_a.py::test_helped test_b.py::test_some test_b.py::test_none",
         "tests/test_all.py::test_helped tests/test_all.py::test_some tests/test_all.py::test_none"),
    ],
    ids=["moved", "another name", "renamed with what it tests", "imported otherwise", "its module moved",
         "asserts more", "in a class", "unittest", "with rows", "folded into rows", "into a loop", "into one",
         "could not be loaded", "two files made one"],
)  # fmt: skip
def test_a_test_that_is_there_by_another_id_is_found(before: Files, after: Files, gone: str, new: str) -> None:
    assert stand_ins(before, after, gone.split(), new.split()).keys() == set(gone.split())


STUB = "def speed(a):\n    return 43\n"
WEAKER = {
    "another value": TEST.replace("43", "44"),
    "another argument": TEST.replace("12", "13"),
    "a weaker assertion": TEST.replace("== 43", "is not None"),
    "a way out": TEST.replace("== 43", "== 43 or True"),
    "a comparison with itself": TEST.replace("== 43", "== got"),
    "no assertion": TEST.replace("assert got == 43", "got == 43"),
    "an early return": TEST.replace("    got =", "    return\n    got ="),
    "an assertion under a condition": TEST.replace("    assert got", "    if got == 43:\n        assert got"),
    "a failure that is swallowed": TEST.replace("    assert got == 43", "    try:\n        assert got == 43\n"
                                                "    except AssertionError:\n        pass"),
    "a stub of its own": TEST.replace("from calc import speed\n", STUB),
    "a stub that comes later": TEST + "\n\n" + STUB,
    "a stub in the test": TEST.replace("    got =", "    speed = lambda a: 43\n    got ="),
    "a stub from elsewhere": TEST.replace("from calc", "from stubs"),
    "a replaced subject": "import calc\ncalc.speed = lambda a: 43\n" + TEST,
    "a subject replaced by a call": "import calc\n_ = setattr(calc, 'speed', lambda a: 43)\n" + TEST,
    "a fixture that runs unasked": "import calc, pytest\n\n\n@pytest.fixture(autouse=True)\ndef calm(monkeypatch):\n"
                                   "    monkeypatch.setattr(calc, 'speed', lambda a: 43)\n\n\n" + TEST,
    "a module's setup": TEST + "\n\ndef setup_module():\n    import calc\n    calc.speed = lambda a: 43\n",
    "a test below that hides it": TEST + "\n\ndef test_speed():\n    pass\n",
    "a fixture in place of the import": TEST.replace("test_speed()", "test_speed(speed)"),
    "a decorator that swallows": "def calm(f):\n    return len\n\n\n" + TEST.replace("def test", "@calm\ndef test"),
    "an assertion that does more": TEST.replace("    got =", "    assert setattr(calc, 'f', len) is None\n    got ="),
    "an async test": TEST.replace("def test", "async def test"),
    "another function by its name": TEST + "\n\ndef easy():\n    pass\n\n\ntest_speed = easy\n",
    "another function imported by its name": TEST + "\n\nfrom stubs import easy as test_speed\n",
    "another function put there": TEST + "\n\ndef easy():\n    pass\n\n\n_ = globals().update(test_speed=easy)\n",
    "a stub by a star": TEST.replace("from calc import speed", "from stubs import *"),
    "a class that acts": TEST + "\n\nclass Calm:\n    import calc\n    calc.__dict__.update(speed=len)\n",
    "a default that acts": "import calc\n\n\ndef calm(a=setattr(calc, 'speed', len)):\n    pass\n\n\n" + TEST,
    "a decorator that acts": TEST + "\n\ndef calm(f):\n    f()\n\n\n@calm\ndef now():\n    pass\n",
    "no Python": TEST + "def (",
    "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("how", WEAKER)
def test_a_test_of_the_same_name_that_says_less_is_no_test_that_moved(how: str) -> None:
    after = {"calc.py": CALC, "stubs.py": STUB, "tests/unit/test_all.py": WEAKER[how]}
    assert stand_ins(HERE, after, ["test_all.py::test_speed"], ["tests/unit/test_all.py::test_speed"]) == {}


ALL_ROWS = "test_all.py::test_speeds[12-43] test_all.py::test_speeds[0-7]"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (ROWS.replace(", (0, 7)", ""), "test_all.py::test_speeds[12-43]"),
        (ROWS.replace("(0, 7)", "(0, 8)"), ALL_ROWS),
        (ROWS.replace("== want", "== want or want"), ALL_ROWS),
        (ROWS.replace("== want", "is not None"), ALL_ROWS),
        (ROWS.replace("speed(a)", "want"), ALL_ROWS),
        (ROWS, "test_all.py::test_speeds[12-43]"),
        (ROWS.replace("(0, 7)", "pytest.param(0, 7, marks=pytest.mark.skip)"), ALL_ROWS),
        (ROWS.replace("    assert", "    if a:\n        return\n    assert"), ALL_ROWS),
        (ROWS.replace("from calc import speed", "speed = {12: 43, 0: 7}.get"), ALL_ROWS),
        ("from calc import speed\n\n\ndef test_speeds():\n    for a, want in [(12, 43), (0, 7)]:\n"
         "        assert speed(a) == want\n        break\n", "test_all.py::test_speeds"),
        ("from calc import speed\n\n\ndef test_speeds():\n    assert speed(12) == 43\n    return\n"
         "    assert speed(0) == 7\n", "test_all.py::test_speeds"),
    ],
    ids=["a row less", "a bent row", "a way out", "a weaker assertion", "not asked", "a row that did not run",
         "a row left out",
         "a row that leaves", "a stub", "a loop that leaves", "a test that leaves"],
)  # fmt: skip
def test_a_table_stands_only_for_tests_whose_assertions_are_all_in_its_rows(text: str, new: str) -> None:
    gone = ["test_all.py::test_some", "test_all.py::test_none"]
    found = stand_ins(
        {"calc.py": CALC, "test_all.py": THREE}, {"calc.py": CALC, "test_all.py": text}, gone, new.split()
    )
    assert found.keys() != set(gone)


@pytest.mark.parametrize(
    ("calc", "test"),
    [
        (CALC + "\n\ndef velocity(a):\n    return 43\n", renamed(TEST)),
        (CALC, renamed(TEST).replace("calc", "stubs")),
        (renamed(CALC), renamed(TEST).replace("calc", "stubs")),
        (renamed(CALC), renamed(TEST).replace("43", "44")),
        (renamed(CALC), renamed(TEST).replace("velocity(12)", "haste(12)")),
    ],
    ids=["beside the old one", "in another module", "renamed, and another is asked", "another value", "unknown"],
)  # fmt: skip
def test_another_name_is_the_same_thing_only_if_the_change_says_so(calc: str, test: str) -> None:
    after = {"calc.py": calc, "stubs.py": renamed(STUB), "test_all.py": test}
    assert stand_ins({**HERE, "stubs.py": ""}, after, ["test_all.py::test_speed"], ["test_all.py::test_velocity"]) == {}


def test_what_did_not_pass_or_was_there_before_stands_for_nothing() -> None:
    gone, new = ["test_all.py::test_speed"], ["tests/unit/test_all.py::test_speed"]
    assert stand_ins(HERE, MOVED, gone, new, passed=False) == {}
    assert stand_ins(HERE, MOVED, gone, []) == {}
    twice = {**HERE, "test_b.py": TEST}
    assert stand_ins(twice, {"calc.py": CALC, "test_b.py": TEST}, gone, ["test_b.py::test_speed"], old=new) == {}
    assert stand_ins(twice, MOVED, [*gone, "test_b.py::test_speed"], new).keys() == set(gone)


def test_an_id_is_that_of_the_file_that_it_names_and_of_no_other_like_it() -> None:
    before = {**HERE, "tests/unit/test_all.py": "def test_speed():\n    pass\n"}
    after = {**before, "all/test_all.py": TEST, "unit/test_all.py": TEST}
    del after["test_all.py"]
    gone = ["test_all.py::test_speed"]
    assert stand_ins(before, after, gone, ["tests/unit/test_all.py::test_speed"]) == {}
    assert stand_ins(before, after, gone, ["all/test_all.py::test_speed"]).keys() == set(gone)


def test_a_module_of_the_same_name_beside_the_tests_is_another_one() -> None:
    gone, new = ["test_all.py::test_speed"], ["tests/unit/test_all.py::test_speed"]
    assert stand_ins(HERE, {**MOVED, "tests/unit/calc.py": STUB}, gone, new) == {}
    conftest = "import pytest\n\n\n@pytest.fixture\ndef car():\n    return 43\n"
    test = "def test_speed(car):\n    assert car.speed() == 43\n"
    before = {"conftest.py": conftest.replace("43", "Car()"), "test_all.py": test}
    after = {**before, "tests/unit/conftest.py": conftest, "tests/unit/test_all.py": test}
    del after["test_all.py"]
    assert stand_ins(before, after, gone, new) == {}
    del after["tests/unit/conftest.py"]
    assert stand_ins(before, after, gone, new).keys() == set(gone)


def test_of_a_module_that_moved_only_what_it_became_is_the_same() -> None:
    test = TEST.replace("test_speed", "test_the_speed")
    gone, new = ["test_all.py::test_speed"], ["test_all.py::test_the_speed"]
    there = {"pkg/calc.py": CALC, "test_all.py": test.replace("calc", "pkg.calc")}
    assert stand_ins(HERE, there, gone, new).keys() == set(gone)
    assert stand_ins(HERE, {**there, "pkg/__init__.py": "from pkg.calc import speed\n",
                            "test_all.py": test.replace("calc", "pkg")}, gone, new).keys() == set(gone)  # fmt: skip
    assert stand_ins(HERE, {**there, "stubs.py": STUB, "test_all.py": test.replace("calc", "stubs")}, gone, new) == {}
    shim = {**there, "calc.py": "from pkg.calc import *\n"}
    assert stand_ins(HERE, shim, gone, new).keys() == set(gone)
    assert stand_ins(HERE, {**there, "calc.py": CALC}, gone, new) == {}
