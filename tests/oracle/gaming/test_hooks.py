"""Hooks of pytest's that come to a source: where a `conftest.py` would let them in, and where not."""

from __future__ import annotations

import pytest

from proctor.oracle.gaming.change import Change
from proctor.oracle.gaming.find import look
from proctor.words import Gaming, Weight

CONFTEST = "import calc\n\n\ndef pytest_configure(config):\n    calc.setup(config)\n"
BY_NAME = "from calc import setup\n\n\ndef pytest_configure(config):\n    setup(1, config=config)\n"
CALC = "def setup(config):\n    pass\n"
HOOK = "class Quiet:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n"


@pytest.mark.parametrize("conftest", [CONFTEST, BY_NAME])
@pytest.mark.parametrize("text", [HOOK, "x = type('X', (), {})\nx.y = 1\npytest_pyfunc_call = setup\n"])
def test_a_hook_in_a_source_that_is_handed_the_configuration(conftest: str, text: str) -> None:
    (one,) = look([Change("calc.py", CALC, CALC + text)], {"conftest.py": conftest})
    assert (one.kind, one.weight) == (Gaming.ASSERTION, Weight.SUSPICION)


@pytest.mark.parametrize(
    ("path", "conftest", "before", "after"),
    [
        ("calc.py", CONFTEST, CALC, CALC.replace("pass", "config.precision = 2")),
        ("calc.py", "import calc\n", CALC, CALC + HOOK),
        ("plugin.py", "pytest_plugins = ['plugin']\n", "", HOOK),
        ("other.py", CONFTEST, "", HOOK),
        ("calc.py", CONFTEST, CALC + HOOK, CALC + HOOK.replace("True", "None")),
        ("calc.py", CONFTEST, CALC, CALC + "def is_hook(name):\n    return name == 'pytest_configure'\n"),
        ("tests/helpers.py", CONFTEST, "", HOOK),
    ],
)
def test_honest_ones(path: str, conftest: str, before: str, after: str) -> None:
    assert look([Change(path, before, after)], {"conftest.py": conftest}) == []
