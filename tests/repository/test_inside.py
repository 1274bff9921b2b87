"""Git inside a sandbox works as the operator's does, and reaches nothing of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from repository.conftest import bytes_of, git, new_repository, session

USE = """
    git status --porcelain > /tmp/before; cat /tmp/before; test ! -s /tmp/before
    echo more >> part0/file0.txt; echo new > new.txt
    git add -A; git commit -qm Second; git log --oneline | wc -l | grep -q 2
    git diff HEAD~1 --stat | grep -q new.txt
    git branch side; git checkout -q side; echo side > side.txt; git add side.txt; git commit -qm Side
    git checkout -q -; test ! -e side.txt; git merge -q side; test -e side.txt
    echo stashed >> new.txt; git stash -q; git stash pop -q; grep -q stashed new.txt; git checkout -q new.txt
    git gc -q; git fsck --no-dangling; git status --porcelain; git reflog | grep -q Second
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "work")


def of_the_operator(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_a_worker_uses_git_as_usual_and_the_repository_stays_the_same_to_the_byte(top: Path) -> None:
    before = bytes_of(top / ".git")
    assert of_the_operator(session(top, USE)) == []
    assert bytes_of(top / ".git") == before
    assert git(top, "status", "--porcelain").split() == ["M", "part0/file0.txt", "??", "new.txt", "??", "side.txt"]
