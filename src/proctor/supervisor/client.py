"""A session seen from a screen or a verb: read the journal, leave orders. Light to import."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from proctor.journal import stream
from proctor.journal.events import OrderTaken, Row
from proctor.journal.state import State
from proctor.journal.store import Reader, journal_path
from proctor.supervisor import inbox, process
from proctor.words import SessionStatus

RESTING = frozenset(
    {SessionStatus.PARKED, SessionStatus.STOPPED, SessionStatus.FAILED, SessionStatus.DONE, SessionStatus.PAUSED}
)
"""Statuses that need no living supervisor."""


class Client:
    """One session of one workspace. Raises `NoJournal` where none was ever started."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace.resolve()
        self.state_dir = process.state_dir_of(self.workspace)
        self._reader = Reader(journal_path(self.state_dir))

    def state(self) -> State:
        """The session now. A supervisor that is gone without having ended makes it `interrupted`."""
        state = self._reader.state()
        if state.supervisor and not state.supervisor.ended and not self.alive(state) and state.status not in RESTING:
            return replace(state, status=SessionStatus.INTERRUPTED, why="error:supervisor gone")
        return state

    def alive(self, state: State | None = None) -> bool:
        """Whether the recorded supervisor lives (same boot, pid and start time)."""
        fact = (state or self._reader.state()).supervisor
        return bool(fact and not fact.ended and process.alive(fact.pid, fact.boot, fact.started))

    def rows(self, after: int = 0, kinds: tuple[str, ...] = ()) -> Iterator[Row]:
        """Journal rows after `after`."""
        return self._reader.rows(after, kinds)

    def live(self, key: str) -> dict[str, Any]:
        """A live row: `gauges`, `loop`, `worker`."""
        return self._reader.live(key)

    def version(self) -> int:
        """Changes whenever somebody committed."""
        return self._reader.version()

    def stream(self, iteration: int, offset: int) -> tuple[list[stream.Line], int]:
        """Lines of an iteration's stream from `offset` on, and the next offset."""
        return stream.read(stream.stream_path(self.state_dir, iteration), offset)

    def stream_tail(self, iteration: int, lines: int) -> int:
        """An offset from which about the last `lines` lines can be read."""
        return self._reader.stream_offset(iteration, lines)

    def order(self, verb: str, **args: Any) -> str:
        """Leave an order for the supervisor that is up now; returns its id."""
        state = self._reader.state()
        token = state.supervisor.token if state.supervisor and self.alive(state) else None
        order = inbox.new_order(verb, state.session, token, _operator(), args)
        inbox.leave(self.state_dir, order)
        return order.id

    def answer(self, order: str, after: int = 0) -> OrderTaken | None:
        """The supervisor's answer to an order, if it came."""
        for row in self.rows(after, ("order_taken",)):
            if isinstance(row.event, OrderTaken) and row.event.order == order:
                return row.event
        return None

    def wait_for(self, order: str, seconds: float, after: int = 0) -> OrderTaken | None:
        """Wait for an order's answer; None after `seconds` or when the supervisor is gone."""
        deadline = time.monotonic() + seconds
        seen = -1
        while True:
            version = self.version()
            if version != seen:
                seen = version
                if found := self.answer(order, after):
                    return found
            if time.monotonic() > deadline:
                return None
            if not self.alive():
                return self.answer(order, after)
            time.sleep(0.05)

    def wait_until_gone(self, seconds: float = 10.0) -> None:
        """Wait until a supervisor that wrote its last row has also left the process table."""
        fact = self._reader.state().supervisor
        deadline = time.monotonic() + seconds
        while fact and process.alive(fact.pid, fact.boot, fact.started) and time.monotonic() < deadline:
            time.sleep(0.01)

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _operator() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
