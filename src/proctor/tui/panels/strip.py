"""The checkpoint strip: what was kept, where the workspace stands, and what `R` would give back."""

from __future__ import annotations

from proctor.checkpoint import history
from proctor.journal.state import CheckpointState, State
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CHECKPOINT, NOW
from proctor.tui.spans import Line, Role, fit, line, spread, width, wrap
from proctor.tui.view import View, moved
from proctor.words import CheckpointKind

LINK = " ── "


def strip(view: View, room: int, keys: dict[str, str]) -> Line:
    """One line: the checkpoints on the left, as many as fit from the newest back; the way back on the right."""
    state = view.state
    if state is None:
        return ()
    if not state.checkpoints:
        return line(
            (" ◇ ", Role.DIM), ("nothing kept yet; the first checkpoint is taken when the session starts", Role.DIM)
        )
    right = _way_back(view, keys, room)
    room_left = room - width(right) - 4
    return spread(line(" ", _chain(state, room_left)), line(right, " "), room, gap=2)


def name(checkpoint: CheckpointState) -> str:
    """What a person calls a checkpoint."""
    taken = checkpoint.taken
    match taken.checkpoint:
        case CheckpointKind.START:
            return "start"
        case CheckpointKind.TASK:
            return f"task {safe_line(str(taken.task), 12)}"
        case CheckpointKind.ASKED:
            return (
                "your edit" if taken.edited else "".join(wrap(safe_line(taken.name or taken.note), 20, 1)) or taken.id
            )
        case _:
            return taken.id


def _chain(state: State, room: int) -> Line:
    """The checkpoints that led here, and what a rollback left ahead until something else is kept."""
    path, ahead = _path(state)
    links = [line((f"{CHECKPOINT[one.taken.checkpoint]} ", Role.TEXT), (_label(one), Role.DIM)) for one in path]
    beyond = [line((f"{NOW} now", Role.STRONG))]
    beyond += [line((f"{CHECKPOINT[one.taken.checkpoint]} {_label(one)}", Role.FAINT)) for one in ahead]
    while len(beyond) > 1 and width(_linked(beyond)) > room - 12:
        beyond = [*beyond[:-2], line(("…", Role.FAINT))] if len(beyond) > 2 else beyond[:1]
    return _newest([*links, *beyond], room)


def _path(state: State) -> tuple[list[CheckpointState], list[CheckpointState]]:
    """The way from the first checkpoint to the tree of now, and what lies ahead of it since the tree went back."""
    moves = {back.safety: back for back in state.rollbacks if not back.paths and moved(back)}
    before: dict[str, CheckpointState | None] = {}
    stood: dict[str, CheckpointState | None] = {}
    now: CheckpointState | None = None
    ahead: list[CheckpointState] = []

    def path() -> list[CheckpointState]:
        found: list[CheckpointState] = []
        at = now
        while at is not None:
            found.append(at)
            at = before[at.id]
        return found[::-1]

    for one in state.checkpoints:
        if one.taken.checkpoint is not CheckpointKind.SAFETY:
            before[one.id], now, ahead = now, one, []
            stood[one.id] = one
        elif (move := moves.get(one.id)) is not None:
            ahead = [*path(), *(each for each in ahead if each.taken.checkpoint is not CheckpointKind.SAFETY)]
            stood[one.id] = now
            now = stood.get(move.target, now)
            here = path()
            ahead = [each for each in ahead if each not in here and each.id != move.target] + (
                [] if move.way == "undo" else [one]
            )
    return path(), ahead


def _newest(links: list[Line], room: int) -> Line:
    """As many links as fit, counted from the newest; the oldest stays if there is room for it."""
    link: Line = ((LINK, Role.FAINT),)
    if width(_linked(links)) <= room:
        return _linked(links)
    kept: list[Line] = []
    used = 2 + len(LINK)
    for one in reversed(links):
        if used + width(one) + len(LINK) > room and kept:
            break
        kept.insert(0, one)
        used += width(one) + len(LINK)
    return line(("… ", Role.FAINT), link[0], _linked(kept)) if len(kept) < len(links) else _linked(kept)


def _linked(links: list[Line]) -> Line:
    found: Line = ()
    for one in links:
        found = line(found, (LINK, Role.FAINT), one) if found else one
    return found


def _label(checkpoint: CheckpointState) -> str:
    taken = checkpoint.taken
    if taken.checkpoint is CheckpointKind.TASK:
        return safe_line(str(taken.task), 8)
    return name(checkpoint)


def _way_back(view: View, keys: dict[str, str], room: int) -> Line:
    """The keys that walk through the past and what they would do."""
    state = view.state
    assert state is not None
    past, fields = history.stack_from(state.rollbacks), []
    if view.good is not None and not view.back_there and "rollback" in keys:
        what = line((keys["rollback"], Role.STRONG), (f" back to {name(view.good)}", Role.TEXT))
        when = line((f", {fmt.ago(view.good.at, view.now)}", Role.DIM))
        fields.append((0, line(what, when) if room >= 90 else what))
    if past.undo_target and moved(state.rollbacks[-1]) and "undo" in keys:
        fields.append((1, line((keys["undo"], Role.STRONG), (" undo", Role.DIM))))
    if past.redo_target and "redo" in keys:
        fields.append((2, line((keys["redo"], Role.STRONG), (" redo", Role.DIM))))
    return fit(fields, room * 2 // 3, 3)
