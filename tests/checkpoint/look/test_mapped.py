"""What is written through memory is seen, though no time tells of it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.back.holders import holders
from proctor.checkpoint.look import known
from proctor.checkpoint.look.mapped import mapped
from proctor.checkpoint.repository import Store


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as fresh, so that only the mapping is a reason to read a file again."""
    monkeypatch.setattr(known, "FRESH", -(10**18))


@contextmanager
def memory_of(path: Path) -> Iterator[mmap.mmap]:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        file.close()  # a mapping needs none
        memory[0] = ord("1")
        os.utime(path, ns=(10**18, 10**18))  # else git would read it for being as new as its index
        yield memory


def silently(memory: mmap.mmap, path: Path, at: int) -> None:
    """Write again to a page that is dirty already."""
    before = path.stat()
    memory[at] = ord("!")
    assert (path.stat().st_mtime_ns, path.stat().st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


def test_a_second_write_to_a_mapped_page_is_seen(store: Store, work: Path) -> None:
    path = work / "src/main.py"
    with memory_of(path) as memory:
        store.snapshot("c1")
        silently(memory, path, 1)
        assert store.read(store.snapshot("c2").commit, "src/main.py")[:2] == b"1!"


def test_one_made_before_the_mapping_was_given_up_is_seen(store: Store, work: Path) -> None:
    path = work / "src/main.py"
    with memory_of(path) as memory:
        first = store.snapshot("c1")
        silently(memory, path, 1)
    after = store.snapshot("c2")
    assert store.read(after.commit, "src/main.py")[:2] == b"1!"
    store.restore(after.commit, first.commit)
    store.restore(store.snapshot("c3").commit, after.commit)
    assert path.read_bytes()[:2] == b"1!"


def test_a_mapped_file_that_is_not_kept_stays_out(store: Store, work: Path) -> None:
    write(work / ".gitignore", "cache/\n")
    path = write(work / "cache/data", b"x" * 10)
    store.snapshot("c1")
    with memory_of(path):
        assert not [one for one in store.entries(store.snapshot("c2").commit) if one.path.startswith("cache")]


def test_only_what_can_be_written_and_is_shared_counts(work: Path) -> None:
    odd = write(work / "a new\nline", b"x")
    with (
        odd.open("r+b") as file,
        mmap.mmap(file.fileno(), 0),
        (work / "README").open("r+b") as other,
        mmap.mmap(other.fileno(), 0, access=mmap.ACCESS_COPY),
        mmap.mmap(other.fileno(), 0, access=mmap.ACCESS_READ),
    ):
        assert mapped(os.fsencode(work)) == {b"a new\nline"}


def test_who_has_a_file_mapped_is_named(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_of(work / "README"):
        monkeypatch.setattr(os, "getpid", lambda: 0)
        assert any("has README open" in line for line in holders(os.fsencode(work), {b"README"}))
