"""Cases of the table that are about a session's checkpoints: what it lists, takes back, undoes, and says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from checkpoint.ground import Ground, wait
from checkpoint.photo import write
from checkpoint.test_faults import loosen
from proctor.checkpoint.repository import Store
from proctor.errors import ProctorError, Unrecoverable, UsageError
from proctor.supervisor.timeline import Timeline
from proctor.words import CheckpointKind


def take(timeline: Timeline) -> str:
    return wait(timeline.checkpoint(CheckpointKind.ASKED)).id


def failed_snapshot(ground: Ground) -> None:
    """K7: a checkpoint that fails is not listed, none stands in for it, and a rollback past it says what it takes."""
    with ground.session() as timeline:
        first = take(timeline)
        write(ground.work / "src/main.py", "print(2)\n")
        objects, aside = ground.state / "checkpoints.git/objects", ground.state / "objects"
        objects.rename(aside)
        with pytest.raises(Unrecoverable):
            take(timeline)
        with pytest.raises(ProctorError):
            wait(timeline.rollback(first))
        aside.rename(objects)
        assert [one.id for one in timeline._journal.state().checkpoints] == [first]
        assert (ground.work / "src/main.py").read_text() == "print(2)\n"
        present = wait(timeline.present()).tree
        commit = ground.store().names()[first]
        assert b"-print(2)" in ground.store().patch(present, commit)
        back = wait(timeline.rollback(first))
        assert (back.changed, back.target) == (1, first)
        wait(timeline.undo())
        assert (ground.work / "src/main.py").read_text() == "print(2)\n"


def others_work(ground: Ground) -> None:
    """K11: an undo takes back its own session's rollbacks only, and an operator's edits come back with it."""
    with ground.session() as timeline:
        first = take(timeline)
        write(ground.work / "README", "the worker's\n")
        take(timeline)
        wait(timeline.rollback(first))
    with ground.session("other") as timeline:
        take(timeline)
        write(ground.work / "notes.txt", "weeks of work\n")
        with pytest.raises(UsageError, match="nothing to undo"):
            wait(timeline.undo())
        assert (ground.work / "notes.txt").read_text() == "weeks of work\n"
    with ground.session() as timeline:
        wait(timeline.undo())
        assert (ground.work / "README").read_text() == "the worker's\n"
        assert not (ground.work / "notes.txt").exists()  # of no tree that was undone to
        wait(timeline.undo(redo=True))
        assert (ground.work / "notes.txt").read_text() == "weeks of work\n"


def damage(ground: Ground) -> None:
    """K18: with a damaged object, pack or ref the store opens, names what is lost, and keeps the rest."""
    store = ground.store()
    taken = []
    for number in range(4):
        write(ground.work / "README", f"{number}\n")
        taken.append(store.snapshot(f"c{number}"))
    place = ground.state / "checkpoints.git"
    loosen(place)
    lost = next(entry.oid for entry in store.entries(taken[1].commit) if entry.path == "README")
    for oid, content in ((lost, b""), (taken[2].commit, b"garbage")):
        file = place / "objects" / oid[:2] / oid[2:]
        file.chmod(0o644)
        file.write_bytes(content)
    (place / "refs/proctor/c3").write_text("garbage\n")
    store = ground.store()
    said = store.verify()
    assert said.whole == ("c0",)
    assert said.lost.keys() == {"c1", "c2", "c3"}
    assert dict(said.files) == {"c1": ("README",)}
    for number in (1, 2):
        present = store.snapshot("present")
        with pytest.raises(Unrecoverable):
            store.restore(present.commit, taken[number].commit)
        assert (ground.work / "README").read_text() == "3\n"
    store.restore(store.snapshot("present").commit, taken[0].commit)
    assert (ground.work / "README").read_text() == "0\n"


def open_files(ground: Ground) -> None:
    """K20: who has a file open is said; what is written while the rollback runs is refused or saved, never lost."""
    program = "import sys\nfile = open(sys.argv[1], 'a')\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", program, str(ground.work / "README")]
    with ground.session() as timeline:
        first = take(timeline)
        write(ground.work / "README", "changed\n")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            back = wait(timeline.rollback(first))
            holder.communicate(b"")
        assert any("README" in line and str(holder.pid) in line for line in back.said)

        write(ground.work / "README", "changed again\n")
        late = [b"late one\n", b"late two\n"]
        restore = Store.restore

        def disturbed(store: Store, *args: object, **more: object) -> object:
            if late:
                write(ground.work / "README", late.pop())
            return restore(store, *args, **more)  # type: ignore[arg-type]

        ground.patch.setattr(Store, "restore", disturbed)
        wait(timeline.rollback(first))
        assert (ground.work / "README").read_text() == "a project\n"
        store, commits = ground.store(), ground.store().names().values()
        assert {b"late one\n", b"late two\n"} <= {store.read(commit, "README") for commit in commits}


def fifty_deep(ground: Ground) -> None:
    """K24: undo of the undo, fifty deep, each in a process of its own as far as the store and journal can tell."""
    (ground.work / "data").write_bytes(b"1")
    with ground.session() as timeline:
        first = take(timeline)
        (ground.work / "data").write_bytes(b"2")
        wait(timeline.rollback(first))
    for number in range(50):
        with ground.session() as timeline:
            wait(timeline.undo(redo=number % 2 == 1))
        assert (ground.work / "data").read_bytes() == (b"1" if number % 2 else b"2")
    with ground.session() as timeline, pytest.raises(UsageError, match="nothing to redo"):
        wait(timeline.undo(redo=True))
