"""Any size: a terminal that shrinks, grows, or has next to nothing never ends the screen."""

from __future__ import annotations

from typing import Any

import pytest
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.screen import Screen

from proctor.words import SessionStatus
from tui.conftest import Desk, settled, shown, until
from tui.story import Story

WAY = ((40, 12), (1, 1), (80, 24))
"""Sizes that lead through the three layouts, and through what no panel has room in."""
OVER = ("?", "b", "N", ":")
"""Keys that open something over the session: a page, a table, a prompt, the palette."""


async def test_no_size_ends_the_screen_whatever_lies_over_it(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(150, 42)) as pilot:
        await settled(pilot)
        for keys in ((), *OVER):
            await pilot.resize_terminal(150, 42)
            await pilot.press(*keys)
            for size in WAY:
                await pilot.resize_terminal(*size)
                shown(pilot.app)
            if keys == "?":
                await until(pilot, lambda: "Find an action by typing its name." in shown(pilot.app))
                assert "proctor…" not in shown(pilot.app)
            await pilot.press("escape")
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: "ASKING" in shown(pilot.app))


class Terminal:
    """What a terminal shows of what is painted on it."""

    def __init__(self, height: int) -> None:
        self.rows = [""] * height

    def take(self, painted: Any) -> None:
        if isinstance(painted, LayoutUpdate):
            self.rows = ["".join(strip.text for strip in row) for row in painted.strips]
        elif isinstance(painted, ChopsUpdate):
            for y, left, right in painted.spans:
                for x, strip in painted.chops[y].items():
                    if strip is not None and left <= x < right:
                        row = self.rows[y]
                        self.rows[y] = row[:x] + strip.text + row[x + len(strip.text) :]


async def test_what_is_pushed_down_is_painted_where_it_is_now(
    story: Story, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where Textual was asked where things are while a layout was due, and then sees nothing move."""
    story.running()
    app, terminal = desk.app(), Terminal(24)
    lay_out, display = app.session._refresh_layout, app._display

    def lays_out(*given: Any, **more: Any) -> None:
        app.session._compositor._full_map_invalidated = True
        len(app.session._compositor.full_map)
        lay_out(*given, **more)

    def displays(screen: Screen[Any], painted: Any) -> None:
        terminal.take(painted)
        display(screen, painted)

    monkeypatch.setattr(app.session, "_refresh_layout", lays_out)
    monkeypatch.setattr(app, "_display", displays)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        story.parked()
        await until(pilot, lambda: app.view.status is SessionStatus.PARKED)
        await pilot.pause()
        await pilot.pause()
        assert "\n".join(terminal.rows).rstrip() == shown(app).rstrip()
