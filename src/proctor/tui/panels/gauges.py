"""The gauges: used, limit, per cent, level, and a ruler whose ticks stay visible over the fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.budget.thresholds import level_of
from proctor.tui import format as fmt
from proctor.tui.spans import Line, Role, join, line, pad, spread, width
from proctor.tui.view import View
from proctor.words import Dimension, Level, SessionStatus, Source

LEAD = 3
"""Points by which a gauge must be ahead before it passes the one above it: nothing dances."""
PACED = 28
"""Column from which burn and sparkline stand in a gauge's own line, where there is room for them."""
SETTLED = 15_000
"""Milliseconds of active time before a rate is worth a forecast."""
_BLAST = (Dimension.FILES_TOUCHED, Dimension.LINES_CHANGED, Dimension.BYTES_WRITTEN)


@dataclass(frozen=True, slots=True)
class Gauge:
    """One dimension with a ceiling. `used` is None when nothing is known, which is not 0."""

    dimension: Dimension
    used: int | None
    limit: int
    source: Source
    level: Level

    @property
    def share(self) -> float:
        """Used over limit; 1 is full."""
        return (self.used or 0) / self.limit if self.limit else 1.0


def read(view: View) -> list[Gauge]:
    """The gauges of every ceiling, in the contract's order."""
    state = view.state
    if state is None:
        return []
    found = []
    figures = view.figures
    for ceiling in state.ceilings:
        dimension, limit = ceiling.dimension, state.limit(ceiling.dimension) or ceiling.limit
        figure = figures.get(dimension)
        unknown = figure is not None and figure.source is Source.UNKNOWN
        used = None if unknown and not figure.used else (figure.used if figure else 0)  # type: ignore[union-attr]
        source = figure.source if figure else Source.MEASURED
        level = level_of(used or 0, limit, state.alert, state.soft)
        found.append(Gauge(dimension, used, limit, source, level))
    return found


def arrange(gauges: Sequence[Gauge], before: Sequence[Dimension]) -> list[Gauge]:
    """What is closest to its ceiling first; a gauge passes another only by a level or by a clear lead."""
    levels = list(Level)
    order = {dimension: place for place, dimension in enumerate(before)}
    found: list[Gauge] = []
    for gauge in sorted(gauges, key=lambda g: order.get(g.dimension, len(order))):
        place = len(found)
        while place and _ahead(gauge, found[place - 1], levels, known=gauge.dimension in order):
            place -= 1
        found.insert(place, gauge)
    return found


def _ahead(one: Gauge, other: Gauge, levels: list[Level], *, known: bool) -> bool:
    if one.level is not other.level:
        return levels.index(one.level) > levels.index(other.level)
    return one.share * 100 > other.share * 100 + (LEAD if known else 0)


def head(gauge: Gauge, room: int, beside: Line = ()) -> Line:
    """A gauge in words, in fixed columns: name, used of limit, what stands beside it, per cent, level."""
    role = fmt.LEVEL_ROLE[gauge.level]
    loud = Role.TEXT if gauge.level in (Level.OK, Level.ALERT) else role
    share = "? %" if gauge.used is None else fmt.percent(gauge.used, gauge.limit)
    right = line((f"{share:>5}", loud), (f" {fmt.LEVEL[gauge.level]:<5}", role))
    name = line((f"{fmt.LABEL[gauge.dimension]:<8} ", Role.DIM if gauge.level is Level.OK else loud))
    used = line(name, (_used(gauge), loud))
    whole = line(used, (" of ", Role.FAINT), (fmt.limit(gauge.dimension, gauge.limit), Role.DIM))
    if beside and width(whole) < PACED and PACED + width(beside) + width(right) < room:
        return spread(line(pad(whole, PACED), beside), right, room)
    return spread(whole if width(whole) + width(right) < room else used, right, room)


def ruler(gauge: Gauge, room: int, marks: tuple[int, int]) -> Line:
    """The gauge's bar."""
    role = {Level.OK: Role.DIM, Level.ALERT: Role.TEXT}.get(gauge.level, fmt.LEVEL_ROLE[gauge.level])
    return fmt.bar(gauge.share, room, marks, role)


def pace(view: View, dimension: Dimension) -> Line:
    """How fast a dimension goes, lately; nothing when it is not known or goes by itself."""
    rate = view.rate("burn", dimension)
    said = fmt.per_minute(dimension, rate) if rate else ""
    return line((f"{said:<9} {fmt.spark(view.spark(dimension))}", Role.DIM)) if said else ()


