"""The palette: every action that works now, and the themes, found by typing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from proctor.tui.actions import ACTIONS
from proctor.tui.spans import shorten

if TYPE_CHECKING:
    from proctor.tui.app import ProctorApp


NAME = 21
"""Cells of the column of names."""


class Actions(Provider):
    """Offers what is offered on the session's screen."""

    def _all(self) -> Iterator[tuple[str, str, str, Callable[[], None]]]:
        app = cast("ProctorApp", self.app)
        for action in ACTIONS:
            if (key := app.session.offered_keys().get(action.verb)) and action.verb != "palette":
                yield action.label, key, action.help, partial(app.session.act, action.verb)
        for theme in sorted(app.themes.found):
            yield f"theme {theme}", "", "Change the colours until the screen is left.", partial(app.use_theme, theme)

    async def discover(self) -> Hits:
        for name, key, said, run in self._all():
            yield DiscoveryHit(self._row(Content(name), key, said), run, text=name)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, key, said, run in self._all():
            if (score := matcher.match(f"{name} {said}")) > 0:
                yield Hit(score, self._row(matcher.highlight(name), key, said), run, text=name)

    def _row(self, name: Content, key: str, said: str) -> Content:
        """One row, never two: what does not fit beside the name is cut."""
        room = self.app.size.width - NAME - 10
        said = shorten(said, room) if room > 12 else ""
        return Content.assemble((f"{key:<2} ", "bold"), name.pad_right(max(1, NAME - len(name))), (said, "$dim"))
