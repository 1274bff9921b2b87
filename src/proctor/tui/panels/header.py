"""The header: what this is on the left, how it stands on the right, the one status word at the very end."""

from __future__ import annotations

from proctor.journal import checks
from proctor.journal.state import State
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import STATUS, status_role
from proctor.tui.spans import BADGE, Line, Role, choose, fit, join, line, spread, width
from proctor.tui.view import View
from proctor.words import SessionStatus

GAP = 3
_LONGEST = max(len(word) for word in SessionStatus)
CAUTIONS = {
    "weak": "weak sandbox: the worker can read your files and reach the network as far as Landlock lets it",
    "none": "no sandbox: the worker can touch everything you can, and answer its own requests",
}
"""What a sandbox kind other than `bwrap` means, said all the time."""


def status_badge(view: View) -> Line:
    """The status word with its glyph, in the same place and width whatever it is."""
    status = view.status
    role = status_role(status, view.why)
    text = f" {STATUS[status]} {status.upper()} "
    filled = role in BADGE
    return line((" " * (_LONGEST + 4 - len(text)), Role.TEXT), (text, BADGE[role] if filled else Role.PLAIN_BADGE))


def header(view: View, room: int, *, hidden_requests: int = 0) -> Line:
    """One line of at most `room` cells; fields are dropped whole, the least important first."""
    left, right = _left(view), _right(view, hidden_requests)
    badge = status_badge(view) if view.state or view.trouble else line(" ")
    room_left = room - 1 - sum(len(text) for text, _ in badge)
    if room_left < 30:
        badge = (badge[-1],)
        room_left = room - 1 - len(badge[0][0])
    kept = choose([*left, *right], room_left - 1, GAP)
    beside = [one for (_, one), keep in zip(left, kept[: len(left)], strict=True) if keep]
    behind = [one for (_, one), keep in zip(right, kept[len(left) :], strict=True) if keep]
    gap = " " * GAP
    return spread(line(" ", join(beside, gap)), line(join(behind, gap), "  " if behind else "", badge), room)


def _left(view: View) -> list[tuple[int, Line]]:
    state = view.state
    fields = [
        (10, line(("proctor", Role.DIM))),
        (2, line((view.project, Role.STRONG))),
    ]
    if state is None:
        return fields
    fields.append((9, line((view.model, Role.DIM))))
    if state.sandbox in CAUTIONS:
        word = "no sandbox" if state.sandbox == "none" else "weak sandbox"
        fields.append((1, line((f" {word} ", Role.ATTENTION_BADGE))))
    else:
        fields.append((7, line((state.sandbox, Role.DIM))))
    return fields


def _right(view: View, hidden_requests: int) -> list[tuple[int, Line]]:
    state = view.state
    if state is None or not state.iteration:
        return []
    fields = [(6, line((f"iteration {state.iteration}", Role.DIM)))]
    if state.tasks:
        fields.append((3, line((_task(view, state), Role.TEXT))))
    fields.append((5, line((f"{fmt.short_time(view.active_ms):>5} active", Role.DIM))))
    fields.append((8, line((checks.said(state), Role.DIM))))
    if hidden_requests:
        fields.append((0, line((f" {hidden_requests} waiting ", Role.ATTENTION_BADGE))))
    return fields


def _task(view: View, state: State) -> str:
    """The task at work, by the id that the log calls it by too, and its place where that is another number."""
    total = len(state.tasks)
    place = next((place for place, task in enumerate(state.tasks, 1) if task.id == view.current), None)
    if place is None:
        return f"{view.verified} of {total} verified"
    number = safe_line(str(view.current), 12)
    return f"task {number} of {total}" if number == str(place) else f"task {number}, no. {place} of {total}"


def cautions(state: State) -> list[tuple[str, Role]]:
    """What is said all the time of the walls that are not there."""
    walls = [(CAUTIONS[state.sandbox], Role.ATTENTION)] if state.sandbox in CAUTIONS else []
    return [*walls, *((f"not bound: {one}", Role.DIM) for one in state.unbound)]


def tabs(names: tuple[tuple[str, str], ...], chosen: int, beside: tuple[str, ...], room: int) -> Line:
    """The panels to choose from, `(key, name)`, and on the right what goes on in the chosen one, as much as fits."""
    fields = []
    for number, (key, name) in enumerate(names, 1):
        if number == chosen:
            fields.append((0, line((f" {key} {name} ", Role.PLAIN_BADGE))))
        else:
            fields.append((number, line((f" {key} ", Role.FAINT), (f"{name} ", Role.DIM))))
    left = fit(fields, room, 1)
    told = [(place, line((word, Role.DIM))) for place, word in enumerate(beside) if word]
    kept = choose(told, room - width(left) - GAP - 1, GAP)
    right = join((one for (_, one), keep in zip(told, kept, strict=True) if keep), " " * GAP)
    return spread(left, line(right, " ") if right else (), room)
