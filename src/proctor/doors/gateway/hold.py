"""Calls that wait: while the session holds them, and while a provider's own limit does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from proctor.doors.gateway.port import Steward
from proctor.doors.gateway.providers.base import Limited

MARGIN = 0.5
"""Seconds added to what a provider says: clocks differ, and a second refusal costs more."""
LONGEST_STEP = 60.0
"""The most seconds between two tries where nothing says how long."""
TOLD_FROM = 10.0
"""Seconds of waiting for a provider from which the session is told."""
TELL_EVERY = 5.0
"""Seconds between two words on calls that are held, for what is to happen when that lasts."""
SLICE = 30.0
"""Seconds slept at once: a suspended machine's own clock does not run, the provider's does."""


class Hold:
    """The session's hold on new calls."""

    def __init__(self, steward: Steward) -> None:
        self._steward = steward
        self._since: dict[int, float] = {}
        self._next = 0

    @property
    def on(self) -> bool:
        return self._steward.held() is not None

    async def over(self) -> None:
        """Returns when calls may go; until then this one is among the held."""
        self._next += 1
        mine = self._next
        self._since[mine] = time.time()
        self._tell()
        try:
            while self.on:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._steward.settled(), TELL_EVERY)
                self._tell()
        finally:
            del self._since[mine]
            self._tell()

    def _tell(self) -> None:
        self._steward.holding(len(self._since), min(self._since.values(), default=time.time()))


class Limit:
    """One provider's own limit, as all calls to it see it."""

    def __init__(self, steward: Steward, upstream: str) -> None:
        self._steward = steward
        self._upstream = upstream
        self._until = 0.0
        self._latest = 0.0
        """The same by the clock that nobody sets: a wait is over by either."""
        self._why = ""
        self._waiting: dict[int, float] = {}
        self._next = 0
        self._told: float | None = None
        """Until when, as the session knows it."""

    @property
    def on(self) -> bool:
        return self._left > 0

    @property
    def _left(self) -> float:
        return min(self._until - time.time(), self._latest - time.monotonic())

    @contextmanager
    def waits(self) -> Iterator[int]:
        """A call that may have to wait; it stands here until it is through or has given up."""
        self._next += 1
        mine = self._next
        try:
            yield mine
        finally:
            self._waiting.pop(mine, None)
            if self._told is not None and not self._waiting:
                self._told = None
                self._steward.unlimited(self._upstream)

    def hit(self, limited: Limited, tries: int) -> None:
        """The provider said: later. Where it does not say when, the steps grow with the tries."""
        seconds = min(2.0**tries, LONGEST_STEP) if limited.seconds is None else limited.seconds + MARGIN
        if seconds > self._left:
            self._until, self._latest = time.time() + seconds, time.monotonic() + seconds
        self._why = limited.why

    async def over(self, mine: int) -> None:
        """Returns when the provider may be asked again."""
        since = self._waiting.setdefault(mine, time.time())
        while (left := self._left) > 0:
            if self._until - since > TOLD_FROM and self._told != self._until:
                self._told = self._until
                self._steward.limited(self._upstream, self._why, self._until)
            await asyncio.sleep(min(left, SLICE))
