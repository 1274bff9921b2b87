"""Before a rollback takes edits of the operator along: what it takes, and three ways on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from proctor.supervisor.toll import Toll
from proctor.tui.panels import toll as panel
from proctor.tui.spans import Line
from proctor.tui.widgets.lines import Lines, words

if TYPE_CHECKING:
    from proctor.tui.app import ProctorApp

GUARD = 0.3
"""Seconds after it appears for which no key goes on: the press may have been meant for what was there before."""


class Preview(ModalScreen[dict[str, bool] | None]):
    """Gives the arguments of the rollback that the operator wants, or None."""

    CSS_PATH = "overlay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "leave", show=False),
        Binding("enter", "go", show=False, priority=True),
        Binding("k", "keep", show=False, priority=True),
    ]

    def __init__(self, toll: Toll) -> None:
        super().__init__()
        self._toll = toll
        self._armed_at = time.monotonic() + GUARD

    @property
    def proctor(self) -> ProctorApp:
        return cast("ProctorApp", self.app)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page") as page:
            page.border_title = words(self, panel.title(self._toll, self.proctor.view.now))
            yield Lines(self._lines, id="toll")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @property
    def keys_shown(self) -> tuple[tuple[str, str], ...]:
        """The keys that work while this is in front."""
        keep = (("k", "keep mine"),) if self._toll.others else ()
        return ("enter", "go back"), *keep, ("esc", "leave it")

    def action_go(self) -> None:
        self._answer({})

    def action_keep(self) -> None:
        if self._toll.others:
            self._answer({"keep_mine": True})

    def _answer(self, arguments: dict[str, bool]) -> None:
        if time.monotonic() >= self._armed_at:
            self.dismiss(arguments)

    def _lines(self, width: int, _: int) -> list[Line]:
        view = self.proctor.view
        at_work = view.alive and bool(view.worker.get("alive"))
        return panel.page(self._toll, width, self.proctor.key_of("undo"), at_work=at_work)
