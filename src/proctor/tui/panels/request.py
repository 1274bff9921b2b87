"""A request, docked: what is asked, why, and the keys that answer it. Everything in it is foreign text, made safe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from proctor.approvals.requests import UNSURE, argument, parts
from proctor.budget.extension import suggested
from proctor.journal.encoding import encode_json
from proctor.journal.events import RequestOpened, Tampered
from proctor.journal.state import RequestState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.entries import main_argument
from proctor.tui.spans import ELLIPSIS, Line, Role, Span, choose, fit, join, line, plain, shorten, width, wrap
from proctor.tui.view import View
from proctor.units import counted
from proctor.words import Dimension, RequestKind

MOST_PARTS = 12
"""Pieces of a request that are listed."""
LONGEST = 4_000
"""Characters of a request that are looked at; longer ones say so."""
WHOLE = 100_000
"""Characters of its reason on the page that shows all of it."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the four answer keys mean for a kind of request; empty is not offered."""

    approve: str
    approve_as: str
    deny: str
    deny_why: str


ANSWERS = {
    RequestKind.TOOL: Answers("allow once", "allow changed …", "deny", "deny, saying …"),
    RequestKind.HOST: Answers("let it through", "let through, saying …", "deny", "deny, saying …"),
    RequestKind.EXTENSION: Answers("extend by {amount}", "another amount …", "park", "park, saying …"),
    RequestKind.PLATEAU: Answers("go on, counters anew", "go on with a word …", "park", "park, saying …"),
    RequestKind.TAMPERING: Answers("go on", "go on with a word …", "park", "park, saying …"),
    RequestKind.CONFLICT: Answers("the check is wrong", "wrong, saying …", "the check stands", "it stands, saying …"),
    RequestKind.PLAN_ROT: Answers("the plan stands", "it stands, saying …", "set it aside", "set aside, saying …"),
    RequestKind.REVIEW: Answers("look again", "look again, saying …", "drop the task", "drop it, saying …"),
    RequestKind.LINKS: Answers("copy them", "copy, saying …", "park", "park, saying …"),
    RequestKind.EXPOSED: Answers("take it over", "take over, saying …", "park", "park, saying …"),
}
_SAYING = "allow, saying …"
_TITLES = {
    RequestKind.TOOL: "Waiting for you",
    RequestKind.HOST: "A host is asked for",
    RequestKind.EXTENSION: "A ceiling is reached",
    RequestKind.PLATEAU: "No advancement",
    RequestKind.TAMPERING: "Checks were tampered with",
    RequestKind.CONFLICT: "A check is called wrong",
    RequestKind.PLAN_ROT: "The plan names what is gone",
    RequestKind.REVIEW: "A task needs you",
    RequestKind.LINKS: "Files with a second name",
    RequestKind.EXPOSED: "Replaced under a worker",
}


@dataclass(frozen=True, slots=True)
class Docked:
    """The request that is shown, its place among those that wait, and whether it can be answered yet.

    `sent` says what became of an answer that was given here; while it is set no key answers. `again`: one more press
    denies what lets work go for good.
    """

    request: RequestState
    place: int = 1
    of: int = 1
    armed: bool = True
    sent: str = ""
    again: bool = False


def title(view: View, docked: Docked, room: int) -> str:
    """Own words only: what waits, how long, and that nothing moves meanwhile."""
    opened = docked.request.opened
    place = f"{docked.place} of {docked.of}" if docked.of > 1 else ""
    parts = (
        (0, _titled(opened)),
        (1, fmt.lasting((view.now - docked.request.at).total_seconds())),
        (3, "paused too" if view.paused else "worker frozen" if view.frozen else ""),
        (2, place),
    )
    fields = [(rank, line(part)) for rank, part in parts]
    kept = choose(fields, room, 3)
    return " · ".join(plain(field[1]) for field, keep in zip(fields, kept, strict=True) if keep)


def _titled(opened: RequestOpened) -> str:
    if opened.request is RequestKind.TAMPERING and "suspicious" in opened.what:
        return "A suspicious change"
    return _TITLES[opened.request]


def answers(request: RequestState) -> Answers:
    """What the answer keys mean for a request. What is left to the final check is no task that could be dropped."""
    kind = request.opened.request
    if kind is RequestKind.REVIEW and request.opened.task is None:
        return Answers("look again", "look again, saying …", "park", "park, saying …")
    return ANSWERS[kind]


def drops(request: RequestState) -> bool:
    """Whether to deny it lets work go for good, so that one press is not enough."""
    return request.opened.request is RequestKind.REVIEW and request.opened.task is not None


