"""What of a tree belongs to repositories that were renamed, told by names as git makes them."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.repository.aside import Aside, is_live, on_disk
from proctor.repository.planted import Before, quarantine
from repository.conftest import git, new_repository


def files(top: Path) -> set[bytes]:
    """Every file below a folder, and every folder that is empty."""
    found = set()
    for folder, folders, names in os.walk(os.fsencode(top)):
        here = os.path.relpath(folder, os.fsencode(top))
        found.update(os.path.normpath(os.path.join(here, name)) for name in names)
        if not folders and not names:
            found.add(here)
    return found


def test_all_that_git_makes_in_a_repository_is_its_innards_and_nothing_else(tmp_path: Path) -> None:
    top = new_repository(tmp_path / "top" / "lib").parent
    git(top, "clone", "-q", "--bare", "lib", "bare")
    git(top, "clone", "-q", "--mirror", "lib", "deep/mirror.git")
    git(top / "lib", "worktree", "add", "-q", "../linked")
    git(top / "bare", "fetch", "-q", "../lib")
    git(top / "bare", "gc", "-q")
    (top / "src").mkdir()
    for name in ("src/objects", "src/HEAD", "src/config", "bare/README", "HEAD", "config"):
        (top / name).write_text("x\n")
    for name in ("bare/objects/info", "bare/config"):
        assert is_live(top, os.fsencode(name))
    assert not any(is_live(top, name) for name in (b"src/config", b"config", b"bare/README", b"lib/part0/file0.txt"))
    quarantine(top, Before())
    paths = files(top)
    work = {path for path in paths if not Aside(paths).is_innards(path)}
    own = {name.encode() for name in ("src/objects", "src/HEAD", "src/config", "bare/README", "HEAD", "config")}
    checked_out = {f"{top}/part{n}/file{n}.txt".encode() for top in ("lib", "linked") for n in range(3)}
    assert work == own | checked_out
    assert Aside(paths).nested == {b"lib", b"linked"}
    assert {path for path in paths if not on_disk(top, paths).is_innards(path)} == work
    assert on_disk(top, [b"bare/objects/pack/new.pack"]).is_innards(b"bare/objects/pack/new.pack")
    assert on_disk(tmp_path, paths).is_innards(b"bare/HEAD")  # all of it gone


def test_a_name_alone_makes_no_repository_of_a_folder() -> None:
    paths = {b"src/HEAD.quarantined", b"src/objects/x", b"src/info/x", b"x.git.quarantined/y", b".gitx.quarantined"}
    assert not any(map(Aside(paths).is_innards, paths))
    assert Aside({b".git.quarantined/config", b"a"}).nested == frozenset()
