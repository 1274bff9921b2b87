"""How folds are found, and what several of them need. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.state import (
    State,
    TaskState,
)
from proctor.words import (
    TaskStatus,
)

Changes = dict[str, Any]
FOLDS: dict[type[ev.Event], Callable[[State, ev.Row, Any], Changes]] = {}
"""What each kind of event changes. One that is not here changes nothing."""


LOOKED: Changes = {"unlooked": "", "let_go": ()}
"""Nothing is to be looked at again."""


def on(kind: type[ev.Event]) -> Callable[[Callable[[State, ev.Row, Any], Changes]], None]:
    """Takes a function in as the fold of one kind."""

    def register(function: Callable[[State, ev.Row, Any], Changes]) -> None:
        FOLDS[kind] = function

    return register


def unseen(tasks: tuple[TaskState, ...]) -> tuple[TaskState, ...]:
    """Tasks whose checks have not been seen to fail on what is there now."""
    return tuple(task if task.status is TaskStatus.DONE else replace(task, baseline=None) for task in tasks)


def asked_anew(task: TaskState) -> TaskState:
    """Not known to pass on any tree, though it was verified."""
    return replace(task, proved=replace(task.proved, tree="")) if task.proved else task


def unlooked(state: State) -> Changes:
    """What the worker did since it was started is to be looked at again, if nothing earlier is."""
    if state.unlooked or state.intent is None:
        return {}
    return {"unlooked": state.intent.tree, "unlooked_after": state.last_checkpoint}


def with_task(state: State, task_id: ev.TaskId | None, **changes: Any) -> tuple[TaskState, ...]:
    return tuple(replace(task, **changes) if task.id == task_id else task for task in state.tasks)
