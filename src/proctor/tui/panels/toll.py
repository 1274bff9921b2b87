"""What a rollback would take, before it takes it: the operator's own edits first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len

from proctor.checkpoint.record import Change
from proctor.supervisor.toll import Toll, counts, does, of_task
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.panels import strip
from proctor.tui.spans import Line, Role, cut, line, pad, width, wrap
from proctor.units import counted

MOST = 500
"""Files of one kind that are listed."""
ROOM = 24
"""Cells that a path has at least, before columns are dropped."""
_VERB = len("comes back")


def title(toll: Toll, now: datetime) -> str:
    """Where it would go."""
    return f"Back to {strip.name(toll.target)} · {fmt.ago(toll.target.at, now)}"


def page(toll: Toll, room: int, undo: str, *, at_work: bool = False) -> list[Line]:
    """All that it would take. `undo` is the key that brings it back; `at_work` says that a worker is."""
    edits = counted(len(toll.mine) + len(toll.both), "edit")
    kept = f"All is kept first, {undo} brings it back." + (
        " With k yours stays and the rest goes." if toll.others else ""
    )
    said = [line((row, Role.ATTENTION)) for row in wrap(f"Going back takes {edits} of yours along.", room, 2)]
    said += [line((row, Role.DIM)) for row in wrap(kept, room, 3)]
    if at_work:
        said += [
            line((row, Role.DIM)) for row in wrap("The worker at work is ended first; a new one begins there.", room, 2)
        ]
    said += _files("Yours, written since then", toll.of(toll.mine), room)
    said += _files("Yours, and a worker wrote them too", toll.of(toll.both), room)
    rest = [(of_task(one).replace("->", "→").capitalize(), Role.TEXT) for one in toll.tasks]
    rest += [(f"Goes back: {safe_line(one, 300)}", Role.TEXT) for one in toll.repositories]
    rest += [(f"Set aside: {safe_line(path, 200)}", Role.DIM) for path in toll.parked[:MOST]]
    rest += [(f"⚠ {one}", Role.ATTENTION) for one in (*toll.obstacles, *toll.said)]
    said += [()] if rest else []
    said += [line((row, role)) for text, role in rest for row in wrap(text, room, 3)]
    said += _files("Not yours", toll.others, room, f"   {counts(toll.others)}")
    return [cut(row, room) for row in said]


def _files(heading: str, changes: Sequence[Change], room: int, about: str = "") -> list[Line]:
    """A heading and a row a file: its path, what becomes of it, and by how many lines. Columns are dropped whole."""
    if not changes:
        return []
    shown = changes[:MOST]
    sizes = [_size(change) for change in shown]
    columns = [_VERB, max(map(width, sizes))]
    while columns and room - sum(columns) - 2 * len(columns) - 2 < ROOM:
        columns.pop()
    longest = max(cell_len(safe_line(change.path, 400)) for change in shown)
    left = min(room - sum(columns) - 2 * len(columns) - 2, max(ROOM, longest + 2))
    rows: list[Line] = [(), line((heading, Role.STRONG), about)]
    for change, size in zip(shown, sizes, strict=True):
        path = pad(line(_end(safe_line(change.path, 400), left)), left)
        cells = (line((does(change).ljust(_VERB), Role.DIM)), size)
        rows.append(line("  ", path, *(part for cell in cells[: len(columns)] for part in (line("  "), cell))))
    more = len(changes) - len(shown)
    return [*rows, line((f"  and {more:,} more", Role.DIM))] if more else rows


def _size(change: Change) -> Line:
    """Lines that come and lines that go; nothing for a binary file."""
    sizes = ((change.added, "+"), (change.removed, "−"))
    return line((" ".join((f"{sign}{count}" if count else "").rjust(6) for count, sign in sizes), Role.DIM))


def _end(path: str, room: int) -> str:
    """A path in at most `room` cells: its end says most."""
    if cell_len(path) <= room:
        return path
    while path and cell_len(path) > room - 1:
        path = path[1:]
    return f"…{path}"