def subject(request: RequestState) -> tuple[str, str]:
    """What is asked, in two parts: a word and the text that is decided on, unsafe and whole."""
    opened = request.opened
    if opened.tool:
        return opened.tool, argument(opened.tool, opened.input) or opened.what
    hunk = opened.input.get("hunk")
    if opened.request is RequestKind.TAMPERING:  # its answers say what is asked
        return "", hunk if isinstance(hunk, str) and hunk else opened.what
    return str(opened.request), f"{opened.what}\n{hunk}" if isinstance(hunk, str) and hunk else opened.what


def suggestion(view: View, request: RequestState) -> tuple[Dimension, int] | None:
    """The extension that is offered: dimension and amount."""
    dimension, state = request.opened.dimension, view.state
    if dimension is None or state is None:
        return None
    limit, figure = state.limit(dimension) or 0, view.figures.get(dimension)
    return dimension, suggested(dimension, figure.used if figure else 0, limit, request.opened.wanted)


def panel(view: View, docked: Docked, room: int, rows: int, keys: dict[str, str]) -> list[Line]:
    """The request in at most `rows` rows: what, why, answers. What is cut, or cannot be seen, is said."""
    request = docked.request
    word, text = subject(request)
    head = line((f"#{request.id} ", Role.DIM), (f"{safe_line(word, 24)}  " if word else " ", Role.STRONG))
    space, left = max(10, room - width(head)), rows - 1
    notes = [(said, role) for said, role in ((_why(view, request), Role.DIM), (_runs(request), Role.TEXT)) if said]
    if _hidden(text):
        notes.insert(0, ("holds characters that cannot be seen", Role.ATTENTION))
    body, below, whole = _arranged(text, notes, space, room, left)
    if not whole:
        more = f": {keys['inspect']} shows all" if "inspect" in keys else ""
        notes.insert(0, (f"longer than shown{more}", Role.ATTENTION))
        body, below, _ = _arranged(text, notes, space, room, left)
    found = [line(" " * width(head) if place else head, (row, Role.TEXT)) for place, row in enumerate(body)]
    keyed = line((docked.sent, Role.DIM)) if docked.sent else _keys(view, docked, room, keys)
    return [*found, *below, keyed]


