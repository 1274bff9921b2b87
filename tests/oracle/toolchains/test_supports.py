"""Modules that tests rest on wherever they stand: what of them is held, and what is the worker's."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains import supports
from proctor.words import TamperKind

from ..placed import Placed

FIXTURES = "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n"
HOOK = "\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
BASE = """import unittest

LIMIT = 0.1


class BaseCase(unittest.TestCase):
    \"\"\"A base.\"\"\"

    def assertClose(self, a, b):
        self.assertLess(abs(a - b), LIMIT)


def add(a, b):
    return a - b
"""
ASSERTS = "def assert_sum(got, want):\n    assert got == want\n\n\ndef total(rows):\n    return 0\n"
DERIVED = "from support.base import BaseCase\n\n\nclass TestA(BaseCase):\n    def test_a(self):\n        pass\n"
ASSERTED = "from app.testing import assert_sum\n\n\ndef test_a():\n    assert_sum(1, 1)\n"
VALID = "def assert_valid(x):\n    if x < 0:\n        raise ValueError(x)\n    return x\n"
CALLED = "from app.valid import assert_valid\n\n\ndef test_a():\n    assert_valid(1)\n"
TRIED = CALLED + "    with pytest.raises(ValueError):\n        assert_valid(-1)\n"
TRIED_BY_NAME = CALLED + "    self.assertRaises(ValueError, assert_valid, -1)\n"
MORE = "    def assertMore(self, a: int, b=1) -> None:\n        self.assertGreater(a, b)\n\n"
MIXED = "class BaseCase:\n    def assertSame(self, a, b):\n        assert a == b\n"
SUMS = "def assert_sum(rows, want):\n    assert total(rows) == want\ndef total(rows):\n    return 0\n"
CHECK = "python -m pytest -q"
CHANGED, SHADOWS = TamperKind.CHANGED, TamperKind.SHADOWS


def placed(
    name: str, before: dict[str, str], work: dict[str, str], found: TamperKind | None = None, check: str = CHECK
) -> Placed:
    return Placed(name, check, before, work, found)


PLUGIN = {"support/__init__.py": "", "support/fixtures.py": FIXTURES}
GROWN = (
    FIXTURES.replace("import pytest", "import json\nimport pytest") + "\n\ndef helper():\n    return json.dumps(1)\n"
)
HOOKED = {"support/fixtures.py": FIXTURES + HOOK}
WAYS = {
    "conftest": {"conftest.py": "pytest_plugins = ['support.fixtures']\n"},
    "star": {"conftest.py": "from support.fixtures import *\n"},
    "from": {"conftest.py": "from support.fixtures import one  # noqa\n"},
    "ini": {"pytest.ini": "[pytest]\naddopts = -q -p support.fixtures\npythonpath = .\n"},
    "setup.cfg": {"setup.cfg": "[tool:pytest]\naddopts = -psupport.fixtures\n"},
    "pyproject": {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['-p', 'support.fixtures']\n"},
    "entry point": {"pyproject.toml": "[project.entry-points.pytest11]\nown = 'support.fixtures'\n"},
    "entry point of setup.cfg": {"setup.cfg": "[options.entry_points]\npytest11 =\n    own = support.fixtures\n"},
    "another plugin": {
        "conftest.py": "pytest_plugins = ['support.first']\n",
        "support/first.py": "pytest_plugins = ('support.fixtures',)\n",
    },
}
DISHONEST = [
    *(placed(f"hook by {name}", PLUGIN | way, HOOKED, CHANGED) for name, way in WAYS.items()),
    placed("hook by -p", PLUGIN, HOOKED, CHANGED, "python -m pytest -p support.fixtures"),
    placed("hook by a variable", PLUGIN, HOOKED, CHANGED, "env PYTEST_PLUGINS=a,support.fixtures pytest"),
    placed(
        "hook in a source of which a conftest takes all",
        {"conftest.py": "from calc import *\n", "calc.py": "def add(): 1\n"},
        {"calc.py": "def add(): 2\n" + HOOK},
        CHANGED,
    ),
    placed(
        "a package in place of a plugin",
        PLUGIN | WAYS["ini"],
        {"support/fixtures/__init__.py": HOOK},
        SHADOWS,
    ),
    placed(
        "a fixture of a plugin bent",
        PLUGIN | WAYS["conftest"],
        {"support/fixtures.py": FIXTURES.replace("return 1", "return 2")},
        CHANGED,
    ),
    placed(
        "a fixture that every test gets",
        PLUGIN | WAYS["conftest"],
        {"support/fixtures.py": FIXTURES + "\n\n@pytest.fixture(autouse=True)\ndef two(monkeypatch):\n    pass\n"},
        CHANGED,
    ),
    *(
        placed(
            f"base class: {name}",
            {"tests/test_b.py": DERIVED, "support/base.py": BASE},
            {"support/base.py": text},
            CHANGED,
        )
        for name, text in {
            "assertEqual": BASE.replace(
                "    def assertClose", "    def assertEqual(*_):\n        pass\n\n    def assertClose"
            ),
            "limit": BASE.replace("0.1", "1000"),
            "afterwards": BASE + "\n\nBaseCase.run = add\n",
            "by setattr": BASE + "\n\nsetattr(unittest, 'TestCase', object)\n",
            "another": BASE + "\n\nclass BaseCase:\n    pass\n",
            "built-in": BASE + "\n\ndef abs(_):\n    return 0\n",
            "taken in": BASE + "\n\nfrom weak import abs\n",
            "unreadable": BASE + ")",
            "by an annotation": BASE.replace("b):", "b) -> globals().update(abs=add):", 1),
            "by a default": BASE.replace(
                "    def assertClose", "    def more(self, a=(run := 1)):\n        0\n\n    def assertClose"
            ),
            "by a decorator": BASE.replace(
                "    def assertClose", "    @print\n    def more(self):\n        0\n\n    def assertClose"
            ),
            "by a hook": BASE.replace(
                "    def assertClose", "    def __getattribute__(self, _):\n        0\n\n    def assertClose"
            ),
        }.items()
    ),
    *(
        placed(
            f"what {name} hands on",
            {"conftest.py": "from support.base import *\n", "support/base.py": text},
            {"support/base.py": text.replace("0 / 0", "1")},
            CHANGED,
        )
        for name, text in {
            "a hook": "def pytest_configure(config):\n    register(config)\ndef register(config):\n    0 / 0\n",
            "an assertion": "def assert_eq(a, b):\n    assert same(a, b)\ndef same(a, b):\n    0 / 0\n",
        }.items()
    ),
    placed(
        "a method of a class that is mixed in",
        {"tests/test_b.py": DERIVED, "support/base.py": MIXED},
        {"support/base.py": MIXED + "\n    def helper(self):\n        0\n"},
        CHANGED,
    ),
    placed(
        "base class of a base class",
        {
            "tests/test_b.py": DERIVED,
            "support/base.py": "from support.deep import DeepCase\nclass BaseCase(DeepCase):\n    def setUp(self): 0\n",
            "support/deep.py": BASE.replace("BaseCase", "DeepCase"),
        },
        {"support/deep.py": BASE.replace("BaseCase", "DeepCase").replace("self.assertLess(abs(a - b), LIMIT)", "pass")},
        CHANGED,
    ),
    placed(
        "assertion",
        {"tests/test_b.py": ASSERTED, "app/__init__.py": "", "app/testing.py": ASSERTS},
        {"app/testing.py": ASSERTS.replace("got == want", "got is not want or True")},
        CHANGED,
    ),
]
HONEST = [
    *(placed(f"grown: {name}", PLUGIN | way, {"support/fixtures.py": GROWN}) for name, way in WAYS.items()),
    placed(
        "a source that a conftest imports",
        {"conftest.py": "import calc\nfrom calc import add\n", "calc.py": "def add(a, b): return a - b\n"},
        {"calc.py": "def add(a, b): return a + b\n"},
    ),
    placed(
        "a source of which a conftest takes all",
        {"conftest.py": "from calc import *\n", "calc.py": "print('x')\ndef add(a, b): return a - b\n"},
        {"calc.py": "for x in 1, 2: print(x)\ndef add(a, b): return a + b\ndef more(): 1\n"},
    ),
    placed(
        "the plugin that a project is about",
        {"conftest.py": "pytest_plugins = ['pytester', 'pytest_shop.plugin']\n", "pytest_shop/plugin.py": FIXTURES},
        {"pytest_shop/plugin.py": FIXTURES + HOOK},
    ),
    placed(
        "the plugin that a project is about, by its entry point",
        {
            "pyproject.toml": "[project]\nname = 'pytest-shop'\n[project.entry-points.pytest11]\na = 'shop.plugin'\n",
            "shop/plugin.py": FIXTURES,
        },
        {"shop/plugin.py": FIXTURES + HOOK},
    ),
    placed(
        "a program beside the plugins of setup.cfg",
        {
            "setup.cfg": "[options.entry_points]\npytest11 =\n  own = more\nconsole_scripts =\n  a = app.cli:main\n",
            "app/cli.py": "def main(): 1\n",
        },
        {"app/cli.py": "def main(): 2\n" + HOOK},
    ),
    placed("a plugin that is still to be written", {}, PLUGIN, None, "pytest -p support.fixtures"),
    placed(
        "the work beside a base class",
        {"tests/test_b.py": DERIVED, "support/base.py": BASE},
        {
            "support/base.py": BASE.replace("return a - b", "return a + b").replace("A base.", "The base of all.")
            + "\n\nclass MoreCase(BaseCase):\n    def assertFar(self): 1\n"
            + "\n\nif __name__ == '__main__':\n    print(BaseCase)\n"
        },
    ),
    placed(
        "the work beside an assertion",
        {"tests/test_b.py": ASSERTED, "app/__init__.py": "", "app/testing.py": ASSERTS},
        {"app/testing.py": "import math\n" + ASSERTS.replace("return 0", "return math.fsum(rows)")},
    ),
    placed(
        "assertions that are the work",
        {
            "tests/test_b.py": ASSERTED + "    with pytest.raises(AssertionError):\n        assert_sum(1, 2)\n",
            "tests/test_c.py": ASSERTED,
            "app/testing.py": ASSERTS,
        },
        {"app/testing.py": ASSERTS.replace("got == want", "got == want, (got, want)")},
    ),
    placed(
        "a source that a stand-in derives from",
        {
            "tests/test_b.py": "from app.store import Store\n\n\nclass FakeStore(Store):\n    pass\n",
            "app/store.py": "class Store:\n    def load(self): 1\n",
        },
        {"app/store.py": "class Store:\n    def load(self): 2\n"},
    ),
    placed(
        "a use case that a test derives from",
        {
            "tests/test_b.py": "from app.use import AddItem\n\n\nclass Mine(AddItem):\n    pass\n",
            "app/use.py": "class UseCase: pass\nclass AddItem(UseCase):\n    def run(self): 1\n",
        },
        {"app/use.py": "class UseCase: pass\nclass AddItem(UseCase):\n    def run(self): 2\n"},
    ),
    placed(
        "a source with classes that check themselves",
        {
            "tests/test_b.py": "from app.web import Client\n\n\ndef test_b():\n    Client().assert_ok()\n",
            "app/web.py": "class Client:\n    def assert_ok(self): 1\n",
        },
        {"app/web.py": "class Client:\n    def assert_ok(self): 2\n"},
    ),
    *(
        placed(f"the work's own {name}", {"tests/test_b.py": test, "app/valid.py": text}, {"app/valid.py": VALID})
        for name, test, text in [
            ("assertion that asserts nothing", TRIED, "def assert_valid(x):\n    return x\n"),
            ("assertion that is not tried", CALLED, "def assert_valid(x):\n    return x\n"),
            ("assertion that is tried", TRIED, "def assert_valid(x):\n    assert x\n"),
            ("assertion that is tried by name", TRIED_BY_NAME, "def assert_valid(x):\n    assert x\n"),
        ]
    ),
    placed(
        "a class of the work that is set up",
        {
            "tests/test_b.py": "from app.models import Model\n\n\nclass Fake(Model):\n    pass\n",
            "app/models.py": "class Base:\n    def setUp(self): self.n = 1\nclass Model(Base):\n    def save(self): 1",
        },
        {"app/models.py": "class Base:\n    def setUp(self): self.n = 2\nclass Model(Base):\n    def save(self): 2"},
    ),
    placed(
        "the work that an assertion calls",
        {"conftest.py": "from app.sums import *\n", "app/sums.py": SUMS},
        {"app/sums.py": SUMS.replace("0", "sum(rows)")},
    ),
    placed(
        "annotations",
        PLUGIN | WAYS["conftest"],
        {"support/fixtures.py": "from __future__ import annotations\n" + FIXTURES.replace("()", "() -> list[int]")},
    ),
    placed(
        "a new method of a base class",
        {"tests/test_b.py": DERIVED, "support/base.py": BASE},
        {"support/base.py": BASE.replace("    def assertClose", MORE + "    def assertClose")},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", DISHONEST, ids=lambda case: case.name)
def test_what_tests_rest_on_is_laid_back(case: Placed) -> None:
    assert case.is_right, case.undone()


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_the_work_beside_it_and_what_only_looks_like_it_stay(case: Placed) -> None:
    assert case.undone() == {}


def test_text_that_is_no_python_is_told_by_its_bytes() -> None:
    assert supports.is_same(b"(", b"(")
    assert not supports.is_same(b"(", b"")
    assert not supports.is_same(b"", b"\0")
    assert not supports.is_support("tests/test_a.py", "app.py", b"(" * 100_000)
