"""The tree of what an index holds is written from what differs: it is git's own, and whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store.command import GitFailed


def of_git(store: Store) -> str:
    """What git says of the index."""
    return store._git.run("write-tree").decode().strip()


def test_it_is_what_git_itself_would_write(store: Store, work: Path) -> None:
    store.snapshot("c0")
    steps = [
        lambda: write(work / "src/deep/er/x.py", "changed\n"),
        lambda: write(work / "a/b/c/new", "new\n"),
        lambda: shutil.rmtree(work / "src/deep"),
        lambda: (work / "run.sh").chmod(0o644),
        lambda: (shutil.rmtree(work / "a"), write(work / "a", "a file now\n")),
        lambda: ((work / "a").unlink(), (work / "a").symlink_to("src")),
        lambda: ((work / "a").unlink(), write(work / "a/b", "a folder again\n")),
        lambda: write(work / os.fsdecode(b"src/\xff\n name"), "any bytes\n"),
        lambda: [path.unlink() if path.is_file() else shutil.rmtree(path) for path in work.glob("[!.]*")],
        lambda: write(work / "one", "after none\n"),
    ]
    for number, step in enumerate(steps, 1):
        step()
        taken = store.snapshot(f"c{number}")
        assert store.held(taken.commit).files == of_git(store)
    assert not store.verify().lost


def test_what_a_look_knew_is_there_after_a_prune(store: Store, work: Path) -> None:
    kept = store.snapshot("c1").commit
    for number in range(3):
        write(work / f"src/deep/er/x{number}.py", f"{number}\n")
        write(work / f"src/other/y{number}.py", f"{number}\n")
        store.tree_of_working_tree()
    store.gc({kept})
    assert store.diff(kept, store.snapshot("same").commit)
    write(work / "src/main.py", "changed\n")
    store.snapshot("c2")
    write(work / "src/main.py", "changed again\n")
    store.snapshot("c3")
    assert not store.verify().lost


@pytest.mark.parametrize("lost", ["src/main.py", "src/deep"])
def test_an_object_that_is_lost_beside_what_changed_is_taken_anew(store: Store, work: Path, lost: str) -> None:
    files = store.held(store.snapshot("c1").commit).files
    oid = store._git.run("rev-parse", f"{files}:{lost}").decode().strip()
    folder = work / ".proctor/checkpoints.git/objects/pack"
    packs = {pack: pack.read_bytes() for pack in folder.glob("*.pack")}
    for pack, body in packs.items():
        for path in (pack, pack.with_suffix(".idx")):
            path.unlink()
        store._git.run("unpack-objects", "-q", input=body)
    (folder.parent / oid[:2] / oid[2:]).unlink()
    with pytest.raises(GitFailed):
        store._git.run("cat-file", "-e", oid)
    write(work / "src/beside.py", "new\n")
    store.snapshot("c2")
    assert not store.verify().lost
