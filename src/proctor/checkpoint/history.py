"""The way back through rollbacks, and forward again. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

DEPTH = 50
"""Rollbacks that can be undone."""


class Way(StrEnum):
    """How a tree came to equal a checkpoint."""

    ROLLBACK = "rollback"
    UNDO = "undo"
    REDO = "redo"
    FAILED_VERDICT = "failed_verdict"


class Move(Protocol):
    """A rollback that was carried out: what was present is `safety`, what is present now is `target`."""

    @property
    def safety(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def way(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Operation:
    """One rollback: the checkpoint it left and the one it went to."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class UndoStack:
    """Rollbacks in order; those before `cursor` can be undone, those from it on redone."""

    operations: tuple[Operation, ...] = ()
    cursor: int = 0

    @property
    def undo_target(self) -> str | None:
        """Where an undo goes, None if there is nothing to undo."""
        return self.operations[self.cursor - 1].before if self.cursor else None

    @property
    def redo_target(self) -> str | None:
        """Where a redo goes, None if there is nothing to redo."""
        return self.operations[self.cursor].after if self.cursor < len(self.operations) else None

    @property
    def held(self) -> frozenset[str]:
        """The checkpoints that undo and redo may need."""
        return frozenset(name for operation in self.operations for name in (operation.before, operation.after))

    def moved(self, way: Way, safety: str, target: str) -> UndoStack:
        """The stack after a move. A rollback forgets what could be redone.

        An undo or redo remembers what it left, so that the next one in the other direction brings just that back.
        """
        done, ahead = self.operations[: self.cursor], self.operations[self.cursor :]
        match way:
            case Way.ROLLBACK | Way.FAILED_VERDICT:
                done = (*done, Operation(safety, target))[-DEPTH:]
                return UndoStack(done, len(done))
            case Way.UNDO if done:
                undone = Operation(done[-1].before, safety)
                return UndoStack((*done[:-1], undone, *ahead), self.cursor - 1)
            case Way.REDO if ahead:
                redone = Operation(safety, ahead[0].after)
                return UndoStack((*done, redone, *ahead[1:]), self.cursor + 1)
        return self


def stack_from(moves: Iterable[Move]) -> UndoStack:
    """The undo stack that a session's rollbacks leave, in the order they were carried out."""
    stack = UndoStack()
    for move in moves:
        stack = stack.moved(Way(move.way), move.safety, move.target)
    return stack
