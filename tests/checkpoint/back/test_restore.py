"""What a rollback leaves alone, moves aside, refuses, and brings back."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, times, write
from proctor.checkpoint.back import restore
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Moved, NotRestored, Store

BIG = 2 << 20


def parked(work: Path) -> dict[str, bytes]:
    """Files on the shelves, without the name of the shelf."""
    shelves = work / ".proctor/parked"
    return {
        str(Path(*path.relative_to(shelves).parts[1:])): path.read_bytes()
        for path in shelves.rglob("*")
        if path.is_file()
    }


def test_the_harness_s_own_files_are_in_no_checkpoint_and_no_rollback_touches_them(store: Store, work: Path) -> None:
    write(work / "tasks.json", "[]")
    write(work / "RULES.md", "one\n")
    before = store.snapshot("c1")
    assert not {"tasks.json", "RULES.md"} & {entry.path for entry in store.entries(before.commit)}
    write(work / "tasks.json", "[1]")
    write(work / "PROGRESS.md", "two\n")
    (work / "RULES.md").unlink()
    after = store.snapshot("c2")
    assert after.tree == before.tree
    write(work / "README", "changed\n")
    store.restore(store.snapshot("c3").commit, before.commit)
    assert (work / "tasks.json").read_text() == "[1]"
    assert (work / "PROGRESS.md").exists()
    assert not (work / "RULES.md").exists()


def test_a_file_that_became_the_harness_s_own_is_not_rolled_back(work: Path) -> None:
    place = work / ".proctor/checkpoints.git"
    write(work / "notes/RULES.md", "the user's\n")
    before = Store(work, place).snapshot("c1")
    store = Store(work, place, ("notes/RULES.md",))
    write(work / "notes/RULES.md", "the harness's\n")
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    assert "notes/RULES.md" not in {entry.path for entry in store.entries(after.commit)}
    store.restore(after.commit, before.commit)
    assert (work / "notes/RULES.md").read_text() == "the harness's\n"
    assert (work / "README").read_text() == "a project\n"


def test_ignored_folders_are_listed_and_never_touched(store: Store, work: Path) -> None:
    write(work / ".gitignore", "node_modules/\n.venv/\n")
    write(work / "node_modules/a/index.js", "1")
    write(work / "src/.venv/x", "1")
    before = store.snapshot("c1")
    write(work / "node_modules/b/index.js", "2")
    write(work / "node_modules/a/index.js", "2")
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    assert store.list_ignored() == ("node_modules", "src/.venv")
    assert [change.path for change in store.diff(before.commit, after.commit)] == ["README"]
    store.restore(after.commit, before.commit)
    assert (work / "node_modules/b/index.js").read_text() == "2"
    assert (work / "node_modules/a/index.js").read_text() == "2"


def test_what_a_new_ignore_rule_protected_stays_when_the_rule_goes(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / ".gitignore", "deps/\n*.iso\n")
    write(work / "deps/a/index.js", "1")
    write(work / "src/disk.iso", b"i" * BIG)
    after = store.snapshot("c2")
    store.restore(after.commit, before.commit)
    assert not (work / ".gitignore").exists()
    assert (work / "deps/a/index.js").read_text() == "1"
    assert (work / "src/disk.iso").stat().st_size == BIG
    assert store.tree_of_working_tree().tree == before.tree
    write(work / "deps/a/later.js", "written after the rollback")
    assert [change.path for change in store.diff(before.commit, store.snapshot("c3").commit)] == ["deps/a/later.js"]


def test_what_was_ignored_at_the_target_stays_although_no_rule_protects_it_now(store: Store, work: Path) -> None:
    write(work / ".gitignore", "cache/\n")
    write(work / "cache/big", "kept by nobody")
    before = store.snapshot("c1")
    (work / ".gitignore").unlink()
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    assert "cache/big" in {entry.path for entry in store.entries(after.commit)}
    store.restore(after.commit, before.commit)
    assert (work / "cache/big").read_text() == "kept by nobody"
    assert (work / ".gitignore").exists()


def test_a_file_too_large_to_keep_is_named_and_left_where_it_is(work: Path) -> None:
    store = Store(work, work / ".proctor/checkpoints.git", keep=Keep(max_file=BIG))
    before = store.snapshot("c1")
    with open(work / "huge", "wb") as file:
        file.truncate(2 << 30)
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    assert after.skipped == ("huge: 2G, over the limit of 2M",)
    store.restore(after.commit, before.commit)
    assert (work / "huge").stat().st_size == 2 << 30
    assert (work / "README").read_text() == "a project\n"


def test_a_kept_file_that_grew_too_large_is_moved_aside_and_comes_back_with_the_undo(work: Path) -> None:
    store = Store(work, work / ".proctor/checkpoints.git", keep=Keep(max_file=BIG))
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", b"r" * (BIG + 1))
    after, then = store.snapshot("c2"), photograph(work)
    assert after.skipped
    back = store.restore(after.commit, before.commit)
    assert back.parked == ("README",)
    assert photograph(work) == was
    assert parked(work) == {"README": b"r" * (BIG + 1)}
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(work) == then
    assert parked(work) == {}


def test_whatever_is_in_no_checkpoint_and_stands_in_the_way_is_moved_aside(store: Store, work: Path) -> None:
    write(work / "config", "a file\n")
    write(work / "deep/folder/file", "1\n")
    write(work / "socket/file", "1\n")
    (work / "hollow").mkdir()
    before, was = store.snapshot("c1"), photograph(work)
    (work / "config").unlink()
    shutil.rmtree(work / "deep")
    shutil.rmtree(work / "socket")
    (work / "hollow").rmdir()
    write(work / ".gitignore", "config/\ndeep\nhollow\n")
    write(work / "config/in/the/way", "ignored")
    write(work / "deep", b"d" * BIG)
    write(work / "hollow", b"h" * BIG)
    os.mkfifo(work / "socket")
    after, then = store.snapshot("c2"), photograph(work)
    back = store.restore(after.commit, before.commit)
    assert photograph(work) == was
    assert set(back.parked) == {"config", "deep", "hollow"}
    assert parked(work) == {"config/in/the/way": b"ignored", "deep": b"d" * BIG, "hollow": b"h" * BIG}
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(work) == then


def test_a_repository_born_later_is_moved_aside_whole_and_comes_back_with_the_undo(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    git(work / "src", "init", "-q")
    git(work / "src", "add", ".")
    git(work / "src", "commit", "-qm", "one")
    (work / "born").mkdir()
    git(work / "born", "init", "-q")
    after, then = store.snapshot("c2"), photograph(work)
    back = store.restore(after.commit, before.commit)
    assert set(back.parked) == {"src/.git", "born/.git"}
    assert not (work / "src/.git").exists()
    assert not (work / "born").exists()
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(work) == then
    assert git(work / "src", "log", "--oneline").endswith("one\n")


def test_a_repository_whose_git_folder_is_gone_is_said_to_be_missing(store: Store, work: Path) -> None:
    git(work / "src", "init", "-q")
    before = store.snapshot("c1")
    shutil.rmtree(work / "src")
    back = store.restore(store.snapshot("c2").commit, before.commit)
    assert back.missing == ("src",)
    assert (work / "src/main.py").read_text() == "print(1)\n"


def test_chosen_paths_go_back_and_nothing_else(store: Store, work: Path) -> None:
    (work / "src/bare").mkdir()
    (work / "src/deep").chmod(0o700)
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "src/main.py", "print(2)\n")
    write(work / "src/deep/new.py", "new\n")
    (work / "src/bare").rmdir()
    (work / "src/deep").chmod(0o755)
    (work / "run.sh").unlink()
    after = store.snapshot("c2")
    back = store.restore(after.commit, before.commit, ["src/", "./run.sh"])
    assert back.changed == 5
    assert (work / "README").read_text() == "changed\n"
    assert (work / "src/main.py").read_text() == "print(1)\n"
    assert not (work / "src/deep/new.py").exists()
    assert (work / "src/bare").is_dir()
    assert (work / "src/deep").stat().st_mode & 0o777 == 0o700
    assert (work / "run.sh").stat().st_mode & 0o777 == 0o755
    store.restore(store.snapshot("c3").commit, after.commit)
    assert store.tree_of_working_tree().tree == after.tree


def test_a_chosen_path_takes_the_place_of_what_stands_there(store: Store, work: Path) -> None:
    (work / "src/deep/hollow").mkdir()
    before = store.snapshot("c1")
    shutil.rmtree(work / "src")
    write(work / "src", "a file\n")
    store.restore(store.snapshot("c2").commit, before.commit, ["src/deep"])
    assert sorted(path.name for path in (work / "src").iterdir()) == ["deep"]
    assert (work / "src/deep/er/x.py").read_text() == "x = 1\n"
    assert (work / "src/deep/hollow").is_dir()


@pytest.mark.parametrize("stand", [os.mkfifo, lambda place: place.symlink_to("run.sh"), Path.touch])
@pytest.mark.parametrize("lost", ["file", "fifo", "folder"])
def test_a_chosen_path_takes_the_place_of_what_stands_where_its_folder_was(
    store: Store, work: Path, stand: Callable[[Path], None], lost: str
) -> None:
    inner = work / "place/inner"
    inner.mkdir(parents=True)
    write(inner / "file", "one\n")
    (inner / "folder").mkdir()
    os.mkfifo(inner / "fifo")
    before, seen = store.snapshot("c1"), photograph(inner)
    shutil.rmtree(work / "place")
    stand(work / "place")
    store.restore(store.snapshot("c2").commit, before.commit, [f"place/inner/{lost}"])
    assert photograph(inner) == {lost.encode(): seen[lost.encode()]}


def test_a_folder_that_is_empty_now_is_filled_by_a_chosen_path(store: Store, work: Path) -> None:
    inner = work / "place/inner"
    inner.mkdir(parents=True)
    os.mkfifo(inner / "fifo")
    write(work / "place/file", "one\n")
    before, seen = store.snapshot("c1"), photograph(inner)
    shutil.rmtree(inner)
    (work / "place/file").unlink()
    store.restore(store.snapshot("c2").commit, before.commit, ["place/inner"])
    assert photograph(inner) == seen


@pytest.mark.parametrize("stood", ["other", "hollow"])
def test_a_folder_that_is_emptied_before_it_is_filled_keeps_its_mode(store: Store, work: Path, stood: str) -> None:
    (work / "place/hollow").mkdir(parents=True)
    (work / "place").chmod(0o701)
    before, seen = store.snapshot("c1"), photograph(work)
    (work / "place/hollow").rmdir()
    (work / "place" / stood).symlink_to("nowhere")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert photograph(work) == seen


def test_an_empty_folder_that_another_takes_the_place_of_leaves_the_mode_above(store: Store, work: Path) -> None:
    (work / "place/one").mkdir(parents=True)
    (work / "place").chmod(0o701)
    before, seen = store.snapshot("c1"), photograph(work)
    (work / "place/one").rename(work / "place/other")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert photograph(work) == seen


def test_what_is_written_after_the_safety_checkpoint_stops_the_rollback(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    write(work / "README", "changed again, in no checkpoint\n")
    then, when = photograph(work), times(work)
    with pytest.raises(Moved, match="README"):
        store.restore(after.commit, before.commit)
    assert photograph(work) == then
    assert times(work) == when
    store.restore(store.snapshot("c3").commit, before.commit)
    assert (work / "README").read_text() == "a project\n"


def test_a_new_file_that_nobody_saved_is_moved_aside(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    (work / "README").unlink()
    after = store.snapshot("c2")
    write(work / "README", "someone else's\n")
    assert store.restore(after.commit, before.commit).parked == ("README",)
    assert (work / "README").read_text() == "a project\n"
    assert parked(work) == {"README": b"someone else's\n"}


def test_a_file_written_while_the_rollback_runs_is_kept_and_the_tree_goes_back(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    (work / "run.sh").chmod(0o700)
    after = store.snapshot("c2")
    go = restore.make_folders

    def late(top: bytes, folders: Collection[bytes], umask: int) -> None:
        write(work / "late", "in no checkpoint\n")
        write(work / "src/main.py", "edited meanwhile\n")
        go(top, folders, umask)

    monkeypatch.setattr(restore, "make_folders", late)
    with pytest.raises(NotRestored, match="late"):
        store.restore(after.commit, before.commit)
    assert (work / "late").read_text() == "in no checkpoint\n"
    assert (work / "src/main.py").read_text() == "edited meanwhile\n"
    assert (work / "README").read_text() == "changed\n"
    assert (work / "run.sh").stat().st_mode & 0o777 == 0o700


def test_a_rollback_to_what_is_there_touches_nothing(store: Store, work: Path) -> None:
    before, when = store.snapshot("c1"), times(work)
    back = store.restore(store.snapshot("c2").commit, before.commit)
    assert (back.changed, back.parked) == (0, ())
    assert times(work) == when


def test_a_link_out_of_the_workspace_leads_no_rollback_astray(store: Store, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside / "main.py", "not ours\n")
    write(outside / "deep/er/x.py", "not ours\n")
    (outside / "main.py").chmod(0o600)
    (work / "src/hollow").mkdir()
    before = store.snapshot("c1")
    shutil.rmtree(work / "src")
    (work / "src").symlink_to(outside)
    after, seen = store.snapshot("c2"), photograph(outside)
    store.restore(after.commit, before.commit)
    assert photograph(outside) == seen
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(outside) == seen
    assert (work / "src").is_symlink()


@pytest.mark.parametrize("stands", ["deep", "main.py/file", "hollow", "fifo"])
def test_nothing_that_a_link_leads_to_is_moved_aside(store: Store, work: Path, tmp_path: Path, stands: str) -> None:
    outside = tmp_path / "outside"
    write(outside / stands, "not ours\n")
    (work / "src/hollow").mkdir()
    os.mkfifo(work / "src/fifo")
    before, was = store.snapshot("c1"), photograph(work)
    shutil.rmtree(work / "src")
    (work / "src").symlink_to(outside)
    after, seen = store.snapshot("c2"), photograph(outside)
    assert store.restore(after.commit, before.commit).parked == ()
    assert photograph(work) == was
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(outside) == seen


def test_two_threads_take_turns(store: Store, work: Path) -> None:
    taken: list[str] = []
    threads = [
        threading.Thread(target=lambda number=number: taken.append(store.snapshot(f"c{number}").tree))
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 6
    assert len(set(taken)) == 1
