"""What hooks and assertions rest on in other modules: what of it is held, and what is the work."""

from __future__ import annotations

import pytest

from proctor.oracle import recording
from proctor.oracle.toolchains import handed
from proctor.words import TamperKind

from ..placed import Files, Placed

PYTEST = "python -m pytest -q"
DERIVED = (
    "from support.base import BaseCase\nfrom calc import add\n\n\nclass TestA(BaseCase):\n    def test_a(self):\n"
    "        self.assertAdds(add(2, 3), 5)\n"
)
BASE = (
    "import unittest\nfrom support.more import same\n\n\nclass BaseCase(unittest.TestCase):\n"
    "    def assertAdds(self, a, b):\n        self.assertTrue(same(a, b))\n"
)
MORE = "EPS = 0.1\n\n\ndef same(a, b):\n    return abs(a - b) < EPS\n\n\ndef other(a):\n    return a\n"
CALC = "def add(a, b):\n    return a - b\n"
OK = {"calc.py": CALC.replace("-", "+")}
CASE: Files = {"calc.py": CALC, "support/__init__.py": "", "support/base.py": BASE, "tests/test_b.py": DERIVED}
BENT = MORE.replace("abs(a - b) < EPS", "True")
HOOK = "def register(config):\n    config.addinivalue_line('markers', 'slow: slow')\n"
HOOKED = (
    "class Quiet:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n\n\n"
    "def register(config):\n    config.pluginmanager.register(Quiet())\n"
)
CONFIGURES = "\n\ndef pytest_configure(config):\n    register(config)\n"
LOADER = "import json\n\n\ndef cases(path):\n    for one in json.load(open(path)):\n        yield one[0], one[1]\n"
NONE = LOADER.replace("json.load(open(path))", "[]")
LOOPS = (
    "from support.cases import cases\nfrom calc import add\n\n\ndef test_add():\n"
    "    for given, want in cases('data.json'):\n        assert add(*given) == want\n"
)
EACH = (
    "import pytest\nfrom calc import add\nfrom support.cases import cases\n\nALL = list(cases('data.json'))\n\n\n"
    "@pytest.mark.parametrize('given, want', ALL)\ndef test_add(given, want):\n    assert add(*given) == want\n"
)
MODELS = "import app.money\n\n\nclass Order:\n    total = 0\n\n\ndef make(n):\n    return Order()\n"
MONEY = "def same(a, b):\n    return a is b\n\n\ndef total(rows):\n    return 0\n"
ASSERTS = "from app.money import same\n\n\ndef assert_paid(a, b):\n    assert same(a, b)\n"
PAID = "from app.testing import assert_paid\n\n\ndef test_paid():\n    assert_paid(1, 1)\n"
APP: Files = {"app/__init__.py": "", "app/testing.py": ASSERTS, "app/money.py": MONEY, "tests/test_b.py": PAID}


def changed(name: str, before: Files, path: str, text: str) -> Placed:
    return Placed(name, PYTEST, before, {path: text}, TamperKind.CHANGED)


def work(name: str, before: Files, **files: str) -> Placed:
    return Placed(name, PYTEST, before, {path.replace("__", "/") + ".py": text for path, text in files.items()})


