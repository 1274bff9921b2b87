"""The checkpoint strip: what was kept, where the workspace stands, and what `R` would give back."""

from __future__ import annotations

import itertools

from proctor.checkpoint import history
from proctor.journal.state import CheckpointState, State
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CHECKPOINT, NOW
from proctor.tui.spans import Line, Role, fit, line, spread, width
from proctor.tui.view import View, rolled_back
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
    return spread(line(" ", _chain(view, state, room_left)), line(right, " "), room, gap=2)


def name(checkpoint: CheckpointState) -> str:
    """What a person calls a checkpoint."""
    taken = checkpoint.taken
    match taken.checkpoint:
        case CheckpointKind.START:
            return "start"
        case CheckpointKind.TASK:
            return f"task {safe_line(str(taken.task), 12)}"
        case CheckpointKind.ASKED:
            return safe_line(taken.name or taken.note, 20) or taken.id
        case _:
            return taken.id


def _chain(view: View, state: State, room: int) -> Line:
    shown = [c for c in state.checkpoints if c.taken.checkpoint is not CheckpointKind.SAFETY]
    stands = rolled_back(view)
    if stands and (stands.paths or _kept_since(state, stands.safety)):
        stands = None
    here = stands.target if stands else None
    links: list[Line] = []
    beyond = False
    for checkpoint in shown:
        glyph = CHECKPOINT[checkpoint.taken.checkpoint]
        role = Role.FAINT if beyond else Role.TEXT
        links.append(line((f"{glyph} ", role), (_label(checkpoint), Role.FAINT if beyond else Role.DIM)))
        if checkpoint.id == here:
            links.append(line((f"{NOW} now", Role.STRONG)))
            beyond = True
    if stands is not None and beyond:
        links.append(line((f"{CHECKPOINT[CheckpointKind.SAFETY]} {safe_line(stands.safety, 8)}", Role.FAINT)))
    if not beyond:
        links.append(line((f"{NOW} now", Role.STRONG)))
    return _newest(links, room)


def _kept_since(state: State, safety: str) -> bool:
    """Whether the tree was kept again after it went back: it stands there then."""
    since = itertools.dropwhile(lambda one: one.id != safety, state.checkpoints)
    return any(one.taken.checkpoint is not CheckpointKind.SAFETY for one in since)


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
    if view.good is not None and "rollback" in keys:
        what = line((keys["rollback"], Role.STRONG), (f" back to {name(view.good)}", Role.TEXT))
        when = line((f", {fmt.ago(view.good.at, view.now)}", Role.DIM))
        fields.append((0, line(what, when) if room >= 90 else what))
    if past.undo_target and "undo" in keys:
        fields.append((1, line((keys["undo"], Role.STRONG), (" undo", Role.DIM))))
    if past.redo_target and "redo" in keys:
        fields.append((2, line((keys["redo"], Role.STRONG), (" redo", Role.DIM))))
    return fit(fields, room * 2 // 3, 3)
