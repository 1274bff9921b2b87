"""How a run drifts, and what to look at before the workspace is touched: a row each, all of it apart."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from proctor.journal.events import Suspected, Tampered
from proctor.journal.findings import Told
from proctor.journal.state import State
from proctor.progress import drift
from proctor.text import safe_block, safe_line
from proctor.tui.spans import Line, Role, cut, fit, line, shorten, width, wrap
from proctor.tui.view import View
from proctor.tui.wording import seen_by, unruled
from proctor.units import counted
from proctor.words import Drift, Light

_LIGHTS = {
    Light.QUIET: ("○", Role.DIM),
    Light.SUSPECT: ("◐", Role.TEXT),
    Light.FIRING: ("●", Role.DANGER),
}


LABELS = {
    Drift.PREMATURE_VICTORY: "victory",
    Drift.PLAN_ROT: "plan",
    Drift.STATE_POLLUTION: "log",
    Drift.TEST_GAMING: "gaming",
    Drift.TUNNEL_VISION: "tunnel",
    Drift.SILENT_REGRESSION: "regressed",
    Drift.BUDGET_RUNAWAY: "runaway",
}
"""A light in a narrow column."""
_ROOMY = 40
"""Cells in which the beginning of a reason says enough."""
_COLUMN = max(map(len, LABELS.values())) + 2
HUNK = "│"
"""Before the lines of a change."""


class Warned(NamedTuple):
    """A warning: its word, the reason in a sentence, and the paths that it is about; `more` have no name here. `hunks`
    show them, in their order."""

    word: str
    why: str
    paths: tuple[str, ...]
    more: int = 0
    hunks: tuple[str, ...] = ()
    gone: bool = False
    """Whether a rollback has taken all of it back."""


def warnings(view: View) -> list[Warned]:
    """What is to be looked at now."""
    state = view.state
    found = [
        Warned("git inside", "Made by the running worker; do not use git there yet.", view.nested, view.nested_more)
    ]
    if state is not None:
        found += [
            _found("tampered", "No honest change would do this; frozen files were put back for the verdict.",
                   view.told(Tampered)),
            _found("suspect", "This may have been made for the check and not for the task.", view.told(Suspected)),
            Warned("renamed", "Your git would have obeyed it, so it got another name; nothing is lost.",
                   state.quarantined, state.quarantined_more),
            Warned("careful", "Your tools run these by themselves: look before you open the folder.",
                   state.autorun),
        ]  # fmt: skip
    return [warned for warned in found if warned.paths]


def _found(word: str, why: str, told: tuple[Told, ...]) -> Warned:
    return Warned(
        word,
        why,
        tuple(one.where for one in told),
        hunks=tuple(one.hunk for one in told),
        gone=all(one.gone for one in told),
    )


def page(view: View, room: int = 1_000) -> list[str]:
    """Every warning with its reason and all of its paths, to be read."""
    found: list[str] = []
    for word, why, paths, more, hunks, _ in warnings(view):
        what = counted(len(paths) + more, "change" if hunks else "path")
        found += [*([""] if found else []), f"{word}   {what}", *wrap(why, room, 3)]
        for path, hunk in zip_longest(paths, hunks, fillvalue=""):
            found += [f"  {row}" for row in wrap(safe_line(path, 4096), room - 2, 60)]
            found += [f"  {HUNK} {line}" for line in safe_block(hunk).splitlines()]
        found += [f"  and {more:,} more"] if more else []
    return found or ["Nothing is to be looked at."]


def lights_page(view: View, room: int) -> list[str]:
    """The plateau's light and the seven of drift, why each is as it is, and on what evidence; and what the checks
    cost."""
    if view.state is None:
        return []
    found = _plateau(view.state, room)
    for one in drift.lights(view.state):
        found += [f"{_LIGHTS[one.light][0]} {one.drift.replace('_', ' ')}   {one.light}"]
        found += _wrapped(one.why, room)
        found += [row for line in one.evidence if one.light is not Light.QUIET for row in _wrapped(f"· {line}", room)]
        found.append("")
    if dear := drift.signal_cost(view.state):
        found += [f"{_LIGHTS[Light.SUSPECT][0]} cost of the signal", *_wrapped(dear, room)]
    return found


def _plateau(state: State, room: int) -> list[str]:
    """What the rules against standing still hold against the session, in full."""
    seen = state.plateau
    found = [f"{_LIGHTS[seen.light][0]} plateau   {seen.light}"]
    if seen.light is Light.QUIET:
        return [*found, *_wrapped("no rule against standing still holds", room), ""]
    rule = seen.rule or ""
    about = f"task {seen.task}, " if seen.task is not None else ""
    found += _wrapped(f"{seen_by(rule)} ({about}in the contract: {rule})", room)
    found += _wrapped(unruled(seen.why), room) if seen.why else []
    found += [row for one in seen.evidence for row in _wrapped(f"· {one}", room)]
    return [*found, *(_wrapped(f"→ {seen.advice}", room) if seen.advice else []), ""]


def _wrapped(text: str, room: int) -> list[str]:
    return [f"  {row}" for row in wrap(safe_line(text, 400), room - 2, 4)]


def light_line(text: str) -> Line:
    """A line of that page: a light has its colour, what is said of it is quiet."""
    role = next((role for glyph, role in _LIGHTS.values() if text.startswith(glyph)), None)
    return line((text, Role.DIM if role is None else Role.STRONG if role is Role.TEXT else role))


def page_line(text: str) -> Line:
    """A line of that page: paths are bright, reasons are quiet."""
    is_path = text.startswith("  ") and not text.startswith(f"  {HUNK}")
    return line((text, Role.STRONG if is_path else Role.DIM))


def panel(view: View, room: int, rows: int = 100, key: str = "", lights_key: str = "") -> list[Line]:
    """The plateau's light, a row for each light of drift that is lit, and for each warning; `key` opens the whole of
    these, `lights_key` that of the lights.

    Where `rows` have no room for all of it, what is lit stays longest, the reddest first; what is left out is counted.
    """
    state = view.state
    if state is None:
        return []
    seen = state.plateau
    glyph, role = _LIGHTS[seen.light]
    found: list[tuple[int, Line]] = [
        (_RANKS[seen.light], line((f"{glyph} {'plateau'.ljust(_COLUMN - 2)} ", role), (str(seen.light), role)))
    ]
    if seen.light is not Light.QUIET:
        of = f"task {safe_line(str(seen.task), 12)}: " if view.plateau_elsewhere else ""
        said = (f"{of}{seen_by(seen.rule or '')}", safe_line(next(iter(seen.evidence), ""), 300))
        found += [(_ABOUT, line((f"  {row}", Role.DIM))) for one in said for row in wrap(one, room - 2, 2)]
    if seen.loop:
        text = "".join(wrap(safe_line(seen.loop[0], 300), room - _COLUMN - 1, 1))
        found.append((1, line((f"◐ {'circles'.ljust(_COLUMN - 2)} ", Role.TEXT), (text, Role.TEXT))))
    lights = drift.lights(state)
    lit = [one for one in lights if one.light is not Light.QUIET]
    shown = lit if lights[0] in lit or not state.drift.false else [lights[0], *lit]
    found += [(_RANKS[one.light], _light(one, room)) for one in shown]
    if drift.signal_cost(state):
        dear = line((f"◐ {'checks'.ljust(_COLUMN - 2)} ", Role.TEXT), ("cost more than work", Role.DIM))
        found.append((1, cut(dear, room)))
    warned = [(_RANKS[Light.QUIET if one.gone else Light.FIRING], _row(one, room)) for one in warnings(view)]
    paths = ((f"  {key}", Role.STRONG), (" all of it, and why", Role.DIM)) if key and warned else ()
    why = ((f"  {lights_key}", Role.STRONG), (" why", Role.DIM)) if lights_key else ()
    count = f"{'all ' if not shown else ''}{_WORDS[len(lights) - len(shown)]} lights quiet"
    quiet = cut(line((f"○ {count}", Role.DIM), *why), room)
    whole = [row for _, row in (*found, (0, quiet), *warned)] + ([line(*paths)] if paths else [])
    if len(whole) <= rows:
        return whole
    return _fitting([*found, *warned], rows, room, (line(*why), line(*paths)))


def _fitting(found: list[tuple[int, Line]], rows: int, room: int, keys: tuple[Line, Line]) -> list[Line]:
    """Those of the ranked rows that matter most, in their order; then how many lights and warnings are not shown, and
    the keys that show them."""
    kept = sorted(sorted(range(len(found)), key=lambda place: found[place][0])[: rows - 1])
    hidden = sum(rank <= 1 for place, (rank, _) in enumerate(found) if place not in kept)
    more = line((f"… {hidden} more", Role.DIM)) if hidden else ()
    last = fit([(0, line("  ", more) if more else ()), (1, keys[0]), (2, keys[1])], room, 0)
    return [*(found[place][1] for place in kept), *([last] if last else [])]


_ABOUT = 2
_RANKS = {Light.FIRING: 0, Light.SUSPECT: 1, Light.QUIET: 3}
"""What stays where there is little room: what is red, what is lit, what is said about it, what is quiet."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven")


