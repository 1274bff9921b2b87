"""Cases of the table that are about git repositories: the user's, and those inside the workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint.ground import Ground
from checkpoint.killing import Killer
from checkpoint.photo import git, photograph, repository, write
from proctor.checkpoint.identity import Bond
from proctor.checkpoint.repository import Store
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor.whereabouts import settle_in

NESTED = ("one", "two/deep", "three")


def gitdirs(work: Path) -> set[Path]:
    """Everything that is or was a repository's folder, whatever it is called now."""
    heads = (path for path in work.rglob("HEAD") if ".proctor" not in path.parts)
    return {path.parent for path in heads if (path.parent / "objects").is_dir()}


def killed(ground: Ground) -> None:
    """K1: killed at any point, in a tree with three nested repositories: none is renamed, moved or half written."""
    for name in NESTED:
        write(ground.work / name / "file", "1\n")
        ground.repository(name)
    store = ground.store()
    before, was = store.snapshot("c1"), ground.photo()
    there = gitdirs(ground.work)
    heads = {name: git(ground.work / name, "rev-parse", "HEAD") for name in NESTED}
    for name in NESTED:
        write(ground.work / name / "file", "2\n" * 1000)
        git(ground.work / name, "commit", "-qam", "two")
    later = {name: git(ground.work / name, "rev-parse", "HEAD") for name in NESTED}
    after, then = store.snapshot("c2"), ground.photo()
    killer = Killer(ground.work, seed=1)
    for number in range(2):
        write(ground.work / "new", f"{number}\n")
        killer.kill("snapshot", "next")
        assert gitdirs(ground.work) == there
        (ground.work / "new").unlink()
        present = store.snapshot("c3")
        assert present.tree == after.tree
        killer.kill("restore", present.commit, before.commit)
        assert gitdirs(ground.work) == there
        for name in NESTED:
            git(ground.work / name, "fsck", "--strict")
            assert git(ground.work / name, "rev-parse", "HEAD") in (heads[name], later[name])
        store.restore(present.commit, before.commit)
        assert ground.photo() == was
        store.restore(store.snapshot("c4").commit, after.commit)
        assert ground.photo() == then


def commits(ground: Ground) -> None:
    """K2: what a worker commits after a checkpoint goes with a rollback, and all of it comes back with the undo, also
    when the repository was collected in between."""
    ground.repository()
    store = ground.store(theirs=True)
    before, was, refs = store.snapshot("c1"), ground.photo(), repository(ground.work)
    write(ground.work / "README", "the worker's\n")
    write(ground.work / "new", "new\n")
    git(ground.work, "add", ".")
    git(ground.work, "commit", "-qm", "by the worker")
    git(ground.work, "checkout", "-qb", "more")
    write(ground.work / "new", "newer\n")
    git(ground.work, "commit", "-qam", "more of it")
    write(ground.work / "loose", "not committed\n")
    after, then, later = store.snapshot("c2"), ground.photo(), repository(ground.work)
    store.restore(after.commit, before.commit)
    assert (ground.photo(), repository(ground.work)) == (was, refs)
    git(ground.work, "reflog", "expire", "--expire=now", "--all")
    git(ground.work, "gc", "-q", "--prune=now")
    store.restore(store.snapshot("c3").commit, after.commit)
    assert ground.photo() == then
    assert repository(ground.work) == later
    assert git(ground.work, "log", "--format=%s", "more").splitlines() == ["more of it", "by the worker", "one"]
    git(ground.work, "fsck", "--strict")


def staged(ground: Ground) -> None:
    """K3: staged content that differs from the tree, intent to add, assume-unchanged, skip-worktree: both are kept,
    and edits behind a flag are seen."""
    work = ground.work
    write(work / "flagged", "1\n")
    write(work / "skipped", "1\n")
    ground.repository()
    write(work / "README", "staged\n")
    git(work, "add", "README")
    write(work / "README", "and changed\n")
    write(work / "meant", "to be added\n")
    git(work, "add", "--intent-to-add", "meant")
    git(work, "update-index", "--assume-unchanged", "flagged")
    git(work, "update-index", "--skip-worktree", "skipped")
    for name in ("flagged", "skipped"):
        write(work / name, "behind a flag\n")

    def index() -> tuple[object, ...]:
        cached = git(work, "diff", "--cached"), git(work, "status", "--porcelain=v2")
        return repository(work), cached, ground.photo()

    for theirs in (False, True):
        store, was, stored = ground.store(theirs=theirs), index(), (work / ".git/index").read_bytes()
        before = store.snapshot("c1")
        assert all(store.read(before.commit, name) == b"behind a flag\n" for name in ("flagged", "skipped"))
        assert store.read(before.commit, "README") == b"and changed\n"
        write(work / "flagged", "again, behind a flag\n")
        if theirs:
            git(work, "update-index", "--no-assume-unchanged", "--no-skip-worktree", "flagged", "skipped")
            git(work, "add", ".")
        after = store.snapshot("c2")
        assert [change.path for change in store.diff(before.commit, after.commit)] == ["flagged"]
        store.restore(after.commit, before.commit)
        assert theirs or (work / ".git/index").read_bytes() == stored
        assert index() == was


