"""The store under two hands at once, and what its ids are good for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proctor.checkpoint.repository import Store


def test_the_identity_of_a_named_checkpoint_can_be_compared_by_itself(work: Path, store: Store) -> None:
    before = store.snapshot("c1")
    (work / "new.txt").write_text("new")
    after = store.snapshot("c2")
    assert [change.path for change in store.diff(before.tree, after.tree)] == ["new.txt"]


def test_a_copy_is_written_while_snapshots_are_taken(work: Path, store: Store, tmp_path: Path) -> None:
    for number in range(400):
        (work / f"f{number}.txt").write_text(str(number))
    first = store.snapshot("c1")
    with ThreadPoolExecutor(2) as pool:
        copies = [pool.submit(store.materialise, first.commit, tmp_path / f"copy{n}") for n in range(6)]
        for number in range(12):
            (work / "busy.txt").write_text(str(number))
            store.snapshot("c2")
        for copy in copies:
            copy.result()
    assert all((tmp_path / f"copy{n}" / "f399.txt").read_text() == "399" for n in range(6))
