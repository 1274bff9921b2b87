"""A session whose workspace moved or was copied goes on, and says so once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proctor.checkpoint.identity import Bond
from proctor.checkpoint.repository import Store
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.journal.store import Journal, journal_path
from proctor.supervisor import process
from proctor.supervisor.whereabouts import settle_in


def opened(workspace: Path) -> tuple[State, list[ev.Rebound]]:
    """What is known of a session after it was opened here once more."""
    folder = workspace / ".proctor"
    folder.mkdir(exist_ok=True)
    journal = Journal(journal_path(folder))
    try:
        if not journal.state().session:
            journal.append(ev.SessionStarted(session="first", workspace=str(workspace), goal=""))
        settle_in(journal, Store(workspace, folder / "checkpoints.git"), workspace)
        rows = [row.event for row in journal.rows(kinds=("rebound",))]
        return journal.state(), [row for row in rows if isinstance(row, ev.Rebound)]
    finally:
        journal.close()


def test_a_session_that_stays_where_it_is_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for _ in range(2):
        assert opened(tmp_path / "work")[1] == []


def test_a_moved_session_says_so_once_and_stays_the_same(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    opened(tmp_path / "work")
    moved = (tmp_path / "work").rename(tmp_path / "moved")
    for _ in range(2):
        state, rows = opened(moved)
        assert rows == [ev.Rebound(workspace=str(moved), was=str(tmp_path / "work"))]
        assert (state.workspace, state.session) == (str(moved), "first")


def test_a_state_folder_outside_comes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work, other = tmp_path / "work", tmp_path / "other"
    for workspace in (work, other):
        workspace.mkdir()
        folder = process.external_state_dir(workspace)
        folder.mkdir(parents=True)
        Store(workspace, folder / "checkpoints.git").bind()
    moved = work.rename(tmp_path / "moved")
    copy = Path(shutil.copytree(moved, tmp_path / "copy"))
    process.follow(copy)
    process.follow(moved)
    assert not process.external_state_dir(copy).exists()
    assert not process.external_state_dir(work).exists()
    store = Store(moved, process.external_state_dir(moved) / "checkpoints.git")
    assert store.bond() is Bond.MOVED
    assert Store(other, process.external_state_dir(other) / "checkpoints.git").bond() is Bond.SAME


def test_a_copy_becomes_a_session_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    opened(tmp_path / "work")
    copy = Path(shutil.copytree(tmp_path / "work", tmp_path / "copy"))
    state, rows = opened(copy)
    assert len(rows) == 1
    assert state.workspace == str(copy)
    assert state.session == rows[0].session != "first"
    assert opened(copy)[0].session == state.session
    assert opened(tmp_path / "work")[0].session == "first"
