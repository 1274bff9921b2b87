"""The paths that the watcher has seen touched since the tree was last recorded. A hint, never the truth."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator

MOST = 5_000
"""Paths from which on a look at everything is as quick."""


class Touched:
    """A list that is good for a provisional checkpoint, or none. It begins with the first record of the tree after
    the watcher came to life."""

    def __init__(self) -> None:
        self._paths: set[str] | None = None
        self._during: set[str] | None = None
        self._follows: Callable[[], bool] = lambda: False

    @property
    def paths(self) -> Collection[str] | None:
        """What was touched since the last record; None where that is not known."""
        return frozenset(self._paths) if self._paths is not None and self._follows() else None

    def begin(self, follows: Callable[[], bool]) -> None:
        """A watcher came to life: what was touched before nobody knows. `follows` says that it has told all it saw."""
        self._paths = self._during = None
        self._follows = follows

    def add(self, paths: Iterable[str]) -> None:
        """These were touched."""
        new = set(paths)
        for listed in (self._paths, self._during):
            if listed is not None:
                listed.update(new)
        if self._paths is not None and len(self._paths) > MOST:
            self._paths = None

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """While the tree is recorded. What is touched meanwhile may be in the record or not: it stays listed. If the
        record fails, everything does."""
        during = self._during = set()
        yield
        if self._during is during:
            self._paths, self._during = during, None