def hundred(ground: Ground) -> None:
    """K4: a hundred checkpoints leave the user's repository as it is, and he fetches, collects garbage and checks."""
    origin = ground.root / "origin"
    git(ground.root, "clone", "-q", "--bare", str(ground.repository()), str(origin))
    git(ground.work, "remote", "add", "origin", str(origin))
    write(ground.work / "README", "stashed\n")
    git(ground.work, "stash")
    before = photograph(ground.work / ".git")
    store = ground.store()
    first = store.snapshot("c0")
    for number in range(1, 100):
        write(ground.work / "README", f"{number}\n")
        last = store.snapshot(f"c{number}")
    assert photograph(ground.work / ".git") == before
    for words in (("fetch", "-q"), ("gc", "-q", "--prune=now"), ("fsck", "--strict")):
        git(ground.work, *words)
    assert git(ground.work, "stash", "list").count("\n") == 1
    assert not store.verify().lost
    store.restore(last.commit, first.commit)
    assert git(ground.work, "status", "--porcelain") == ""


def apart(ground: Ground) -> None:
    """K10: two worktrees and two clones never share a store; a moved workspace goes on; a copy becomes another one
    while the first is still there; a store that is bound to another path is refused."""
    ground.repository()
    linked, clone, moved, copied = (ground.root / name for name in ("linked", "clone", "moved", "copied"))
    git(ground.work, "worktree", "add", "-q", str(linked))
    git(ground.root, "clone", "-q", str(ground.work), str(clone))
    places = (ground.work, linked, clone)
    first = [ground.store(work=place).snapshot("c1") for place in places]
    sessions = [settled(ground, place)[1] for place in places]
    for number, place in enumerate(places):
        write(place / "README", f"of {number}\n")
        ground.store(work=place).snapshot("c2")
    ground.store(work=linked).restore(ground.store(work=linked).names()["c2"], first[1].commit)
    assert [(place / "README").read_text() for place in places] == ["of 0\n", "a project\n", "of 2\n"]
    outside = ground.root / "outside.git"
    Store(clone, outside).bind()
    with pytest.raises(UsageError, match="holds the checkpoints of"):
        Store(linked, outside)

    clone.rename(moved)
    assert settled(ground, moved) == (Bond.MOVED, sessions[2])
    store = ground.store(work=moved)
    store.restore(store.snapshot("c3").commit, first[2].commit)
    assert (moved / "README").read_text() == "a project\n"
    shutil.copytree(moved, copied, symlinks=True)
    bond, session = settled(ground, copied)
    assert (bond, session not in sessions) == (Bond.COPIED, True)
    assert settled(ground, moved) == (Bond.SAME, sessions[2])
    write(copied / "README", "the copy's\n")
    store = ground.store(work=copied)
    store.restore(store.snapshot("c4").commit, first[2].commit)
    assert (copied / "README").read_text() == "a project\n"
    assert "c4" not in ground.store(work=moved).names()


def settled(ground: Ground, work: Path) -> tuple[Bond, str]:
    """How a store stands to a workspace as a session starts there, and which session that is from then on."""
    store = ground.store(work=work)
    with contextlib.closing(Journal(work / ".proctor/journal.db")) as journal:
        if not journal.state().session:
            journal.append(ev.SessionStarted(session=os.urandom(6).hex(), workspace=str(work), goal=""))
        bond = store.bond()
        settle_in(journal, store, work)
        return bond, journal.state().session


def nested(ground: Ground) -> None:
    """K13: nested repositories, with and without commits, many; submodules; an empty one that comes later."""
    library = ground.root / "library"
    write(library / "lib.c", "int x;\n")
    git(library, "init", "-q")
    git(library, "add", ".")
    git(library, "commit", "-qm", "one")
    ground.repository()
    for name in ("absorbed", "plain"):
        git(ground.work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), name)
    shutil.rmtree(ground.work / "plain/.git", ignore_errors=True)
    (ground.work / "plain/.git").unlink(missing_ok=True)
    ground.repository("plain")
    git(ground.work, "commit", "-qm", "submodules")
    write(ground.work / "unborn/file", "1\n")
    git(ground.work / "unborn", "init", "-q")
    many = [f"many/r{number}" for number in range(50)]
    for name in many:
        write(ground.work / name / "file", "1\n")
        (ground.work / name / ".git").mkdir()
        write(ground.work / name / ".git/HEAD", "ref: refs/heads/main\n")
        for folder in ("objects", "refs"):
            (ground.work / name / ".git" / folder).mkdir()

    def change(work: Path) -> None:
        write(work / "absorbed/lib.c", "int y;\n")
        write(work / "absorbed/new.c", "int z;\n")
        (work / "plain/lib.c").unlink()
        write(work / "unborn/file", "2\n")
        for name in many[::7]:
            write(work / name / "file", "2\n")
        shutil.rmtree(work / "many/r1")
        (work / "later").mkdir()
        git(work / "later", "init", "-q")

    before, after = ground.there_and_back(change)
    changed = {change.path for change in ground.store().diff(before.commit, after.commit)}
    assert {"absorbed/new.c", "plain/lib.c", "unborn/file", "many/r7/file"} <= changed
    assert git(ground.work / "absorbed", "log", "--oneline").count("\n") == 1


