"""A screen to read on: a diff, a whole request, the help. Foreign text line by line, made safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from proctor.text import safe_line
from proctor.tui.glyphs import ascii_only
from proctor.tui.spans import Line, Role, cut, line
from proctor.tui.widgets.lines import content, words

LONGEST = 20_000
"""Lines of a text that are shown."""


class Page(ScrollView, can_focus=True):
    """Lines to scroll through. `drawn` turns one raw line into what is shown, when it comes into sight."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("space", "page_down", show=False),
    ]

    def __init__(self, raw: Sequence[str] | Sequence[Line], drawn: Callable[[str], Line] | None = None) -> None:
        super().__init__(id="page")
        self._raw, self._drawn = raw, drawn

    def fill(self, raw: Sequence[str] | Sequence[Line]) -> None:
        """Show other lines, from where the reader is."""
        if raw != self._raw:
            self._raw = raw
            self._measure()

    def on_mount(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        self._measure()

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._raw))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if place >= len(self._raw):
            return Strip.blank(width, self.rich_style)
        raw = self._raw[place]
        row = cut(raw if isinstance(raw, tuple) else (self._drawn or _plain)(raw), width)
        row = ascii_only(row) if self.app.has_class("-ascii") else row
        return Visual.to_strips(self, content(row), width, 1, self.visual_style, pad=True)[0]


class Reading(ModalScreen[None]):
    """A titled page over the session; escape, `q` or the key that opened it closes it. One that is given what to show
    `now` follows the session."""

    CSS_PATH = "overlay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close", show=False),
        Binding("y", "app.copy_text", "copy", show=False),
    ]

    def __init__(
        self,
        title: str,
        raw: Sequence[str] | Sequence[Line],
        drawn: Callable[[str], Line] | None = None,
        key: str = "",
        now: Callable[[], Sequence[str] | Sequence[Line]] | None = None,
    ) -> None:
        super().__init__()
        self._now = now
        self._title, self._key = title, key
        self._page = Page(raw[:LONGEST], drawn)
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

    def on_key(self, event: Key) -> None:
        """The key that opened the page closes it."""
        if self._key in (event.key, event.character):
            event.stop()
            self.dismiss()

    @property
    def keys_shown(self) -> tuple[tuple[str, str], ...]:
        """The keys that work while this is in front."""
        copy = (("y", "copy"),) if self.text else ()
        return ("esc", "close"), ("↑ ↓", "scroll"), *copy


def _text(raw: Sequence[str] | Sequence[Line]) -> str:
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
