"""How much the checks catch: a table of tasks, and below each the places that nothing verifies."""

from __future__ import annotations

from rich.cells import cell_len

from proctor.journal import checks
from proctor.journal.events import Audited
from proctor.journal.state import TaskState
from proctor.text import safe_line
from proctor.tui.spans import Line, Role, cut, line, pad, wrap
from proctor.tui.view import View
from proctor.units import counted
from proctor.words import TaskStatus

ABOUT = (
    "Of each verified change one part after the other is taken out, and its check is run on what is left.",
    "A part without which it passes is verified by nothing.",
)
HOW = "What is not measured yet is measured in the session's idle time."
NOW = "Nothing measures while no session runs here: leave the screen, and `proctor audit` measures at once."
_SHARE = 6


def page(view: View, room: int) -> list[Line]:
    """All that is known."""
    state = view.state
    if state is None:
        return [line(("No session.", Role.DIM))]
    known = {one.task: one for one in checks.audits(state)}
    found = [line((checks.said(state).capitalize() + ".", Role.STRONG)), ()]
    left = any(task.status is TaskStatus.DONE and task.checks and task.id not in known for task in state.tasks)
    said = (*ABOUT, *((HOW if view.alive else NOW,) if left or not known else ()))
    found += [*(line((row, Role.DIM)) for one in said for row in wrap(one, room, 3)), ()]
    shown = [_cells(task, known.get(task.id) or checks.unmeasured(task)) for task in state.tasks]
    wide = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    names = max(12, min(wide[0], room - _SHARE - sum(wide[2:]) - 4)) if wide else 0
    for task, cells in zip(state.tasks, shown, strict=True):
        one = known.get(task.id) or checks.unmeasured(task)
        found += [_row(cells, names, wide[2], bad=one.flaky or one.vacuous)]
        for place in one.unverified:
            why = safe_line(place.why or checks.PASSES, 100)
            found.append(line("    ", (safe_line(place.where, 300), Role.STRONG), (f"  {why}", Role.DIM)))
        if one.more:
            found.append(line((f"    and {counted(one.more, 'place')} more: proctor audit --json", Role.DIM)))
    return [cut(row, room) for row in found]


def _cells(task: TaskState, one: Audited) -> tuple[str, str, str, str]:
    """The name, the share, what was tried, and what else is to be said."""
    tried = f"{one.measured:,} of {one.parts:,} tried" if one.parts else ""
    said = [word for word, holds in (("flaky", one.flaky), ("proves nothing", one.vacuous)) if holds]
    name = safe_line(f"{task.id} {task.task}", 200)
    return name, checks.percent(checks.caught(one)), tried, ", ".join(said) or safe_line(one.why, 200)


def _row(cells: tuple[str, str, str, str], names: int, tried: int, *, bad: bool) -> Line:
    name, share, of, said = cells
    return line(
        pad(cut(line((name, Role.TEXT)), names, within=True), names),
        (share.rjust(_SHARE), Role.STRONG),
        (f"  {of.ljust(tried)}  ", Role.DIM),
        (said, Role.ATTENTION if bad else Role.DIM),
    )
