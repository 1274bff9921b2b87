"""The blast radius: how much of the workspace a session has touched. It never falls, a rollback included. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from proctor.workspace.tree import Kind, Touch


class Delta(Protocol):
    """What one path's change between two trees comes to, such as a checkpoint's: lines, and the new size in bytes."""

    @property
    def path(self) -> str: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Blast:
    """Distinct files, lines added and removed, bytes written: the union over everything added to it."""

    files: frozenset[str] = frozenset()
    lines: int = 0
    bytes: int = 0

    def add(self, deltas: Iterable[Delta]) -> Blast:
        """This and the changes of one more iteration."""
        deltas = tuple(deltas)
        return Blast(
            self.files | {delta.path for delta in deltas},
            self.lines + sum(delta.added + delta.removed for delta in deltas),
            self.bytes + sum(delta.size for delta in deltas),
        )


@dataclass(slots=True)
class LiveBlast:
    """An estimate from the feed while an iteration runs. It cannot see lines.

    Bytes are the largest size that each file had, also of files that came and went; those count as no files.
    """

    _largest: dict[str, int] = field(default_factory=dict)
    _born: set[str] = field(default_factory=set)
    _gone: set[str] = field(default_factory=set)

    def touch(self, group: Iterable[Touch]) -> None:
        """Take in a group of the feed."""
        for touch in group:
            if touch.path not in self._largest and touch.kind is Kind.ADDED:
                self._born.add(touch.path)
            self._largest[touch.path] = max(self._largest.get(touch.path, 0), touch.size)
            if touch.kind is Kind.REMOVED and touch.path in self._born:
                self._gone.add(touch.path)
            else:
                self._gone.discard(touch.path)

    def upon(self, before: Blast) -> Blast:
        """The session's blast radius with the estimate on top."""
        files = before.files | (self._largest.keys() - self._gone)
        return Blast(files, before.lines, before.bytes + sum(self._largest.values()))
