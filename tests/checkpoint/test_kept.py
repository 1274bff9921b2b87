"""A kept copy is what a fresh one would be, whatever was done to it meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from harness import wait_until
from proctor.checkpoint.look.extras import attributes_of
from proctor.checkpoint.repository import Store


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "w"
    for name in ("a.txt", "src/one.py", "src/deep/two.py", "secret/key", "tests/t.py"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"{name}\n")
    (workspace / "empty").mkdir()
    (workspace / "run.sh").write_text("true\n")
    (workspace / "run.sh").chmod(0o700)
    (workspace / "link").symlink_to("src")
    os.mkfifo(workspace / "pipe")
    return workspace


def seen(top: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        state = path.lstat()
        content: object = attributes_of(os.fsencode(path)) if stat.S_ISDIR(state.st_mode) else None
        if stat.S_ISLNK(state.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(top))] = stat.S_IFMT(state.st_mode), stat.S_IMODE(state.st_mode), content
    return found


def mess(tree: Path, outside: Path) -> None:
    """What checks may do to the tree they run in."""
    forged = tree / "a.txt"
    times = forged.stat()
    forged.write_text("A.txt\n")  # the same size, and soon the same times
    os.utime(forged, ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.rmtree(tree / "src" / "deep")
    (tree / "src" / "deep").symlink_to(outside)
    (tree / "src" / "one.py").unlink()
    (tree / "src" / "one.py").mkdir()
    (tree / "src" / "one.py" / "inside").write_text("x")
    (tree / "nested" / ".git").mkdir(parents=True)
    (tree / "nested" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "new0.py").unlink()
    os.mkfifo(tree / "new0.py")
    (tree / "tests" / "t.py").chmod(0o000)
    (tree / "tests").chmod(0o500)
    with contextlib.suppress(OSError):  # not every file system has them
        os.setxattr(tree / "src", "user.seen", b"once")
    (tree / "empty").rmdir()
    (tree / "run.sh").unlink()
    os.link(forged, tree / "run.sh")
    (tree / "link").unlink()
    (tree / "link").write_text("no link")
    (tree / "pipe").unlink()


@pytest.mark.parametrize("later", [False, True], ids=["at once", "a second later"])
def test_whatever_was_done_to_it_a_kept_copy_is_as_a_fresh_one(workspace: Path, tmp_path: Path, later: bool) -> None:
    store = Store(workspace, tmp_path / "c.git")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "two.py").write_text("mine\n")
    kept = tmp_path / "bench" / "tree"
    for number in range(4):
        (workspace / "src" / "one.py").write_text(f"{number}\n")
        (workspace / f"new{number}.py").write_text("new\n")
        (workspace / "run.sh").chmod(0o700 if number % 2 else 0o755)
        commit = store.tree_of_working_tree().commit
        store.refresh(commit, kept, exclude=("secret",))
        store.materialise(commit, tmp_path / f"fresh{number}", exclude=("secret",))
        assert seen(kept) == seen(tmp_path / f"fresh{number}")
        if number < 3:
            made = kept.with_name("tree.index").stat().st_mtime
            wait_until(lambda made=made: not later or time.time() > made + 1)
            mess(kept, outside)
    assert (outside / "two.py").read_text() == "mine\n"


def test_a_file_that_was_forged_within_the_second_is_written_anew(workspace: Path, tmp_path: Path) -> None:
    store = Store(workspace, tmp_path / "c.git")
    commit = store.tree_of_working_tree().commit
    kept = tmp_path / "tree"
    for _ in range(3):  # most of them within the second in which they were written
        store.refresh(commit, kept)
        forged = kept / "src" / "one.py"
        times = forged.stat()
        forged.write_text("SRC/one.py\n")
        os.utime(forged, ns=(times.st_atime_ns, times.st_mtime_ns))
        store.refresh(commit, kept)
        assert forged.read_text() == "src/one.py\n"


@pytest.mark.parametrize("damage", ["lock", "garbage", "cut short", "no index", "no tree"])
def test_a_copy_that_was_cut_short_is_made_anew(workspace: Path, tmp_path: Path, damage: str) -> None:
    store = Store(workspace, tmp_path / "c.git")
    commit = store.tree_of_working_tree().commit
    kept, index = tmp_path / "tree", tmp_path / "tree.index"
    store.refresh(commit, kept)
    (kept / "left").write_text("over")
    match damage:
        case "lock":
            index.with_name("tree.index.lock").touch()
        case "garbage":
            index.write_bytes(b"DIRC\0\0garbage")
        case "cut short":
            index.write_bytes(index.read_bytes()[:100])
        case "no index":
            index.unlink()
        case "no tree":
            shutil.rmtree(kept)
    store.refresh(commit, kept)
    store.materialise(commit, tmp_path / "fresh")
    assert seen(kept) == seen(tmp_path / "fresh")
