"""A checkpoint from a list of changes is what a look at everything gives, and never less than whole."""

from __future__ import annotations

import dataclasses
import mmap
import os
import random
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint.photo import git, write
from proctor.checkpoint import packs, quick
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.record import Held, Snapshot
from proctor.checkpoint.repository import Store
from proctor.words import Certainty

NAMES = ("a", "b", "c", "a.b", "a-b", "A", "one.py", "\udcff", "new\nline", "-x", "secret.env", "built", ".Git")
OWNED = "PROGRESS.md"


def words(held: Held) -> dict[str, object]:
    """All that a snapshot says, but for when it was taken and what stirs in folders that it does not hold."""
    notes = dataclasses.replace(held.notes, parent="", unstable=frozenset(), stirs={})
    return {"files": held.files, "manifest": held.manifest, "notes": notes, "tree": held.tree}


def same(store: Store, changed: set[str]) -> Snapshot:
    """A provisional checkpoint, which a look must bear out."""
    taken = store.provisional("p", changed)
    assert taken is not None
    assert taken.certainty is Certainty.PROVISIONAL
    looked = store.confirm("p", taken.commit)
    assert words(store.held(taken.commit)) == words(store.held(looked.commit))
    assert dataclasses.replace(taken, certainty=Certainty.CONFIRMED, commit=looked.commit) == looked
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
        return [path for path in files if path.name != ".gitignore"]

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


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
