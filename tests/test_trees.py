"""Whatever a worker leaves in a folder, the folder goes, and nothing outside of it is touched."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.trees import remove_tree, scratch_folder, sweep, walk

OTHER = 65_534
"""A user that is not root, to whom the tree belongs."""


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tree"
    folder.mkdir()
    yield folder
    remove_tree(folder)  # pytest cannot where it is deep, and would try again after every later run


def dig(top: Path, depth: int, name: str = "d") -> None:
    """Folders below each other, deeper than any path can name."""
    at = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def as_user(act: Callable[[], None]) -> None:
    """Do it in a child that is not root, whom no mode would stop."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgid(OTHER)
                os.setuid(OTHER)
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Path]:
    """A folder that somebody who is not root can fill and remove."""
    with scratch_folder("proctor-test-", Path("/tmp")) as top:  # where others may go
        top.chmod(0o755)
        place = top / "place"
        place.mkdir()
        if os.getuid() == 0:
            os.chown(place, OTHER, OTHER)
        yield place


def test_a_tree_deeper_than_paths_and_open_files_reach_goes(tree: Path) -> None:
    dig(tree, 20_000)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64 + len(os.listdir("/proc/self/fd")), hard))
    try:
        assert remove_tree(tree) == []
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not tree.exists()


def test_folders_closed_to_their_owner_go(theirs: Path) -> None:
    def act() -> None:
        inner = theirs / "tree" / "a" / "b" / "c"
        inner.mkdir(parents=True)
        (inner / "file").touch(0o000)
        for folder in (inner, inner.parent, inner.parent.parent, theirs / "tree"):
            folder.chmod(0)
        assert remove_tree(theirs / "tree") == []
        assert not os.path.lexists(theirs / "tree")

    as_user(act)


def test_the_mode_of_what_a_link_names_stays(theirs: Path) -> None:
    def act() -> None:
        folder, file = theirs / "folder", theirs / "file"
        folder.mkdir(0o755)
        file.write_text("kept")
        file.chmod(0o644)
        (theirs / "tree" / "p" / "q").mkdir(parents=True)
        for number, place in enumerate((theirs / "tree", theirs / "tree" / "p", theirs / "tree" / "p" / "q")):
            (place / f"folder{number}").symlink_to(folder)
            (place / f"file{number}").symlink_to(file)
            (place / f"up{number}").symlink_to("../..")
        (theirs / "tree" / "p" / "q").chmod(0o500)
        (theirs / "tree" / "p").chmod(0o500)
        (theirs / "tree").chmod(0o500)
        assert remove_tree(theirs / "tree") == []
        assert not os.path.lexists(theirs / "tree")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755
        assert stat.S_IMODE(file.stat().st_mode) == 0o644
        assert file.read_text() == "kept"

    as_user(act)


def test_odd_names_and_odd_files_go(tree: Path) -> None:
    for number, name in enumerate([b"\xff\xfe", b"a\nb", b"-rf", b" ", "ü".encode(), b"n" * 255, b"*"]):
        folder = os.path.join(os.fsencode(tree), name)
        os.mkdir(folder)
        os.mkfifo(os.path.join(folder, name))
        os.mkdir(os.path.join(folder, b"%d" % number))
    assert remove_tree(tree) == []
    assert not tree.exists()


def test_a_link_in_the_place_of_the_tree_goes_and_what_it_names_stays(tree: Path, tmp_path: Path) -> None:
    (tree / "kept").touch()
    (tmp_path / "link").symlink_to(tree)
    assert remove_tree(tmp_path / "link") == []
    assert not os.path.lexists(tmp_path / "link")
    assert (tree / "kept").exists()


def test_nothing_there_is_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_tree(tmp_path / "none") == []


def test_what_cannot_be_removed_is_named_and_the_rest_goes(theirs: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder that its finder may not remove")
    kept = theirs / "tree" / "kept"
    kept.mkdir(parents=True)
    (kept / "file").touch()
    for place in (theirs / "tree", theirs / "tree" / "own"):
        place.mkdir(exist_ok=True)
        os.chown(place, OTHER, OTHER)

    def act() -> None:
        assert remove_tree(theirs / "tree") == ["kept"]

    as_user(act)
    assert os.listdir(theirs / "tree") == ["kept"]
    assert (kept / "file").exists()


def test_scratch_folders_whose_owner_was_killed_are_swept_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "other"
    (other / "kept").mkdir(parents=True)
    left_over = [tmp_path / f"proctor-{name}.scratch" for name in ("x", "judge-x")]
    for folder in (*left_over, tmp_path / "b-left.scratch", tmp_path / "proctor-mine"):
        (folder / "copy").mkdir(parents=True)
    (tmp_path / "proctor-link.scratch").symlink_to(other)
    (tmp_path / "proctor-file.scratch").touch()
    with scratch_folder() as held:
        sweep(age=3_600)
        assert all(one.exists() for one in left_over), "one that is made now may not be locked yet"
        sweep(age=0)
        left = {held.name, "other", "proctor-mine", "b-left.scratch", "proctor-link.scratch", "proctor-file.scratch"}
        assert {one.name for one in tmp_path.iterdir()} == left
    assert (other / "kept").exists()
    assert not held.exists()


def test_a_scratch_folder_is_its_owners_and_goes_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with scratch_folder("proctor-test-", tmp_path) as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            dig(folder, 1_500)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_leave_nothing(tree: Path) -> None:
    for number in range(20):
        (tree / f"{number}").mkdir()
        dig(tree / f"{number}", 200)
    program = f"from proctor.trees import remove_tree; remove_tree({str(tree)!r})"
    others = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [other.wait() for other in others] == [0, 0]
    remove_tree(tree)
    assert not tree.exists()


def test_a_walk_finds_what_the_standard_one_finds(tree: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").touch()
    (tree / "link").symlink_to("a")
    (tree / "loop").symlink_to(".")
    (tree / "broken").symlink_to("none")
    assert list(walk(str(tree))) == list(os.walk(tree))
    assert list(walk(bytes(tree))) == list(os.walk(bytes(tree)))


def test_a_walk_goes_as_deep_as_paths_do(tree: Path) -> None:
    dig(tree, 1_500)
    assert sum("leaf" in names for _, _, names in walk(str(tree))) == 1
