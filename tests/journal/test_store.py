"""The journal on disk: all or nothing, one writer, readers that never block."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from proctor.errors import Unrecoverable, is_full
from proctor.journal import events as ev
from proctor.journal import store
from proctor.journal.store import SNAPSHOT_EVERY, Fenced, Journal, NoJournal, Reader
from proctor.words import Dimension, Level, SessionStatus, TaskStatus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".proctor" / "journal.db"


def started() -> ev.SessionStarted:
    return ev.SessionStarted(session="s1", workspace="/w", goal="g")


def test_rows_come_back_as_they_were_written_in_order(path: Path) -> None:
    journal = Journal(path)
    written = [started(), ev.Noted(text="é\u202e\n"), ev.TaskMoved(task="a", status=TaskStatus.BLOCKED, why="w")]
    journal.append(*written)
    with Reader(path) as reader:
        rows = list(reader.rows())
    assert [row.event for row in rows] == written
    assert [row.seq for row in rows] == [1, 2, 3]
    assert {row.token for row in rows} == {journal.token}


def test_a_transaction_is_there_or_not(path: Path) -> None:
    journal = Journal(path)
    journal.append(started())
    with pytest.raises(TypeError):
        journal.append(ev.Noted(text="a"), ev.Noted(text=object()))  # type: ignore[arg-type]
    assert [row.seq for row in journal.rows()] == [1]
    assert journal.append(ev.Noted(text="b")).notes == ("b",)


def test_what_is_held_for_rows_to_come_is_there_for_them_when_the_disk_is_full(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root, to mount a small file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", tmp_path], check=True)
    try:
        journal = Journal(tmp_path / "journal.db")
        journal.append(started())
        journal.hold(1 << 20)
        with (tmp_path / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        for _ in range(20):
            journal.append(ev.Noted(text="x" * 1000))
        with Reader(journal.path) as reader:
            assert len(list(reader.rows())) == 21
        with pytest.raises(Unrecoverable, match="free some disk space") as short:
            journal.append(ev.Noted(text="x" * (1 << 20)))
        assert is_full(short.value)
        journal.close()
        (tmp_path / "filler").unlink()
        with Reader(journal.path) as reader:
            assert reader.state().seq == 21
            with Journal(journal.path) as again:
                again.hold(1 << 20)
            assert not os.path.getsize(f"{journal.path}-wal"), "given back, though somebody reads"
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_reader_sees_what_the_writer_folded_also_across_snapshots(path: Path) -> None:
    journal = Journal(path)
    journal.append(started())
    for used in range(SNAPSHOT_EVERY + 50):
        journal.append(ev.Spent(figures={Dimension.TOKENS: ev.Figure(used)}))
    journal.append(ev.LevelCrossed(dimension=Dimension.TOKENS, level=Level.ALERT, used=1, limit=2))
    journal.snapshot()
    with Reader(path) as reader:
        assert reader.state() == journal.state()


def test_a_snapshot_of_another_format_is_ignored(path: Path) -> None:
    journal = Journal(path)
    journal.append(started(), ev.Noted(text="x"))
    journal.snapshot()
    db = sqlite3.connect(path)
    db.execute("UPDATE snapshot SET body = '{\"seq\": 99}', format = 0")
    db.commit()
    with Reader(path) as reader:
        assert reader.state() == journal.state()
    db.execute("UPDATE snapshot SET body = '[broken', format = 1")
    db.commit()
    db.close()
    with Reader(path) as reader:
        assert reader.state() == journal.state()


def test_an_earlier_writer_is_fenced_off(path: Path) -> None:
    zombie = Journal(path)
    successor = Journal(path)
    with pytest.raises(Fenced):
        zombie.append(ev.Noted(text="too late"))
    with pytest.raises(Fenced):
        zombie.write_live(gauges={"x": 1})
    assert successor.append(ev.Noted(text="mine")).notes == ("mine",)
    assert successor.token == zombie.token + 1


def test_live_rows_are_overwritten_and_are_no_events(path: Path) -> None:
    journal = Journal(path)
    journal.write_live(gauges={"a": 1})
    journal.write_live(gauges={"a": 2})
    with Reader(path) as reader:
        assert reader.live("gauges") == {"a": 2}
        assert reader.live("other") == {}
        assert list(reader.rows()) == []


def test_the_version_changes_when_somebody_commits(path: Path) -> None:
    journal = Journal(path)
    with Reader(path) as reader:
        before = reader.version()
        assert reader.version() == before
        journal.append(ev.Noted(text="x"))
        assert reader.version() != before


def test_a_journal_is_closed_only_once_no_thread_writes_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    begun, go = threading.Event(), threading.Event()

    def slow(event: ev.Event) -> bytes:
        begun.set()
        go.wait(30)
        return ev.encode(event)

    monkeypatch.setattr(store, "encode", slow)

    with ThreadPoolExecutor(2) as pool:
        wrote = pool.submit(journal.commit, ev.Noted(text="x"))
        begun.wait(30)
        closed = pool.submit(journal.close)
        assert not wait({closed}, timeout=0).done
        go.set()
        wrote.result(30)
        closed.result(30)
    with Reader(path) as reader:
        assert [row.event for row in reader.rows()] == [ev.Noted(text="x")]


def test_there_is_no_journal_is_said_with_the_command_that_begins_one(path: Path) -> None:
    with pytest.raises(NoJournal, match="proctor run"):
        Reader(path)


def test_a_damaged_journal_is_kept_copied_once_and_refused(path: Path) -> None:
    Journal(path).append(started())
    path.write_bytes(b"not a database at all" * 500)
    for _ in range(2):
        with pytest.raises(Unrecoverable, match="damaged") as caught:
            Journal(path)
        assert caught.value.word == "journal"
    assert path.read_bytes().startswith(b"not a database")
    assert (path.parent / "journal.corrupt.db").read_bytes() == path.read_bytes()


def test_an_empty_file_is_not_taken_for_a_fresh_start(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with pytest.raises(Unrecoverable, match="damaged"):
        Journal(path)


def test_a_newer_journal_is_read_and_not_written(path: Path) -> None:
    Journal(path).append(started())
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    row = ("2030-01-01T00:00:00+00:00", 1, 9, "moon", '{"a":1}')
    db.execute("INSERT INTO events (at, token, version, kind, body) VALUES (?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    with Reader(path) as reader:
        assert reader.newer
        unknown = list(reader.rows())[-1].event
        assert isinstance(unknown, ev.Unknown)
        assert (unknown.name, bytes(unknown.body)) == ("moon", b'{"a":1}')
        assert reader.state().session == "s1"
    with pytest.raises(Unrecoverable, match="newer"):
        Journal(path)


def test_old_versions_are_lifted_by_pure_upcasters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev, "VERSION", 2)
    monkeypatch.setitem(ev.UPCASTERS, ("noted", 1), lambda body: {**body, "text": body.pop("words")})
    assert ev.decode("noted", 1, b'{"kind":"noted","words":"x"}') == ev.Noted(text="x")
    assert ev.decode("noted", 2, b'{"kind":"noted","text":"y"}') == ev.Noted(text="y")


@pytest.mark.parametrize("seed", range(4))
def test_sigkill_of_the_writer_leaves_whole_transactions(path: Path, seed: int) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from proctor.journal.store import Journal; from proctor.journal import events as ev\n"
        "j = Journal(Path(sys.argv[1])); n = 0\n"
        "while True:\n"
        "    j.append(ev.Noted(text=f'{n}a'), ev.Noted(text=f'{n}b')); n += 1\n"
        "    print(n, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) > 5 + 7 * seed:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    notes = Journal(path).state().notes
    assert len(notes) % 2 == 0
    assert notes == tuple(f"{n}{half}" for n in range(len(notes) // 2) for half in "ab")


def test_status_words_are_those_of_the_vocabulary(path: Path) -> None:
    state = Journal(path).append(started(), ev.StatusChanged(status=SessionStatus.PARKED, why="plateau:no_change"))
    assert (state.status, state.why) == (SessionStatus.PARKED, "plateau:no_change")


def test_text_that_is_no_text_is_written_escaped(path: Path) -> None:
    journal = Journal(path)
    odd = os.fsdecode(b"bad\xff\xfe.txt")
    journal.append(ev.Tampered(iteration=1, task=1, paths=(odd, "good")))
    journal.write_live(blast={"files": [odd]})
    journal.snapshot()
    with Reader(path) as reader:
        (event,) = (row.event for row in reader.rows())
        assert isinstance(event, ev.Tampered)
        assert event.paths == ("bad\\udcff\\udcfe.txt", "good")
        assert reader.live("blast") == {"files": ["bad\\udcff\\udcfe.txt"]}
        assert reader.state().tampered == 1
