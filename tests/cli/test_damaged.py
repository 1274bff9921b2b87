"""A damaged journal: copied once by whoever would have written it, left as it is, and one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import proctor
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path

CONTRACT = """\
goal: g
worker: {kind: command, command: [sh, -c, 'true']}
budget: {wall_clock: {limit: 5m, on_exhaustion: stop}}
progress: {checks: [{run: [python3, -m, unittest, test_it]}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose journal has lost all of its first page but the header."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "proctor.yaml").write_text(CONTRACT)
    (folder / "PLAN.md").write_text("# Plan\n\n- [ ] do it\n")
    journal = journal_path(folder / ".proctor")
    with Journal(journal) as writer:
        writer.append(*(ev.Noted(text="x" * 300) for _ in range(100)))
    data = bytearray(journal.read_bytes())
    data[100:4096] = b"\xa5" * 3996
    journal.write_bytes(data)
    return folder


@pytest.mark.parametrize("verb", [("run", "--headless"), ("resume", "--headless"), ("rollback",)])
def test_what_would_write_a_damaged_journal_keeps_one_copy_and_says_what_to_do(
    project: Path, verb: tuple[str, ...]
) -> None:
    journal = journal_path(project / ".proctor")
    before = journal.read_bytes()
    for _ in range(2):
        result = proctor(verb[0], project, *verb[1:])
        assert result.returncode == 5, result.stderr
        (line,) = result.stderr.splitlines()
        assert "damaged" in line
        assert "a copy is in journal.corrupt.db" in line
        assert f"move {project}/.proctor away to begin anew" in line
        assert journal.read_bytes() == before
    assert (project / ".proctor" / "journal.corrupt.db").read_bytes() == before


def test_what_only_reads_a_damaged_journal_copies_nothing_and_says_what_to_do(project: Path) -> None:
    result = proctor("status", project)
    assert result.returncode == 5
    (line,) = result.stderr.splitlines()
    assert line.endswith(f"it is left as it is; restore a backup, or move {project}/.proctor away to begin anew")
    assert not (project / ".proctor" / "journal.corrupt.db").exists()
