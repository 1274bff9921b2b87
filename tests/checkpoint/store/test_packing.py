"""Small packs are put together when nobody wants the store, and nothing is lost however that ends."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store import packing
from proctor.checkpoint.store.command import Command


@pytest.fixture
def packs(work: Path) -> Path:
    return work / ".proctor/checkpoints.git/objects/pack"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MANY", 4)


def checkpoints(store: Store, work: Path, count: int = 8) -> list[str]:
    commits = []
    for number in range(count):
        write(work / "README", f"{number}\n")
        commits.append(store.snapshot(f"n{number}").commit)
    return commits


@pytest.mark.usefixtures("few")
def test_many_small_packs_become_few_and_every_checkpoint_stays(store: Store, work: Path, packs: Path) -> None:
    commits = checkpoints(store, work)
    assert len(list(packs.glob("*.pack"))) == len(commits)
    kept = next(packs.glob("*.pack"))
    kept.with_suffix(".keep").touch()
    (packs / "tmp_pack_of_the_dead").touch()
    assert store.pack()
    assert len(list(packs.glob("*.pack"))) == 2
    assert kept.exists()
    assert not list(packs.glob("tmp_*"))
    assert not store.pack()
    assert [store.read(commit, "README") for commit in commits] == [b"%d\n" % number for number in range(len(commits))]
    store.restore(store.snapshot("safety").commit, commits[0])
    assert (work / "README").read_text() == "0\n"


@pytest.mark.usefixtures("few")
def test_a_checkpoint_does_not_wait_for_packing(store: Store, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = checkpoints(store, work)
    begun = threading.Event()
    os.mkfifo(work.parent / "nobody-writes")
    monkeypatch.setattr(packing, "_COMMAND", ("hash-object", str(work.parent / "nobody-writes")))
    monkeypatch.setattr(Command, "be_last", lambda _: begun.set())
    ends: list[bool] = []
    worker = threading.Thread(target=lambda: ends.append(store.pack()))
    worker.start()
    assert begun.wait(20)
    store.keep("other", commits[0])
    worker.join(20)
    assert ends == [False]
    assert store.names()["other"] == commits[0]


@pytest.mark.usefixtures("few")
def test_without_room_nothing_is_packed(store: Store, work: Path, packs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints(store, work)
    monkeypatch.setattr(packing, "_has_room", lambda *_: False)
    assert not store.pack()
    assert len(list(packs.glob("*.pack"))) == 8
