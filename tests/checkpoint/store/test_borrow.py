"""Checkpoints outlive what the operator does to his own repository, and share what they can with it until then."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.repository import Snapshot, Store
from proctor.checkpoint.store import borrow


@pytest.fixture
def repo(work: Path) -> Path:
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "all")
    return work


@pytest.fixture(params=["beside", "in memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where a store is: on the same file system, and on another."""
    if request.param == "beside":
        yield tmp_path / "state/checkpoints.git"
        return
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no other file system here")
    folder = Path(tempfile.mkdtemp(prefix="proctor-test-", dir="/dev/shm"))
    yield folder / "checkpoints.git"
    shutil.rmtree(folder)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a few loose objects are too many to be copied while somebody waits."""
    monkeypatch.setattr(borrow, "LOOSE", 1)


def forget(repo: Path) -> None:
    """The operator takes back what he committed, and has his git remove it for good."""
    write(repo / "README", "amended\n")
    git(repo, "rm", "-q", "-r", "--cached", "src", "data.bin")
    git(repo, "commit", "-q", "-a", "--amend", "-m", "amended")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")


def packs(place: Path) -> list[Path]:
    return sorted((place / "objects/pack").glob("*.pack"))


def is_kept(pack: Path) -> bool:
    return pack.with_suffix(".keep").exists()


def restored(store: Store, repo: Path, first: Snapshot) -> bool:
    """Whether a checkpoint brings everything back that it held."""
    for name in ("README", "run.sh"):
        write(repo / name, "changed\n")
    shutil.rmtree(repo / "src")
    (repo / "data.bin").unlink(missing_ok=True)
    return store.restore(store.snapshot("c9").commit, first.commit).tree == first.tree


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "loose"])
def test_checkpoints_restore_after_the_operator_removed_his_objects(repo: Path, place: Path, packed: bool) -> None:
    if packed:
        git(repo, "repack", "-adq")
    store, was = Store(repo, place), photograph(repo)
    first = store.snapshot("c1")
    assert not first.borrowed
    forget(repo)
    assert not store.verify().lost
    assert restored(store, repo, first)
    assert photograph(repo) == was
    store.gc([first.commit])
    assert not store.verify().lost
    assert restored(store, repo, first)


def test_packs_are_shared_where_that_can_be_and_copied_elsewhere(repo: Path, place: Path) -> None:
    git(repo, "repack", "-adq")
    Store(repo, place).snapshot("c1")
    (theirs,) = packs(repo / ".git")
    (ours,) = [pack for pack in packs(place) if is_kept(pack)]
    assert ours.name == theirs.name
    assert os.path.samefile(ours, theirs) == (place.stat().st_dev == repo.stat().st_dev)


def test_packs_that_may_not_be_linked_are_copied(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repo, "repack", "-adq")
    link = os.link

    def refused(source: Path, target: Path, **rest: bool) -> None:
        if str(source).endswith((".pack", ".idx", ".rev")):
            raise PermissionError(1, "Operation not permitted")
        link(source, target, **rest)

    monkeypatch.setattr(os, "link", refused)
    store = Store(repo, tmp_path / "state/checkpoints.git")
    first = store.snapshot("c1")
    forget(repo)
    assert restored(store, repo, first)


def test_many_loose_objects_are_borrowed_until_there_is_time(repo: Path, place: Path, many: None) -> None:
    store = Store(repo, place)
    first = store.snapshot("c1", meta=b"words")
    assert first.borrowed
    assert store.borrowed
    assert store.read(first.commit, "README") == b"a project\n"
    assert store.meta(first.commit) == b"words"
    write(repo / "new.py", "new\n")
    second = store.snapshot("c2")
    assert [change.path for change in store.diff(first.commit, second.commit)] == ["new.py"]
    assert restored(store, repo, first)
    assert not store.verify().lost
    assert Store(repo, place).borrowed
    assert store.pack()
    assert not store.borrowed
    assert not store.snapshot("c3").borrowed
    forget(repo)
    assert not store.verify().lost
    assert restored(store, repo, first)


def test_what_vanished_while_it_was_borrowed_is_named_and_the_present_is_read_again(
    repo: Path, place: Path, many: None
) -> None:
    store = Store(repo, place)
    store.snapshot("c1")
    write(repo / "README", "second\n")
    store.snapshot("c2")
    forget(repo)
    assert set(store.verify().lost) == {"c1", "c2"}
    assert store.settle()
    assert not store.settle()
    third = store.snapshot("c3")
    assert not third.borrowed
    assert set(store.verify().whole) == {"c2", "c3"}  # what was read again is there again
    assert restored(store, repo, third)


def test_a_damaged_checkpoint_does_not_cost_others_what_they_borrow(repo: Path, tmp_path: Path, many: None) -> None:
    place = tmp_path / "state/checkpoints.git"
    store = Store(repo, place)
    first = store.snapshot("c1")
    write(repo / "README", "second\n")
    store.snapshot("c2")
    (place / "refs/proctor/c2").write_text(first.tree + "\n")
    (place / "refs/proctor/c3").write_text("1" * 40 + "\n")
    assert store.settle()
    forget(repo)
    assert "c1" in store.verify().whole
    assert restored(store, repo, first)


def test_collecting_garbage_ends_the_borrowing_first(repo: Path, place: Path, many: None) -> None:
    store = Store(repo, place)
    first = store.snapshot("c1")
    store.gc([first.commit])
    assert not store.borrowed
    forget(repo)
    assert restored(store, repo, first)


def test_where_workers_have_the_repository_nothing_is_shared_with_it(repo: Path, tmp_path: Path, many: None) -> None:
    git(repo, "repack", "-adq")
    for number in range(3):
        write(repo / f"more{number}.py", f"{number}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "loose")
    store = Store(repo, tmp_path / "state/checkpoints.git", theirs=True)
    first = store.snapshot("c1")
    assert not first.borrowed
    inodes = {path.stat().st_ino for path in (repo / ".git").rglob("*")}
    assert not inodes & {path.stat().st_ino for path in (tmp_path / "state").rglob("*")}
    shutil.rmtree(repo / ".git")
    assert not store.verify().lost


def test_what_was_borrowed_before_workers_had_the_repository_is_copied(repo: Path, tmp_path: Path, many: None) -> None:
    place = tmp_path / "state/checkpoints.git"
    first = Store(repo, place).snapshot("c1")
    assert first.borrowed
    store = Store(repo, place, theirs=True)
    assert store.settle()
    shutil.rmtree(repo / ".git")
    assert not store.verify().lost
    assert restored(store, repo, first)


def test_packs_that_are_links_or_no_files_are_no_trap(repo: Path, tmp_path: Path) -> None:
    git(repo, "repack", "-adq")
    (pack,) = packs(repo / ".git")
    pack.rename(tmp_path / "elsewhere")
    pack.symlink_to(tmp_path / "elsewhere")
    os.mkfifo(repo / ".git/objects/pack" / f"pack-{'1' * 40}.pack")
    write(repo / ".git/objects/pack" / f"pack-{'1' * 40}.idx", pack.with_suffix(".idx").read_bytes())
    place = tmp_path / "state/checkpoints.git"
    store = Store(repo, place)
    store.snapshot("c1")
    assert not any(path.is_symlink() or path.is_fifo() for path in place.rglob("*"))
    assert not store.verify().lost


def test_an_object_that_is_not_what_its_name_says_is_not_taken_over(repo: Path, tmp_path: Path) -> None:
    oids = [git(repo, "rev-parse", f"HEAD:{path}").strip() for path in ("README", "run.sh")]
    one, other = (repo / ".git/objects" / oid[:2] / oid[2:] for oid in oids)
    write(repo / "README", "#!/bin/sh\n")
    git(repo, "add", "README")
    one.unlink()
    shutil.copyfile(other, one)
    write(repo / "README", "a project\n")
    git(repo, "add", "README")
    store = Store(repo, tmp_path / "state/checkpoints.git")
    first = store.snapshot("c1")
    assert store.read(first.commit, "README") == b"a project\n"
    assert not store.verify().lost


def test_objects_of_a_chain_of_alternates_are_taken_over(repo: Path, tmp_path: Path) -> None:
    git(repo, "repack", "-adq")
    git(tmp_path, "clone", "-q", "--shared", str(repo), "second")
    write(tmp_path / "second/second.py", "second\n")
    git(tmp_path / "second", "add", "-A")
    git(tmp_path / "second", "commit", "-q", "-m", "second")
    git(tmp_path / "second", "repack", "-adlq")
    git(tmp_path, "clone", "-q", "--shared", str(tmp_path / "second"), "third")
    place = tmp_path / "state/checkpoints.git"
    store = Store(tmp_path / "third", place)
    store.snapshot("c1")
    assert len([pack for pack in packs(place) if is_kept(pack)]) == 2
    for folder in (repo, tmp_path / "second"):
        shutil.rmtree(folder / ".git")
    assert not store.verify().lost


def test_a_pack_that_is_packed_anew_meanwhile_is_taken_over_under_its_new_name(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "repack", "-adq")
    names = borrow._names

    def late(source: Path) -> list[str]:
        found = names(source)
        if not (tmp_path / "done").exists():
            write(tmp_path / "done")
            git(repo, "commit", "-q", "--allow-empty", "-m", "more")
            git(repo, "repack", "-adq")
        return found

    monkeypatch.setattr(borrow, "_names", late)
    place = tmp_path / "state/checkpoints.git"
    store = Store(repo, place)
    assert not store.snapshot("c1").borrowed
    assert [pack.name for pack in packs(place) if is_kept(pack)] == [pack.name for pack in packs(repo / ".git")]
    assert {path.suffix for path in (place / "objects/pack").iterdir()} <= {".pack", ".idx", ".rev", ".keep"}


def test_what_a_killed_attempt_left_is_finished(repo: Path, tmp_path: Path) -> None:
    git(repo, "repack", "-adq")
    (theirs,) = packs(repo / ".git")
    place = tmp_path / "state/checkpoints.git"
    write(place / "objects/pack" / theirs.with_suffix(".keep").name)
    write(place / "objects/pack" / theirs.name, b"half of it")
    store = Store(repo, place)
    store.snapshot("c1")
    assert not store.verify().lost
    assert os.path.samefile(place / "objects/pack" / theirs.name, theirs)


def test_packs_too_large_to_copy_are_borrowed(
    repo: Path, place: Path, many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "repack", "-adq")
    monkeypatch.setattr(borrow, "COPIED", 100)
    store = Store(repo, place)
    first = store.snapshot("c1")
    assert first.borrowed == (place.stat().st_dev != repo.stat().st_dev)
    assert store.settle() == first.borrowed
    forget(repo)
    assert restored(store, repo, first)


def test_shared_packs_stay_while_the_operator_has_them_and_shrink_to_what_is_needed_then(
    repo: Path, tmp_path: Path
) -> None:
    write(repo / "history.bin", random.Random(1).randbytes(500_000))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "large")
    git(repo, "rm", "-q", "history.bin")
    git(repo, "commit", "-q", "-m", "small")
    git(repo, "repack", "-adq")
    place = tmp_path / "state/checkpoints.git"
    store = Store(repo, place)
    first = store.snapshot("c1")
    (shared,) = [pack for pack in packs(place) if is_kept(pack)]
    store.gc([first.commit])
    assert is_kept(shared)
    assert own_bytes(place) < 50_000
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    git(repo, "repack", "-adq")
    assert own_bytes(place) > 500_000
    store.gc([first.commit])
    assert not shared.exists()
    assert own_bytes(place) < 50_000
    assert not store.verify().lost
    assert restored(store, repo, first)


def own_bytes(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and path.stat().st_nlink == 1)


def test_a_first_checkpoint_takes_a_twentieth_of_the_tree_at_most(repo: Path, tmp_path: Path) -> None:
    for number in range(200):
        write(repo / f"many/{number // 16}/{number}.bin", random.Random(number).randbytes(4100))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "many")
    git(repo, "repack", "-adq")
    place = tmp_path / "state/checkpoints.git"
    Store(repo, place).snapshot("c1")
    assert own_bytes(place) < 200 * 4100 / 20
