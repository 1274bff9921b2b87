"""Before a rollback takes edits of the operator along: what the screen shows, and what its keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from proctor.checkpoint.record import Change, ChangeKind
from proctor.errors import ProctorError
from proctor.supervisor.toll import Return, Toll
from proctor.tui.panels.toll import page
from proctor.tui.screens import toll as screen
from proctor.tui.spans import plain, width
from proctor.words import TaskStatus
from tui.conftest import GOOD, Desk, settled, shown, until
from tui.story import Story

CHANGES = (
    Change("docs/notes.md", ChangeKind.MODIFIED, 3, 1),
    Change("src/csv_tool/reader.py", ChangeKind.MODIFIED, 10, 2),
    Change("src/csv_tool/stream.py", ChangeKind.DELETED, 0, 214),
    Change("todo.txt", ChangeKind.DELETED, 0, 12),
)
TOLL = Toll(
    GOOD,
    CHANGES,
    mine=("docs/notes.md", "todo.txt"),
    both=("src/csv_tool/reader.py",),
    parked=("build",),
    tasks=(Return(3, TaskStatus.DONE, TaskStatus.PENDING, taken_back=True),),
    said=("vim (pid 4242) has docs/notes.md open",),
)


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "GUARD", 0.0)


async def asked(pilot: Pilot[object]) -> None:
    """Press `R`, and see the question."""
    await settled(pilot)
    await pilot.press("R")
    await until(pilot, lambda: "Back to task 2" in shown(pilot.app))


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (60, 20), (40, 15)])
async def test_the_operator_s_edits_are_shown_before_they_go(story: Story, desk: Desk, size: tuple[int, int]) -> None:
    story.running()
    desk.toll = TOLL
    async with desk.app().run_test(size=size, notifications=True) as pilot:
        await asked(pilot)
        text = shown(pilot.app)
        assert "Going back takes 3 edits of yours" in text
        assert "notes.md" in text
        assert "enter go back" in text
        assert story.answer_orders() == []


@pytest.mark.parametrize(
    ("key", "arguments"), [("enter", {}), ("k", {"keep_mine": True})], ids=["all of it", "without mine"]
)
async def test_one_key_goes_on(story: Story, desk: Desk, key: str, arguments: dict[str, bool]) -> None:
    story.running()
    desk.toll = TOLL
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await asked(pilot)
        await pilot.press(key)
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [(order.verb, order.args) for order in taken] == [("rollback", arguments)]


async def test_escape_leaves_everything_as_it_is(story: Story, desk: Desk) -> None:
    story.running()
    desk.toll = TOLL
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await asked(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "Going back" not in shown(pilot.app))
        assert story.answer_orders() == []
        assert desk.offline == []


async def test_no_key_goes_on_in_the_first_moment(story: Story, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "GUARD", 3600.0)
    story.running()
    desk.toll = TOLL
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await asked(pilot)
        await pilot.press("enter", "k")
        assert "Going back" in shown(pilot.app)
        assert story.answer_orders() == []


async def test_where_nothing_else_differs_keeping_is_not_offered(story: Story, desk: Desk) -> None:
    story.running()
    desk.toll = replace(TOLL, changes=(CHANGES[0],), mine=("docs/notes.md",), both=())
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await asked(pilot)
        assert "keep mine" not in shown(pilot.app)
        await pilot.press("k")
        assert story.answer_orders() == []


async def test_where_no_edit_goes_the_key_acts_at_once(story: Story, desk: Desk) -> None:
    story.running()
    desk.toll = replace(TOLL, mine=(), both=())
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [(order.verb, order.args) for order in taken] == [("rollback", {})]


async def test_a_look_that_fails_is_said_and_nothing_is_rolled_back(
    story: Story, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> Toll:
        raise ProctorError("the store is damaged")

    story.running()
    app = desk.app()
    monkeypatch.setattr(app, "preview", fails)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R")
        await until(pilot, lambda: "the store is damaged" in shown(pilot.app))
        assert story.answer_orders() == []


async def test_a_page_says_all_in_any_width() -> None:
    for room in (30, 60, 76, 200):
        lines = page(TOLL, room, "u")
        assert all(width(one) <= room for one in lines)
        text = " ".join(" ".join(map(plain, lines)).split())
        for word in (
            "notes.md",
            "todo.txt",
            "reader.py",
            "Not yours 1 file goes",
            "stream.py",
            "Set aside: build",
            "vim (pid 4242)",
        ):
            assert word in text
        assert "Task 3: passed → open, its verification is taken back" in text


async def test_many_files_are_counted_and_a_long_path_keeps_its_end() -> None:
    changes = tuple(Change(f"{'deep/' * 30}f{number}", ChangeKind.DELETED) for number in range(501))
    toll = Toll(GOOD, changes, mine=tuple(change.path for change in changes))
    lines = [plain(one) for one in page(toll, 60, "u")]
    assert lines[-1] == "  and 1 more"
    assert lines[-2].split()[0].endswith("/f500") or lines[-2].split()[0].endswith("/f499")
    assert lines[-2].split()[0].startswith("…")
