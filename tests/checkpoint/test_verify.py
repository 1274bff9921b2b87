"""The proof of checkpoints names those that lost something, and what, and leaves the others alone."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from checkpoint.photo import photograph, write
from proctor.checkpoint.repository import Store


@pytest.fixture
def place(work: Path) -> Path:
    return work / ".proctor/checkpoints.git"


@pytest.fixture
def names(store: Store, work: Path) -> dict[str, str]:
    """Three checkpoints, of which the second alone has one more file, and the third another."""
    taken = {"c1": store.snapshot("c1").commit}
    write(work / "src/deep/second.bin", random.Random(2).randbytes(5000))
    taken["c2"] = store.snapshot("c2").commit
    (work / "src/deep/second.bin").unlink()
    write(work / "third.bin", random.Random(3).randbytes(5000))
    taken["c3"] = store.snapshot("c3").commit
    return taken


def packs(place: Path) -> list[Path]:
    return sorted((place / "objects/pack").glob("*.pack"))


def pack_of(place: Path, oid: str) -> tuple[Path, int]:
    """The pack that holds an object, and where it stands there."""
    for pack in packs(place):
        listed = subprocess.run(
            ["git", "show-index"], stdin=pack.with_suffix(".idx").open("rb"), capture_output=True, text=True, check=True
        )
        for line in listed.stdout.splitlines():
            if line.split()[1] == oid:
                return pack, int(line.split()[0])
    raise AssertionError("in no pack")


def spoil(path: Path, at: int) -> None:
    path.chmod(0o600)
    body = bytearray(path.read_bytes())
    body[at] ^= 0xFF
    path.write_bytes(body)


def oid_of(store: Store, commit: str, path: str) -> str:
    return next(entry.oid for entry in store.entries(commit) if entry.path == path)


def test_what_is_whole_is_whole(store: Store, names: dict[str, str]) -> None:
    assert set(store.verify(names).whole) == set(names)
    assert store.verify(names) == store.verify()
    assert not store.verify().lost
    store.gc(names.values())
    assert set(store.verify(names).whole) == set(names)


def test_a_spoiled_file_is_named_with_its_checkpoint_and_the_others_work(
    store: Store, work: Path, place: Path, names: dict[str, str]
) -> None:
    pack, start = pack_of(place, oid_of(store, names["c2"], "src/deep/second.bin"))
    spoil(pack, start + 100)
    said = store.verify(names)
    assert set(said.whole) == {"c1", "c3"}
    assert said.lost == {"c2": "missing or damaged: 1 file of it (src/deep/second.bin)"}
    assert said.files == {"c2": ("src/deep/second.bin",)}
    then = photograph(work)
    store.restore(names["c3"], names["c1"])
    store.restore(store.snapshot("c4").commit, names["c3"])
    assert photograph(work) == then


def test_of_one_pack_with_all_checkpoints_only_those_are_lost_that_need_what_is_spoiled(
    store: Store, place: Path, names: dict[str, str]
) -> None:
    store.gc(names.values())
    (pack,) = packs(place)
    found, start = pack_of(place, oid_of(store, names["c3"], "third.bin"))
    assert found == pack
    spoil(pack, start + 100)
    said = store.verify(names)
    assert set(said.whole) == {"c1", "c2"}
    assert said.files == {"c3": ("third.bin",)}


def test_a_checkpoint_whose_commit_or_tree_is_gone_is_lost_itself(
    store: Store, place: Path, names: dict[str, str]
) -> None:
    pack, start = pack_of(place, names["c2"])
    spoil(pack, start + 20)
    said = store.verify(names)
    assert set(said.whole) == {"c1", "c3"}
    assert said.lost == {"c2": "it is missing or damaged itself"}


@pytest.mark.parametrize("damage", ["short", "empty", "gone", "no index", "spoiled index"])
def test_a_pack_that_git_cannot_open_takes_down_what_it_held_and_nothing_else(
    store: Store, place: Path, names: dict[str, str], damage: str
) -> None:
    pack, _ = pack_of(place, names["c3"])
    index = pack.with_suffix(".idx")
    for path in (pack, index):
        path.chmod(0o600)
    match damage:
        case "short":
            pack.write_bytes(pack.read_bytes()[:-30])
        case "empty":
            pack.write_bytes(b"")
        case "gone":
            pack.unlink()
        case "no index":
            index.unlink()
        case _:
            spoil(index, 1040)
    said = store.verify(names)
    assert set(said.whole) == {"c1", "c2"}
    assert said.lost == {"c3": "it is missing or damaged itself"}


def test_a_pack_with_an_old_index_is_looked_into(store: Store, place: Path, names: dict[str, str]) -> None:
    for pack in packs(place):
        pack.with_suffix(".idx").unlink()
        subprocess.run(["git", "index-pack", "--index-version=1", str(pack)], capture_output=True, check=True)
    assert set(store.verify(names).whole) == set(names)


def test_a_loose_object_is_looked_into(store: Store, place: Path, names: dict[str, str]) -> None:
    oid = oid_of(store, names["c2"], "src/deep/second.bin")
    pack, _ = pack_of(place, oid)
    body = pack.read_bytes()
    for path in pack.parent.glob(f"{pack.stem}.*"):
        path.unlink()
    subprocess.run(["git", "--git-dir", str(place), "unpack-objects", "-q"], input=body, check=True)
    assert set(store.verify(names).whole) == set(names)
    spoil(place / "objects" / oid[:2] / oid[2:], 200)
    assert store.verify(names).files == {"c2": ("src/deep/second.bin",)}


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"0" * 40 + b"\n", b"1" * 40 + b"\n"])
def test_a_damaged_ref_is_named(store: Store, place: Path, names: dict[str, str], content: bytes) -> None:
    (place / "refs/proctor/c2").write_bytes(content)
    said = store.verify()
    assert set(said.whole) == {"c1", "c3"}
    assert set(said.lost) == {"c2"}
    assert set(store.verify(names).whole) == set(names)
    store.gc(names.values())
    assert set(store.verify(names).whole) == set(names)


def test_many_lost_files_are_counted_and_a_few_of_them_named(store: Store, work: Path, place: Path) -> None:
    for number in range(5):
        write(work / f"more/{number}.bin", random.Random(number).randbytes(3000))
    commit = store.snapshot("c1").commit
    for number in range(5):
        pack, start = pack_of(place, oid_of(store, commit, f"more/{number}.bin"))
        spoil(pack, start + 100)
    said = store.verify({"c1": commit})
    assert said.lost["c1"] == "missing or damaged: 5 files of it (more/0.bin, more/1.bin, more/2.bin, …)"
    assert len(said.files["c1"]) == 5
