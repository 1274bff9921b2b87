"""A tree knows what it saw, and tells what differs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from proctor.workspace.ignore import parse
from proctor.workspace.tree import Kind, Touch, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "src/inner").mkdir(parents=True)
    (tmp_path / "node_modules/x").mkdir(parents=True)
    (tmp_path / "target").mkdir()
    for name in ("a", "src/b", "src/inner/c", "node_modules/x/d", "target/e", "target/CACHEDIR.TAG", "x.log"):
        (tmp_path / name).write_text(name)
    tree = Tree(tmp_path, parse("*.log"))
    tree.walk()
    return tree


def kinds(touches: list[Touch]) -> dict[str, Kind]:
    found = {touch.path: touch.kind for touch in touches}
    assert len(found) == len(touches)
    return found


def test_the_first_walk_finds_every_file_that_is_not_ignored(tmp_path: Path, tree: Tree) -> None:
    again = Tree(tmp_path, parse("*.log"))
    assert {(touch.path, touch.size) for touch in again.walk()} == {("a", 1), ("src/b", 5), ("src/inner/c", 11)}
    assert sorted(again.folders) == ["", "src", "src/inner"]
    assert again.fresh == {"", "src", "src/inner"}


def test_a_walk_tells_what_was_added_changed_and_removed(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "a").write_text("longer")
    (tmp_path / "src/b").unlink()
    (tmp_path / "src/new").touch()
    (tmp_path / "y.log").touch()
    assert kinds(tree.walk()) == {"a": Kind.CHANGED, "src/b": Kind.REMOVED, "src/new": Kind.ADDED}
    assert tree.walk() == []


def test_looking_tells_only_of_the_paths_it_is_given(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "a").write_text("longer")
    (tmp_path / "src/b").write_text("changed")
    assert tree.look(["src/b", "src/b", "x.log", "nowhere/at/all", ""]) == [Touch("src/b", Kind.CHANGED, 7)]
    assert tree.look(["a"]) == [Touch("a", Kind.CHANGED, 6)]
    (tmp_path / "a").chmod(0o600)
    assert tree.look(["a"]) == []


def test_a_new_folder_is_looked_into(tmp_path: Path, tree: Tree) -> None:
    tree.fresh.clear()
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "new/deep/file").touch()
    assert kinds(tree.look(["new"])) == {"new/deep/file": Kind.ADDED}
    assert tree.fresh == {"new", "new/deep"}


def test_a_folder_that_is_gone_takes_its_files_along(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "src").rename(tmp_path / "moved")
    assert kinds(tree.look(["src", "moved"])) == {
        "src/b": Kind.REMOVED,
        "src/inner/c": Kind.REMOVED,
        "moved/b": Kind.ADDED,
        "moved/inner/c": Kind.ADDED,
    }
    assert sorted(tree.folders) == ["", "moved", "moved/inner"]


def test_another_folder_under_an_old_name_is_seen_as_fresh(tmp_path: Path, tree: Tree) -> None:
    tree.fresh.clear()
    (tmp_path / "src").rename(tmp_path / "node_modules/src")
    (tmp_path / "src/inner").mkdir(parents=True)
    (tmp_path / "src/b").write_text("other")
    assert kinds(tree.look(["src"])) == {"src/b": Kind.CHANGED, "src/inner/c": Kind.REMOVED}
    assert tree.fresh == {"src", "src/inner"}


def test_a_file_and_a_folder_may_trade_places(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").touch()
    (tmp_path / "src/inner/c").unlink()
    (tmp_path / "src/inner").rmdir()
    (tmp_path / "src/inner").touch()
    assert kinds(tree.look(["a", "src/inner"])) == {
        "a": Kind.REMOVED,
        "a/x": Kind.ADDED,
        "src/inner": Kind.ADDED,
        "src/inner/c": Kind.REMOVED,
    }


def test_symlinks_are_files_and_are_not_followed(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "etc").symlink_to("/etc")
    assert kinds(tree.walk()) == {"loop": Kind.ADDED, "etc": Kind.ADDED}


def test_a_name_that_is_not_utf_8_is_walked_over(tmp_path: Path, tree: Tree) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/bad\xff", os.O_CREAT))
    assert kinds(tree.walk()) == {"bad\udcff": Kind.ADDED}


def test_a_workspace_that_is_gone_is_empty(tmp_path: Path, tree: Tree) -> None:
    tmp_path.rename(tmp_path.parent / "elsewhere")
    assert set(kinds(tree.walk()).values()) == {Kind.REMOVED}
    assert tree.folders == []


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "d/e/f"])


class WalkingAndLooking(RuleBasedStateMachine):
    """However files change, what the tree told amounts to what is there."""

    @initialize()
    def start(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.tree = Tree(self.root, parse(""))
        self.told: set[str] = set()
        self.dirty: set[str] = set()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(name=NAMES, text=st.text(max_size=3))
    def write(self, name: str, text: str) -> None:
        path = self.root / name
        for parent in reversed(path.relative_to(self.root).parents[:-1]):
            if not (self.root / parent).is_dir():
                self.remove(str(parent))
                (self.root / parent).mkdir()
            self.dirty.add(str(parent))
        if not path.is_dir():
            path.write_text(text)
        self.dirty.add(name)

    @rule(name=st.sampled_from(["a", "d", "d/a", "d/e", "d/e/f"]))
    def remove(self, name: str) -> None:
        import shutil

        path = self.root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        self.dirty.add(name)

    @rule()
    def walk(self) -> None:
        self.take(self.tree.walk())

    @rule()
    def look(self) -> None:
        # As the kernel tells it: every path that was changed, folders before what they hold.
        self.take(self.tree.walk() if not self.tree.folders else self.tree.look(sorted(self.dirty)))

    def take(self, touches: list[Touch]) -> None:
        self.dirty.clear()
        for touch in touches:
            if touch.kind is Kind.REMOVED:
                self.told.remove(touch.path)
            else:
                assert (touch.path in self.told) == (touch.kind is Kind.CHANGED)
                self.told.add(touch.path)
        there = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        assert self.told == there


TestWalkingAndLooking = WalkingAndLooking.TestCase
TestWalkingAndLooking.settings = settings(max_examples=60, stateful_step_count=20)