def in_progress(ground: Ground) -> None:
    """K14: no repository, one without a commit, a linked worktree; a merge, a rebase, a bisect that is in progress, and
    is again after a rollback where the worker has ended it."""
    ground.there_and_back(lambda work: write(work / "README", "changed\n"))
    git(ground.work, "init", "-q", "-b", "main")
    ground.there_and_back(lambda work: write(work / "README", "changed again\n"))
    git(ground.work, "add", ".")
    git(ground.work, "commit", "-qm", "one")
    git(ground.work, "checkout", "-qb", "side")
    write(ground.work / "README", "the side's\n")
    git(ground.work, "commit", "-qam", "side")
    git(ground.work, "checkout", "-q", "main")
    write(ground.work / "README", "the main's\n")
    git(ground.work, "commit", "-qam", "main")
    for begin, end in (
        (("merge", "side"), ("merge", "--abort")),
        (("rebase", "side"), ("rebase", "--abort")),
        (("bisect", "start", "HEAD", "HEAD~1"), ("bisect", "reset")),
    ):
        named = ["git", "-c", "user.name=u", "-c", "user.email=u@x", *begin]
        subprocess.run(named, cwd=ground.work, capture_output=True, check=False)  # ends with a conflict
        before = repository(ground.work)
        ground.there_and_back(lambda work: write(work / "src/main.py", f"{os.urandom(4).hex()}\n"))
        git(ground.work, "checkout", "-q", "--", "src")
        assert repository(ground.work) == before
        store = ground.store(theirs=True)
        one, was = store.snapshot("c4"), ground.photo()
        git(ground.work, *end)
        store.restore(store.snapshot("c5").commit, one.commit)
        assert (repository(ground.work), ground.photo()) == (before, was)
        git(ground.work, *end)
    linked = ground.root / "linked"
    git(ground.work, "worktree", "add", "-q", str(linked), "side")
    write(linked / ".proctor/.gitignore", "*\n")
    store, before = ground.store(work=linked), repository(linked)
    one, was = store.snapshot("c1"), photograph(linked)
    write(linked / "README", "in the linked one\n")
    store.restore(store.snapshot("c2").commit, one.commit)
    assert (photograph(linked), repository(linked)) == (was, before)


def locks(ground: Ground) -> None:
    """K17: locks that dead processes left are recovered; the user's own `index.lock` is respected, and no obstacle."""
    ground.repository()
    store = ground.store()
    before = store.snapshot("c1")
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "refs/proctor/c2.lock"):
        write(ground.state / "checkpoints.git" / name)
    lock = write(ground.work / ".git/index.lock", "in use")
    write(ground.work / "README", "changed\n")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (ground.work / "README").read_text() == "a project\n"
    assert lock.read_text() == "in use"


def collected(ground: Ground) -> None:
    """K19: objects that came from the user's repository, which he amends, resets and collects, are still all there."""
    ground.repository()
    store = ground.store()
    taken = [(store.snapshot("c0"), ground.photo())]
    for number in range(1, 4):
        write(ground.work / "README", f"{number}\n" * 100)
        write(ground.work / f"file{number}", os.urandom(1000))
        git(ground.work, "add", ".")
        git(ground.work, "commit", "-q", "--amend", "-m", f"{number}")
        git(ground.work, "gc", "-q") if number == 2 else None
        taken.append((ground.store().snapshot(f"c{number}"), ground.photo()))
    git(ground.work, "checkout", "-q", "--orphan", "nothing")
    git(ground.work, "rm", "-qrf", ".")
    git(ground.work, "commit", "-qm", "nothing", "--allow-empty")
    git(ground.work, "branch", "-D", "main")
    git(ground.work, "reflog", "expire", "--expire=now", "--all")
    git(ground.work, "gc", "-q", "--prune=now")
    assert not store.verify().lost
    for snapshot, was in taken:
        store.restore(store.snapshot("present").commit, snapshot.commit)
        assert ground.photo() == was
