"""The budget in full, over the session: every dimension exact, and extensions from the row that is marked."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from proctor.tui.panels import budget
from proctor.tui.screens.over import Over
from proctor.tui.spans import Line, Role, line
from proctor.tui.widgets.lines import Lines
from proctor.words import Dimension, SessionStatus


class Budget(Over):
    """Follows the session while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("e", "extend", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("budget")
        self._cursor = 0

    def on_mount(self) -> None:
        self._cursor = budget.fullest(self.proctor.view)

    def on_screen_resume(self) -> None:
        self.proctor.session.show()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page") as page:
            page.border_title = "Budget"
            yield Lines(self._lines, id="budget-table")

    @property
    def keys_shown(self) -> tuple[tuple[str, str], ...]:
        """The keys that work while this is in front."""
        extend = (("e", "extend …"),) if self._extendable() else ()
        return ("esc", "close"), ("↑ ↓", "choose"), *extend, *self.others

    def show(self) -> None:
        """The session has moved, perhaps before there is anything on this screen."""
        for table in self.query(Lines):
            table.update()

    def action_move(self, by: int) -> None:
        last = len(budget.dimensions(self.proctor.view)) - 1
        self._cursor = min(max(0, self._cursor + by), max(0, last))
        self.show()
        self.proctor.session.show_footer()

    def action_extend(self) -> None:
        if dimension := self._extendable():
            self.proctor.operator.ask_extension(dimension)

    def _extendable(self) -> Dimension | None:
        """The marked dimension, if it has a ceiling and the session is not done."""
        view = self.proctor.view
        shown = budget.dimensions(view)
        if self._cursor >= len(shown) or view.state is None or view.status is SessionStatus.DONE:
            return None
        return shown[self._cursor] if view.state.limit(shown[self._cursor]) is not None else None

    def _lines(self, width: int, _: int) -> list[Line]:
        view = self.proctor.view
        table = budget.table(view, width, self._cursor)
        marks = "r reported by the worker   ~ estimated   ? unknown, a lower bound"
        return (
            [*table, (), *budget.calls(view, width), (), line((marks, Role.DIM))]
            if len(table) > 1
            else [line(("Nothing has been counted yet.", Role.DIM))]
        )