def _arranged(text: str, notes: Sequence[Span], space: int, room: int, rows: int) -> tuple[list[str], list[Line], bool]:
    """What is decided on, in half of the rows at least, and the notes below it; and whether all of it is there."""
    wanted = len(_below(notes, room, rows)[0])
    body, whole = _body(text, space, max(1, rows - wanted, rows - rows // 2))
    below, all_said = _below(notes, room, max(bool(notes), rows - len(body)))
    return body, below, whole and all_said


def _below(notes: Sequence[Span], room: int, rows: int) -> tuple[list[Line], bool]:
    """The notes beside each other where they fit, else each on rows of its own; and whether all of it is there."""
    beside = join(line(note) for note in notes)
    if width(beside) <= room:
        return [beside] if notes else [], True
    if rows < len(notes):
        return [fit([(place, line(note)) for place, note in enumerate(notes)], room)], False
    found: list[Line] = []
    whole = True
    for place, (text, role) in enumerate(notes):
        most = rows - len(found) - (len(notes) - place - 1)
        whole = whole and len(wrap(text, room, most + 1)) <= most
        found += [line((row, role)) for row in wrap(text, room, most)]
    return found, whole


def editable(request: RequestState) -> tuple[str, str] | None:
    """The name and text of the argument that can be changed in one line without losing anything of it."""
    name, text = main_argument(request.opened.input)
    if not request.opened.changeable:
        return None
    simple = isinstance(request.opened.input.get(name), str) and safe_line(text) == text == subject(request)[1]
    return (name, text) if simple else None


def _body(text: str, room: int, rows: int) -> tuple[list[str], bool]:
    """The text in rows, each of its lines on rows of its own, and whether all of it is there."""
    found: list[str] = []
    lines = text[:LONGEST].rstrip("\n").split("\n")
    for one in lines:
        found.extend(wrap(safe_line(one, LONGEST), room, rows + 1) or [""])
        if len(found) > rows:
            break
    whole = len(found) <= rows and len(text) <= LONGEST
    if not whole:
        found = [*found[: rows - 1], shorten(f"{found[rows - 1]}{ELLIPSIS}", room)]
    return found, whole


def _hidden(text: str) -> bool:
    return any(safe_line(one, LONGEST) != one.expandtabs(4) for one in text.split("\n"))


def parts_of(request: RequestState) -> tuple[str, ...]:
    """What a tool call would do, piece by piece; unsafe text."""
    opened = request.opened
    return _parts(opened.tool, encode_json(opened.input)) if opened.request is RequestKind.TOOL and opened.tool else ()


def _runs(request: RequestState) -> str:
    """What a call comes to, where that is more than one thing."""
    found = parts_of(request)
    named = [safe_line(one, 80) for one in found if one != UNSURE]
    left = [f"and {len(named) - MOST_PARTS:,} more"] if len(named) > MOST_PARTS else []
    return f"{_counted(found)}: {' · '.join([*named[:MOST_PARTS], *left])}" if len(found) > 1 else ""


def _counted(found: Sequence[str]) -> str:
    """How many things are in a call, as far as that can be read from it."""
    named = sum(one != UNSURE for one in found)
    return f"{counted(named, 'thing')} in it" + (", and perhaps more that cannot be read" if UNSURE in found else "")


@lru_cache(maxsize=64)
def _parts(tool: str, given: bytes) -> tuple[str, ...]:
    return parts(tool, msgspec.json.decode(given))


def _why(view: View, request: RequestState, most: int = 300) -> str:
    opened = request.opened
    said = []
    if opened.task is not None:
        task = view.state.task(opened.task) if view.state and not opened.tool else None
        name = f", {safe_line(task.task, most // 5)}" if task else ""
        said.append(f"task {safe_line(str(opened.task), 12)}{name}")
    if opened.agent:
        said.append(f"sub-agent {safe_line(opened.agent, 24)}")
    figure = view.figures.get(opened.dimension) if opened.dimension else None
    if opened.request is RequestKind.TAMPERING:
        said += _undone(view, opened)
    hunk = str(opened.input.get("hunk") or "")
    if hunk and opened.why.startswith(hunk.partition("  ")[0]):
        pass  # it says what stands above the lines
    elif opened.why:
        said.append(safe_line(opened.why, most))
    elif opened.dimension and figure and view.state and (limit := view.state.limit(opened.dimension)):
        said.append(f"{fmt.amount(opened.dimension, figure.used)} of {fmt.limit(opened.dimension, limit)} used")
    return " · ".join(said)


def _undone(view: View, opened: RequestOpened) -> list[str]:
    """What became of a change to the checks."""
    rows = [one for one in view.found if one.iteration == opened.iteration]
    row = next((one for one in rows if isinstance(one, Tampered)), None)
    if row is None or not row.paths:
        return ["it stands in the tree: nothing was undone"] if rows else []
    rest = "; the rest stands in the tree" if row.own else ""
    return [f"{counted(len(row.paths), 'file')} put back for the verdict{rest}"]


def _keys(view: View, docked: Docked, room: int, keys: dict[str, str]) -> Line:
    """The answers and their keys; an empty line while something in front takes the keys."""
    request = docked.request
    kind = request.opened.request
    means = answers(request)
    offer = suggestion(view, request)
    amount = fmt.amount(*offer) if offer else "a quarter"
    role = Role.STRONG if docked.armed else Role.FAINT
    text = Role.TEXT if docked.armed else Role.FAINT
    named = (
        ("approve", means.approve.format(amount=amount), 0),
        ("approve_as", means.approve_as if kind is not RequestKind.TOOL or editable(request) else _SAYING, 3),
        ("deny", means.deny, 1),
        ("deny_why", means.deny_why, 4),
        ("inspect", "inspect", 6),
        ("minimise", "minimise", 5),
        ("next", "next", 2),
    )
    fields = [(rank, line((keys[verb], role), (f" {label}", text))) for verb, label, rank in named if verb in keys]
    if docked.again and "deny" in keys:
        fields = [(0, line((f" {keys['deny']} again to {means.deny} ", Role.ATTENTION_BADGE)))]
    return fit(fields, room, 4)


def whole(view: View, request: RequestState) -> list[str]:
    """All of a request, line by line and unsafe: what is asked, why, what it comes to, and every argument."""
    opened = request.opened
    found = [*subject(request)[1].split("\n"), ""]
    why = _why(view, request, WHOLE)
    found += [why, ""] if why else []
    if len(pieces := parts_of(request)) > 1:
        found += [f"{_counted(pieces)}:", *(f"- {piece}" for piece in pieces if piece != UNSURE), ""]
    asked = opened.tool or _titled(opened)
    when = f", in iteration {opened.iteration}" if opened.iteration else ""
    found += [f"{asked} · asked {fmt.ago(request.at, view.now)}{when}", ""]
    for name, value in opened.input.items():
        if len(opened.input) > 1 or not subject(request)[1].endswith(str(value)):
            found += f"{name}: {value if isinstance(value, str) else json.dumps(value, indent=2)}".split("\n")
    return found