def panel(view: View, gauges: Sequence[Gauge], room: int, rows: int) -> list[Line]:
    """All of it in `rows` rows: bars fold from the least pressing up, nothing is cut in the middle."""
    if view.state is None:
        return []
    if not gauges:
        return [line(("No ceiling is known yet.", Role.DIM)), line(("`proctor check` says what the", Role.DIM)),
                line(("contract asks for.", Role.DIM))]  # fmt: skip
    paced = room >= PACED + 32
    tail = _tail(view, gauges, paced=paced)
    marks = view.state.alert, view.state.soft
    spare = rows - len(gauges) - (len(tail) + 1 if tail else 0)
    bars = max(0, min(len(gauges), spare))
    airy = spare - bars >= len(gauges) - 1
    found: list[Line] = []
    for place, gauge in enumerate(gauges):
        found.append(head(gauge, room, pace(view, gauge.dimension) if paced else ()))
        if place < bars:
            found.append(ruler(gauge, room, marks))
        if airy and place < len(gauges) - 1:
            found.append(())
    if tail:
        found.extend([(), *tail])
    return (
        found if len(found) <= rows else [*found[: rows - 1], line((f"{len(gauges)} ceilings · b shows all", Role.DIM))]
    )


def folded(gauges: Sequence[Gauge], room: int, rows: int = 2) -> list[Line]:
    """The gauges in a line or two of figures, the most pressing first, whole or not at all."""
    found: list[Line] = []
    row: Line = ()
    for gauge in gauges:
        wider = join([row, _short(gauge)], "  ") if row else _short(gauge)
        if width(wider) > room and row:
            found.append(row)
            wider = _short(gauge)
        row = wider
    return [*found, row][:rows] if row else []


def _short(gauge: Gauge) -> Line:
    role = fmt.LEVEL_ROLE[gauge.level]
    share = "? %" if gauge.used is None else fmt.percent(gauge.used, gauge.limit)
    word = fmt.LEVEL[gauge.level]
    loud = Role.TEXT if gauge.level in (Level.OK, Level.ALERT) else role
    return line(
        (f"{fmt.SHORT[gauge.dimension]} ", Role.DIM),
        (f"{share}{fmt.MARK[gauge.source]}", loud),
        (f" {word}" if word else "", role),
    )


def _used(gauge: Gauge) -> str:
    if gauge.used is None:
        return "?"
    text = fmt.amount(gauge.dimension, gauge.used) + fmt.MARK[gauge.source]
    return f"≥{text}" if gauge.source is Source.UNKNOWN else text


def _mark(view: View, dimension: Dimension) -> str:
    figure = view.figures.get(dimension)
    return fmt.MARK[figure.source] if figure else ""


def _tail(view: View, gauges: Sequence[Gauge], *, paced: bool) -> list[Line]:
    """Burn, time to exhaustion, blast radius: each only when it is known."""
    found: list[Line] = []
    dimensions = (*(gauge.dimension for gauge in gauges), Dimension.TOKENS)
    burning = next((dimension for dimension in dimensions if pace(view, dimension)), None)
    if burning and not paced:
        found.append(line(("burn     ", Role.DIM), pace(view, burning), (f" {_mark(view, burning)}", Role.DIM)))
    left = {g.dimension: s for g in gauges if g.level is not Level.HARD and (s := view.rate("exhaustion", g.dimension))}
    if left and view.status is SessionStatus.RUNNING and view.active_ms >= SETTLED:
        first = min(left, key=lambda dimension: left[dimension])
        found.append(
            line(("exhausts ", Role.DIM), (f"{fmt.LABEL[first]} in about {fmt.lasting(left[first])}", Role.TEXT))
        )
    if blast := _blast(view):
        found.append(line(("blast    ", Role.DIM), (blast, Role.TEXT)))
    return found


def _blast(view: View) -> str:
    figures = view.figures
    files, lines, size = (figures.get(dimension) for dimension in _BLAST)
    if files is None:
        return ""
    parts = [fmt.counted(files.used, "file")]
    if lines is not None:
        parts.append(f"{fmt.amount(Dimension.LINES_CHANGED, lines.used)} lines")
    if size is not None and size.used:
        parts.append(fmt.amount(Dimension.BYTES_WRITTEN, size.used))
    return "  ".join(parts)
