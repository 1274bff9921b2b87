"""Files are replaced one by one, none that is not what it was, and through no link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import photograph, times, write
from proctor.checkpoint.back import files, restore
from proctor.checkpoint.back.dress import Unlike
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store import plumbing
from proctor.checkpoint.store.command import Command
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.view import deltas

BIG = 2 << 20


class Died(BaseException):
    """Stands for the end of the process: nothing catches it."""


@pytest.fixture
def change(store: Store, work: Path) -> Callable[[], None]:
    """Makes the tree what it was at a checkpoint, in its files alone; before that, it is edited."""
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "src/main.py", "changed\n")
    write(work / "src/later/new.py", "new\n")
    (work / "run.sh").unlink()
    shutil.rmtree(work / "src/deep")
    after = store.snapshot("c2")
    there, then = (store.held(taken.commit).files for taken in (after, before))
    return lambda: files.bring(store._git, deltas(store._git, there, then), {}, ())


def test_files_come_go_and_change_and_folders_with_them(store: Store, work: Path, change: Callable[[], None]) -> None:
    was = store.held(store.names()["c1"]).files
    change()
    assert store.held(store.snapshot("c3").commit).files == was
    assert not (work / "src/later").exists()
    assert (work / "run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("edit", ["content", "executable", "link", "folder", "came"])
def test_what_is_another_file_by_now_stops_it_before_anything_is_touched(
    work: Path, change: Callable[[], None], edit: str
) -> None:
    place = work / "src/main.py"
    if edit == "content":
        write(place, "edited!\n")  # as long as before
    elif edit == "executable":
        place.chmod(0o755)
    elif edit == "came":
        write(work / "run.sh", "somebody's\n")
    else:
        place.unlink()
        place.mkdir() if edit == "folder" else place.symlink_to("changed\n")
    then, when = photograph(work), times(work)
    with pytest.raises(Unlike, match="written meanwhile"):
        change()
    assert (photograph(work), times(work)) == (then, when)


def test_what_is_written_after_it_was_compared_is_not_replaced(
    work: Path, change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = files._Way.remove

    def late(way: files._Way, path: bytes, seen: files.Seen) -> None:
        if path == b"src/main.py":
            write(work / "src/main.py", "somebody's\n")
        remove(way, path, seen)

    monkeypatch.setattr(files._Way, "remove", late)
    with pytest.raises(Unlike, match=r"src/main\.py"):
        change()
    assert (work / "src/main.py").read_text() == "somebody's\n"


@pytest.mark.parametrize("moment", ["seen", "remove", "write"])
def test_a_link_that_takes_the_place_of_a_folder_leads_nowhere(
    work: Path, tmp_path: Path, change: Callable[[], None], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    outside = tmp_path / "outside"
    write(outside / "main.py", "changed\n")
    write(outside / "later/new.py", "new\n")
    there = photograph(outside)
    step = getattr(files._Way, moment)

    def swapped(way: files._Way, *what: object) -> object:
        if not (work / "src").is_symlink():
            (work / "src").rename(tmp_path / "src")
            (work / "src").symlink_to(outside)
        return step(way, *what)

    monkeypatch.setattr(files._Way, moment, swapped)
    with pytest.raises(Unlike):
        change()
    assert photograph(outside) == there


def test_large_files_come_back_and_with_their_holes(store: Store, work: Path) -> None:
    noise = os.urandom(17 << 20)  # git does not take it into memory
    write(work / "large", noise)
    with open(work / "holes", "wb") as file:
        file.write(b"begin")
        file.seek(8 << 20)
        file.write(b"end")
        file.truncate(16 << 20)
    before, was = store.snapshot("c1"), (work / "holes").read_bytes()
    (work / "large").unlink()
    write(work / "holes", "none\n")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (work / "large").read_bytes() == noise
    assert (work / "holes").read_bytes() == was
    assert (work / "holes").stat().st_blocks * 512 < 1 << 20


def test_a_file_that_nobody_else_may_read_is_never_open_to_them(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work / "secret", "1\n", 0o600)
    before = store.snapshot("c1")
    (work / "secret").unlink()
    after = store.snapshot("c2")
    seen: list[int] = []
    go = restore.make_folders

    def note(*what: object) -> None:
        seen.append((work / "secret").stat().st_mode & 0o777)
        go(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(restore, "make_folders", note)
    store.restore(after.commit, before.commit)
    assert seen == [0o600]


@pytest.mark.parametrize("moment", [(restore, "make_folders"), (Draft, "admit")], ids=["written", "looked at"])
def test_a_kept_file_that_rules_name_by_now_comes_back_also_after_a_kill(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch, moment: tuple[object, str]
) -> None:
    write(work / "build/only/report", b"r" * BIG)
    write(work / ".gitignore", "build/\n")
    store.snapshot("c0")
    (work / ".gitignore").unlink()
    store.snapshot("c1")
    write(work / ".gitignore", "build/\n")
    before, was = store.snapshot("c2"), photograph(work)
    assert "build/only/report" in {entry.path for entry in store.entries(before.commit)}
    shutil.rmtree(work / "build")
    after = store.snapshot("c3")

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(*moment, die)
        with pytest.raises(Died):
            store.restore(after.commit, before.commit)
    assert (work / "build/only/report").exists()
    assert store.restore(after.commit, before.commit).parked == ()
    assert photograph(work) == was
    assert store.snapshot("c4").tree == before.tree


def test_an_ignored_file_comes_off_the_shelf_to_the_place_of_a_kept_one(store: Store, work: Path) -> None:
    write(work / "disk", "small\n")
    before = store.snapshot("c1")
    write(work / ".gitignore", "disk\n")
    (work / "disk").unlink()
    store.snapshot("c2")
    write(work / "disk", b"d" * BIG)
    after, then = store.snapshot("c3"), photograph(work)
    assert store.restore(after.commit, before.commit).parked == ("disk",)
    assert (work / "disk").read_text() == "small\n"
    store.restore(store.snapshot("c4").commit, after.commit)
    assert photograph(work) == then


def test_a_rollback_reads_and_writes_no_more_than_it_changes(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "src/new.py", "new\n")
    commands: list[str] = []
    start = plumbing.Git.start

    def noted(git: plumbing.Git, *args: str, **how: object) -> Command:
        commands.append(args[0])
        return start(git, *args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(plumbing.Git, "start", noted)
    store.restore(store.snapshot("c2").commit, before.commit)
    assert commands.count("update-index") == 2
    assert not {"read-tree", "write-tree", "checkout-index"} & set(commands)
