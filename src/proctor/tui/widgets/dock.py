"""The dock: one request at a time, under the log, answered once, and never by a key that was meant for elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from proctor.journal.state import RequestState
from proctor.tui.panels import request as panel
from proctor.tui.spans import Line
from proctor.tui.view import View
from proctor.tui.widgets.lines import Lines, words

GUARD = 0.3
"""Seconds for which no key answers a request that has just appeared; an answer key meanwhile starts them anew."""


AGAIN = 2.0
"""Seconds within which a second press counts."""


class Dock(Lines):
    """Holds which request is shown, whether it can be answered yet, and what was answered here."""

    def __init__(self, keys: Callable[[], dict[str, str]], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(self._lines, id="dock")
        self._keys = keys
        self._clock = clock
        self._view: View | None = None
        self._armed_at = self._again_until = 0.0
        self._sent: dict[int, str] = {}
        self.request: RequestState | None = None
        self.minimised = False

    @property
    def armed(self) -> bool:
        """Whether a key may answer now."""
        return self.request is not None and not self.minimised and self._clock() >= self._armed_at

    @property
    def answered(self) -> bool:
        """Whether this screen has answered what is shown."""
        return self.request is not None and self.request.id in self._sent

    def show(self, view: View) -> None:
        """Keep the request that is shown while it is open; else take the oldest that waits, unarmed."""
        self._view = view
        waiting = view.requests
        open_ids = {request.id for request in waiting}
        self._sent = {number: text for number, text in self._sent.items() if number in open_ids}
        if self.request is None or self.request.id not in open_ids:
            if not waiting:
                self.request, self.minimised = None, False
            else:
                self._turn_to(min(waiting, key=lambda request: (request.id in self._sent, request.at, request.id)))
        self.set_class(self.request is None or self.minimised, "-gone")
        self.update_title()
        self.update()

    def turn(self) -> None:
        """The request that waits longest if none is shown, else the next one."""
        waiting = self._view.requests if self._view else ()
        if not waiting:
            return
        if self.minimised or self.request is None:
            self.minimised = False
            self._turn_to(self.request or waiting[0])
        else:
            ids = [request.id for request in waiting]
            self._turn_to(waiting[(ids.index(self.request.id) + 1) % len(ids)])

    def minimise(self) -> None:
        """Fold the request away; it keeps waiting."""
        self.minimised = True

    def claim(self) -> int | None:
        """The id that this key press may answer; None while it may answer nothing."""
        if self.request is None or self.minimised or self.answered:
            return None
        if not self.armed:
            self.guard()
            return None
        return self.request.id

    @property
    def again(self) -> bool:
        """Whether one more press denies what is shown, which lets work go for good."""
        return self._clock() < self._again_until

    def twice(self) -> bool:
        """Whether this press is the second one within a moment; the first one asks for it."""
        second = self.again
        self._again_until = 0.0 if second else self._clock() + AGAIN
        if not second:
            self.set_timer(AGAIN + 0.01, self.update)
        self.update()
        return second

    def mark(self, request: int, said: str) -> None:
        """An answer was given here; no key answers it again unless it comes back."""
        self._sent[request] = said
        self.update()

    def reopen(self) -> None:
        """An answer was refused: what is still open can be answered again."""
        self._sent.clear()
        self.guard()

    def update_title(self) -> None:
        if self._view is not None and (docked := self._docked()):
            self.border_title = words(self, panel.title(self._view, docked, max(20, self.size.width - 8)))

    def _turn_to(self, request: RequestState) -> None:
        self.request = request
        self.guard()

    def guard(self) -> None:
        """What is shown has just come into sight: no key answers it for a moment."""
        self._armed_at, self._again_until = self._clock() + GUARD, 0.0
        self.set_timer(GUARD + 0.01, self.update)
        self.update()

    def _docked(self) -> panel.Docked | None:
        if self._view is None or self.request is None:
            return None
        ids = [request.id for request in self._view.requests]
        place = ids.index(self.request.id) + 1 if self.request.id in ids else 1
        sent = self._sent.get(self.request.id, "")
        return panel.Docked(self.request, place, max(1, len(ids)), self.armed, sent, again=self.again)

    def _lines(self, width: int, height: int) -> list[Line]:
        docked = self._docked()
        if docked is None or self._view is None:
            return []
        rows = max(3, min(7, self.app.size.height // 3 - 2))
        return panel.panel(self._view, docked, width, rows, self._keys())
