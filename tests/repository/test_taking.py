"""The lines of docs/repository.md that take a session's commits, run as they stand there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from repository.conftest import git

ROOT = Path(__file__).parents[2]
TEXT = (
    (ROOT / "docs" / "repository.md").read_text().partition("### Taking the commits")[2].partition("Objects are put")[0]
)
SIMPLE, BESIDE = (
    "\n".join(re.findall("^    (.+)", block, re.M)) for block in re.findall(r"(?:^    .+\n)+", TEXT, re.M)
)


@pytest.fixture
def worked(top: Path) -> Path:
    """A repository whose session changed a file, made one, verified both, and left something that was not verified."""
    (top / "file0.txt").write_text("the worker's\n")
    (top / "made.txt").write_text("made\n")
    index = {"GIT_INDEX_FILE": str(top / ".git" / "session-index")}
    git(top, "add", "-A", **index)
    tree = git(top, "write-tree", **index).strip()
    commit = git(top, "commit-tree", tree, "-p", "HEAD", "-m", "Task 1: Make it").strip()
    git(top, "branch", "proctor/SESSION", commit)
    (top / "made.txt").write_text("made\nnot verified\n")
    (top / "loose.txt").write_text("loose\n")
    (top / "part1" / "file1.txt").write_text("staged\n")
    git(top, "add", "part1/file1.txt")
    return top


def run(place: Path, lines: str) -> int:
    quiet = "export GIT_MERGE_AUTOEDIT=no\nset -e\n"
    return subprocess.run(["sh", "-c", quiet + lines], cwd=place, capture_output=True, check=False).returncode


def photo(place: Path) -> dict[str, str]:
    files = (path for path in place.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(place)): path.read_text() for path in files}


def test_a_branch_that_has_not_moved_takes_the_commits_and_no_file_changes(worked: Path) -> None:
    assert f"`{SIMPLE}`" in " ".join((ROOT / "README.md").read_text().split())
    before = photo(worked)
    assert run(worked, SIMPLE) == 0
    assert photo(worked) == before
    assert git(worked, "rev-parse", "main") == git(worked, "rev-parse", "proctor/SESSION")
    assert git(worked, "status", "--short").splitlines() == [" M made.txt", " M part1/file1.txt", "?? loose.txt"]


def test_a_branch_that_moved_is_left_alone_and_takes_a_merge_that_was_made_beside_it(worked: Path) -> None:
    git(worked, "commit", "-qm", "Mine")
    mine, before = git(worked, "rev-parse", "HEAD"), photo(worked)
    assert run(worked, SIMPLE) != 0
    assert git(worked, "rev-parse", "HEAD") == mine
    assert run(worked, BESIDE) == 0
    assert photo(worked) == before
    assert git(worked, "log", "--format=%s", "-3").splitlines()[0].startswith("Merge commit")
    assert git(worked, "status", "--short").splitlines() == [" M made.txt", "?? loose.txt"]
    assert git(worked, "branch", "--format=%(refname:short)").split() == ["main", "proctor/SESSION"]
    assert not (worked.parent / "taken").exists()