def _light(one: drift.Reading, room: int) -> Line:
    """A light that is lit, in one row."""
    glyph, role = _LIGHTS[one.light]
    head = line((f"{glyph} {LABELS[one.drift].ljust(_COLUMN - 2)} ", role))
    why, left = safe_line(one.why.split("; ")[0] if one.light is Light.QUIET else one.why, 300), room - width(head)
    bare = why.partition(" (")[0]
    short = bare.replace(" claims", "").replace(" claim", "").removeprefix("checks were ")
    said = next((way for way in (why, bare) if width(line(way)) <= left), why if left >= _ROOMY else short)
    return line(head, ("".join(wrap(said, left, 1)), role))


def _row(warned: Warned, room: int) -> Line:
    """The word, how many paths there are, the first of them, and whether more follow."""
    count = len(warned.paths) + warned.more
    glyph, role = _LIGHTS[Light.QUIET if warned.gone else Light.FIRING]
    head = line((f"{glyph} {warned.word}", role), (f" {count:,}" if count > 1 else "", role), "  ")
    left = max(0, room - width(head))
    first = safe_line(warned.paths[0], 300)
    more = f" … and {count - 1:,} more" if count > 1 else ""
    if len(first) + len(more) > left and more:
        more = " …"
    return line(head, (shorten(first + more, left), Role.DIM if warned.gone else Role.TEXT))
