"""The operator's repository through a session's checkpoints, rollbacks and prunes: not a byte of it is another."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from checkpoint.ground import Ground, wait
from checkpoint.photo import git, photograph, write
from proctor.words import CheckpointKind


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """A repository with a remote, a stash, a staged change, flags, a hook and reflogs."""
    ground = Ground(tmp_path / "root", monkeypatch)
    ground.prepare()
    work = ground.repository()
    git(work, "clone", "-q", "--bare", ".", str(ground.root / "origin"))
    git(work, "remote", "add", "origin", "../origin")
    git(work, "fetch", "-q", "origin")
    write(work / "README", "two\n")
    git(work, "commit", "-qam", "two")
    git(work, "branch", "side", "HEAD~1")
    git(work, "tag", "-a", "mark", "-m", "mark")
    write(work / "README", "stashed\n")
    git(work, "stash")
    write(work / "staged", "staged\n")
    git(work, "add", "staged")
    git(work, "update-index", "--assume-unchanged", "run.sh")
    write(work / ".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n", 0o755)
    return ground


def edit(work: Path, number: int) -> None:
    write(work / "src/main.py", f"print({number})\n")
    write(work / f"new{number}", "1\n")
    write(work / "staged", f"staged, and changed {number}\n")
    write(work / "run.sh", f"#!/bin/sh\n# {number}\n")
    (work / "README").unlink(missing_ok=True)


def test_it_is_the_same_to_the_byte_and_tells_of_the_tree_what_it_would_of_edits_by_hand(ground: Ground) -> None:
    work, twin = ground.work, ground.root / "twin"
    shutil.copytree(work, twin, symlinks=True)
    before = photograph(work / ".git")
    with ground.session() as timeline:
        first = wait(timeline.checkpoint(CheckpointKind.START)).id
        for number in range(4):
            edit(work, number)
            wait(timeline.checkpoint(CheckpointKind.ASKED))
            wait(timeline.rollback(first))
            wait(timeline.undo())
        ground.store().gc(set(ground.store().names().values()))
        assert photograph(work / ".git") == before
        for number in range(4):
            edit(twin, number)
        for words in (("status", "--porcelain=v2", "--branch"), ("diff",), ("diff", "--cached"), ("stash", "list")):
            assert git(work, *words) == git(twin, *words)
        wait(timeline.rollback(first))
    shutil.rmtree(twin)


def test_it_is_collected_fetched_and_checked_in_between_and_every_checkpoint_restores(ground: Ground) -> None:
    work, store = ground.work, ground.store()
    taken = []
    for number in range(4):
        edit(work, number)
        write(work / "noise", os.urandom(5000))
        git(work, "add", "noise")
        git(work, "commit", "-q", "--amend", "--allow-empty", "-m", f"{number}")
        taken.append((store.snapshot(f"c{number}").commit, ground.photo()))
        git(work, "reflog", "expire", "--expire=now", "--all")
        git(work, "gc", "-q", "--prune=now")
        if number % 2:
            store.pack()
    git(work, "fetch", "-q", "origin")
    git(work, "fsck", "--strict")
    assert not store.verify().lost
    for commit, was in taken:
        store.restore(store.snapshot("present").commit, commit)
        assert ground.photo() == was
    store.gc({taken[1][0]})
    git(work, "gc", "-q", "--prune=now")
    store.restore(store.snapshot("present").commit, taken[1][0])
    assert ground.photo() == taken[1][1]
    git(work, "fsck", "--strict")
