"""A session's past: what is told of files that the operator's tools run by themselves, also after going back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.checkpoint.repository import Store
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor.timeline import Timeline
from proctor.tui.rows import from_row
from proctor.words import CheckpointKind


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    (tmp_path / "work").mkdir()
    journal = Journal(tmp_path / "journal.db")
    journal.append(ev.SessionStarted(session="s", workspace=str(tmp_path / "work"), goal=""))
    yield journal
    journal.close()


def told(journal: Journal) -> list[str]:
    entries = [from_row(row) for row in journal.rows() if isinstance(row.event, ev.Autorun)]
    return [entry.text.rpartition(": ")[2] for entry in entries if entry is not None]


@pytest.mark.parametrize("way", ["rollback", "failed_verdict"])
async def test_what_tools_run_by_themselves_is_named_anew_after_each_rollback_and_each_path_once(
    journal: Journal, tmp_path: Path, way: str
) -> None:
    work = tmp_path / "work"
    timeline = Timeline(journal, Store(work, tmp_path / "checkpoints.git"))
    await timeline.checkpoint(CheckpointKind.START)

    async def iteration_ends() -> None:
        await timeline.careful(await timeline.snapshot("after"))

    (work / ".envrc").write_text("evil")
    await iteration_ends()
    await iteration_ends()
    (work / ".npmrc").write_text("evil")
    await iteration_ends()
    assert journal.state().autorun == (".envrc", ".npmrc")
    assert told(journal) == [".envrc", ".npmrc"]

    await timeline.rollback(way=way)
    assert journal.state().autorun == ()
    (work / ".envrc").write_text("evil")
    await iteration_ends()
    assert journal.state().autorun == (".envrc",)
    assert told(journal) == [".envrc", ".npmrc", ".envrc"]

    await timeline.undo()
    assert journal.state().autorun == (".envrc", ".npmrc")
