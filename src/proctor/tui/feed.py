"""The feed: one thread that owns the session's client, looks ten times a second, and leaves orders.

The screen never waits for it: what is new lies in a box until the screen takes it, and the screen is woken once
for each full box. A worker that floods fills the box no further than it can be shown.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec.structs import replace as with_fields

from proctor.errors import ProctorError
from proctor.journal import findings, stream
from proctor.journal.events import Noticed, OrderTaken, PlateauFired, Row
from proctor.journal.state import State
from proctor.journal.store import NoJournal
from proctor.supervisor import inbox
from proctor.supervisor.client import Client
from proctor.tui import rows as journal_rows
from proctor.tui.entries import Entry
from proctor.tui.stream import from_stream
from proctor.tui.wording import answered
from proctor.units import counted, parse_amount
from proctor.words import Dimension, SessionStatus

PERIOD = 0.1
"""Seconds between looks."""
PROBE = 1.0
"""Seconds between looks at whether the supervisor lives."""
TAIL = 1_000
"""Lines of the stream that are shown of what happened before the screen came."""
EARLIER = 3
"""Iterations before the one at work whose lines are shown of what happened before the screen came."""
HISTORY = 3_000
"""Journal rows that are looked through for the same."""
BEHIND = 8 * 1024 * 1024
"""Bytes of a stream that are left out rather than read when the screen has fallen so far behind."""
PATIENCE = 10.0
"""Seconds after which an order without an answer is said to have none."""
BOX = 4_000
"""Entries that wait to be taken at most; older ones give way."""


@dataclass(frozen=True, slots=True)
class News:
    """What happened since the last time. `state` is None while there is no session.

    `answers` are one-line answers to this screen's orders: `(verb, line, went_well)`. `notices` counts new notices.
    """

    state: State | None = None
    alive: bool = False
    gauges: dict[str, Any] = field(default_factory=dict)
    loop: dict[str, Any] = field(default_factory=dict)
    worker: dict[str, Any] = field(default_factory=dict)
    fired: PlateauFired | None = None
    promised: dict[Dimension, int] = field(default_factory=dict)
    found: tuple[findings.Found, ...] = ()
    trouble: str = ""
    entries: tuple[Entry, ...] = ()
    answers: tuple[tuple[str, str, bool], ...] = ()
    notices: int = 0

    def after(self, before: News) -> News:
        """This news on top of news that nobody has taken yet."""
        return replace(
            self,
            fired=self.fired or before.fired,
            entries=(before.entries + self.entries)[-BOX:],
            answers=before.answers + self.answers,
            notices=before.notices + self.notices,
        )


class Feed(threading.Thread):
    """Reads a session until `stop()`. `wake` is called from this thread when there is something to `take()`."""

    def __init__(self, connect: Callable[[], Client], wake: Callable[[], None]) -> None:
        super().__init__(name="proctor-feed", daemon=True)
        self._connect = connect
        self._wake = wake
        self._orders: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._box: News | None = None
        self._client: Client | None = None
        self._last = News()
        self._version = -1
        self._seq = 0
        self._iteration = 0
        self._offset = 0
        self._waiting: dict[str, tuple[str, float]] = {}
        self._probe_at = 0.0
        self._gone = 0

    # --- for the screen -----------------------------------------------------------------------

    def order(self, verb: str, **arguments: Any) -> None:
        """Leave an order; its answer comes with the news."""
        self._orders.put((verb, arguments))

    def take(self) -> News | None:
        """What is new, once."""
        with self._lock:
            news, self._box = self._box, None
        return news

    def stop(self) -> None:
        """End the thread."""
        self._orders.put(None)

    # --- the thread ---------------------------------------------------------------------------

    def run(self) -> None:
        try:
            while self._work():
                try:
                    self._look()
                except NoJournal:
                    self._lost("")
                except ProctorError as error:
                    self._lost(str(error))
        finally:
            if self._client is not None:
                self._client.close()

    def _work(self) -> bool:
        """Leave the orders that came until it is time to look again; False when it is time to end."""
        until = time.monotonic() + PERIOD
        while (left := until - time.monotonic()) > 0:
            try:
                job = self._orders.get(timeout=left)
            except queue.Empty:
                break
            if job is None:
                return False
            self._leave(*job)
        return True

    def _leave(self, verb: str, arguments: dict[str, Any]) -> None:
        if self._client is None:
            self._put(answers=((verb, f"{verb}: no session here", False),))
            return
        try:
            order = self._client.order(verb, **arguments)
        except (ProctorError, OSError) as error:
            self._put(answers=((verb, f"{verb}: {error}", False),))
            return
        if self._last.alive:
            self._waiting[order] = verb, time.monotonic() + PATIENCE
        else:
            self._probe_at = 0.0
            self._put(answers=((verb, f"{verb}: kept for when the session goes on", True),))

    def _lost(self, trouble: str) -> None:
        """The session cannot be read now: say so once and try again."""
        if self._client is not None:
            self._client.close()
        self._client, self._version = None, -1
        if not trouble:
            self._seq = self._iteration = 0
        if self._last.state is not None or self._last.trouble != trouble or self._probe_at == 0:
            self._probe_at = time.monotonic()
            self._last = News(trouble=trouble)
            self._put()

    def _look(self) -> None:
        if self._client is None:
            self._client = self._connect()
        client, now = self._client, time.monotonic()
        version = client.version()
        changed, probing = version != self._version, now >= self._probe_at
        fresh = self._seq > 0
        if changed or probing:
            state, alive = self._settled(client.state(), client.alive())
            rows = self._rows(client, state)
            self._last = replace(
                self._last,
                state=state,
                alive=alive,
                gauges=client.live("gauges"),
                loop=client.live("loop"),
                worker=client.live("worker"),
                fired=next((r.event for r in reversed(rows) if isinstance(r.event, PlateauFired)), self._last.fired),
                promised={} if alive else _promised(client),
                found=_found(client, state, self._last.found),
                trouble="",
            )
            self._version, self._probe_at = version, now + PROBE
        else:
            rows = []
        told = journal_rows.for_screen(rows)
        told += self._stream(client)
        told.sort(key=lambda entry: entry.at)
        answers = self._answers(rows, now)
        notices = sum(isinstance(row.event, Noticed) for row in rows) if fresh else 0
        if changed or probing or told or answers:
            self._put(entries=tuple(told), answers=answers, notices=notices)

    def _settled(self, state: State, alive: bool) -> tuple[State, bool]:
        """One failed probe does not make a session dead: the second one does."""
        before = self._last
        lost = before.alive and not alive and not (state.supervisor and state.supervisor.ended)
        self._gone = self._gone + 1 if lost else 0
        gone = state.status is SessionStatus.INTERRUPTED
        if before.state is None or (self._gone != 1 and not (gone and alive)):
            return state, alive
        status, why = before.state.status, before.state.why
        return (with_fields(state, status=status, why=why) if gone else state), True

    def _rows(self, client: Client, state: State) -> list[Row]:
        """New rows that matter to a reader; at first the last of what was before, and the last plateau."""
        begin, old = self._seq, []
        if not begin:
            begin = max(0, state.seq - HISTORY)
            old = [row for row in client.rows(0, ("plateau_fired",)) if row.seq <= begin][-1:]
        self._seq = state.seq
        return old + [row for row in client.rows(begin, journal_rows.KINDS) if row.seq <= state.seq]

    def _stream(self, client: Client) -> list[Entry]:
        """The next lines of the iteration at work, to its end before the next one begins."""
        state = self._last.state
        if state is None or not state.iteration:
            return []
        past: list[Entry] = []
        if not self._iteration:
            past = _past(client, state.iteration)
            self._iteration, self._offset = state.iteration, client.stream_tail(state.iteration, TAIL)
        path = stream.stream_path(client.state_dir, self._iteration)
        skipped = self._skip(client, path.stat().st_size if path.exists() else 0)
        lines, self._offset = client.stream(self._iteration, self._offset)
        if not lines and state.iteration > self._iteration:
            self._iteration, self._offset = self._iteration + 1, 0
        told = from_stream(lines)
        if skipped and told:
            left_out = f"{counted(skipped, 'byte')} left out; worker.jsonl has them"
            told.insert(0, replace(told[0], word="", text=left_out))
        return past + told

    def _skip(self, client: Client, size: int) -> int:
        if size - self._offset <= BEHIND:
            return 0
        before, self._offset = self._offset, max(self._offset, client.stream_tail(self._iteration, TAIL))
        return self._offset - before

    def _answers(self, rows: list[Row], now: float) -> tuple[tuple[str, str, bool], ...]:
        found = []
        for row in rows:
            event = row.event
            if isinstance(event, OrderTaken) and event.order in self._waiting:
                verb, _ = self._waiting.pop(event.order)
                found.append((verb, answered(verb, event.outcome, event.detail), event.outcome == "done"))
        for order in [order for order, (_, until) in self._waiting.items() if now > until]:
            verb, _ = self._waiting.pop(order)
            found.append((verb, f"{verb}: no answer yet; the order is in the inbox", False))
        return tuple(found)

    def _put(self, **changes: Any) -> None:
        news = replace(self._last, **changes)
        with self._lock:
            sleeping = self._box is None
            self._box = news if self._box is None else news.after(self._box)
        if sleeping:
            self._wake()


def _past(client: Client, iteration: int) -> list[Entry]:
    """The last lines of the iterations just before one."""
    before = range(max(1, iteration - EARLIER), iteration)
    read = (client.stream(number, client.stream_tail(number, TAIL))[0] for number in before)
    return [entry for lines in read for entry in from_stream(lines)]


def _found(client: Client, state: State, known: tuple[findings.Found, ...]) -> tuple[findings.Found, ...]:
    """All rows with findings; read only when there are more."""
    if len(known) == state.tampered + state.suspected:
        return known
    events = (row.event for row in client.rows(0, findings.KINDS))
    return tuple(event for event in events if isinstance(event, findings.Found))


def _promised(client: Client) -> dict[Dimension, int]:
    """By how much ceilings are raised by orders that wait for a supervisor. One that cannot be read says nothing."""
    found: dict[Dimension, int] = {}
    for _, order in inbox.pending(client.state_dir):
        if order is not None and order.verb == "extend" and order.supervisor is None:
            with contextlib.suppress(KeyError, ValueError):
                dimension = Dimension(order.args["dimension"])
                found[dimension] = found.get(dimension, 0) + parse_amount(dimension, order.args["by"])
    return found
