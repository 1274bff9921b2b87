"""A screen to read on: a diff, a whole request, the help. Foreign text line by line, made safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from proctor.text import safe_line
from proctor.tui.screens.over import Over
from proctor.tui.spans import Line, Role, cut, fold, line
from proctor.tui.widgets.lines import drawn_row, words

LONGEST = 20_000
"""Lines of a text that are shown."""
FOLDED = 100_000
"""Characters of a line that goes on below."""
Raw = Sequence[str] | Sequence[Line]


class Page(ScrollView, can_focus=True):
    """Lines to scroll through. `drawn` turns one raw line into what is shown, when it comes into sight; with `fold` a
    line that is too long goes on below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("space", "page_down", show=False),
    ]

    def __init__(self, raw: Raw, drawn: Callable[[str], Line] | None = None, *, fold: bool = False) -> None:
        super().__init__(id="page")
        self._raw = self._rows = raw
        self._drawn, self._fold = drawn, fold

    def fill(self, raw: Raw) -> None:
        """Show other lines, from where the reader is."""
        if raw != self._raw:
            self._raw = raw
            self._measure()

    def on_mount(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        self._measure()

    def _measure(self) -> None:
        width = self.scrollable_content_region.width
        self._rows = _folded(self._raw, width) if self._fold and width > 1 else self._raw
        self.virtual_size = Size(width, len(self._rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        raw = self._rows[place]
        return drawn_row(self, cut(raw if isinstance(raw, tuple) else (self._drawn or _plain)(raw), width), width)


def _folded(raw: Raw, width: int) -> Raw:
    """Each line in as many rows as it takes."""
    texts = (one for one in raw if isinstance(one, str))
    return list(islice((row for one in texts for row in fold(safe_line(one, FOLDED), width)), LONGEST))


class Reading(Over):
    """A titled page over the session. One that is given what to show `now` follows the session."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "app.copy_text", "copy", show=False)]

    def __init__(
        self,
        title: str,
        raw: Raw,
        drawn: Callable[[str], Line] | None = None,
        verb: str = "",
        now: Callable[[], Raw] | None = None,
        *,
        fold: bool = False,
    ) -> None:
        super().__init__(verb)
        self._now = now
        self._title = title
        self._page = Page(raw[:LONGEST], drawn, fold=fold)
        self.text = _text(raw)

    def compose(self) -> ComposeResult:
        self._page.border_title = words(self, self._title)
        yield self._page

    def on_mount(self) -> None:
        self._page.focus()

    def show(self) -> None:
        """The session has moved."""
        if self._now is not None:
            raw = self._now()
            self._page.fill(raw[:LONGEST])
            self.text = _text(raw)

    @property
    def keys_shown(self) -> tuple[tuple[str, str], ...]:
        """The keys that work while this is in front."""
        copy = (("y", "copy"),) if self.text else ()
        return ("esc", "close"), ("↑ ↓", "scroll"), *copy, *self.others


def _text(raw: Raw) -> str:
    return "\n".join(one for one in raw if isinstance(one, str))


def _plain(text: str) -> Line:
    return line((safe_line(text), Role.TEXT))


def patch_line(text: str) -> Line:
    """A line of a patch: what comes is bright, what goes is dim, the rest is quiet."""
    safe = safe_line(text)
    match text[:1]:
        case "+":
            return line((safe, Role.DIM if text.startswith("+++") else Role.STRONG))
        case "-":
            return line((safe, Role.DIM))
        case "@":
            return line((safe, Role.FAINT))
        case "d" | "i" | "n" | "r" | "s":
            return line((safe, Role.DIM))
        case _:
            return line((safe, Role.TEXT))
