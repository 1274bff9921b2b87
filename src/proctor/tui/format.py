"""Figures and times as the screen says them. Pure; amounts in their dimension's unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from proctor import units
from proctor.tui.spans import Line, Role, line
from proctor.words import Dimension, Level, Source

LABEL = {
    Dimension.WALL_CLOCK: "time",
    Dimension.ELAPSED: "elapsed",
    Dimension.TOKENS: "tokens",
    Dimension.PREFIX_TOKENS: "prefix",
    Dimension.GENERATED_TOKENS: "generated",
    Dimension.COST: "cost",
    Dimension.TOOL_CALLS: "tools",
    Dimension.ITERATIONS: "iterations",
    Dimension.FILES_TOUCHED: "files",
    Dimension.LINES_CHANGED: "lines",
    Dimension.BYTES_WRITTEN: "written",
}
SHORT = {**LABEL, Dimension.TOKENS: "tok", Dimension.COST: "$", Dimension.ITERATIONS: "iter"}
MARK = {Source.MEASURED: "", Source.REPORTED: "r", Source.ESTIMATED: "~", Source.UNKNOWN: "?"}
LEVEL = {Level.OK: "", Level.ALERT: "ALERT", Level.SOFT: "SOFT", Level.HARD: "HARD"}
LEVEL_ROLE = {Level.OK: Role.DIM, Level.ALERT: Role.STRONG, Level.SOFT: Role.ATTENTION, Level.HARD: Role.DANGER}
_TIMES = (Dimension.WALL_CLOCK, Dimension.ELAPSED)
_SPARKS = "▁▂▃▄▅▆▇█"


def short_time(ms: int) -> str:
    """`48s`, `42m`, `1h05m`, `24h`, `2d4h`: no finer than a person looks."""
    seconds = max(0, ms) // 1000
    if seconds < 60:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes < 60:
        return f"{minutes}m"
    if days < 2:
        return f"{hours}h{minutes % 60:02d}m" if minutes % 60 else f"{hours}h"
    return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"


def lasting(seconds: float) -> str:
    """`14 s`, `6 min`, `2 h 10 min`, `3 days`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86_400:
        minutes = whole % 3600 // 60
        return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"
    days = whole // 86_400
    return f"{days} day{'s' if days > 1 else ''}"


def ago(then: datetime, now: datetime) -> str:
    """How long ago, as people say it."""
    seconds = (now - then).total_seconds()
    return "just now" if seconds < 5 else f"{lasting(seconds)} ago"


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def clock(at: datetime, *, seconds: bool = True) -> str:
    """The time of day where the reader is."""
    return at.astimezone().strftime("%H:%M:%S" if seconds else "%H:%M")


def amount(dimension: Dimension, value: int) -> str:
    """An amount for the eye; a limit of whole dollars is shown without cents."""
    if dimension in _TIMES:
        return short_time(value)
    return units.format_amount(dimension, value)


def limit(dimension: Dimension, value: int) -> str:
    """A limit for the eye: as `amount`, whole dollars without cents."""
    return amount(dimension, value).removesuffix(".00")


def full(dimension: Dimension, value: int) -> str:
    """An amount where there is room for it: counts to the last digit, the rest as fine as a person reads it."""
    counts = dimension not in (*_TIMES, Dimension.COST, Dimension.BYTES_WRITTEN)
    return f"{value:,}" if counts else units.format_amount(dimension, value)


def percent(used: int, of: int) -> str:
    """A share, never rounded up: what is shown as 100 % has been reached, and what is shown as 0 % is nothing."""
    share = used * 100 // of if of > 0 else 100
    if used > 0 and not share:
        return "<1 %"
    return f"{min(share, 9999)} %"


def per_minute(dimension: Dimension, rate: float) -> str:
    """A burn rate: `19k/min`."""
    if dimension in _TIMES:
        return ""
    if 0 < rate < 1 and dimension is not Dimension.COST:
        return f"{rate:.1f}/min"
    return f"{units.format_amount(dimension, max(0, round(rate)))}/min"


def spark(values: Sequence[float], bars: int = 8) -> str:
    """The last `bars` values as a line of bars; what is above nothing is never drawn as nothing."""
    shown = list(values)[-bars:]
    top = max(shown, default=0)
    if top <= 0:
        return ""
    return "".join(_SPARKS[min(7, math.ceil(value / top * 8) - 1)] if value > 0 else _SPARKS[0] for value in shown)


def bar(share: float, room: int, marks: Sequence[int], role: Role) -> Line:
    """A ruler of `room` cells, filled to `share` (1 is full), with ticks at `marks` per cent and at both ends.

    The ticks stand over the fill as well as over what is left, and a part that is used is never drawn empty.
    """
    cells = room - 2
    if cells < 4:
        return ()
    full = min(cells, max(int(share * cells), 1 if share > 0 else 0))
    ticks = {min(cells - 1, mark * cells // 100) for mark in marks if 0 < mark < 100}
    filled = "".join("┿" if place in ticks else "━" for place in range(full))
    empty = "".join("┼" if place in ticks else "─" for place in range(full, cells))
    end = ("┥", role) if share >= 1 else ("┤", Role.DIM)
    return line(("┝" if full else "├", role if full else Role.DIM), (filled, role), *_ticked(empty), end)


def _ticked(empty: str) -> list[tuple[str, Role]]:
    """The empty part: its ticks a little louder than its line."""
    return [(cell, Role.DIM if cell == "┼" else Role.FAINT) for cell in empty]
