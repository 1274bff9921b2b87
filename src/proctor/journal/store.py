"""The journal on disk: one SQLite file in WAL mode, one writer, any number of readers.

A row is there or not; that is the only commit point of a session. Every write carries the writer's fencing
token and is refused when a newer writer has taken over.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from proctor.errors import ProctorError, Unrecoverable, UsageError
from proctor.journal import state as st
from proctor.journal.encoding import encode_json
from proctor.journal.events import VERSION, Event, Row, decode, encode, kind_of
from proctor.journal.fold import fold

SCHEMA_VERSION = 1
SNAPSHOT_EVERY = 200
"""Rows between stored snapshots: bounds what a reader folds when it opens."""

_SCHEMA = """
CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, token INTEGER NOT NULL,
                     version INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX events_kind ON events (kind, seq);
CREATE TABLE snapshot (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, format INTEGER NOT NULL, body BLOB);
CREATE TABLE live (key TEXT PRIMARY KEY, at TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE stream (iteration INTEGER NOT NULL, offset INTEGER NOT NULL, at TEXT NOT NULL, lines INTEGER NOT NULL,
                     PRIMARY KEY (iteration, offset));
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO meta VALUES ('token', 0);
"""


CORRUPT = "journal.corrupt.db"
"""The one copy of a damaged journal, beside it."""
_SURROUNDINGS = ("full", "disk I/O", "readonly", "unable to open", "locked")
"""Words of SQLite's for what hinders it that is not in the file."""


class Fenced(ProctorError):
    """Another supervisor took over; this writer's rows are refused."""


class Damaged(Unrecoverable):
    """The journal cannot be read; nothing was changed. Whoever would have written it keeps a copy."""


class NoJournal(UsageError):
    """There is no journal here yet."""


def journal_path(state_dir: Path) -> Path:
    """Where the journal lies in a session's state folder."""
    return state_dir / "journal.db"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    db.execute("PRAGMA busy_timeout = 10000")
    return db


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that says what and where."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text or "disk I/O" in text:
            raise Unrecoverable(f"{path}: cannot write the journal: {text}; free some disk space", "disk") from error
        if "readonly" in text or "unable to open" in text:
            raise Unrecoverable(f"{path}: cannot open the journal: {text}", "workspace") from error
        if "locked" in text:
            raise Unrecoverable(f"{path}: the journal stayed locked by another process", "journal") from error
        raise _damaged(path, text) from error


def _damaged(path: Path, text: str) -> Damaged:
    """The one word about a damaged journal: where its copy is, if somebody made it, and what to do."""
    backup = path.with_name(CORRUPT)
    kept = f"a copy is in {backup.name}, nothing was changed" if backup.exists() else "it is left as it is"
    what = f"the journal is damaged{f' ({text})' if text else ''}; {kept}"
    return Damaged(f"{path}: {what}; restore a backup, or move {path.parent} away to begin anew", "journal")


def _none_here(path: Path) -> str:
    """What a person may have meant who asks for a journal where there is none."""
    folder = path.parent.parent
    for above in folder.parents:
        if os.path.exists(above / path.parent.name / path.name):
            return f"{folder}: no session here; there is one of {above}: name that folder"
    return f"{folder}: no session here yet; start one with `proctor run`, or keep what is there: `proctor checkpoint`"


class Reader:
    """Reads a journal in short transactions; blocks nobody and survives the writer."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise NoJournal(_none_here(path))
        self.path = path
        with _translated(path):
            self._db = _connect(path, "ro")
            self.schema = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        self._state = st.State()

    @property
    def newer(self) -> bool:
        """Written by a newer program: read it, never write it."""
        return self.schema > SCHEMA_VERSION

    def rows(self, after: int = 0, kinds: tuple[str, ...] = (), limit: int = -1) -> Iterator[Row]:
        """Rows with a larger `seq` than `after`, in order; of these kinds only, if any are named."""
        where = f"AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        query = f"SELECT seq, at, token, version, kind, body FROM events WHERE seq > ? {where} ORDER BY seq LIMIT ?"  # noqa: S608
        with _translated(self.path):
            found = self._db.execute(query, (after, *kinds, limit)).fetchall()
        for seq, at, token, version, kind, body in found:
            yield Row(seq=seq, at=datetime.fromisoformat(at), token=token, event=decode(kind, version, body))

    def state(self) -> st.State:
        """The state as of the newest row; cheap to call again."""
        if self._state.seq == 0:
            self._state = self._stored_snapshot()
        for row in self.rows(self._state.seq):
            self._state = fold(self._state, row)
        return self._state

    def _stored_snapshot(self) -> st.State:
        with _translated(self.path):
            row = self._db.execute("SELECT body FROM snapshot WHERE format = ?", (st.FORMAT,)).fetchone()
        if row is None:
            return st.State()
        try:
            return msgspec.json.decode(row[0], type=st.State)
        except msgspec.MsgspecError:
            return st.State()  # a snapshot is a cache; the events are the truth

    def live(self, key: str) -> dict[str, Any]:
        """A live row: overwritten figures that are not facts. Empty if there is none."""
        with _translated(self.path):
            row = self._db.execute("SELECT body FROM live WHERE key = ?", (key,)).fetchone()
        return dict(msgspec.json.decode(row[0])) if row else {}

    def stream_offset(self, iteration: int, lines_before_end: int) -> int:
        """A byte offset in the iteration's stream at most a little before its last `lines_before_end` lines."""
        with _translated(self.path):
            found = self._db.execute(
                "SELECT offset FROM stream WHERE iteration = ?1 AND lines <= "
                "(SELECT MAX(lines) FROM stream WHERE iteration = ?1) - ?2 ORDER BY offset DESC LIMIT 1",
                (iteration, lines_before_end),
            ).fetchone()
        return int(found[0]) if found else 0

    def version(self) -> int:
        """Changes whenever somebody committed; cheap enough to ask ten times a second."""
        with _translated(self.path):
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Journal(Reader):
    """The one writer. Opening it takes the next fencing token: earlier writers are refused from then on."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _create(path)
        refuse_damaged(path)
        super().__init__(path)
        if self.newer:
            super().close()
            raise Unrecoverable(
                f"{path}: written by a newer proctor (format {self.schema}); upgrade to go on", "journal"
            )
        self._writing = threading.Lock()
        self._behind = True
        """Whether there are rows of its own that the state does not have."""
        with _translated(path):
            # Apart from what reads: a row that a thread is about to write is not there before it is durable.
            self._pen = _connect(path, "rw")
            self._pen.execute("BEGIN IMMEDIATE")
            self._pen.execute("UPDATE meta SET value = value + 1 WHERE key = 'token'")
            self.token = int(self._pen.execute("SELECT value FROM meta WHERE key = 'token'").fetchone()[0])
            self._pen.execute("COMMIT")
        self._snapshot_at = self.state().seq

    def state(self) -> st.State:
        """The state as of the newest row. Nobody else writes any, so that only its own are looked for."""
        if not self._behind:
            return self._state
        self._behind = False
        return super().state()

    def close(self) -> None:
        """Once a commit that is under way in a thread is over. What was held is given back, unless readers need it."""
        with self._writing:
            super().close()
            with contextlib.suppress(sqlite3.Error):
                self._pen.execute("PRAGMA busy_timeout = 100")
                self._pen.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._pen.close()

    def append(self, *events: Event) -> st.State:
        """Write all of `events` in one transaction, or none; returns the state after them.

        Raises `Fenced` when another writer has taken over.
        """
        if events:
            self.commit(*events)
        state = self.state()
        if state.seq - self._snapshot_at >= SNAPSHOT_EVERY:
            self.snapshot()
        return state

    def commit(self, *events: Event) -> None:
        """As `append`, from any thread."""
        with self._transaction(durable=True) as at:
            rows = [(at.isoformat(), self.token, VERSION, kind_of(e), encode(e)) for e in events]
            self._pen.executemany("INSERT INTO events (at, token, version, kind, body) VALUES (?, ?, ?, ?, ?)", rows)
        self._behind = True

    def hold(self, size: int) -> None:
        """Take so many bytes of the disk for the rows to come: they can be written though others fill it. The bytes are
        given back when the journal is closed."""
        with self._writing, contextlib.suppress(OSError):  # some file systems cannot
            fd = os.open(f"{self.path}-wal", os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                os.posix_fallocate(fd, 0, size)
            finally:
                os.close(fd)

    def snapshot(self) -> None:
        """Store the folded state, so that a reader that opens later folds little."""
        state = self.state()
        with self._transaction():
            self._pen.execute(
                "INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?)",
                (state.seq, st.FORMAT, msgspec.json.encode(state)),
            )
        self._snapshot_at = state.seq

    def write_live(self, **values: dict[str, Any]) -> None:
        """Overwrite live rows."""
        with self._transaction() as at:
            rows = [(key, at.isoformat(), encode_json(value)) for key, value in values.items()]
            self._pen.executemany("INSERT OR REPLACE INTO live VALUES (?, ?, ?)", rows)

    def index_stream(self, iteration: int, offset: int, lines: int) -> None:
        """Note that `lines` lines of the iteration's stream lie before byte `offset`."""
        with self._transaction() as at:
            self._pen.execute(
                "INSERT OR REPLACE INTO stream VALUES (?, ?, ?, ?)", (iteration, offset, at.isoformat(), lines)
            )

    @contextlib.contextmanager
    def _transaction(self, durable: bool = False) -> Iterator[datetime]:
        """One transaction; a durable one survives a power cut when it is over, any survives a kill."""
        with self._writing, _translated(self.path):
            self._pen.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._pen.execute("BEGIN IMMEDIATE")
            try:
                token = int(self._pen.execute("SELECT value FROM meta WHERE key = 'token'").fetchone()[0])
                if token != self.token:
                    raise Fenced(
                        f"{self.path}: another supervisor took over (token {token}, this one has {self.token})"
                    )
                yield datetime.now(UTC)
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._pen.execute("ROLLBACK")
                raise
            self._pen.execute("COMMIT")


def _create(path: Path) -> None:
    """Make a complete empty journal under another name and rename it in: there is never half of one."""
    draft = path.with_name(f".{path.name}.{time.time_ns()}")
    try:
        with _translated(path):
            db = sqlite3.connect(draft, isolation_level=None)
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
            db.close()
            draft.rename(path)
            db = sqlite3.connect(path, isolation_level=None)
            db.execute("PRAGMA journal_mode = WAL")
            db.close()
    finally:
        draft.unlink(missing_ok=True)


def refuse_damaged(path: Path) -> None:
    """A journal that cannot be read is backed up once and never treated as a fresh start."""
    said = ""
    try:
        with contextlib.closing(_connect(path, "ro")) as db:
            sound = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            db.execute("SELECT value FROM meta WHERE key = 'token'").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if any(words in str(error) for words in _SURROUNDINGS):
            return  # whoever opens it next says which
        sound, said = False, str(error)
    except TypeError:
        sound = False
    if not sound:
        backup = path.with_name(CORRUPT)
        if not backup.exists():
            shutil.copy2(path, backup)
        raise _damaged(path, said)
