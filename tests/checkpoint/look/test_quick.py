"""A checkpoint from a list of changes is what a look at everything gives, and never less than whole."""

from __future__ import annotations

import dataclasses
import mmap
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint.photo import git, write
from proctor.checkpoint.look import quick
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.record import Held, Snapshot
from proctor.checkpoint.repository import Store
from proctor.words import Certainty

NAMES = ("a", "b", "c", "a.b", "a-b", "A", "one.py", "\udcff", "new\nline", "-x", "secret.env", "built", ".Git")
OWNED = "PROGRESS.md"


def words(held: Held) -> dict[str, object]:
    """All that a snapshot says, but for when it was taken and what stirs in folders that it does not hold. A file
    that grew too large is `skipped` in the look that drops it, and in the next one `left` if rules name it."""
    notes = dataclasses.replace(held.notes, parent="", unstable=frozenset(), stirs={}, left=frozenset(), skipped={})
    beside = {"notes": notes, "not kept": held.notes.not_kept}
    return {"files": held.files, "manifest": held.manifest, "tree": held.tree, **beside}


def same(store: Store, changed: set[str]) -> Snapshot:
    """A provisional checkpoint, which a look must bear out."""
    taken = store.provisional("p", changed)
    assert taken is not None
    assert taken.certainty is Certainty.PROVISIONAL
    looked = store.confirm("p", taken.commit)
    assert words(store.held(taken.commit)) == words(store.held(looked.commit))
    assert (taken.tree, taken.state, taken.files) == (looked.tree, looked.state, looked.files)
    return taken


class Editor:
    """Does random things to a tree and lists the paths."""

    def __init__(self, top: Path, chance: random.Random) -> None:
        self.top = top
        self.chance = chance
        self.changed: set[str] = set()

    def edit(self) -> None:
        ways = (
            self.write,
            self.write,
            self.write,
            self.remove,
            self.move,
            self.link,
            self.folder,
            self.mode,
            self.special,
        )
        self.chance.choice(ways)()

    def place(self) -> Path:
        """Somewhere in the tree, perhaps where nothing is yet."""
        place = self.top
        for _ in range(self.chance.randrange(1, 4)):
            place = place / self.chance.choice(NAMES)
            if not place.is_dir() or place.is_symlink():
                break
        return place

    def touch(self, *places: Path) -> None:
        self.changed.update(str(place.relative_to(self.top)) for place in places)

    def clear(self, place: Path) -> None:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        self.touch(place)

    def write(self) -> None:
        place = self.place()
        if place.is_dir() or place.is_symlink():
            self.clear(place)
        names = [place]
        if place.exists() and place.stat().st_nlink > 1:
            names += [other for other in self.files() if other.samefile(place)]
        elif place.exists() and not place.is_file():
            self.clear(place)
        place.write_bytes(self.chance.randbytes(self.chance.choice((0, 3, 100, 3000))))
        self.touch(*names)

    def files(self) -> list[Path]:
        files = (path for path in self.top.rglob("*") if path.is_file() and not path.is_symlink())
        return [path for path in files if path.name != ".gitignore" and ".git" not in path.parts]

    def remove(self) -> None:
        place = self.place()
        names = self.files()
        shared = [path for path in names if path.stat().st_nlink > 1]
        self.clear(place)
        self.touch(*(path for path in shared if path.exists()))

    def move(self) -> None:
        source, target = self.place(), self.place()
        if source.exists() and source not in target.parents and target not in source.parents and source != target:
            self.clear(target)
            os.rename(source, target)
            self.touch(source, target)

    def link(self) -> None:
        place = self.place()
        self.clear(place)
        files = [path for path in self.files() if path != place]
        if files and self.chance.random() < 0.5:
            other = self.chance.choice(files)
            os.link(other, place)
            self.touch(*(path for path in self.files() if path.samefile(other)))
        else:
            place.symlink_to(self.chance.choice(("a", "nowhere", "/etc", "b/c")))

    def folder(self) -> None:
        place = self.place()
        if not place.exists() and not place.is_symlink():
            place.mkdir()
            self.touch(place)

    def mode(self) -> None:
        place = self.place()
        if place.exists() and not place.is_symlink():
            place.chmod(self.chance.choice((0o700, 0o755, 0o644, 0o600)) | (0o100 if place.is_dir() else 0))
            self.touch(place)

    def special(self) -> None:
        place = self.place()
        self.clear(place)
        os.mkfifo(place)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), edits=st.integers(1, 12), repository=st.booleans())
