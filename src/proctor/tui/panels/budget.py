"""The budget in full: every dimension, where each figure came from and what happens at its ceiling."""

from __future__ import annotations

from proctor.tui import format as fmt
from proctor.tui.panels import gauges
from proctor.tui.spans import Line, Role, cut, line, pad, width
from proctor.tui.view import View
from proctor.units import counted
from proctor.words import Dimension

_ENDED = "iterations ended"
"""The one at work counts once it is over."""


def dimensions(view: View) -> list[Dimension]:
    """What has a ceiling, then what is only counted."""
    if view.state is None:
        return []
    limited = [ceiling.dimension for ceiling in view.state.ceilings]
    return limited + [dimension for dimension in Dimension if dimension in view.figures and dimension not in limited]


def fullest(view: View) -> int:
    """The row that there is most reason to look at: what is used up, else what is nearest to its ceiling."""
    shares = {gauge.dimension: gauge.share for gauge in gauges.read(view)}
    first = view.ceiling or max(shares, key=lambda dimension: shares[dimension], default=None)
    shown = dimensions(view)
    return shown.index(first) if first in shown else 0


def table(view: View, room: int, cursor: int) -> list[Line]:
    """A heading and a row a dimension; columns are dropped whole from the right."""
    state = view.state
    if state is None:
        return []
    read = {gauge.dimension: gauge for gauge in gauges.read(view)}
    columns = ("", "used", "limit", "", "level", "source", "at the ceiling", "burn", "left", "raised", "set aside")
    rows: list[list[tuple[str, Role]]] = []
    for dimension in dimensions(view):
        gauge, figure = read.get(dimension), view.figures.get(dimension)
        role = fmt.LEVEL_ROLE[gauge.level] if gauge else Role.DIM
        used = "unknown" if gauge and gauge.used is None else fmt.full(dimension, figure.used if figure else 0)
        ceiling = next((c for c in state.ceilings if c.dimension is dimension), None)
        rate, left = view.rate("burn", dimension), view.rate("exhaustion", dimension) if view.settled else None
        raised, reserved = (
            state.raised.get(dimension),
            (state.reserved.amounts if state.reserved else {}).get(dimension),
        )
        rows.append([
            (_ENDED if dimension is Dimension.ITERATIONS else fmt.LABEL[dimension], Role.TEXT),
            (used, Role.TEXT),
            (fmt.full(dimension, gauge.limit) if gauge else "no ceiling", Role.DIM),
            (fmt.percent(gauge.used, gauge.limit) if gauge and gauge.used is not None else "", role),
            (fmt.LEVEL[gauge.level] if gauge else "", role),
            (str(figure.source) if figure else "", Role.DIM),
            (str(ceiling.action) if ceiling else "", Role.DIM),
            (fmt.per_minute(dimension, rate) if rate else "", Role.DIM),
            (fmt.lasting(left) if left else "", Role.DIM),
            (f"+{fmt.amount(dimension, raised)}" if raised else "", Role.DIM),
            (fmt.amount(dimension, reserved) if reserved else "", Role.DIM),
        ])  # fmt: skip
    return _laid_out(columns, rows, room, cursor)


def calls(view: View, room: int) -> list[Line]:
    """What went through the gateway: all that is billed, and the part of it that is told."""
    state = view.state
    if state is None or not state.billed.calls:
        return []
    billed, told = state.billed, state.trajectory
    again = billed.calls - told.calls
    kinds = {
        "fresh": billed.input, "from the cache": billed.cache_read,
        "into the cache": billed.cache_write + billed.cache_write_1h,
        "out": billed.output, "of it reasoning": billed.reasoning,
    }  # fmt: skip
    tokens = [f"{fmt.amount(Dimension.TOKENS, amount)} {kind}" for kind, amount in kinds.items() if amount]
    marks = {
        "asked again or cut": again, "estimated": billed.estimated, "without a price": billed.unpriced,
        "in flight": len(state.calling),
    }  # fmt: skip
    said = [counted(billed.calls, "model call"), *(f"{count} {mark}" for mark, count in marks.items() if count)]
    rows = [" · ".join(said), " · ".join(tokens)]
    if billed.notional:
        rows.append(f"{fmt.amount(Dimension.COST, billed.notional)} by list price on a login, under no ceiling")
    return [cut(line((f"  {row}", Role.DIM)), room) for row in rows]


def _laid_out(columns: tuple[str, ...], rows: list[list[tuple[str, Role]]], room: int, cursor: int) -> list[Line]:
    right = {1, 2, 3, 7, 8, 9, 10}
    wide = [max(width(((cell[0], cell[1]),)) for cell in column) if column else 0 for column in zip(*rows, strict=True)]
    wide = [max(size, len(name)) if size else 0 for size, name in zip(wide, columns, strict=True)]
    kept, used = [], 2
    for place, size in enumerate(wide):
        if size and used + size + 2 <= room:
            kept.append(place)
            used += size + 2
    found = [_row([(columns[place], Role.FAINT) for place in kept], kept, wide, right, "  ")]
    for place, row in enumerate(rows):
        mark = "▸ " if place == cursor else "  "
        found.append(_row([row[column] for column in kept], kept, wide, right, mark))
    return found


def _row(cells: list[tuple[str, Role]], kept: list[int], wide: list[int], right: set[int], mark: str) -> Line:
    found = line((mark, Role.STRONG))
    for (text, role), place in zip(cells, kept, strict=True):
        size = wide[place]
        cell = line((text.rjust(size), role)) if place in right else pad(line((text, role)), size)
        found = line(found, cell, "  ")
    return found
