"""Checkpoints of sessions whose worker uses git in a sandbox, looked at from there before and after going back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.checkpoint.repository import Store
from repository.conftest import session
from repository.test_inside import below, chained, shallow, sparse, split, submodule, worktree

LOOK = """
    git for-each-ref; cat "$(git rev-parse --git-dir)/HEAD"; git log --format=%H; git reflog --no-abbrev
    git ls-files -s -v; git stash list; git status --porcelain=v2 --branch; git fsck --full --no-dangling
"""
WORK = """
    echo more >> file0.txt; echo new > new.txt; git add new.txt; git commit -qm One; git checkout -qb side
    git mv file0.txt moved.txt; git commit -qam Two; echo x >> moved.txt; git stash -q; echo staged > s; git add s
    git tag -m Three three; git gc -q --prune=now; git checkout -q -b last; git branch -D -q side
"""


SHAPES = [split, chained, sparse, shallow, worktree, submodule, below]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.__name__))
def test_git_says_the_same_there_after_a_rollback_and_after_its_undo(top: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(top)
    was = session(place, LOOK)
    store = Store(place, place / ".proctor/checkpoints.git", repository=place / ".proctor/session.git")
    first = store.snapshot("c1")
    session(place, WORK)
    then = session(place, LOOK)
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert store.snapshot("c3").state == first.state
    assert session(place, LOOK) == was
    store.restore(store.snapshot("c4").commit, second.commit)
    assert session(place, LOOK) == then
