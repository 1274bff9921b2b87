"""The log: follows, can be held, counts what comes meanwhile, and draws only the rows in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from proctor.tui import format as fmt
from proctor.tui.entries import Entry, Kind, merge
from proctor.tui.spans import Line, Role, line, shorten, wrap
from proctor.tui.widgets.lines import drawn_row

KEPT = 3_000
"""Entries that can be scrolled back to; the files keep all."""
WORD = 7


class Log(ScrollView, can_focus=True):
    """Entries in the order of their time, the newest below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "up", "up", show=False),
        Binding("down,j", "down", "down", show=False),
        Binding("pageup", "page_up", "page up", show=False),
        Binding("pagedown", "page_down", "page down", show=False),
        Binding("home,g", "top", "top", show=False),
        Binding("end,G", "bottom", "bottom", show=False),
    ]

    class Changed(Message):
        """Whether the log follows, or how much is new, has changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.following = True
        self.new = 0
        self._entries: list[Entry] = []
        self._rows: list[Line] = []
        self._starts: list[int] = []
        self._room = 0

    # --- what it holds ------------------------------------------------------------------------

    def add(self, news: Sequence[Entry]) -> None:
        """Weave entries in by time."""
        if not news:
            return
        keep, tail = merge(self._entries, news)
        self._cut_to(keep)
        self._append(tail)
        if dropped := max(0, len(self._entries) - KEPT):
            self._drop(dropped)
        if not self.following:
            self.new += len(news)
            self.post_message(self.Changed())
        self._fit()

    def hold(self, following: bool) -> None:
        """Follow the newest line, or stay where it is."""
        if following == self.following:
            return
        self.following = following
        if following:
            self.new = 0
            self._fit()
        self.post_message(self.Changed())

    def text(self, last: int = 200) -> str:
        """The newest entries as plain text, to be copied."""
        return "\n".join(f"{fmt.clock(e.at)} {e.word:<{WORD}} {e.text}" for e in self._entries[-last:])

    def _cut_to(self, keep: int) -> None:
        if keep < len(self._entries):
            del self._rows[self._starts[keep] :]
            del self._entries[keep:], self._starts[keep:]

    def _append(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._starts.append(len(self._rows))
            self._entries.append(entry)
            self._rows.extend(drawn(entry, self._room, first=not self._rows))

    def _drop(self, count: int) -> None:
        rows = self._starts[count]
        del self._entries[:count], self._rows[:rows]
        self._starts = [start - rows for start in self._starts[count:]]
        if not self.following:
            self.scroll_to(y=max(0, self.scroll_offset.y - rows), animate=False, force=True, immediate=True)

    def _fit(self) -> None:
        self.virtual_size = Size(self._room, len(self._rows))
        if self.following:
            self.scroll_end(animate=False, force=True, immediate=True, x_axis=False)
        self.refresh()

    # --- how it is drawn ----------------------------------------------------------------------

    def on_resize(self) -> None:
        self.fit()

    def fit(self) -> None:
        """Draw for the width there is, if any: it is none while this is hidden."""
        room = self.scrollable_content_region.width
        if room and room != self._room:
            self._room = room
            entries, self._entries, self._rows, self._starts = self._entries, [], [], []
            self._append(entries)
        self._fit()

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        return drawn_row(self, self._rows[place], width)

    # --- keys ---------------------------------------------------------------------------------

    def _move(self, rows: int) -> None:
        """Scroll; upwards holds the log, reaching the end follows again."""
        if rows < 0:
            self.hold(False)
        bottom = max(0, len(self._rows) - self.scrollable_content_region.height)
        target = min(bottom, max(0, self.scroll_offset.y + rows))
        self.scroll_to(y=target, animate=False, force=True, immediate=True)
        if rows > 0 and target >= bottom:
            self.hold(True)

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._move(-max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        self._move(max(1, self.size.height - 2))

    def action_top(self) -> None:
        self._move(-len(self._rows))

    def action_bottom(self) -> None:
        self.hold(True)

    def _on_mouse_scroll_up(self, event: object) -> None:
        self._move(-3)

    def _on_mouse_scroll_down(self, event: object) -> None:
        self._move(3)


def drawn(entry: Entry, room: int, *, first: bool = False) -> list[Line]:
    """The rows of one entry in `room` cells: time, word, text; what is long wraps under itself."""
    if room < 12:
        return []
    if entry.kind is Kind.BREAK:
        text = f"── {shorten(entry.text, room - 6)} "
        rule = line((text + "─" * max(0, room - len(text)), Role.FAINT))
        return [rule] if first else [(), rule]
    stamp = f"{fmt.clock(entry.at, seconds=room >= 48)} "
    word = f"{entry.word[:WORD]:<{WORD}} "
    indent = len(stamp) + len(word)
    body = wrap(entry.text, room - indent, entry.rows) or [""]
    word_role = Role.DIM if entry.kind is not Kind.HARNESS else entry.role
    rows = [line((stamp, Role.FAINT), (word, word_role), (body[0], entry.role))]
    return rows + [line(" " * indent, (row, entry.role)) for row in body[1:]]
