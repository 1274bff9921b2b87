"""Documents whose examples are tests: the examples are frozen, the prose is not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from proctor.oracle.tamper import undo
from proctor.oracle.toolchains import doctests
from proctor.words import Verdict

from ..project import WRONG, Project

USE = "How to add\n==========\n\n    >>> from calc import add\n    >>> add(1, 2)\n    3\n\nThat is all.\n"


@pytest.mark.parametrize(
    ("after", "same"),
    [
        (USE.replace("That is all", "There is more"), True),
        (USE.replace("    >>>", ">>>").replace("    3", "3").replace("\n", "\r\n"), True),
        (USE.replace("3", "-1"), False),
        (USE.replace("    >>> add", "    ... add"), False),
        (USE.replace("add(1, 2)", "add(1, 2) # doctest: +SKIP"), False),
        (USE + "    >>> import os; os._exit(0)\n", False),
        (USE.replace("\n    >>> add", "\x0c    >>> add"), False),
        ("", False),
        ("  >>>1\n", False),
    ],
)
def test_examples_count_and_prose_does_not(after: str, same: bool) -> None:
    assert doctests.is_same(USE.encode(), after.encode()) is same
    assert not doctests.is_same(b"\xff", b"\xff")


@pytest.mark.parametrize(
    ("text", "path", "takes"),
    [
        ("python -m doctest ./docs/use.txt -v", "docs/use.txt", True),
        ("sh -c 'python3 -m doctest a.md; cat b.md'", "b.md", False),
        ("python -m doctest calc.py", "calc.py", False),
        ("pytest --doctest-glob='*.md' docs", "docs/a.md", True),
        ('addopts = ["--doctest-glob", "docs/*.rst"]', "docs/a.rst", True),
        ("pytest -q", "docs/a.rst", False),
        ("pytest -q", "tests/test_use.txt", True),
        ("make docs", "docs/use.txt", False),
        ("sh -c python -m doctest docs/*.txt", "docs/use.txt", True),
        ("sh -c python -m doctest docs/*.txt", "docs/more/use.txt", False),
        ("cd docs && python -m doctest use.txt", "docs/use.txt", True),
        ("cd docs && python -m doctest use.txt", "web/use.txt", False),
        ("for d in */; do cd $d && python -m doctest use.txt; done", "web/use.txt", True),
        ("for f in docs/*.txt; do python -m doctest -o ELLIPSIS $f; done", "docs/use.txt", True),
        ("DOCS = docs/use.txt\n\tpython -m doctest $(DOCS)", "docs/use.txt", True),
        ("run([sys.executable, '-m', 'doctest', 'docs/use.txt'])", "docs/use.txt", True),
        ("doctest.testfile('use.txt')", "use.txt", True),
        ("pytest -q docs/use.rst", "docs/use.rst", True),
    ],
)
def test_what_commands_have_read_is_found(text: str, path: str, takes: bool) -> None:
    assert doctests.told([("", text)]).takes(path) is takes
    assert not doctests.told([("", text)]).open
    assert doctests.runs_sources([text]) is path.endswith(".py")


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("find docs -name '*.txt' | xargs python -m doctest", True),
        ("find docs -name '*.txt' -exec python -m doctest {} +", True),
        ("for f in $(ls docs); do python -m doctest $f; done", True),
        ("python -m doctest $(DOCS) -v", True),
        ("find src -name '*.py' | xargs python -m doctest", False),
        ("for f in src/*.py; do python -m doctest $f; done", False),
        ("python -m doctest -v calc.py > out.txt", False),
    ],
)
def test_what_only_a_run_could_tell_is_taken_for_every_document(text: str, is_open: bool) -> None:
    assert doctests.told([("", text)]).open is is_open


def test_a_file_of_commands_names_documents_from_its_own_folder() -> None:
    assert doctests.told([("web/Makefile", "t:\n\tpython -m doctest use.txt\n")]).takes("web/use.txt")


def test_g1_the_examples_of_a_document_that_a_check_reads_are_laid_back(project: Project, tmp_path: Path) -> None:
    project.write("calc.py", WRONG)
    project.write("README.md", USE)
    project.write("docs/use.txt", USE)
    project.write("pytest.ini", "[pytest]\naddopts = --doctest-glob=*.rst\n")
    project.write("docs/more.rst", USE)
    run = (sys.executable, "-m", "doctest", "docs/use.txt")
    project.freeze(checks=[run])
    assert set(project.frozen.by_path) == {"docs/use.txt", "docs/more.rst", "pytest.ini"}
    project.write("docs/use.txt", "Nothing here.\n")
    judgement = project.judge(run)
    assert (judgement.verdict, judgement.tampered) == (Verdict.FAILED, ("docs/use.txt",))
    project.write("docs/use.txt", USE.replace("That is all", "There is more"))
    project.write("README.md", "Another\n")
    project.write("docs/more.rst", USE.replace("3", "4"))
    tree = tmp_path / "tree"
    shutil.copytree(project.workspace, tree)
    assert undo(tree, project.frozen) == ("docs/more.rst",)
    assert "There is more" in (tree / "docs/use.txt").read_text()
