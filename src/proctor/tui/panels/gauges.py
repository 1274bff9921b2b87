"""The gauges: used, limit, per cent, level, and a ruler whose ticks stay visible over the fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from proctor.budget.thresholds import level_of
from proctor.tui import format as fmt
from proctor.tui.spans import Line, Role, cut, join, line, pad, plain, spread, width
from proctor.tui.view import View
from proctor.units import counted
from proctor.words import Dimension, Level, SessionStatus, Source

PACED = 28
"""Column from which burn and sparkline stand in a gauge's own line, where there is room for them."""
LEAST = 1_000
"""Micro-dollars below which an amount has no digits that a glance could use; the budget in full has them."""
TAIL = 4
"""Rows kept below the gauges, filled or not, so that nothing above moves when a line comes."""
_NAME = {**fmt.LABEL, Dimension.ITERATIONS: fmt.SHORT[Dimension.ITERATIONS]}
_OURS = (Dimension.WALL_CLOCK, Dimension.ELAPSED, Dimension.ITERATIONS)
"""What is measured here, always: no mark ever stands beside it."""
_CHANGED = (Dimension.FILES_TOUCHED, Dimension.LINES_CHANGED, Dimension.BYTES_WRITTEN)


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
    """The highest level first; within a level the order stays, and what is new is placed by its share, in tenths."""
    levels, known = list(Level), {dimension: place for place, dimension in enumerate(before)}

    def key(gauge: Gauge) -> tuple[int, int, float]:
        return -levels.index(gauge.level), known.get(gauge.dimension, len(known)), -round(gauge.share, 1)

    return sorted(gauges, key=key)


def head(gauge: Gauge, room: int, beside: Line = ()) -> Line:
    """A gauge in words, in fixed columns: name, used of limit, what stands beside it, source, per cent, level."""
    role = fmt.LEVEL_ROLE[gauge.level]
    loud = Role.TEXT if gauge.level in (Level.OK, Level.ALERT) else role
    share = "? %" if gauge.used is None else fmt.percent(gauge.used, gauge.limit)
    mark, level = fmt.MARK[gauge.source] or " ", fmt.LEVEL[gauge.level]
    right = line((mark, Role.DIM), (f"{share:>6}", loud), (f" {level:<5}", role))
    name = line((f"{_NAME[gauge.dimension]:<7} ", Role.DIM if gauge.level is Level.OK else loud))
    used, limit = line(name, (_used(gauge), loud)), (fmt.limit(gauge.dimension, gauge.limit), Role.DIM)
    whole = line(used, (" of ", Role.FAINT), limit)
    if beside and width(whole) < PACED and PACED + width(beside) + width(right) < room:
        return spread(line(pad(whole, PACED), beside), right, room)
    ways = whole, line(used, ("/", Role.FAINT), limit), used
    left = next((way for way in ways if width(way) + width(right) < room), used)
    return spread(left, right, room)


def ruler(gauge: Gauge, room: int, marks: tuple[int, int]) -> Line:
    """The gauge's bar."""
    role = {Level.OK: Role.DIM, Level.ALERT: Role.TEXT}.get(gauge.level, fmt.LEVEL_ROLE[gauge.level])
    return fmt.bar(gauge.share, room, marks, role)


def pace(view: View, dimension: Dimension) -> Line:
    """How fast a dimension goes, lately; nothing when it is not known or goes by itself."""
    rate = view.rate("burn", dimension)
    said = fmt.per_minute(dimension, rate) if rate else ""
    return line((f"{said:<9} {fmt.spark(view.spark(dimension))}", Role.DIM)) if said else ()


def panel(view: View, gauges: Sequence[Gauge], room: int, rows: int, steady: int = 0) -> list[Line]:
    """All of it in `rows` rows: bars fold from the least pressing up, nothing is cut in the middle.

    `steady` is how many rows there are at any time, while a request is docked too; they decide the spacing.
    """
    if view.state is None:
        return []
    if not gauges:
        return [line(("No ceiling is known yet.", Role.DIM)), line(("`proctor check` says what the", Role.DIM)),
                line(("contract asks for.", Role.DIM))]  # fmt: skip
    paced = room >= PACED + 32
    tail = [cut(row, room) for row in _tail(view, gauges, paced=paced)]
    marks = view.state.alert, view.state.soft
    bars = max(0, min(len(gauges), rows - len(gauges) - TAIL))
    airy = 3 * len(gauges) - 1 + TAIL <= min(rows, steady or rows)
    found: list[Line] = []
    for place, gauge in enumerate(gauges):
        found.append(head(gauge, room, pace(view, gauge.dimension) if paced else ()))
        if place < bars:
            found.append(ruler(gauge, room, marks))
        if airy and place < len(gauges) - 1:
            found.append(())
    if tail:
        found.extend([(), *tail])
    if len(found) <= rows:
        return found
    return [*found[: rows - 1], line((f"{counted(len(gauges), 'ceiling')} · b shows all", Role.DIM))]


