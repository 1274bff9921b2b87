"""What is ignored, what the contract says instead, and what is too much."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.look import intake
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store
from proctor.errors import Unrecoverable, UsageError


def keeping(work: Path, **terms: object) -> Store:
    return Store(work, work / ".proctor/checkpoints.git", ("tasks.json",), Keep(**terms))  # type: ignore[arg-type]


def kept(store: Store, commit: str) -> set[str]:
    return {entry.path for entry in store.entries(commit)}


@pytest.fixture
def built(work: Path) -> Path:
    """A project that git leaves a lot out of."""
    write(work / ".gitignore", "dist/\nnode_modules/\n*.log\n.env\n")
    write(work / ".env", "KEY=1\n", 0o600)
    write(work / "dist/app.js", "1\n")
    write(work / "dist/deep/app.css", "1\n")
    write(work / "dist/large.js", b"x" * (2 << 20))
    write(work / "node_modules/theirs/index.js", "1\n")
    write(work / "node_modules/mine/index.js", "1\n")
    write(work / "data/big.csv", "a,b\n")
    return work


def test_small_ignored_files_are_kept_and_ignored_folders_are_not(built: Path) -> None:
    store = keeping(built)
    taken = store.snapshot("c1")
    assert {".env", ".gitignore", "data/big.csv"} <= kept(store, taken.commit)
    assert not [path for path in kept(store, taken.commit) if path.startswith(("dist", "node_modules"))]
    assert store.held(taken.commit).notes.ignored == {b".env"}


def test_an_included_folder_is_kept_and_stays_marked_as_ignored(built: Path) -> None:
    store = keeping(built, include=("dist/",))
    before, was = store.snapshot("c1"), photograph(built)
    dist = {"dist/app.js", "dist/deep/app.css", "dist/large.js"}
    assert dist <= kept(store, before.commit)
    write(built / "dist/app.js", "2\n")
    write(built / "dist/new.js", "2\n")
    (built / "dist/large.js").unlink()
    after, then = store.snapshot("c2"), photograph(built)
    marked = store.held(after.commit).notes.ignored
    assert marked == {b".env", b"dist/app.js", b"dist/deep/app.css", b"dist/new.js"}
    assert store.diff(before.commit, after.commit) == ()
    assert len(store.diff(before.commit, after.commit, ignored=True)) == 3
    store.restore(after.commit, before.commit)
    assert photograph(built) == was
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(built) == then


def test_included_files_do_not_count_among_the_small_ignored_ones(built: Path) -> None:
    store = keeping(built, include=("dist/",), max_ignored=1)
    store.snapshot("c1")
    write(built / "a.log", "one too many\n")
    write(built / "dist/more.js", "1\n")
    taken = store.snapshot("c2")
    assert {".env", "dist/app.js", "dist/more.js"} <= kept(store, taken.commit)
    assert store.held(taken.commit).notes.left == {b"a.log"}


def test_a_pattern_that_names_the_way_reaches_into_an_ignored_folder(built: Path) -> None:
    store = keeping(built, include=("node_modules/mine/", "*.css"))
    taken = store.snapshot("c1")
    assert "node_modules/mine/index.js" in kept(store, taken.commit)
    assert not {"node_modules/theirs/index.js", "dist/deep/app.css"} & kept(store, taken.commit)


def test_what_is_excluded_is_in_no_checkpoint_and_no_rollback_touches_it(built: Path) -> None:
    git(built, "init", "-q")
    git(built, "add", "-f", "data/big.csv", "README")
    store = keeping(built, exclude=("*.csv", "/src/deep/", "!keep.csv", ".env"))
    write(built / "keep.csv", "kept\n")
    before = store.snapshot("c1")
    assert {"README", "keep.csv"} <= kept(store, before.commit)
    assert not {"data/big.csv", "src/deep/er/x.py", ".env"} & kept(store, before.commit)
    for path in ("data/big.csv", "src/deep/er/x.py", ".env", "README"):
        write(built / path, "changed\n")
    write(built / "data/more.csv", "changed\n")
    os.mkfifo(built / "src/deep/pipe")
    after = store.snapshot("c2")
    assert [change.path for change in store.diff(before.commit, after.commit, ignored=True)] == ["README"]
    store.restore(after.commit, before.commit)
    assert (built / "README").read_text() == "a project\n"
    for path in ("data/big.csv", "src/deep/er/x.py", ".env", "data/more.csv"):
        assert (built / path).read_text() == "changed\n"
    assert store.snapshot("c3").tree == before.tree


def test_exclude_weighs_more_than_include_and_that_more_than_ignore_rules(built: Path) -> None:
    store = keeping(built, include=("dist/",), exclude=("dist/deep/", "large.*"))
    taken = store.snapshot("c1")
    assert {path for path in kept(store, taken.commit) if path.startswith("dist")} == {"dist/app.js"}


def test_a_change_of_the_patterns_counts_from_the_next_checkpoint_on(built: Path) -> None:
    first = keeping(built).snapshot("c1")
    excluding = keeping(built, exclude=("data/", "README"), include=("dist/app.js",))
    second = excluding.snapshot("c2")
    assert kept(excluding, first.commit) ^ kept(excluding, second.commit) == {"data/big.csv", "README", "dist/app.js"}
    write(built / "README", "changed\n")
    write(built / "src/main.py", "changed\n")
    excluding.restore(excluding.snapshot("c3").commit, first.commit)
    assert (built / "README").read_text() == "changed\n"
    assert (built / "src/main.py").read_text() == "print(1)\n"
    assert (built / "dist/app.js").read_text() == "1\n"
    again = keeping(built)
    third = again.snapshot("c4")
    assert {"README", "data/big.csv"} <= kept(again, third.commit)
    again.restore(third.commit, second.commit)
    assert (built / "README").read_text() == "changed\n"


def test_another_process_with_another_contract_changes_nothing_for_this_one(built: Path) -> None:
    mine, theirs = keeping(built, exclude=("*.csv",)), keeping(built, exclude=("README",))
    before = mine.snapshot("c1")
    assert "README" not in kept(theirs, theirs.snapshot("c2").commit)
    write(built / "data/new.csv", "not mine\n")
    assert mine.snapshot("c3").tree == before.tree


def test_neither_the_projects_rules_nor_the_users_change_what_a_pattern_means(built: Path, home: Path) -> None:
    write(home / ".config/git/ignore", "!*.csv\n!dist/\n")
    write(built / "data/.gitignore", "!*.csv\n")
    store = keeping(built, exclude=("*.csv",))
    assert "data/big.csv" not in kept(store, store.snapshot("c1").commit)


def test_a_first_checkpoint_that_is_too_large_is_refused_in_one_line(work: Path) -> None:
    write(work / "a.bin", b"a" * 4000)
    write(work / "b.bin", b"b" * 6000)
    with pytest.raises(UsageError) as refused:
        keeping(work, max_total=10_000).snapshot("c1")
    said = str(refused.value)
    assert "19.7K in 7 files, over the limit of 9.76K for one checkpoint" in said
    assert "the largest are data.bin (10K), b.bin (5.85K), a.bin (3.9K)" in said
    assert "state.checkpoint.exclude" in said
    assert "state.checkpoint.max_total" in said
    assert "\n" not in said
    assert keeping(work, max_total=10_000, exclude=("*.bin",)).snapshot("c1").skipped == ()


def test_what_is_too_much_later_is_left_out_and_named_and_everything_else_is_kept(work: Path) -> None:
    store = keeping(work, max_total=30_000)
    before = store.snapshot("c1")
    write(work / "junk-1", b"1" * 20_000)
    write(work / "junk-2", b"2" * 25_000)
    write(work / "junk-3", b"3" * 1_000)
    write(work / "README", b"r" * 8_000)
    after = store.snapshot("c2")
    assert after.skipped == ("junk-2: over the limit of 29.2K for one checkpoint",)
    assert {"junk-1", "junk-3", "README"} <= kept(store, after.commit)
    again = store.snapshot("c3")
    assert (again.tree, again.skipped) == (after.tree, after.skipped)

    back = store.restore(again.commit, before.commit)
    assert (back.parked, back.tree) == ((), before.tree)
    assert (work / "junk-2").stat().st_size == 25_000
    assert not (work / "junk-1").exists()
    assert keeping(work, max_total=60_000).snapshot("c4").skipped == ()


def test_one_left_out_as_too_much_comes_back_with_the_undo_and_is_still_left_out(work: Path) -> None:
    store = keeping(work, max_total=30_000)
    write(work / "junk/file", "small\n")
    before = store.snapshot("c1")
    shutil.rmtree(work / "junk")
    store.snapshot("c2")
    write(work / "junk", b"2" * 25_000)
    write(work / "more", b"2" * 20_000)
    after, then = store.snapshot("c3"), photograph(work)
    assert after.skipped
    back = store.restore(after.commit, before.commit)
    assert back.parked == ("junk",)
    store.restore(store.snapshot("c4").commit, after.commit)
    assert photograph(work) == then
    assert store.snapshot("c5").tree == after.tree


def test_an_index_that_is_lost_counts_nothing_as_added(work: Path) -> None:
    keeping(work, max_total=30_000).snapshot("c1")
    (work / ".proctor/checkpoints.git/index").unlink()
    store = keeping(work, max_total=5_000)
    assert "data.bin" in kept(store, store.snapshot("c2").commit)


def test_a_disk_without_room_is_noticed_before_it_is_filled(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = keeping(work)
    store.snapshot("c1")
    free = os.statvfs(work)
    monkeypatch.setattr(intake, "BIG", 5_000)
    monkeypatch.setattr(os, "statvfs", lambda place: os.statvfs_result((*free[:4], 1, *free[5:])))
    write(work / "more.bin", b"x" * 20_000)
    with pytest.raises(Unrecoverable, match=r"19\.5K more, and 4K are free") as refused:
        store.snapshot("c2")
    assert refused.value.word == "disk"


def test_many_files_without_git_are_asked_about(work: Path) -> None:
    with pytest.raises(UsageError, match="5 files and no git repository; is this a project") as refused:
        keeping(work, max_files=4).snapshot("c1")
    assert "state.checkpoint.exclude" in str(refused.value)
    assert keeping(work, max_files=4, exclude=("/src/",)).snapshot("c1").files == 3
    git(work, "init", "-q")
    assert keeping(work, max_files=4).snapshot("c2").files == 5


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_nobody_else_can_read_what_the_store_holds(built: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = keeping(built)
        (built / "node_modules").chmod(0o755)
        first = store.snapshot("c1")
        write(built / ".env", "KEY=2\n")
        (built / "README").unlink()
        write(built / "dist.tmp", "1\n")
        second = store.snapshot("c2")
        write(built / "README", "not kept\n")
        store.restore(second.commit, first.commit)
        store.gc([first.commit, second.commit])
    finally:
        os.umask(before)

    def open_to_others(folder: Path) -> list[Path]:
        found = []
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and mode & 0o077:
                found += open_to_others(path)
            elif not stat.S_ISDIR(mode) and mode & 0o077:
                found.append(path)
        return found

    assert (built / ".proctor/checkpoints.git").stat().st_mode & 0o777 == 0o700
    assert (built / ".proctor/parked").stat().st_mode & 0o777 == 0o700
    assert open_to_others(built / ".proctor") == []
    assert stat.S_IMODE((built / ".env").stat().st_mode) == 0o600


def test_the_usual_caches_are_ignored_where_no_rule_names_them_and_kept_where_one_says_so(work: Path) -> None:
    write(work / "Cargo.toml", "[package]\n")
    store = keeping(work)
    before = store.snapshot("c1")
    caches = [
        "__pycache__/a.pyc",
        "src/__pycache__/b.pyc",
        ".pytest_cache/v/x",
        "node_modules/a/i.js",
        "target/debug/a",
    ]
    for path in (*caches, "old.pyc", "a.tsbuildinfo", "src/target/a"):
        write(work / path, "x\n")
    after = store.snapshot("c2")
    assert [one.path for one in store.diff(before.commit, after.commit)] == ["src/target/a"]
    write(work / ".gitignore", "!/target/\n")
    own = {one.path for one in store.diff(after.commit, store.snapshot("c3").commit)}
    assert own == {".gitignore", "target/debug/a"}
