"""What a person calls a checkpoint: its id, the name he gave it, or `start`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from proctor.errors import UsageError
from proctor.journal.state import CheckpointState, State
from proctor.text import safe_line
from proctor.units import counted, format_duration
from proctor.words import Certainty, TaskStatus

START, PRESENT = "start", "present"
_SHOWN = 8
_FEW = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ID = re.compile(r"c\d+", re.IGNORECASE)


def find(state: State, handle: str) -> CheckpointState:
    """The checkpoint that a person means. UsageError if there is none, or none any more."""
    found = state.checkpoints[0] if handle == START and state.checkpoints else state.checkpoint(handle)
    found = found or next((one for one in state.checkpoints if handle and one.taken.name == handle), None)
    if found is not None:
        return found
    if handle in state.pruned:
        raise UsageError(f"checkpoint {handle} was pruned on {state.pruned[handle].astimezone():%Y-%m-%d %H:%M}")
    if not state.checkpoints:
        raise UsageError("no checkpoint yet; `proctor checkpoint` takes one")
    known = ", ".join(called(one) for one in state.checkpoints[-_SHOWN:])
    more = "; `proctor checkpoints` has all" if len(state.checkpoints) > _SHOWN else ""
    raise UsageError(f"no checkpoint {safe_line(handle, 80)!r}; there are: {known}{more}")


def good(state: State, handle: str | None) -> CheckpointState:
    """The checkpoint that a person means; the last good one where he names none."""
    if state.checkpoints and not (handle or state.good):
        raise UsageError(f"no good checkpoint yet; name one: {', '.join(map(called, state.checkpoints[-_SHOWN:]))}")
    return find(state, handle or state.good)


def called(one: CheckpointState) -> str:
    """A checkpoint as messages name it."""
    return f"{one.id} ({one.taken.name})" if one.taken.name else one.id


def described(one: CheckpointState) -> str:
    """What a checkpoint holds and how long it took, in one line."""
    taken = one.taken
    name = f" ({taken.name})" if taken.name else ""
    left = f"; {counted(len(taken.skipped), 'path')} not kept: see `proctor show --id {taken.id}`"
    return f"checkpoint {taken.id}{name}: {counted(taken.files, 'file')}{took(one)}{left if taken.skipped else ''}"


def took(one: CheckpointState) -> str:
    """How long a checkpoint took to be kept and to be confirmed."""
    ms = one.taken.ms
    if one.confirmed is not None:
        return f", kept after {format_duration(ms)}, confirmed after {format_duration(ms + one.confirmed.ms)}"
    certainty = "confirmed" if one.taken.certainty is Certainty.CONFIRMED else "not confirmed, kept"
    return f", {certainty} after {format_duration(ms)}" if ms else ""


def check_name(state: State, name: str) -> None:
    """Refuse a name that could be taken for something else. UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{safe_line(name, 80)!r} cannot be a checkpoint's name: letters, digits, . - and _, at most 64 of them"
        )
    if _ID.fullmatch(name) or name in (START, PRESENT):
        raise UsageError(f"{name!r} means something already; choose another name")
    taken = next((one for one in state.checkpoints if one.taken.name == name), None)
    if taken is not None:
        raise UsageError(f"{taken.id} is called {name!r} already; choose another name")


def reopened(state: State, target: CheckpointState) -> list[str]:
    """Which tasks that are verified now were not at a checkpoint, in one line; none where there is none."""
    done = {mark.id for mark in target.taken.marks if mark.status is TaskStatus.DONE}
    names = [str(task.id) for task in state.tasks if task.status is TaskStatus.DONE and task.id not in done]
    if len(names) == 1:
        return [f"task {names[0]} was verified since and is open again"]
    return [f"tasks {', '.join(names)} were verified since and are open again"] if names else []


def stands(target: str, paths: Sequence[str] = (), mine: int = 0) -> str:
    """What is what it was at a checkpoint, once a rollback is done; `mine` edits of the operator's stayed."""
    but = f", but for {counted(mine, 'edit')} of yours" if mine else ""
    match len(paths):
        case 0:
            return f"the tree is what it was at {target}{but}"
        case 1:
            return f"{safe_line(paths[0], 200)} is what it was at {target}{but}"
        case _:
            return f"{len(paths):,} paths are what they were at {target}{but}"


def nothing_to_take(target: str, paths: Sequence[str] = ()) -> str:
    """Why a rollback would change nothing."""
    named = ", ".join(safe_line(path, 100) for path in paths[:_FEW]) + (", …" if len(paths) > _FEW else "")
    said = f"nothing at {named} differs from {target}" if paths else f"the tree is already what it was at {target}"
    return f"{said}; nothing to take back"


def nothing_to(state: State, redo: bool) -> str:
    """Why there is nothing to undo, or to redo, and what there is instead."""
    if redo:
        return "nothing to redo: no rollback is undone"
    begin = "every rollback is undone already" if state.rollbacks else "nothing was rolled back in this session"
    back = f"`proctor rollback --to ID` goes back; the last good checkpoint is {state.good}" if state.good else ""
    return f"nothing to undo: {begin}{'; ' if back else ''}{back}"
