"""A rollback that leaves the operator's own edits in place, and says beforehand what it would do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checkpoint.photo import Photograph, photograph, times, write
from proctor.checkpoint.back import restore
from proctor.checkpoint.repository import ChangeKind, Store


def laid_over(target: Photograph, present: Photograph, *mine: bytes) -> Photograph:
    """The target with what is present at some paths."""
    found = {path: state for path, state in target.items() if path not in mine}
    return found | {path: present[path] for path in mine if path in present}


def test_what_the_operator_wrote_stays_and_all_else_goes_back(store: Store, work: Path) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", "mine\n", 0o600)
    write(work / "todo", "mine\n")
    (work / "data.bin").unlink()
    write(work / "src/main.py", "the worker's\n")
    write(work / "src/new.py", "the worker's\n")
    (work / "run.sh").unlink()
    after, then = store.snapshot("c2"), photograph(work)
    mine = ("README", "todo", "data.bin")
    back = store.restore(after.commit, before.commit, mine=mine)
    assert photograph(work) == laid_over(was, then, b"README", b"todo", b"data.bin")
    assert back.mine == tuple(sorted(mine))
    assert back.changed == 3
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(work) == then


def test_only_edits_that_differ_from_the_target_are_said_to_stay(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "todo", "mine\n")
    back = store.restore(store.snapshot("c2").commit, before.commit, mine=("todo", "README", "nowhere"))
    assert back.mine == ("todo",)
    assert (work / "todo").exists()


def test_a_file_cannot_come_where_an_edit_that_stays_is_in_its_way(store: Store, work: Path) -> None:
    write(work / "docs", "a file\n")
    write(work / "deep/er/file", "1\n")
    before = store.snapshot("c1")
    (work / "docs").unlink()
    write(work / "docs/mine", "mine\n")
    shutil.rmtree(work / "deep")
    write(work / "deep", "mine\n")
    write(work / "README", "the worker's\n")
    after = store.snapshot("c2")
    back = store.restore(after.commit, before.commit, mine=("docs/mine", "deep"))
    assert (work / "docs/mine").read_text() == "mine\n"
    assert (work / "deep").read_text() == "mine\n"
    assert (work / "README").read_text() == "a project\n"
    assert set(back.mine) == {"docs/mine", "docs", "deep", "deep/er/file"}
    assert back.parked == ()


def test_a_folder_of_the_worker_s_stays_for_the_edit_in_it(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "made/by/worker", "w\n")
    write(work / "made/mine", "mine\n")
    (work / "made/mine").parent.chmod(0o700)
    store.restore(store.snapshot("c2").commit, before.commit, mine=("made/mine",))
    assert (work / "made/mine").read_text() == "mine\n"
    assert not (work / "made/by").exists()


def test_edits_stay_when_a_rollback_is_run_again_after_a_kill(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.snapshot("c1")
    write(work / "README", "mine\n")
    write(work / "src/main.py", "the worker's\n")
    after = store.snapshot("c2")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore.Restorer, "_proved", killed)
        with pytest.raises(KeyboardInterrupt):
            store.restore(after.commit, before.commit, mine=("README",))
    back = store.restore(after.commit, before.commit, mine=("README",))
    assert back.mine == ("README",)
    assert (work / "README").read_text() == "mine\n"
    assert (work / "src/main.py").read_text() == "print(1)\n"


def test_an_outlook_says_what_a_rollback_does_and_touches_nothing(store: Store, work: Path) -> None:
    write(work / "config", "a file\n")
    before = store.snapshot("c1")
    write(work / "README", "changed\nmore\n")
    write(work / "new", "n\n")
    (work / "run.sh").unlink()
    (work / "config").unlink()
    write(work / ".gitignore", "config/\n")
    write(work / "config/in/the/way", "ignored")
    then, seen = photograph(work), times(work)
    outlook = store.outlook(before.commit)
    kinds = {change.path: change.kind for change in outlook.changes}
    assert kinds == {
        "README": ChangeKind.MODIFIED,
        "new": ChangeKind.DELETED,
        ".gitignore": ChangeKind.DELETED,
        "run.sh": ChangeKind.ADDED,
        "config": ChangeKind.ADDED,
    }
    assert outlook.parked == ("config",)
    assert (photograph(work), times(work)) == (then, seen)
    assert store.outlook(before.commit, paths=["new"]).parked == ()
    kept = store.outlook(before.commit, mine=["README", "new"])
    assert kept.mine == ("README", "new")
    assert "README" not in {change.path for change in kept.changes}
    back = store.restore(store.snapshot("c2").commit, before.commit)
    assert back.parked == outlook.parked
    assert back.changed == len(outlook.changes)


def test_paths_that_differ_between_many_trees_are_found_at_once(store: Store, work: Path) -> None:
    first = store.snapshot("c1")
    write(work / "new\nline", "1")
    (work / "src").chmod(0o700)
    second = store.snapshot("c2")
    write(work / "README", "2")
    third = store.tree_of_working_tree()
    pairs = [(first.tree, second.tree), (second.commit, third.tree), (third.tree, third.tree), (first.tree, third.tree)]
    assert store.differing(pairs) == [
        {"new\nline", "src"},
        {"README"},
        set(),
        {"new\nline", "src", "README"},
    ]
