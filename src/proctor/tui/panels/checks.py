"""How much the checks catch: a table of tasks, and below each the places that nothing verifies."""

from __future__ import annotations

from proctor.journal import checks
from proctor.journal.events import Audited
from proctor.text import safe_line
from proctor.tui.spans import Line, Role, cut, line, shorten, wrap
from proctor.tui.view import View
from proctor.units import counted
from proctor.words import TaskStatus

ABOUT = (
    "Of each verified change one part after the other is taken out, and its check is run on what is left.",
    "A part without which it passes is verified by nothing.",
)
HOW = (
    "What is not measured yet is measured in a session's idle time, or at once by `proctor audit` when none runs here."
)
_SHARE, _TRIED = 6, 16


def page(view: View, room: int) -> list[Line]:
    """All that is known."""
    state = view.state
    if state is None:
        return [line(("No session.", Role.DIM))]
    known = {one.task: one for one in checks.audits(state)}
    found = [line((checks.said(state).capitalize() + ".", Role.STRONG)), ()]
    left = any(task.status is TaskStatus.DONE and task.checks and task.id not in known for task in state.tasks)
    said = (*ABOUT, *((HOW,) if left or not known else ()))
    found += [*(line((row, Role.DIM)) for one in said for row in wrap(one, room, 3)), ()]
    for task in state.tasks:
        one = known.get(task.id) or checks.unmeasured(task)
        found += [_row(f"{task.id} {task.task}", one, room)]
        found += [line("    ", (safe_line(place.where, 300), Role.STRONG), (f"  {safe_line(place.why, 100)}", Role.DIM))
                  for place in one.unverified]  # fmt: skip
        if one.more:
            found.append(line((f"    and {counted(one.more, 'place')} more: proctor audit --json", Role.DIM)))
    return [cut(row, room) for row in found]


def _row(name: str, one: Audited, room: int) -> Line:
    shown = checks.percent(checks.caught(one))
    tried = f"{one.measured:,} of {one.parts:,} tried" if one.parts else ""
    wide = max(12, room - _SHARE - _TRIED - 28)
    said = [word for word, holds in (("flaky", one.flaky), ("proves nothing", one.vacuous)) if holds]
    role = Role.ATTENTION if said else Role.DIM
    return line(
        (shorten(safe_line(name, 200), wide).ljust(wide), Role.TEXT),
        (shown.rjust(_SHARE), Role.STRONG),
        (f"  {tried.ljust(_TRIED)}  ", Role.DIM),
        (", ".join(said) or safe_line(one.why, 200), role),
    )
