"""A widget that shows lines of spans: the one bridge from the pure panels to Textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.containers import VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from proctor.tui.glyphs import ascii_only
from proctor.tui.spans import Line, Role, line, plain

STYLE = {
    Role.TEXT: "",
    Role.STRONG: "bold",
    Role.DIM: "$dim",
    Role.FAINT: "$faint",
    Role.ATTENTION: "bold $warning",
    Role.DANGER: "bold $error",
    Role.GOOD: "$success",
    Role.PLAIN_BADGE: "bold on $panel",
    Role.ATTENTION_BADGE: "bold $badge-text on $warning",
    Role.DANGER_BADGE: "bold $badge-text on $error",
    Role.GOOD_BADGE: "bold $badge-text on $success",
}
"""What each role looks like, in the theme's words."""


def content(of: Line) -> Content:
    """A line as Textual shows it; nothing in it is read as markup."""
    return Content.assemble(*((text, STYLE[role]) for text, role in of))


def words(of: DOMNode, text: str) -> str:
    """A title of our own words, as this terminal can show it."""
    return plain(ascii_only(line(text))) if of.app.has_class("-ascii") else text


def drawn_row(of: Widget, shown: Line, width: int) -> Strip:
    """A line as one row of a widget, exactly `width` cells; empty where there are none, while a layout changes."""
    if width < 1:
        return Strip([])
    safe = ascii_only(shown) if of.app.has_class("-ascii") else shown
    return Visual.to_strips(of, content(safe), width, 1, of.visual_style, pad=True)[0]


Draw = Callable[[int, int], list[Line]]
"""Draws the lines for a width and a height."""


class Lines(Widget):
    """Shows what `draw` returns; painted again only when that changes. Its height can follow its lines."""

    def __init__(self, draw: Draw, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._draw = draw
        self._shown: list[Line] = []

    def update(self) -> None:
        """Draw anew; repaint if the lines are others, lay out if their number is."""
        lines = self._drawn(self.content_size.width or self.container_size.width, self._height)
        if lines == self._shown:
            return
        laid_out = self._follows_lines and len(lines) != len(self._shown)
        self._shown = lines
        self.refresh(layout=laid_out)

    @property
    def _follows_lines(self) -> bool:
        return self.styles.height is not None and self.styles.height.is_auto

    @property
    def _height(self) -> int:
        """The rows there are: where the height follows the lines, those of what holds it, without its own frame."""
        if not self._follows_lines or not isinstance(self.parent, Widget):
            return self.content_size.height
        return max(0, self.parent.content_size.height - self.gutter.height - self.styles.margin.height)

    def _drawn(self, width: int, height: int) -> list[Line]:
        lines = self._draw(width, height) if width > 0 else []
        return [ascii_only(one) for one in lines] if self.app.has_class("-ascii") else lines

    def render(self) -> Content:
        self._shown = self._drawn(self.content_size.width, self._height)
        return joined(self._shown)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._drawn(width, container.height))


class Pane(VerticalScroll):
    """Scrolls what is in it, and says when it has another size."""

    def __init__(self, *children: Widget, resized: Callable[[], object], id: str) -> None:
        super().__init__(*children, id=id)
        self._resized = resized

    def on_resize(self) -> None:
        self._resized()


def joined(lines: Iterable[Line]) -> Content:
    """Lines under each other."""
    return Content("\n").join([content(one) for one in lines])
