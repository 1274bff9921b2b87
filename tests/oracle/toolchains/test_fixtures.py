"""What a new `conftest.py` may hold."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains.fixtures import gives_fixtures_only, says_nothing

HONEST = '''\
"""Fixtures for the tests of the network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calc.net import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parent / "data"
PORTS: tuple[int, ...] = (80, 443)


class Quiet(Server):
    """Says nothing."""

    log = ()

    def say(self, text: str) -> None:
        return None


@pytest.fixture(scope="module", params=[1, 2])
def server(tmp_path_factory) -> "Iterator[Server]":
    with Quiet(tmp_path_factory.mktemp("x")) as made:
        yield made


async def wait(seconds: float = 1.0) -> None:
    pass
'''
PLACE = "sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'src'))"
HOSTILE = [
    "import sys\nsys.path.insert(0, make())",
    "import sys\nsys.path.insert(0, 'x')\nx = sys.modules",
    "import sys\nsys.path.clear()",
    "from sys import path\npath.insert(0, 'x')",
    "def pytest_collection_modifyitems(items): items.clear()",
    "from helpers import pytest_runtest_makereport",
    "from helpers import *",
    "from helpers import x as pytest_runtest_call",
    "pytest_plugins = ['tricks']",
    "import os\nos._exit(0)",
    "x = print('early')",
    "import _pytest.runner",
    "import sys",
    "def f(x=open('y').read()): pass",
    "class A(metaclass=M): pass",
    "class A:\n    print(1)",
    "@register\ndef f(): pass",
    "@pytest.fixture(params=load())\ndef f(): pass",
    "if True:\n    def pytest_configure(config): pass",
    "pytest_x: object = 1",
    "collect_ignore = ['../test_old.py']",
    "for name in ('a',): pass",
    "def f(): globals()['pytest_configure'] = 1",
    "def broken(",
    "\x00",
]


def test_fixtures_helpers_and_plain_values_are_no_more_than_the_tests_beside_them() -> None:
    assert gives_fixtures_only(HONEST.encode())
    assert gives_fixtures_only(b"")
    assert gives_fixtures_only(HONEST.replace("import pytest\n", f"import sys\nimport pytest\n{PLACE}\n").encode())
    assert not gives_fixtures_only(HONEST.replace("import pytest\n", f"import sys\n{PLACE}\nsys.exit()\n").encode())
    assert not gives_fixtures_only(b"x = [" + b"[]," * 300_000 + b"]")


def test_a_file_that_is_merely_there_is_known() -> None:
    assert says_nothing(b'"""Marks the top of the tests."""\n# no more\npass\n')
    assert says_nothing(b"")
    assert not any(map(says_nothing, (b"x = 1", b"import app", b"f()", b"def f(): pass", b"def f(:")))


@pytest.mark.parametrize("source", HOSTILE)
def test_what_runs_as_the_file_is_loaded_or_takes_a_hand_in_other_tests_is_more(source: str) -> None:
    assert not gives_fixtures_only(source.encode())