def folded(gauges: Sequence[Gauge], room: int, rows: int = 2) -> list[Line]:
    """The gauges in a line or two of figures, the most pressing first, whole or not at all: no digit and no mark moves
    what stands behind it."""
    found: list[Line] = []
    row: Line = ()
    for gauge in gauges:
        wider = join([row, _short(gauge)], "  ") if row else _short(gauge)
        if cell_len(plain(wider).rstrip()) > room and row:
            found.append(row)
            wider = _short(gauge)
        row = wider
    return [*found, row][:rows] if row else []


def _short(gauge: Gauge) -> Line:
    role = fmt.LEVEL_ROLE[gauge.level]
    known = gauge.used is not None
    share = fmt.percent(gauge.used or 0, gauge.limit) if known else "? %"
    mark, word = fmt.MARK[gauge.source] if known else "", fmt.LEVEL[gauge.level]
    loud = Role.TEXT if gauge.level in (Level.OK, Level.ALERT) else role
    return line(
        (f"{fmt.SHORT[gauge.dimension]} ", Role.DIM),
        (f"{share:>4}", loud),
        ("" if gauge.dimension in _OURS else f" {mark or ' '}", Role.DIM),
        (f" {word}" if word else "", role),
    )


def _used(gauge: Gauge) -> str:
    if gauge.used is None:
        return "?"
    if gauge.dimension is Dimension.ITERATIONS:
        return f"{gauge.used} ended"
    small = gauge.dimension is Dimension.COST and 0 < gauge.used < LEAST
    text = "<$0.001" if small else fmt.amount(gauge.dimension, gauge.used)
    return f"≥{text}" if gauge.source is Source.UNKNOWN else text


def _mark(view: View, dimension: Dimension) -> str:
    figure = view.figures.get(dimension)
    return fmt.MARK[figure.source] if figure else ""


def _tail(view: View, gauges: Sequence[Gauge], *, paced: bool) -> list[Line]:
    """Burn, time to exhaustion, what was changed: each only when it is known."""
    found: list[Line] = []
    dimensions = (*(gauge.dimension for gauge in gauges), Dimension.TOKENS)
    burning = next((dimension for dimension in dimensions if pace(view, dimension)), None)
    if burning and not paced:
        what = f" {_NAME[burning]} {_mark(view, burning)}".rstrip()
        found.append(line(("burn     ", Role.DIM), pace(view, burning), (what, Role.DIM)))
    left = {g.dimension: s for g in gauges if g.level is not Level.HARD and (s := view.rate("exhaustion", g.dimension))}
    if left and view.status is SessionStatus.RUNNING and view.settled:
        first = min(left, key=lambda dimension: left[dimension])
        found.append(
            line(("exhausts ", Role.DIM), (f"{fmt.LABEL[first]} in about {fmt.lasting(left[first])}", Role.TEXT))
        )
    if view.state and (paid := view.state.billed.notional):
        amount = fmt.amount(Dimension.COST, paid)
        found.append(line(("login    ", Role.DIM), (f"{amount} by list price, counted nowhere", Role.TEXT)))
    if changed := _changed(view):
        found.append(line(("changed  ", Role.DIM), (changed, Role.TEXT)))
    return found


def _changed(view: View) -> str:
    figures = view.figures
    files, lines, size = (figures.get(dimension) for dimension in _CHANGED)
    if files is None:
        return ""
    parts = [counted(files.used, "file")]
    if lines is not None:
        parts.append(f"{fmt.amount(Dimension.LINES_CHANGED, lines.used)} line{'' if lines.used == 1 else 's'}")
    if size is not None and size.used:
        parts.append(fmt.amount(Dimension.BYTES_WRITTEN, size.used))
    return "  ".join(parts)
