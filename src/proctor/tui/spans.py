"""Styled text that knows no toolkit: a line is a tuple of spans, a span a text and its role.

The panels are drawn in this form, so that what the screen says can be tested, measured and printed without
a screen. A role is what a text means, never a colour; the theme gives it one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from rich.cells import cell_len, set_cell_size


class Role(StrEnum):
    """What a text means. The `*_BADGE` roles stand on a filled ground."""

    TEXT = "text"
    STRONG = "strong"
    DIM = "dim"
    FAINT = "faint"
    ATTENTION = "attention"
    DANGER = "danger"
    GOOD = "good"
    PLAIN_BADGE = "plain_badge"
    ATTENTION_BADGE = "attention_badge"
    DANGER_BADGE = "danger_badge"
    GOOD_BADGE = "good_badge"


Span = tuple[str, Role]
Line = tuple[Span, ...]

BADGE = {
    Role.ATTENTION: Role.ATTENTION_BADGE,
    Role.DANGER: Role.DANGER_BADGE,
    Role.GOOD: Role.GOOD_BADGE,
}
"""A role on a filled ground; every other one is `PLAIN_BADGE`."""
ELLIPSIS = "…"
LONGEST_WORD = 12
"""Cells of a word whose beginning is left out where it would be cut."""
LOOKED = 100
"""Characters beyond two rows that are looked at to find where a row ends."""
_PARTS = re.compile(r"/|\.|::|_")
"""Where a long word has parts."""


def line(*parts: str | Span | Line) -> Line:
    """A line of parts; a bare string is plain text."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans.append((part, Role.TEXT))
        elif part and isinstance(part[0], str):
            spans.append(part)
        else:
            spans.extend(part)
    return tuple(span for span in spans if span[0])


def plain(of: Line) -> str:
    """The text without its roles."""
    return "".join(text for text, _ in of)


def width(of: Line) -> int:
    """Width in cells."""
    return sum(cell_len(text) for text, _ in of)


def cut(of: Line, room: int, *, within: bool = False) -> Line:
    """The line in at most `room` cells; `…` marks what is missing. `within`: of a name, each letter of a word tells it
    from another."""
    if width(of) <= room:
        return of
    kept: list[Span] = []
    left = room - 1
    for text, role in of:
        size = cell_len(text)
        if size > left:
            head = set_cell_size(text, left)
            kept.append(((head if within else _whole_words(text, head)) + ELLIPSIS if room > 0 else "", role))
            break
        kept.append((text, role))
        left -= size
    return tuple(kept)


def _whole_words(text: str, head: str) -> str:
    """The head of a text without the beginning of a word that is cut, where that is short enough to be missed."""
    space = head.rfind(" ")
    within = text[len(head) : len(head) + 1] not in ("", " ")
    return head[:space].rstrip() if within and space >= max(len(head) - LONGEST_WORD, len(head) // 2) else head


def shorten(text: str, room: int) -> str:
    """A text in at most `room` cells; `…` marks what is missing."""
    return plain(cut(line(text), room))


def pad(of: Line, room: int) -> Line:
    """The line cut or filled to exactly `room` cells."""
    of = cut(of, room)
    return line(of, " " * (room - width(of)))


def spread(left: Line, right: Line, room: int, gap: int = 1) -> Line:
    """`left` and `right` at the two ends; the left one gives way."""
    left = cut(left, max(0, room - width(right) - gap)) if right else cut(left, room)
    return cut(line(left, " " * max(0, room - width(left) - width(right)), right), room)


def join(lines: Iterable[Line], gap: str = "   ") -> Line:
    """Lines beside each other."""
    joined: Line = ()
    for one in lines:
        joined = line(joined, gap, one) if joined else one
    return joined


def choose(fields: Sequence[tuple[int, Line]], room: int, gap: int = 3) -> list[bool]:
    """Which of the fields `(rank, line)` fit beside each other: a field is whole or not there, low ranks first."""
    kept = [False] * len(fields)
    used = 0
    for place in sorted(range(len(fields)), key=lambda place: fields[place][0]):
        size = width(fields[place][1])
        if not size:
            continue
        need = size + (gap if used else 0)
        if used + need <= room:
            kept[place] = True
            used += need
    return kept


def fit(fields: Sequence[tuple[int, Line]], room: int, gap: int = 3) -> Line:
    """The fields that fit, in their order; if not even one does, the first by rank, cut."""
    kept = choose(fields, room, gap)
    if not any(kept) and fields:
        return cut(min(fields, key=lambda field: field[0])[1], room)
    return join((field[1] for field, keep in zip(fields, kept, strict=True) if keep), " " * gap)


def wrap(text: str, room: int, rows: int) -> list[str]:
    """The text in at most `rows` rows of `room` cells, broken at spaces where there are any, and within a longer word
    after a `/` or `::`, or after a `.` or `_` if what follows fits in a row; `…` marks a cut."""
    if room <= 1 or rows <= 0:
        return []
    found: list[str] = []
    rest = text.rstrip()
    while rest and len(found) < rows:
        if cell_len(rest) <= room:
            found.append(rest)
            rest = ""
            break
        head = set_cell_size(rest, room).rstrip() or rest[:1]
        if rest[len(head) : len(head) + 1] != " ":
            space = head.rfind(" ")
            word = rest[space + 1 :].partition(" ")[0]
            part = _part(head, rest, room) if cell_len(word) > room else 0
            if part > space + 1:
                head = head[: part + 1]
            elif space > 0 and (cell_len(word) <= room or _PARTS.search(word)):
                head = head[:space]
        found.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    if rest:
        found[-1] = shorten(found[-1] + ELLIPSIS, room) if cell_len(found[-1]) < room else _end(found[-1], room)
    return found


def fold(text: str, room: int) -> list[str]:
    """All of a text in rows of `room` cells, broken as `wrap` does; in time proportional to its length."""
    found: list[str] = []
    at = 0
    while at < len(text) and room > 1:
        near = text[at : at + 2 * room + LOOKED]
        row = "".join(wrap(near, room, 2)[:1])
        found += [row] if row else []
        at += len(near) - len(near[len(row) :].lstrip())
    return found or [""]


def _part(head: str, rest: str, room: int) -> int:
    """The place in `head` after which a word that is longer than a row is broken; 0 where there is none."""
    path = max(head.rfind("/"), head.rfind("::") + 1)
    for mark in "._":
        place = head.rfind(mark)
        if place > path and cell_len(_PARTS.split(rest[place + 1 :].partition(" ")[0])[0]) < room:
            return place
    return max(path, 0)


def _end(text: str, room: int) -> str:
    return _whole_words(text, set_cell_size(text, room - 1)).rstrip() + ELLIPSIS