def test_random_edits_that_are_all_listed_give_the_tree_of_a_look(
    tmp_path_factory: pytest.TempPathFactory, seed: int, edits: int, repository: bool
) -> None:
    top = tmp_path_factory.mktemp("quick")
    work = top / "w"
    work.mkdir()
    (work / ".gitignore").write_text("*.env\nbuilt/\n")
    if repository:
        git(work, "init", "-q")
    editor = Editor(work, random.Random(seed))
    for _ in range(20):
        editor.edit()
    store = Store(work, top / "s.git", (OWNED,), Keep(max_ignored_file=1000, max_file=2000))
    store.snapshot("start")
    for _ in range(2):
        editor.changed.clear()
        for _ in range(edits):
            editor.edit()
        same(store, editor.changed)
    shutil.rmtree(top)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Names that sort otherwise as folders than as files, one file twice, an empty folder, a link."""
    top = tmp_path / "tree"
    for path in ("a/one", "a/two", "a.b", "a-b", "deep/er/x", "deep/er/y", "z"):
        write(top / path, path)
    (top / "empty").mkdir()
    (top / "link").symlink_to("a")
    return top


@pytest.fixture
def recorded(tree: Path, tmp_path: Path) -> Store:
    store = Store(tree, tmp_path / "s.git", (OWNED,))
    store.snapshot("start")
    return store


def test_a_folder_for_a_file_and_a_file_for_a_folder(recorded: Store, tree: Path) -> None:
    (tree / "z").unlink()
    write(tree / "z/in/it", "x")
    shutil.rmtree(tree / "deep")
    write(tree / "deep", "x")
    same(recorded, {"z/in/it", "deep/er/x"})


def test_a_listed_folder_is_what_is_in_it(recorded: Store, tree: Path) -> None:
    os.rename(tree / "a", tree / "b")
    os.rename(tree / "deep", tree / "a")
    write(tree / "a/er/x", "another")
    same(recorded, {"a", "b", "deep"})


def test_the_last_file_of_a_folder_leaves_it_empty_and_a_first_one_fills_it(recorded: Store, tree: Path) -> None:
    (tree / "deep/er/x").unlink()
    (tree / "deep/er/y").unlink()
    write(tree / "empty/inner/file", "x")
    same(recorded, {"deep/er/x", "deep/er/y", "empty/inner/file"})
    shutil.rmtree(tree / "deep")
    shutil.rmtree(tree / "empty")
    same(recorded, {"deep/er", "empty/inner"})


def test_nothing_at_all_is_left(recorded: Store, tree: Path) -> None:
    shutil.rmtree(tree)
    tree.mkdir()
    same(recorded, {"a", "a.b", "a-b", "deep", "z", "empty", "link"})


def test_modes_links_and_attributes_are_seen(recorded: Store, tree: Path) -> None:
    (tree / "z").chmod(0o755)
    (tree / "a.b").chmod(0o600)
    (tree / "deep/er").chmod(0o700)
    os.link(tree / "a-b", tree / "deep/er/same")
    os.setxattr(tree / "a/one", "user.note", b"x")
    same(recorded, {"z", "a.b", "deep/er", "a-b", "deep/er/same", "a/one"})
    write(tree / "a-b", "both names")
    (tree / "z").chmod(0o644)
    same(recorded, {"deep/er/same", "z"})
    (tree / "a-b").unlink()
    same(recorded, {"a-b", "deep/er/same"})


def test_what_is_not_kept_is_said(recorded: Store, tree: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    here = os.open(tree, os.O_RDONLY)
    server.bind(f"/proc/self/fd/{here}/socket")
    os.mkfifo(tree / "a/fifo")
    write(tree / "new/.Git/config", "x")
    taken = same(recorded, {"socket", "a/fifo", "new"})
    assert len(taken.skipped) == 2
    server.close()
    os.close(here)
    (tree / "socket").unlink()
    assert len(same(recorded, {"socket"}).skipped) == 1


def test_nested_repositories_are_noticed(recorded: Store, tree: Path) -> None:
    write(tree / "nested/file", "x")
    git(tree / "nested", "init", "-q")
    git(tree / "deep", "init", "-q")
    same(recorded, {"nested/.git/HEAD", "nested/file", "deep/.git/config"})
    shutil.rmtree(tree / "nested/.git")
    same(recorded, {"nested/.git"})


def test_ignored_folders_and_the_harness_own_files_stay_out(tree: Path, tmp_path: Path) -> None:
    write(tree / ".gitignore", "built/\n*.log\n")
    store = Store(tree, tmp_path / "s.git", (OWNED,))
    store.snapshot("start")
    write(tree / OWNED, "x")
    write(tree / "built/deep/file", "x")
    write(tree / "small.log", "x")
    taken = same(store, {OWNED, "built/deep/file", "small.log", ".proctor/x"})
    assert store.held(taken.commit).notes.ignored == {b"small.log"}
    write(tree / "built/deep/other", "x")
    same(store, {"built/deep/other", "built"})


def test_rules_that_changed_want_a_look(recorded: Store, tree: Path) -> None:
    write(tree / "a/.gitignore", "one\n")
    assert recorded.provisional("p", {"a/.gitignore"}) is None
    assert recorded.provisional("p", {"."}) is None


def test_without_anything_recorded_a_checkpoint_is_what_it_begins_with(
    recorded: Store, tree: Path, tmp_path: Path
) -> None:
    start = recorded.names()["start"]
    other = Store(tree, tmp_path / "s.git", (OWNED,))
    assert other.provisional("p", {"z"}) is None
    write(tree / "z", "changed")
    taken = other.provisional("p", {"z"}, start)
    assert taken is not None
    assert taken.tree == other.snapshot("looked").tree


def test_a_path_that_is_not_listed_is_as_it_was_until_a_look(recorded: Store, tree: Path) -> None:
    """A write through a mapping is announced by no event."""
    write(tree / "a.b", "listed")
    with open(tree / "z", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = b"Z"
    taken = recorded.provisional("p", {"a.b"})
    assert taken is not None
    assert (recorded.read(taken.commit, "z"), recorded.read(taken.commit, "a.b")) == (b"z", b"listed")
    looked = recorded.confirm("p", taken.commit)
    assert recorded.read(looked.commit, "z") == b"Z"
    assert recorded.names()["p"] == looked.commit != taken.commit
    assert [change.path for change in recorded.diff(taken.commit, looked.commit)] == ["z"]


def test_one_after_the_other_without_a_look_between(recorded: Store, tree: Path) -> None:
    for number in range(3):
        write(tree / f"new/{number}", "x")
        write(tree / "z", f"{number}")
        assert recorded.provisional("p", {f"new/{number}", "z"}) is not None
    shutil.rmtree(tree / "new")
    same(recorded, {"new", "z"})


def test_a_large_file_goes_in_by_pieces(recorded: Store, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "IN_ONE", 1000)
    write(tree / "z", bytes(5000))
    same(recorded, {"z"})
    os.utime(tree / "z")
    same(recorded, {"z"})


def test_a_file_that_is_written_while_it_is_read_is_read_again_or_named(
    recorded: Store, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = quick._Listed._entry, [1]

    def written(self: quick._Listed, path: bytes, size: int) -> object:
        found = real(self, path, size)
        if left[0] > 0:
            left[0] -= 1
            write(tree / "z", f"{left[0]}")
        return found

    monkeypatch.setattr(quick._Listed, "_entry", written)
    taken = recorded.provisional("p", {"z"})
    assert taken is not None
    assert (taken.unstable, recorded.read(taken.commit, "z")) == ((), b"0")
    left[0] = 100
    torn = recorded.provisional("p", {"z"})
    assert torn is not None
    assert torn.unstable == ("z",)


def test_trees_can_be_read_after_packs_were_put_together(recorded: Store, tree: Path) -> None:
    for number in range(25):
        write(tree / "deep/er/x", f"{number}")
        assert recorded.provisional(f"p{number}", {"deep/er/x"})
    assert recorded.pack()
    write(tree / "a/one", "changed")
    same(recorded, {"a/one"})
    assert len({recorded.read(commit, "deep/er/x") for name, commit in recorded.names().items() if name != "p"}) == 26


def test_killed_at_any_step_it_is_there_whole_or_not_at_all(recorded: Store, tree: Path, tmp_path: Path) -> None:
    write(tree / "z", "old")
    old = recorded.provisional("p", {"z"})
    assert old is not None
    write(tree / "z", "new")
    found: list[bytes] = []
    for step in range(50):
        if (child := os.fork()) == 0:
            killed_at(step)
            recorded.provisional("p", {"z"})
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        after = Store(tree, tmp_path / "s.git", (OWNED,))
        found.append(after.read(after.names()["p"], "z"))
        if ended == 0:
            break
    assert found == sorted(found, reverse=True)
    assert len(found) > 6
    assert (found[0], found[-1]) == (b"old", b"new")
    assert not after.verify().lost
    assert after.snapshot("looked").tree == after.held(after.names()["p"]).tree


def killed_at(step: int) -> None:
    """Have this process die at one of its steps to the disk."""
    steps = iter(range(step, -1, -1))

    def deadly(real: Callable[..., object]) -> Callable[..., object]:
        return lambda *args: real(*args) if next(steps) else os._exit(9)

    for name in ("fsync", "replace"):
        setattr(os, name, deadly(getattr(os, name)))


def test_after_a_collection_of_what_no_ref_keeps_a_look_comes_first(recorded: Store, tree: Path) -> None:
    write(tree / "deep/er/x", "in no checkpoint")
    recorded.tree_of_working_tree()
    recorded.gc([recorded.names()["start"]])
    assert recorded.provisional("p", {"z"}, recorded.names()["start"]) is None
    recorded.snapshot("looked")
    write(tree / "z", "changed")
    same(recorded, {"z"})
    assert not recorded.verify().lost


def test_a_folder_that_goes_meanwhile_wants_a_look(
    recorded: Store, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = quick._Listed._read

    def removing(self: quick._Listed, intake: object) -> None:
        real(self, intake)  # type: ignore[arg-type]
        shutil.rmtree(tree / "deep")

    monkeypatch.setattr(quick._Listed, "_read", removing)
    write(tree / "deep/er/x", "changed")
    assert recorded.provisional("p", {"deep/er/x"}) is None
    assert "p" not in recorded.names()
