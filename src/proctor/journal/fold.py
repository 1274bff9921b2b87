"""The fold of a session's events into its state. Pure.

`fold(state, row)` is total: an event it does not know changes nothing. What each kind changes is in `folds/`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from proctor.journal import drift
from proctor.journal import events as ev
from proctor.journal.folds import checkpoints, decisions, iterations, session, verdicts  # noqa: F401 - they take themselves in
from proctor.journal.folds.base import FOLDS
from proctor.journal.state import State


def fold(state: State, row: ev.Row) -> State:
    """The state after one more row."""
    handler = FOLDS.get(type(row.event))
    changes = handler(state, row, row.event) if handler else {}
    return replace(state, seq=row.seq, drift=drift.after(state.drift, row.event), **changes)


def fold_all(rows: Iterable[ev.Row], state: State | None = None) -> State:
    """The state after all of `rows`, on top of `state`."""
    state = state or State()
    for row in rows:
        state = fold(state, row)
    return state
