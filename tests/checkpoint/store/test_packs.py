"""Packs that are written in this process are packs to git, byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.photo import git
from proctor.checkpoint.record import id_of
from proctor.checkpoint.store import packs
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.packs import Pack
from proctor.checkpoint.store.plumbing import Git


@pytest.fixture
def store(tmp_path: Path) -> Git:
    store = Git(tmp_path, tmp_path / "store.git")
    store.create()
    return store


def whole(store: Git) -> None:
    """Have git look at every byte."""
    for pack in (store.gitdir / "objects" / "pack").glob("*.pack"):
        git(store.gitdir, "verify-pack", str(pack))


def blob(store: Git, oid: str) -> bytes:
    command = ["git", "--git-dir", str(store.gitdir), "cat-file", "blob", oid]
    return subprocess.run(command, check=True, capture_output=True).stdout


def names(store: Git) -> list[str]:
    return sorted(path.name for path in (store.gitdir / "objects" / "pack").iterdir())


@settings(max_examples=15)
@given(bodies=st.lists(st.binary(max_size=5000) | st.just(bytes(300_000)), max_size=12))
def test_git_reads_what_was_packed(bodies: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    top = tmp_path_factory.mktemp("pack")
    store = Git(top, top / "store.git")
    store.create()
    with Draft(store) as draft:
        oids = [draft.put("blob", body) for body in bodies]
        draft.admit()
    assert [blob(store, oid) for oid in oids] == bodies
    whole(store)
    for pack in (store.gitdir / "objects" / "pack").glob("*.pack"):
        ours = pack.with_suffix(".idx").read_bytes()
        git(top, "index-pack", "-o", str(top / "theirs.idx"), str(pack))
        assert (top / "theirs.idx").read_bytes() == ours


def test_git_does_not_rely_on_a_pack_that_has_no_name_yet(store: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    pack = Pack(store.gitdir / "objects" / "pack")
    oid = pack.add("blob", b"soon gone\n")
    monkeypatch.setattr(packs.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        pack.finish()
    with pytest.raises(subprocess.CalledProcessError):
        blob(store, oid)


def test_a_file_goes_in_by_pieces_and_as_it_is(store: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "_PIECE", 1000)
    body = os.urandom(12_345)
    (tmp_path / "big").write_bytes(body)
    with Draft(store) as draft, open(tmp_path / "big", "rb") as file:
        oid = draft.pack.add_file(file.fileno(), len(body))
        draft.admit()
    assert oid == id_of("blob", body)
    assert blob(store, oid) == body
    whole(store)


@pytest.mark.parametrize("off", [-1, 1, 5000])
def test_a_file_of_another_size_than_was_said_leaves_no_trace(store: Git, tmp_path: Path, off: int) -> None:
    (tmp_path / "big").write_bytes(bytes(10_000))
    with Draft(store) as draft, open(tmp_path / "big", "rb") as file:
        draft.put("blob", b"before")
        assert draft.pack.add_file(file.fileno(), 10_000 + off) == ""
        file.seek(0)
        assert draft.pack.add_file(file.fileno(), 10_000, unless=id_of("blob", bytes(10_000)))
        kept = draft.put("blob", b"after")
        draft.admit()
    assert blob(store, kept) == b"after"
    assert git(store.gitdir, "--git-dir", ".", "count-objects", "-v").splitlines()[2] == "in-pack: 2"
    whole(store)


def test_all_objects_of_a_draft_become_one_pack_whoever_wrote_them(store: Git, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"file{number}").write_text(f"{number}")
    with Draft(store) as draft:
        draft.put("blob", b"ours")
        paths = b"".join(b"file%d\0" % number for number in range(5))
        draft.run("update-index", "-z", "--add", "--stdin", input=paths, config=("core.bigFileThreshold=1",))
        tree = draft.run("write-tree").decode().strip()
        draft.admit()
    assert [name[-4:] for name in names(store)] == [".idx", "pack"]
    assert not list((store.gitdir / "objects").glob("??/*"))
    assert len(store.run("ls-tree", tree).splitlines()) == 5
    whole(store)


def test_a_pack_that_is_left_out_leaves_nothing(store: Git) -> None:
    with Draft(store) as draft:
        draft.put("blob", b"x")
    assert names(store) == []
    with Draft(store) as draft:
        draft.admit()
    assert names(store) == []


def test_places_beyond_two_gigabytes_are_as_git_has_them(tmp_path: Path) -> None:
    pack = Pack(tmp_path)
    for number in range(20):
        pack.add("blob", b"%d" % number * 100)
    pack._places = {key: (crc, at + (1 << 32) * (key[0] & 1)) for key, (crc, at) in pack._places.items()}
    index = packs._index(pack._places, bytes(20))
    shown = subprocess.run(["git", "show-index"], input=index, capture_output=True, check=True).stdout.decode()
    said = {line.split()[1]: int(line.split()[0]) for line in shown.splitlines()}
    assert said == {key.hex(): at for key, (_, at) in pack._places.items()}
