"""What a draft writes in memory is out of other users' reach, and goes even if its process died."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from proctor.checkpoint.store import draft
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir(0o777)
    monkeypatch.setattr(draft, "SHARED_MEMORY", folder)
    monkeypatch.setattr(draft, "IN_MEMORY", 1 << 10)
    return folder


@pytest.fixture
def git(tmp_path: Path) -> Git:
    git = Git(tmp_path, tmp_path / "store.git")
    git.create()
    return git


def test_the_folder_in_memory_is_its_owners_and_nobody_foresees_its_name(memory: Path, git: Git) -> None:
    names = set()
    for _ in range(2):
        with Draft(git) as one:
            one.make_room(1)
            one.run("hash-object", "-w", "--stdin", input=b"x")
            (folder,) = memory.iterdir()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert len(list(folder.iterdir())) == 1
            names.add(folder.name)
        assert list(memory.iterdir()) == []
    assert len(names) == 2


def test_the_next_draft_removes_what_a_dead_process_left(memory: Path, git: Git) -> None:
    dead = Draft(git).__enter__()
    dead.make_room(1)
    dead.run("hash-object", "-w", "--stdin", input=b"x")
    with Draft(git):
        assert list(memory.iterdir()) == []


def test_a_draft_that_begins_anew_leaves_nothing(memory: Path, git: Git) -> None:
    with Draft(git) as one:
        for size in (1, 2 << 10, 1):
            one.make_room(size)
        assert len(list(memory.iterdir())) == 1
    assert list(memory.iterdir()) == []


@pytest.mark.parametrize("name", ["../kept", "kept", "", "proctor-" + "0" * 32])
def test_nothing_else_is_removed_for_it(memory: Path, git: Git, name: str) -> None:
    kept = memory / "kept"
    kept.mkdir()
    (memory.parent / "kept").mkdir()
    if name.startswith("proctor-"):
        if os.getuid() != 0:
            pytest.skip("only root can make a folder of another user")
        (memory / name).mkdir()
        os.chown(memory / name, 65_534, 65_534)
    (git.gitdir / "draft").mkdir()
    (git.gitdir / "draft" / "memory").write_text(name)
    with Draft(git):
        pass
    assert kept.exists()
    assert (memory.parent / "kept").exists()
    assert (memory / name).exists()
