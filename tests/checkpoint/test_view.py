from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import photograph, write
from proctor.checkpoint.repository import Change, ChangeKind, Store
from proctor.errors import UsageError


def test_a_difference_counts_lines_and_bytes_and_names_what_kind_it_is(store: Store, work: Path) -> None:
    write(work / ".gitignore", ".env\n")
    write(work / ".env", "A=1\n")
    (work / "hollow").mkdir()
    before = store.snapshot("c1")
    write(work / "README", "a project\nwith two lines\n")
    (work / "run.sh").unlink()
    (work / "run.sh").symlink_to("README")
    (work / "src/main.py").chmod(0o755)
    (work / "src/deep/er/x.py").chmod(0o600)
    write(work / "data.bin", b"\0\1\2")
    write(work / "-new\n", "1\n2\n3\n")
    write(work / ".env", "A=2\n")
    (work / "hollow").rmdir()
    (work / "bare").mkdir()
    after = store.snapshot("c2")
    assert store.diff(before.commit, after.commit) == (
        Change("-new\n", ChangeKind.ADDED, added=3, size=6),
        Change("README", ChangeKind.MODIFIED, added=1, size=25),
        Change("bare", ChangeKind.ADDED),
        Change("data.bin", ChangeKind.MODIFIED, binary=True, size=3),
        Change("hollow", ChangeKind.DELETED),
        Change("run.sh", ChangeKind.RETYPED, added=1, removed=1, size=6),
        Change("src/deep/er/x.py", ChangeKind.MODE),
        Change("src/main.py", ChangeKind.MODE, size=9),
    )
    (hidden,) = set(store.diff(before.commit, after.commit, ignored=True)) - set(
        store.diff(before.commit, after.commit)
    )
    assert hidden == Change(".env", ChangeKind.MODIFIED, added=1, removed=1, size=4, ignored=True)
    assert store.diff(after.commit, after.commit) == ()


def test_ignored_files_can_be_left_out_of_account(store: Store, work: Path) -> None:
    def tree() -> str:
        return store.without_ignored(store.tree_of_working_tree())

    write(work / ".gitignore", "*.log\n")
    plain = tree()
    assert plain == store.snapshot("c1").tree
    for text in ("1\n", "2\n"):
        write(work / "run.log", text)
        write(work / "only/here/run.log", text)
        (work / "run.log").chmod(0o600)
        assert tree() == plain
    write(work / "src/main.py", "other\n")
    assert tree() != plain


def test_a_file_is_shown_again_once_the_rule_that_hid_it_is_gone(store: Store, work: Path) -> None:
    write(work / ".gitignore", "*.py\n")
    write(work / "src/sly.py", "1\n")
    before = store.snapshot("c1")
    write(work / ".gitignore", "")
    write(work / "src/sly.py", "2\n")
    after = store.snapshot("c2")
    assert [change.path for change in store.diff(before.commit, after.commit)] == [".gitignore", "src/sly.py"]


def test_the_present_tree_can_be_compared_without_a_name(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    present = store.tree_of_working_tree()
    assert [change.path for change in store.diff(before.commit, present.commit)] == ["README"]
    assert store.read(present.commit, "README") == b"changed\n"
    assert set(store.names()) == {"c1"}
    assert present.tree == store.snapshot("c2").tree


def test_a_patch_has_the_bytes_of_the_files_and_only_the_chosen_ones(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", b"latin \xe9\r\n")
    write(work / ":magic*", "1\n")
    after = store.snapshot("c2")
    patch = store.patch(before.commit, after.commit)
    assert b"-a project\n+latin \xe9\r\n" in patch
    assert b":magic*" in patch
    assert b"README" not in store.patch(before.commit, after.commit, [":magic*"])
    assert store.patch(before.commit, after.commit, ["src"]) == b""


def test_entries_and_contents_are_those_of_the_files(store: Store, work: Path) -> None:
    (work / "README").chmod(0o640)
    (work / "link").symlink_to("README")
    write(work / "odd \xff\n".encode("latin-1").decode("utf-8", "surrogateescape"), "odd")
    taken = store.snapshot("c1")
    assert taken.files == len(store.entries(taken.commit)) == 7
    for entry in store.entries(taken.commit):
        place = work / entry.path
        assert entry.mode == (place.lstat().st_mode if not place.is_symlink() else stat.S_IFLNK)
        content = os.readlink(place).encode() if place.is_symlink() else place.read_bytes()
        assert store.read(taken.commit, entry.path) == content
    for missing in ("nothing", "src", "src/"):
        with pytest.raises(UsageError, match="no such file"):
            store.read(taken.commit, missing)


def test_what_the_caller_gave_is_kept_with_it(store: Store) -> None:
    taken = store.snapshot("c1", None, b'{"marks": "\xff\0"}')
    assert store.meta(taken.commit) == b'{"marks": "\xff\0"}'


def test_a_copy_leaves_out_what_is_excluded_and_wants_an_empty_folder(store: Store, work: Path, tmp_path: Path) -> None:
    (work / "src/deep").chmod(0o700)
    (work / "src/hollow").mkdir()
    taken = store.snapshot("c1")
    write(work / "README", "later\n")
    store.materialise(taken.commit, tmp_path / "copy", exclude=["src/", "run.sh"])
    assert set(photograph(tmp_path / "copy")) == {b"README", b"data.bin"}
    assert (tmp_path / "copy/README").read_text() == "a project\n"
    with pytest.raises(UsageError, match="not empty"):
        store.materialise(taken.commit, tmp_path / "copy")


def test_equal_trees_have_equal_ids_whatever_happened_in_between(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    (work / "src").chmod(0o700)
    changed = store.snapshot("c2")
    write(work / "README", "a project\n")
    (work / "src").chmod(0o755)
    after = store.snapshot("c3")
    assert (before.tree == after.tree, before.tree == changed.tree) == (True, False)


def test_a_copied_workspace_goes_on_alone(
    store: Store, work: Path, tmp_path: Path, store_of: Callable[[Path], Store]
) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", "changed\n")
    store.snapshot("c2")
    copy = tmp_path / "copy"
    shutil.copytree(work, copy, symlinks=True)
    other = store_of(copy)
    write(copy / "README", "changed in the copy\n")
    other.restore(other.snapshot("c3").commit, before.commit)
    assert photograph(copy) == was
    assert (work / "README").read_text() == "changed\n"
    assert set(store.names()) == {"c1", "c2"}