HONEST = [
    work("the sum beside a base class of two modules", CASE | {"support/more.py": MORE}, calc=OK["calc.py"]),
    work(
        "a helper beside what an assertion rests on",
        CASE | {"support/more.py": MORE},
        support__more="import math\n" + MORE.replace("return a\n", "return math.floor(a)\n") + "\n\nX = 1\n",
    ),
    work(
        "what an assertion asks of the work",
        APP | {"app/testing.py": "from app.money import total\n\n\ndef assert_total(rows, want):\n"
               "    assert total(rows) == want\n"},
        app__money=MONEY.replace("0", "sum(rows)"),
    ),
    work(
        "what an assertion asks of the work by its module",
        APP | {"app/testing.py": "from app import money\n\n\ndef assert_total(rows, want):\n"
               "    assert money.total(rows) == want\n"},
        app__money=MONEY.replace("0", "sum(rows)"),
    ),
    work(
        "how the work compares, which the work uses",
        APP | {"app/models.py": "from app.money import same\n\n\ndef is_paid(a, b):\n    return same(a, b)\n"},
        app__money=MONEY.replace("a is b", "a == b"),
    ),
    work(
        "how the work compares, which the work uses by its module",
        APP | {"app/models.py": "from . import money\n\n\ndef is_paid(a, b):\n    return money.same(a, b)\n"},
        app__money=MONEY.replace("a is b", "a == b"),
    ),
    work(
        "how the work compares, which a test asks",
        APP | {"tests/test_c.py": "from app.money import same\n\n\ndef test_same():\n    assert same(1.0, 1)\n"},
        app__money=MONEY.replace("a is b", "a == b"),
    ),
    work(
        "how the work compares, which its package gives away",
        APP | {"app/__init__.py": "from .money import same, total\n"},
        app__money=MONEY.replace("a is b", "a == b"),
    ),
    work(
        "models of which a base class makes some",
        {
            "app/models.py": MODELS,
            "app/testing.py": "import unittest\nfrom app.models import make\n\n\nclass AppCase(unittest.TestCase):\n"
            "    def setUp(self):\n        self.order = make(1)\n",
            "tests/test_b.py": "from app.testing import AppCase\n\n\nclass TestA(AppCase):\n    pass\n",
        },
        app__models=MODELS.replace("total = 0", "total = 1").replace("Order()", "Order(n)"),
    ),
    work(
        "a factory that a fixture of a plugin calls",
        {
            "conftest.py": "pytest_plugins = ['shop.fixtures']\n",
            "shop/fixtures.py": "import pytest\nfrom shop.orders import make\n\n\n@pytest.fixture\ndef order():\n"
            "    return make(1)\n",
            "shop/orders.py": "def make(n):\n    return None\n",
        },
        shop__orders="def make(n):\n    return [n]\n",
    ),
    work(
        "a limit of the work that an assertion looks at",
        {
            "app/limits.py": "MOST = 1\n",
            "app/rows.py": "from app.limits import MOST\n\n\ndef rows():\n    return [0][:MOST]\n",
            "app/testing.py": "from app.limits import MOST\n\n\ndef assert_fits(rows):\n    assert len(rows) <= MOST\n",
            "tests/test_b.py": "from app.testing import assert_fits\n\n\ndef test_b():\n    assert_fits([])\n",
        },
        app__limits="MOST = 2\n",
    ),
    work(
        "logging of the work that a hook turns on",
        {
            "conftest.py": "from app.log import set_up\n\n\ndef pytest_configure(config):\n"
            "    set_up(config.getoption('-v'))\n",
            "app/log.py": "def set_up(level):\n    pass\n",
            "tests/test_b.py": "def test_b():\n    pass\n",
        },
        app__log="def set_up(level):\n    print(level)\n",
    ),
    work(
        "the work that a hook of a conftest hands its configuration to",
        {
            "conftest.py": "import calc\n\n\ndef pytest_configure(config):\n    calc.setup(config)\n",
            "calc.py": CALC + "\n\ndef setup(config):\n    pass\n",
            "tests/test_b.py": "from calc import add\n\n\ndef test_b():\n    assert add(1, 1) == 2\n",
        },
        calc=OK["calc.py"] + "\n\ndef setup(config):\n    config.precision = 2\n",
    ),
    work(
        "tokens of the work that a test goes over",
        {
            "support/tokens.py": "def tokens(text):\n    return []\n",
            "tests/test_b.py": "from support.tokens import tokens\n\n\ndef test_b():\n    for one in tokens('a b'):\n"
            "        assert one.isalpha()\n",
        },
        support__tokens="def tokens(text):\n    return text.split()\n",
    ),
    work(
        "pairs of the work that a test goes over",
        {
            "app/codec.py": "def pairs():\n    return []\n",
            "app/text.py": "def quote(one):\n    return one\n",
            "tests/test_b.py": "from app.codec import pairs\nfrom app.text import quote\n\n\ndef test_b():\n"
            "    for raw, want in pairs():\n        assert quote(raw) == want\n",
        },
        app__codec="def pairs():\n    return [('a', 'a')]\n",
    ),
    work(
        "commands of the work that a test is run for",
        {
            "app/support/commands.py": "def names():\n    return ['a']\n",
            "app/main.py": "from app.support.commands import names\n\n\ndef run(name):\n    return name in names()\n",
            "tests/test_b.py": "import pytest\nfrom app.main import run\nfrom app.support.commands import names\n\n\n"
            "@pytest.mark.parametrize('name', names())\ndef test_b(name):\n    assert run(name)\n",
        },
        app__support__commands="def names():\n    return ['a', 'b']\n",
    ),
    work(
        "assertions of a testing package that is the work",
        {
            "lib/testing/__init__.py": "from testing.compare import same\n\n\ndef assert_same(a, b):\n"
            "    assert same(a, b)\n",
            "lib/testing/compare.py": "def same(a, b):\n    return a is b\n",
            "tests/test_b.py": "import pytest\nfrom testing import assert_same\n\n\ndef test_b():\n"
            "    with pytest.raises(AssertionError):\n        assert_same(1, 2)\n",
        },
        lib__testing__compare="def same(a, b):\n    return a == b\n",
    ),
]  # fmt: skip
DISHONEST = [
    changed("a comparison", CASE | {"support/more.py": MORE}, "support/more.py", BENT),
    changed(
        "what it rests on", CASE | {"support/more.py": MORE}, "support/more.py", MORE.replace("EPS = 0.1", "EPS = 1e9")
    ),
    *(
        changed(
            f"a comparison by {name}",
            CASE | {"support/more.py": MORE, "support/base.py": BASE.replace(*by)},
            "support/more.py",
            BENT,
        )
        for name, by in {
            "another name": ("import same", "import same as same"),
            "its package": ("from support.more import same", "from . import more\nsame = more.same"),
            "a relative import": ("from support.more", "from .more"),
        }.items()
    ),
    *(
        changed(
            f"a comparison as {used}",
            CASE
            | {
                "support/more.py": MORE,
                "support/base.py": BASE.replace("from support.more import same", line).replace("same(a", f"{used}(a"),
            },
            "support/more.py",
            BENT,
        )
        for line, used in [
            ("import support.more", "support.more.same"),
            ("import support.more as m", "m.same"),
            ("from support import more", "more.same"),
        ]
    ),
    changed(
        "a comparison that a package gives away",
        CASE
        | {
            "support/more.py": MORE,
            "support/__init__.py": "from .more import same\n",
            "support/base.py": BASE.replace("support.more", "support"),
        },
        "support/more.py",
        BENT,
    ),
    changed(
        "a comparison behind another",
        CASE
        | {
            "support/more.py": "from support.deep import equal\n\n\ndef same(a, b):\n    return equal(a, b)\n",
            "support/deep.py": "def equal(a, b):\n    return a == b\n",
        },
        "support/deep.py",
        "def equal(a, b):\n    return True\n",
    ),
    changed(
        "a comparison that only assertions of the work's package use",
        APP,
        "app/money.py",
        MONEY.replace("a is b", "True"),
    ),
    changed(
        "what both sides go through",
        CASE
        | {
            "support/base.py": BASE.replace("import same", "import plain").replace(
                "self.assertTrue(same(a, b))", "self.assertEqual(plain(a), plain(b))"
            ),
            "support/more.py": "def plain(a):\n    return a\n",
        },
        "support/more.py",
        "def plain(a):\n    return 0\n",
    ),
    changed(
        "what both sides of a comparison go through",
        CASE
        | {"support/more.py": "def same(a, b):\n    return plain(a) == plain(b)\n\n\ndef plain(a):\n    return a\n"},
        "support/more.py",
        "def same(a, b):\n    return plain(a) == plain(b)\n\n\ndef plain(a):\n    return 0\n",
    ),
    changed(
        "a limit of an assertion",
        CASE
        | {
            "support/base.py": BASE.replace("same\n", "EPS\n").replace(
                "assertTrue(same(a, b))", "assertAlmostEqual(a, b, delta=EPS)"
            ),
            "support/more.py": MORE,
        },
        "support/more.py",
        MORE.replace("EPS = 0.1", "EPS = 1e9"),
    ),
    *(
        changed(
            f"what a hook of {name} hands its configuration to",
            {"support/inner.py": HOOK, "support/__init__.py": "", **files},
            "support/inner.py",
            HOOKED,
        )
        for name, files in {
            "a plugin": {
                "conftest.py": "pytest_plugins = ['support.fixtures']\n",
                "support/fixtures.py": "from support.inner import register\n" + CONFIGURES,
            },
            "a conftest": {"conftest.py": "from support.inner import register\n" + CONFIGURES},
            "a conftest by a module": {
                "conftest.py": "from support import inner\n" + CONFIGURES.replace("register", "inner.register")
            },
        }.items()
    ),
    changed(
        "a plugin that a hook registers",
        {
            "conftest.py": "from shop.plugin import Slow\n\n\ndef pytest_configure(config):\n"
            "    config.pluginmanager.register(Slow())\n",
            "shop/plugin.py": "class Slow:\n    def pytest_runtest_setup(self, item):\n        pass\n",
        },
        "shop/plugin.py",
        "class Slow:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n",
    ),
    changed(
        "cases that a test goes over",
        OK | {"support/cases.py": LOADER, "tests/test_b.py": LOOPS},
        "support/cases.py",
        NONE,
    ),
    changed(
        "cases that a test is run for",
        OK | {"support/cases.py": LOADER, "tests/test_b.py": EACH},
        "support/cases.py",
        NONE,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_the_work_that_hooks_and_assertions_come_to_stays(case: Placed) -> None:
    assert case.undone() == {}


@pytest.mark.parametrize("case", DISHONEST, ids=lambda case: case.name)
def test_what_they_rest_on_in_other_modules_is_laid_back(case: Placed) -> None:
    assert case.is_right, case.undone()


def test_where_too_many_modules_could_import_it_all_is_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_SOURCES", 2)
    assert DISHONEST[0].undone() == {}


def test_text_that_is_no_python_uses_nothing() -> None:
    assert handed.uses("a.py", b"(") == set()
