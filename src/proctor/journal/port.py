"""The one port through which the loop reaches the journal, so that another engine can carry it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from proctor.journal.events import Event, Row
from proctor.journal.state import State


class JournalPort(Protocol):
    """What the supervisor needs of a journal."""

    token: int

    def append(self, *events: Event) -> State:
        """Write all events or none; the state after them."""

    def state(self) -> State:
        """The state as of the newest row."""

    def rows(self, after: int = 0, kinds: tuple[str, ...] = (), limit: int = -1) -> Iterator[Row]:
        """Rows after `after`, in order."""

    def write_live(self, **values: dict[str, Any]) -> None:
        """Overwrite live rows."""

    def index_stream(self, iteration: int, offset: int, lines: int) -> None:
        """Index one iteration's stream."""
