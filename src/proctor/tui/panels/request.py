"""A request, docked: what is asked, why, and the keys that answer it. Everything in it is foreign text, made safe."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.journal.state import RequestState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.entries import main_argument
from proctor.tui.spans import Line, Role, choose, fit, join, line, plain, width, wrap
from proctor.tui.view import View
from proctor.words import Dimension, RequestKind

LONGEST = 4_000
"""Characters of a request that are looked at; longer ones say so."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the four answer keys mean for a kind of request; empty is not offered."""

    approve: str
    approve_as: str
    deny: str
    deny_why: str


ANSWERS = {
    RequestKind.TOOL: Answers("allow once", "allow changed …", "deny", "deny with a reason …"),
    RequestKind.EXTENSION: Answers("extend by {amount}", "another amount …", "deny", "deny with a reason …"),
    RequestKind.PLATEAU: Answers("go on, counters anew", "go on with a word …", "park", "park, saying …"),
    RequestKind.TAMPERING: Answers("go on", "go on with a word …", "park", "park, saying …"),
    RequestKind.REVIEW: Answers("look again", "look again, saying …", "drop the task", "drop it, saying …"),
}
_TITLES = {
    RequestKind.TOOL: "Waiting for you",
    RequestKind.EXTENSION: "A ceiling is reached",
    RequestKind.PLATEAU: "No advancement",
    RequestKind.TAMPERING: "The oracle was touched",
    RequestKind.REVIEW: "A task needs you",
}


@dataclass(frozen=True, slots=True)
class Docked:
    """The request that is shown, its place among those that wait, and whether it can be answered yet.

    `sent` says what became of an answer that was given here; while it is set no key answers.
    """

    request: RequestState
    place: int = 1
    of: int = 1
    armed: bool = True
    sent: str = ""


def title(view: View, docked: Docked, room: int) -> str:
    """Own words only: what waits, how long, and that nothing moves meanwhile."""
    opened = docked.request.opened
    place = f"{docked.place} of {docked.of}" if docked.of > 1 else ""
    parts = (
        (0, _TITLES[opened.request]),
        (1, fmt.lasting((view.now - docked.request.at).total_seconds())),
        (3, "worker frozen" if view.frozen else ""),
        (2, place),
    )
    fields = [(rank, line(part)) for rank, part in parts]
    kept = choose(fields, room, 3)
    return " · ".join(plain(field[1]) for field, keep in zip(fields, kept, strict=True) if keep)


def subject(request: RequestState) -> tuple[str, str]:
    """What is asked, in two parts: a word and the text that is decided on, unsafe and whole."""
    opened = request.opened
    if opened.tool:
        named, text = main_argument(opened.input)
        return opened.tool, text if named and text else (text or opened.what)
    return str(opened.request), opened.what


def suggestion(view: View, request: RequestState) -> tuple[Dimension, int] | None:
    """The extension that is offered: dimension and amount."""
    dimension, state = request.opened.dimension, view.state
    if dimension is None or state is None:
        return None
    limit, figure = state.limit(dimension) or 0, view.figures.get(dimension)
    return dimension, fmt.suggested(dimension, figure.used if figure else 0, limit)


def panel(view: View, docked: Docked, room: int, rows: int, keys: dict[str, str]) -> list[Line]:
    """The request in at most `rows` rows: what, why, answers. What is cut says so."""
    request = docked.request
    word, text = subject(request)
    shown = safe_line(text, LONGEST)
    head = line((f"#{request.id} ", Role.DIM), (f"{safe_line(word, 24)}  ", Role.STRONG))
    why = _why(view, request)
    space = max(1, rows - 1 - (1 if why else 0))
    body = wrap(shown, max(10, room - width(head)), space)
    found = [line(head if not place else " " * width(head), (row, Role.TEXT)) for place, row in enumerate(body or [""])]
    whole = sum(len(row.replace(" ", "")) for row in body) == len(shown.replace(" ", ""))
    warning = _warning(text, shown, whole=whole, inspect=keys.get("inspect", ""))
    notes = [(0, line((warning, Role.ATTENTION)))] if warning else []
    if why:
        notes.append((1, line((why, Role.DIM))))
    if notes:
        found.append(fit(notes, room))
    found.append(line((docked.sent, Role.DIM)) if docked.sent else _keys(view, docked, room, keys))
    return found


def _why(view: View, request: RequestState) -> str:
    opened = request.opened
    parts = []
    if opened.task is not None:
        parts.append(f"task {safe_line(str(opened.task), 12)}")
    if opened.dimension is not None and view.state is not None:
        figure, limit = view.figures.get(opened.dimension), view.state.limit(opened.dimension)
        if figure and limit is not None:
            used = fmt.amount(opened.dimension, figure.used)
            parts.append(f"{fmt.LABEL[opened.dimension]} {used} of {fmt.limit(opened.dimension, limit)}")
    if opened.why:
        parts.append(safe_line(opened.why, 300))
    elif opened.tool and opened.what and opened.what not in subject(request):
        parts.append(safe_line(opened.what, 300))
    return " · ".join(parts)


def _warning(text: str, shown: str, *, whole: bool, inspect: str) -> str:
    """What the eye would miss in what it is shown."""
    if not whole:
        more = f": {inspect} shows all" if inspect else ""
        return f"longer than shown{more}"
    if text.expandtabs(4).strip() != shown.strip() and len(text) <= LONGEST:
        return "it holds hidden or control characters"
    return ""


def _keys(view: View, docked: Docked, room: int, keys: dict[str, str]) -> Line:
    """The answers and their keys; an empty line while something in front takes the keys."""
    request = docked.request
    answers = ANSWERS[request.opened.request]
    offer = suggestion(view, request)
    amount = fmt.amount(*offer) if offer else "a quarter"
    role = Role.STRONG if docked.armed else Role.FAINT
    text = Role.TEXT if docked.armed else Role.FAINT
    named = (
        ("approve", answers.approve.format(amount=amount), 0),
        ("approve_as", answers.approve_as, 3),
        ("deny", answers.deny, 1),
        ("deny_why", answers.deny_why, 4),
        ("inspect", "inspect", 6),
        ("minimise", "minimise", 5),
        ("next", "next", 2),
    )
    fields = [(rank, line((keys[verb], role), (f" {label}", text))) for verb, label, rank in named if verb in keys]
    kept = choose(fields, room, 4)
    return join((field[1] for field, keep in zip(fields, kept, strict=True) if keep), "    ")
