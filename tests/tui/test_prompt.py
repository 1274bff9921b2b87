"""The line that a person types at the foot of the screen."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.events import Key
from textual.widgets import Input

from proctor.tui.screens.prompt import Prompt


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        ("h e l l o backspace backspace p", "help"),
        ("1 2 3 backspace 9 left 7", "1279"),
        ("1 0 k ctrl+u 2 0 0 0 0 home 1", "120000"),
        ("o n e space t w o ctrl+w 2", "one 2"),
    ],
)
async def test_keys_that_come_at_once_work_in_their_order(keys: str, written: str) -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        given: list[str | None] = []
        await app.push_screen(Prompt("Note", "for the next brief"), given.append)
        await pilot.pause()
        for key in keys.split():
            app.post_message(Key(key, " " if key == "space" else key if len(key) == 1 else None))
        await pilot.pause()
        assert app.screen.query_one(Input).value == written
        app.post_message(Key("enter", "\r"))
        await pilot.pause()
        assert given == [written]
