"""The host moves what a cover hangs on: everything inside stops at once, whatever was done and however."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.sandbox import points
from proctor.sandbox.points import Moved, Points, Vigil
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import Backend, Running

from .conftest import wait_for

HOSTILE = """\
: > ready
while :; do
    for path in tests/check.py deep/a/oracle/check.py absent; do echo evil 2>/dev/null > $path; done
done
"""


def save(path: Path) -> None:
    """As an editor does it."""
    new = path.with_name("new")
    new.write_text("mine\n")
    os.replace(new, path)


def checkout(path: Path) -> None:
    """As git does it: the number of the file may be used again."""
    path.unlink()
    path.write_text("mine\n")


def swap(path: Path) -> None:
    path.rename(path.with_name("before"))
    shutil.copytree(path.with_name("before"), path)


MOVES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a file is saved by renaming": ("Makefile", save, "Makefile"),
    "a file is taken away and made anew": ("Makefile", checkout, "Makefile"),
    "a file is taken away": ("Makefile", Path.unlink, "Makefile"),
    "a folder is replaced": ("tests", swap, "tests"),
    "a folder above is moved": ("deep", lambda path: path.rename(path.with_name("deeper")), "deep/a/oracle"),
    "a hidden folder is replaced": ("secrets", swap, "secrets"),
    "the repository is moved": (".git", lambda path: path.rename(path.with_name("dot")), ".git"),
    "a path that was not there is made": ("absent", Path.mkdir, "absent"),
}


class Watched:
    """A hostile command under a vigil."""

    def __init__(self, backend: Backend, policy: Policy, script: str = HOSTILE, free: tuple[str, ...] = ()) -> None:
        known = Points.of(policy, free)
        self.running: Running = backend.launch(["sh", "-c", script], policy)
        self.told: list[Moved] = []
        self.heard = threading.Event()
        self.vigil = Vigil(known, self.running, self._hear)
        wait_for((policy.workspace / "ready").exists)

    def _hear(self, moved: Moved) -> None:
        self.told.append(moved)
        self.heard.set()

    def close(self) -> None:
        self.running.kill()
        self.vigil.end()
        self.running.close()


@pytest.fixture
def guarded(workspace: Path, policy: Policy) -> Policy:
    (workspace / "Makefile").write_text("all:\n")
    return Policy(workspace, protect=("tests/", "deep/a/oracle", "Makefile", "absent"), hide=policy.hide)


@pytest.fixture
def watched(bwrap: Backend, guarded: Policy) -> Iterator[Watched]:
    # It would make what is not there itself, which ends it as well.
    found = Watched(bwrap, guarded, HOSTILE.replace(" absent", ""))
    yield found
    found.close()


@pytest.mark.parametrize("what", MOVES)
def test_whatever_the_host_moves_everything_inside_is_frozen_within_a_moment(
    watched: Watched, workspace: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, move, left_open = MOVES[what]
    looks, look = itertools.count(), watched.vigil.look
    monkeypatch.setattr(watched.vigil, "look", lambda: (next(looks), look())[1])
    begun = next(looks)
    move(workspace / name)
    assert watched.heard.wait(PATIENCE)
    assert watched.running.frozen
    assert (next(looks) - begun) * points.BEAT < 2
    [moved] = watched.told
    assert (moved.paths, moved.exposed) == ((left_open,), True)
    assert not watched.vigil.thaw()
    assert watched.running.frozen


def test_a_file_in_the_place_of_one_with_the_same_number_is_another_one(workspace: Path) -> None:
    place = workspace / "Makefile"
    place.write_text("all:\n")
    known = Points.of(Policy(workspace, protect=("Makefile",)))
    numbers = {place.lstat().st_ino}
    for _ in range(50):
        checkout(place)
        numbers.add(place.lstat().st_ino)
        assert known.moved() == ("Makefile",)
    if len(numbers) == 51:
        pytest.skip("this file system does not use a number again")


def test_what_is_back_in_its_place_a_moment_later_is_named_all_the_same(
    watched: Watched, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([None])
    now = points._identity
    monkeypatch.setattr(
        points, "_identity", lambda path, was: next(seen, now(path)) if path.name == "Makefile" else now(path)
    )
    moved = watched.vigil.look() or (watched.heard.wait(PATIENCE) and watched.told[0])
    assert moved == Moved("Makefile", ("Makefile",), exposed=True)


def test_a_worker_that_makes_a_protected_path_is_stopped_too(bwrap: Backend, guarded: Policy) -> None:
    watched = Watched(bwrap, guarded)
    try:
        assert watched.heard.wait(PATIENCE)
        assert watched.told == [Moved("absent", ("absent",), exposed=True, appeared=True)]
    finally:
        watched.close()


def test_what_appears_at_a_path_that_nobody_trusts_moves_nothing_unless_it_is_hidden(
    bwrap: Backend, guarded: Policy
) -> None:
    script = ": > ready; echo mine > absent; echo mine > .env; sleep 1000"
    walls = replace(guarded, hide=(*guarded.hide, ".env"))
    watched = Watched(bwrap, walls, script, free=("absent", "Makefile", ".env"))
    try:
        assert watched.heard.wait(PATIENCE)
        assert watched.told == [Moved(".env", (".env",), exposed=True, appeared=True)]
        assert watched.vigil.made() == ("absent",)
        assert (guarded.workspace / "Makefile").read_text() == "all:\n", "one that was there keeps its cover"
    finally:
        watched.close()


def test_edits_in_place_and_other_files_move_nothing(watched: Watched, workspace: Path) -> None:
    (workspace / "Makefile").write_text("all: more\n")
    save(workspace / "tests/check.py")  # below a covered folder
    for number in range(200):
        (workspace / f"file{number}").write_text("x")
        (workspace / f"file{number}").rename(workspace / "other")
    assert watched.vigil.look() is None
    watched.running.kill()
    assert watched.vigil.end() is None
    assert watched.told == []


def test_what_moves_while_all_stands_still_was_never_open(watched: Watched, workspace: Path) -> None:
    watched.running.freeze()
    assert watched.vigil.look() is None
    assert watched.vigil.thaw()
    watched.running.freeze()
    assert watched.vigil.look() is None
    save(workspace / "Makefile")
    assert not watched.vigil.thaw()
    assert watched.heard.wait(PATIENCE)
    assert watched.told == [Moved("Makefile", ("Makefile",), exposed=False)]


def test_what_moved_between_a_thaw_and_a_freeze_was_open(watched: Watched, workspace: Path) -> None:
    watched.running.freeze()
    assert watched.vigil.look() is None
    assert watched.vigil.thaw()
    save(workspace / "Makefile")
    watched.running.freeze()
    moved = watched.vigil.look()
    assert moved is not None
    assert moved.exposed


def test_a_vigil_leaves_no_thread_and_no_descriptor(bwrap: Backend, guarded: Policy) -> None:
    Watched(bwrap, guarded).close()
    gc.collect()
    held, threads = len(os.listdir("/proc/self/fd")), {*threading.enumerate()}
    Watched(bwrap, guarded).close()
    assert len(os.listdir("/proc/self/fd")) <= held  # what others left open may be collected meanwhile
    assert {*threading.enumerate()} <= threads
