"""A checkpoint that was asked for is kept at once where the watcher has a list, and then held against everything."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.checkpoint.repository import Store
from proctor.errors import Unrecoverable
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor import handles
from proctor.supervisor.timeline import Timeline
from proctor.words import Certainty, CheckpointKind


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("1")
    (work / "b").write_text("1")
    return work


@pytest.fixture
def journal(tmp_path: Path, work: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.db")
    journal.append(ev.SessionStarted(session="s", workspace=str(work), goal=""))
    yield journal
    journal.close()


@pytest.fixture
def store(tmp_path: Path, work: Path) -> Store:
    return Store(work, tmp_path / "checkpoints.git")


@pytest.fixture
async def timeline(journal: Journal, store: Store) -> Timeline:
    """With a start, and a watcher that lives since before it."""
    timeline = Timeline(journal, store)
    timeline.touched.begin(lambda: True)
    await timeline.checkpoint(CheckpointKind.START)
    return timeline


def rows(journal: Journal) -> list[ev.Event]:
    return [row.event for row in journal.rows(kinds=("checkpoint_taken", "checkpoint_confirmed"))]


async def test_it_has_a_row_at_once_and_another_once_a_look_has_borne_it_out(
    timeline: Timeline, journal: Journal, work: Path
) -> None:
    (work / "a").write_text("2")
    timeline.touched.add(["a"])
    one = await timeline.checkpoint(CheckpointKind.ASKED, at_once=True)
    _, taken, confirmed = rows(journal)
    assert isinstance(taken, ev.CheckpointTaken)
    assert isinstance(confirmed, ev.CheckpointConfirmed)
    assert (taken.certainty, one.taken.certainty) == (Certainty.PROVISIONAL, Certainty.CONFIRMED)
    assert (taken.commit, taken.tree) == (confirmed.commit, confirmed.tree)
    assert (confirmed.missed, one.confirmed) == ((), confirmed)
    assert journal.state().good == one.id == "c2"
    assert "kept after" in handles.described(one)
    assert "confirmed after" in handles.described(one)


async def test_what_no_event_announced_is_found_and_named(timeline: Timeline, journal: Journal, work: Path) -> None:
    (work / "a").write_text("2")
    (work / "b").write_text("2")
    timeline.touched.add(["a"])
    one = await timeline.checkpoint(CheckpointKind.ASKED, at_once=True)
    taken, confirmed = rows(journal)[1:]
    assert isinstance(taken, ev.CheckpointTaken)
    assert isinstance(confirmed, ev.CheckpointConfirmed)
    assert confirmed.missed == ("b",)
    assert one.taken.commit == confirmed.commit != taken.commit
    (work / "b").write_text("3")
    await timeline.rollback("c2")
    assert ((work / "a").read_text(), (work / "b").read_text()) == ("2", "2")


async def test_without_a_list_it_is_confirmed_from_the_start(
    timeline: Timeline, journal: Journal, store: Store, work: Path
) -> None:
    (work / "a").write_text("2")
    timeline.touched.begin(lambda: False)
    one = await timeline.checkpoint(CheckpointKind.ASKED, at_once=True)
    assert (one.taken.certainty, one.confirmed) == (Certainty.CONFIRMED, None)
    assert len(rows(journal)) == 2
    assert store.read(one.taken.commit, "a") == b"2"


async def test_a_list_that_is_about_rules_takes_a_look(timeline: Timeline, journal: Journal, work: Path) -> None:
    (work / ".gitignore").write_text("b\n")
    timeline.touched.add([".gitignore"])
    one = await timeline.checkpoint(CheckpointKind.ASKED, at_once=True)
    assert (one.taken.certainty, one.confirmed) == (Certainty.CONFIRMED, None)


async def test_what_is_touched_while_the_tree_is_recorded_stays_listed(timeline: Timeline) -> None:
    timeline.touched.add(["a"])
    with timeline.touched.recording():
        timeline.touched.add(["b"])
        assert timeline.touched.paths == {"a", "b"}
    assert timeline.touched.paths == {"b"}
    with contextlib.suppress(OSError), timeline.touched.recording():
        timeline.touched.add(["c"])
        raise OSError
    assert timeline.touched.paths == {"b", "c"}


async def test_each_record_of_the_tree_begins_a_new_list(timeline: Timeline) -> None:
    for record in (timeline.present, lambda: timeline.snapshot("x"), lambda: timeline.checkpoint(CheckpointKind.ASKED)):
        timeline.touched.add(["a"])
        await record()
        assert timeline.touched.paths == set()


async def test_a_list_that_grows_without_end_is_none(timeline: Timeline) -> None:
    timeline.touched.add(map(str, range(10_000)))
    assert timeline.touched.paths is None


async def test_one_that_was_never_confirmed_is_no_good_checkpoint_and_a_rollback_to_it_says_so(
    timeline: Timeline, journal: Journal, store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unrecoverable("no room", "disk")

    (work / "a").write_text("2")
    timeline.touched.add(["a"])
    monkeypatch.setattr(store, "confirm", fails)
    with pytest.raises(Unrecoverable):
        await timeline.checkpoint(CheckpointKind.ASKED, at_once=True)
    found = journal.state().checkpoint("c2")
    assert found is not None
    assert (found.taken.certainty, journal.state().good) == (Certainty.PROVISIONAL, "c1")
    assert "not confirmed" in handles.described(found)
    (work / "a").write_text("3")
    back = await timeline.rollback("c2")
    assert (work / "a").read_text() == "2"
    assert any("c2 was never confirmed" in line for line in back.said)
    await timeline.rollback()
    assert (work / "a").read_text() == "1"


def test_a_confirmation_changes_its_checkpoint_alone(journal: Journal) -> None:
    def taken(name: str, certainty: Certainty) -> ev.CheckpointTaken:
        return ev.CheckpointTaken(
            id=name, checkpoint=CheckpointKind.ASKED, commit=name, tree=f"t{name}", certainty=certainty
        )

    journal.append(taken("c1", Certainty.PROVISIONAL), taken("c2", Certainty.CONFIRMED))
    journal.append(ev.CheckpointConfirmed(id="c1", commit="x", tree="y", files=3))
    state = journal.state()
    assert [(one.taken.commit, one.taken.tree, one.good) for one in state.checkpoints] == [
        ("x", "y", "c1"),
        ("c2", "tc2", "c2"),
    ]
    assert (state.good, state.tree) == ("c2", "tc2")


async def test_packing_in_idle_time_leaves_a_busy_timeline_alone(timeline: Timeline) -> None:
    async with timeline.still():
        assert not await asyncio.wait_for(timeline.pack(), PATIENCE)
