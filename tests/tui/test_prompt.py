"""The line that a person types at the foot of the screen."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.events import Key
from textual.widgets import Input

from proctor.tui.screens.prompt import Prompt
from tui.conftest import Desk, settled, until
from tui.story import Story


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
            app.post_message(pressed(key))
        field = app.screen.query_one(Input)
        app.post_message(pressed("enter"))
        await until(pilot, lambda: given)
        assert (field.value, given) == (written, [written])


async def test_what_is_typed_before_a_prompt_is_open_is_typed_into_it(story: Story, desk: Desk) -> None:
    story.running()
    app = desk.app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        for key in ("N", *"qa", "space", *"PSx", "backspace", *"d", "enter"):
            app.post_message(pressed(key))
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [(order.verb, order.args) for order in taken] == [("note", {"text": "qa PSd"})]
        for key in ("N", *"look", "escape", "N", *"again", "enter"):
            app.post_message(pressed(key))
        taken.clear()
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [order.args for order in taken] == [{"text": "again"}]


def pressed(key: str) -> Key:
    characters = {"space": " ", "enter": "\r"}
    return Key(key, characters.get(key, key if len(key) == 1 else None))


async def test_what_is_pressed_behind_the_key_that_gives_a_line_is_no_part_of_it(story: Story, desk: Desk) -> None:
    story.running()
    app = desk.app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        for key in ("N", *"ok", "enter", "c", "N", "enter", *"so", "enter"):
            app.post_message(pressed(key))
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or len(taken) > 2)
        assert [(order.verb, order.args) for order in taken] == [
            ("note", {"text": "ok"}),
            ("checkpoint", {}),
            ("note", {"text": "so"}),
        ]
