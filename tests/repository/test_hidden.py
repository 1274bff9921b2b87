"""What a contract hides is not to be read from git's objects either, however it came into them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.repository.layout import find
from repository.conftest import bytes_of, git, new_repository, session
from repository.spying import HIDE, committed, ways, written

USE = """
    test -z "$(git status --porcelain)" || { git status; exit 1; }
    before=$(git rev-list --count HEAD)
    echo more >> file0.txt; echo new > new.txt; git add -A; git commit -qm Second
    test $(git rev-list --count HEAD) = $((before + 1)); test -z "$(git ls-files secrets top.key)"
    git diff HEAD~1 --stat | grep -q new.txt; git checkout -qb side; git gc -q; git fsck --no-dangling
    test -z "$(git status --porcelain)"; test -z "$(git for-each-ref refs/tags refs/remotes refs/stash)"
    git log --format=%an:%s
"""


def packed(top: Path) -> Path:
    git(committed(top), "gc", "-q", "--prune=now")
    return top


def in_old_history(top: Path) -> Path:
    git(committed(top), "rm", "-rq", "secrets", "top.key")
    git(top, "commit", "-qm", "No secrets")
    return top


def on_another_branch(top: Path) -> Path:
    git(top, "checkout", "-qb", "other")
    git(committed(top), "checkout", "-q", "main")
    return top


def merged_without_a_trace(top: Path) -> Path:
    """A branch that brought it and took it away, merged and deleted, of which no reflog tells."""
    in_old_history(on_another_branch_begun(top))
    git(top, "checkout", "-q", "main")
    git(top, "merge", "-q", "--no-ff", "-m", "Merge", "other")
    git(top, "branch", "-qD", "other")
    shutil.rmtree(top / ".git" / "logs")
    return top


def on_another_branch_begun(top: Path) -> Path:
    git(top, "checkout", "-qb", "other")
    return top


def staged(top: Path) -> Path:
    written(top)
    git(top, "add", "-A")
    return top


def staged_once(top: Path) -> Path:
    git(staged(top), "reset", "-q")
    return top


def stashed(top: Path) -> Path:
    written(top)
    git(top, "stash", "-uq")
    return top


def reset(top: Path) -> Path:
    git(committed(top), "reset", "-q", "--hard", "HEAD~1")
    return top


def tagged(top: Path) -> Path:
    git(committed(top), "tag", "-am", "Old", "old")
    git(top, "reset", "-q", "--hard", "HEAD~1")
    shutil.rmtree(top / ".git" / "logs")
    return top


def in_another_worktree(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "../tree")
    staged(top.parent / "tree")
    return top


def in_a_worktree(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "../tree")
    return committed(top.parent / "tree")


def in_a_submodule(top: Path) -> Path:
    host = new_repository(top.parent / "host")
    git(host, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top), "sub")
    return committed(host / "sub")


def borrowing(top: Path) -> Path:
    """A clone that has nothing of it, and reads the objects of one that does."""
    git(top.parent, "clone", "-q", "--shared", "work", "second")
    committed(top)
    return top.parent / "second"


def borrowing_what_is_staged(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--shared", "work", "second")
    staged(top)
    return top.parent / "second"


def staged_above_as_another_file(top: Path) -> Path:
    place = below_alone(top)
    written(place)
    shutil.copy(place / "secrets" / "x", top / "copy")
    git(top, "add", "copy")
    return place


def below_alone(top: Path) -> Path:
    place = top / "projects" / "one"
    place.mkdir(parents=True)
    (place / "file0.txt").write_text("one\n")
    (place / ".gitignore").write_text("READ.py\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "One")
    return place


def below(top: Path) -> Path:
    return committed(below_alone(top))


def below_in_old_history(top: Path) -> Path:
    place = below(top)
    git(place, "rm", "-rq", "secrets", "top.key")
    git(place, "commit", "-qm", "No secrets")
    return place


def detached(top: Path) -> Path:
    git(committed(top), "checkout", "-q", "--detach")
    return top


def sha256(top: Path) -> Path:
    place = new_repository(top.parent / "other", "--object-format=sha256")
    (place / "file0.txt").write_text("top\n")
    (place / ".gitignore").write_text("READ.py\n")
    return committed(place)


def sparse(top: Path) -> Path:
    git(committed(top), "sparse-checkout", "set", "--cone", "--sparse-index", "part1", "secrets")
    assert not (top / "part0").exists()
    return top


def shallow(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--depth", "1", f"file://{committed(top)}", "clone")
    return top.parent / "clone"


def unborn(top: Path) -> Path:
    place = top.parent / "fresh"
    place.mkdir()
    git(place, "init", "-q")
    (place / "file0.txt").write_text("x\n")
    return staged(place)


SHAPES: list[Callable[[Path], Path]] = [
    committed, packed, in_old_history, on_another_branch, merged_without_a_trace, staged, staged_once,
    stashed, reset, tagged, in_another_worktree, in_a_worktree, in_a_submodule, borrowing,
    borrowing_what_is_staged, staged_above_as_another_file, below, below_in_old_history, detached, sha256,
    sparse, shallow, unborn,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_hidden_file_is_read_in_no_way_and_without_hiding_in_some(top: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(top)
    layout = find(place)
    assert layout.common is not None
    before = bytes_of(layout.common)
    assert {"objects", "bytes"} <= ways(place, ())
    assert ways(place, HIDE) == set()
    assert bytes_of(layout.common) == before


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=lambda shape: shape.__name__)
def test_a_worker_uses_git_as_usual_on_one_commit(top: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(top)
    words = git(place, "log", "-1", "--format=%an:%s")
    assert session(place, USE, hide=HIDE) == f"Olga:Second\n{words}"


def test_a_clone_without_blobs_fetches_nothing(top: Path) -> None:
    in_old_history(top)
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top.parent, "clone", "-q", "--filter=blob:none", f"file://{top}", "part")
    place = top.parent / "part"
    before = bytes_of(place / ".git")
    assert session(place, USE, hide=HIDE) == "Olga:Second\nOlga:No secrets\n"
    assert bytes_of(place / ".git") == before
