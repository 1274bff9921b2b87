"""Caches, dependencies and what the project ignores are not watched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.workspace.ignore import load, parse

RULES = """\
# build output
*.log
build/
**/generated/
/docs/_site
dist
!keep.log
a/*/b
tr\\#icky
"""


@pytest.mark.parametrize(
    ("path", "folder", "ignored"),
    [
        (".git", True, True),
        ("inner/.git", False, True),
        ("web/node_modules", True, True),
        (".proctor", True, True),
        ("x.log", False, True),
        ("deep/down/x.log", False, True),
        ("keep.log", False, False),
        ("build", True, True),
        ("src/build", True, True),
        ("build", False, False),
        ("src/generated", True, True),
        ("docs/_site", True, True),
        ("other/docs/_site", True, False),
        ("dist", False, True),
        ("a/x/b", False, False),
        ("src", True, False),
        ("xlog", False, False),
    ],
)
def test_what_is_ignored(path: str, folder: bool, ignored: bool) -> None:
    assert parse(RULES)(path, folder) is ignored


def test_a_workspace_without_rules_ignores_only_the_usual(tmp_path: Path) -> None:
    assert load(tmp_path)("src", True) is False
    (tmp_path / ".gitignore").symlink_to("/etc/passwd")
    assert load(tmp_path)("node_modules", True) is True


@given(st.text(), st.text(min_size=1))
def test_any_rules_can_be_read(text: str, path: str) -> None:
    assert parse(text)(path, True) in (True, False)
