"""The screen driven by keys, over a real journal: what it shows, what it asks, and what it never does."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from textual import events

from harness import PATIENCE
from proctor.errors import UsageError
from proctor.journal import events as ev
from proctor.supervisor import inbox
from proctor.tui.actions import ACTIONS
from proctor.tui.spans import plain
from proctor.tui.widgets.dock import AGAIN
from proctor.tui.widgets.log import drawn
from proctor.words import RequestOutcome, SessionStatus
from tui.conftest import Desk, settled, shown, until
from tui.story import SCENES, Story

SIZES = [(120, 36), (80, 24), (60, 20), (40, 15), (200, 50)]
TELLING = [(80, 24), (40, 15), (200, 50), *(pytest.param(size, marks=pytest.mark.cases) for size in SIZES[0:3:2])]
WORDS = {
    "running": "RUNNING",
    "asking": "ASKING",
    "soft": "RUNNING",
    "hard": "ASKING",
    "parked": "PARKED",
    "plateau": "PLATEAU",
    "plateau_asked": "PLATEAU",
    "rolled_back": "PAUSED",
    "weak": "RUNNING",
    "none": "ASKING",
    "done": "DONE",
    "interrupted": "INTERRUPTED",
}


# --- what it shows ----------------------------------------------------------------------------


@pytest.mark.parametrize("scene", SCENES)
async def test_s9_every_scene_shows_its_status_word_at_the_top_right(scene: str, workspace: Path, desk: Desk) -> None:
    story = SCENES[scene](workspace)
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: shown(pilot.app).splitlines()[0].rstrip().endswith(WORDS[scene]))
    story.close()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_s14_every_size_shows_status_request_and_the_keys_that_answer_it(
    size: tuple[int, int], story: Story, desk: Desk
) -> None:
    story.asking()
    async with desk.app().run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        await until(pilot, lambda: "a allow once" in shown(pilot.app))
        text = shown(pilot.app)
        assert "ASKING" in text.splitlines()[0]
        assert "git push origin proctor/7" in text
        assert "d deny" in text
        assert "q leave" in text
        assert "46 %" in text


async def test_no_session_teaches_how_to_begin_and_one_key_begins(workspace: Path, desk: Desk) -> None:
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "No session here yet" in shown(pilot.app))
        assert "proctor init" in shown(pilot.app)
        await pilot.press("p")
        assert desk.started == 0
        (workspace / "proctor.yaml").write_text("goal: something")
        await until(pilot, lambda: "p run it now" in shown(pilot.app))
        await pilot.press("p")
        await until(pilot, lambda: desk.started == 1)
        story = Story(workspace).running()
        await until(pilot, lambda: "RUNNING" in shown(pilot.app))
        story.close()


async def test_the_log_follows_can_be_held_and_counts_what_comes(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "following" in shown(pilot.app))
        await pilot.press("f")
        await until(pilot, lambda: "held" in shown(pilot.app))
        for number in range(7):
            story.say(f"later {number}")
        await until(pilot, lambda: "held · 7 new" in shown(pilot.app))
        assert "later 6" not in shown(pilot.app)
        await pilot.press("f")
        await until(pilot, lambda: "later 6" in shown(pilot.app))
        await pilot.press("pageup")
        await until(pilot, lambda: "held" in shown(pilot.app))
        await pilot.press("end")
        await until(pilot, lambda: "following" in shown(pilot.app))


async def test_s20_a_flood_does_not_slow_the_keys_and_is_counted(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        log = pilot.app.session.log_view
        assert story.writer
        for burst in range(10):
            for number in range(2_000):
                story.writer.add("stdout", f"{burst}-{number} [red]markup[/] \x1b[31m")
            story.writer.flush()
            await pilot.press("f")
            assert log.following is (burst % 2 == 1)
        await until(pilot, lambda: any("9-1999" in entry.text for entry in log._entries))
        assert len(log._entries) <= 3_000
        assert (
            len(log._rows)
            == sum(len(drawn(entry, log._room, first=not place)) for place, entry in enumerate(log._entries))
            or len(log._entries) == 3_000
        )
        assert "more than can be read" in log.text(3_000)


async def test_s21_hostile_text_reaches_the_screen_as_text(story: Story, desk: Desk) -> None:
    story.running()
    story.say("\x1b[2J[bold red]not markup[/] \u202egnp.exe\u200b" + "x" * 100_000)
    story.ask("echo '[@click=app.quit]x[/]' \u202e")
    async with desk.app().run_test(size=(200, 50), notifications=True) as pilot:
        await until(pilot, lambda: "[@click=app.quit]x[/]" in shown(pilot.app))
        await until(pilot, lambda: "[bold red]not markup[/]" in shown(pilot.app))
        text = shown(pilot.app)
        assert "gnp.exexxx" in text
        assert "cannot be seen" in text
        assert not {"\x1b", "\u202e", "\u200b"} & set(text)


# --- requests ---------------------------------------------------------------------------------


async def test_s1_no_key_answers_a_request_that_has_just_appeared_and_space_and_enter_never_do(
    story: Story, desk: Desk
) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        story.ask("git push")
        await until(pilot, lambda: pilot.app.dock.request is not None)
        clock = [0.0]
        pilot.app.dock._clock = lambda: clock[0]
        pilot.app.dock.guard()
        await pilot.press("a", "space", "enter")
        clock[0] = 0.29
        await pilot.press("a")
        clock[0] = 0.5
        await pilot.press("a")
        assert not pilot.app.dock.answered
        clock[0] = 0.9
        await pilot.press("space", "enter", "y")
        assert not pilot.app.dock.answered
        assert story.answer_orders() == []
        await pilot.press("a")
        assert pilot.app.dock.answered
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [(order.verb, order.args) for order in taken] == [("approve", {"id": 1})]
        await until(pilot, lambda: not story.state.open_requests)


async def test_s2_one_press_answers_one_request_and_never_the_one_behind_it(story: Story, desk: Desk) -> None:
    story.running()
    story.ask("first")
    story.ask("second")
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        now = pilot.app.dock._clock()
        pilot.app.dock._clock = lambda: now
        assert "1 of 2" in shown(pilot.app)
        await pilot.press("a", "a", "a")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [order.args["id"] for order in taken] == [1]
        await until(pilot, lambda: pilot.app.dock.request and pilot.app.dock.request.id == 2)
        await pilot.press("a")
        assert not pilot.app.dock.answered
        await pilot.pause(0.1)
        assert story.answer_orders() == []
        assert story.state.request(2).outcome is None


async def test_s3_a_request_leaves_the_log_in_sight_and_it_scrolls(story: Story, desk: Desk) -> None:
    story.running()
    for number in range(60):
        story.say(f"context {number}")
    story.ask("git push")
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "context 59" in shown(pilot.app) and pilot.app.dock.request)
        assert pilot.app.session.focused is pilot.app.session.log_view
        await pilot.press("pageup")
        await until(pilot, lambda: "context 40" in shown(pilot.app))
        assert "git push" in shown(pilot.app)


async def test_s4_a_denial_carries_its_reason(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        await pilot.press("D", *"not today", "enter")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert taken[0].verb == "deny"
        assert taken[0].args == {"id": 1, "reason": "not today"}
        await until(pilot, lambda: "answer  #1 denied by operator" in shown(pilot.app))


async def test_a_request_can_be_allowed_changed(story: Story, desk: Desk) -> None:
    story.asking("git push --force")
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        await pilot.press("A", *["backspace"] * len(" --force"), "enter")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert taken[0].args == {"id": 1, "input": {"command": "git push"}}


async def test_an_answer_that_came_second_is_told_and_the_next_request_can_be_answered(
    story: Story, desk: Desk
) -> None:
    story.asking()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        await pilot.press("a")
        await until(pilot, lambda: list(inbox.pending(story.state_dir)))
        story.append(ev.RequestClosed(id=1, outcome=RequestOutcome.GRANTED, by="another"))
        assert [order.verb for order in story.answer_orders()] == ["approve"]
        await until(pilot, lambda: "approve came too late" in shown(pilot.app))


async def test_an_extension_is_granted_by_its_suggested_amount_or_another(story: Story, desk: Desk) -> None:
    story.hard()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.armed)
        assert "extend by $5.00" in shown(pilot.app)
        await pilot.press("A")
        await until(pilot, lambda: "Extend cost" in shown(pilot.app))
        await pilot.press(*"nothing", "enter")
        await until(pilot, lambda: "not an amount of dollars" in shown(pilot.app))
        await pilot.press(*["backspace"] * 7, *"$2.50", "enter")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert taken[0].args == {"dimension": "cost", "by": 2_500_000, "request": 1}


async def test_a_request_folds_away_is_counted_and_comes_back(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "Waiting for you" in shown(pilot.app))
        await pilot.press("m")
        await until(pilot, lambda: "Waiting for you" not in shown(pilot.app))
        assert "1 waiting" in shown(pilot.app).splitlines()[0]
        await pilot.press("a")
        await until(pilot, lambda: "Waiting for you" in shown(pilot.app), "an answer shows it first")
        assert not pilot.app.dock.answered
        await until(pilot, lambda: "nothing is answered yet" in shown(pilot.app))
        await pilot.press("m")
        await until(pilot, lambda: "1 waiting" in shown(pilot.app))
        await pilot.press("D", *"no, a", "escape")
        assert not pilot.app.dock.answered, "words are typed and are no keys"
        await pilot.press("m", "m")
        await until(pilot, lambda: "Waiting for you" in shown(pilot.app))
        assert not pilot.app.dock.armed or pilot.app.dock.request


async def test_a_request_never_takes_the_focus_from_what_is_being_typed(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("N", *"loo")
        story.ask("rm -rf build")
        await until(pilot, lambda: pilot.app.dock.request is not None)
        await pilot.press(*"k at a d", "enter")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [(order.verb, order.args) for order in taken] == [("note", {"text": "look at a d"})]


# --- acts -------------------------------------------------------------------------------------


async def test_rollback_and_undo_are_one_key_each(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "R back to task 2" in shown(pilot.app))
        await pilot.press("R")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert taken[0].verb == "rollback"
        await until(pilot, lambda: "Rolled back to task 2" in shown(pilot.app))
        await pilot.press("u")
        await until(pilot, lambda: taken.extend(story.answer_orders()) or len(taken) == 2)
        assert (taken[1].verb, taken[1].args) == ("undo", {"redo": False})
        assert "nothing to undo" not in pilot.app.session.said
        await until(pilot, lambda: "U redo" in shown(pilot.app))
        assert desk.offline == []


async def test_undo_with_nothing_to_undo_says_so_in_one_line(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        for key, words in (("u", "nothing to undo"), ("U", "nothing to redo")):
            await pilot.press(key)
            await until(pilot, lambda words=words: shown(pilot.app).splitlines()[-2].strip() == words)
        assert "a allow once" in shown(pilot.app)
        assert story.answer_orders() == []


async def test_what_is_said_gives_way_to_the_next_but_a_problem_stays(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        for text, well in (("one", True), ("no good", False), ("two", True), ("three", True)):
            pilot.app.say(text, well=well)
        assert pilot.app.session.said == ("no good", "three")
        pilot.app.say("")
        assert pilot.app.session.said == ("no good",)
        pilot.app.say("for a moment", seconds=2)
        desk.moment = 1.9
        pilot.app.session.tick()
        assert pilot.app.session.said == ("no good", "for a moment")
        desk.moment = 2.0
        await until(pilot, lambda: pilot.app.session.said == ("no good",))


async def test_nothing_lies_over_what_is_being_typed_and_its_keys_are_named(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("N", *"look")
        pilot.app.say("something " * 40)
        await until(pilot, lambda: "1 waiting" in shown(pilot.app))
        rows = shown(pilot.app).splitlines()
        assert rows[-1].split() == ["enter", "send", "esc", "cancel"]
        assert [row[:1] for row in rows[-7:-2]] == ["╭", "│", "│", "│", "╰"]
        assert rows[-5].startswith("│ look")
        assert "Waiting for you" not in shown(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: "Waiting for you" in shown(pilot.app))


@pytest.mark.parametrize("size", TELLING, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_what_lies_over_the_session_is_whole_and_leaves_no_border_beside_it(
    size: tuple[int, int], story: Story, desk: Desk
) -> None:
    story.asking()
    async with desk.app().run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        for key, words in (("colon", "find an action"), ("v", "+new"), ("b", "used"), ("question_mark", "work now")):
            await pilot.press(key)
            await until(pilot, lambda words=words: words in shown(pilot.app) and "esc close" in shown(pilot.app))
            rows = shown(pilot.app).splitlines()
            above = -2 if size[1] < 18 else -3
            assert [rows[1][0], rows[1][-1], rows[above][0], rows[above][-1]] == ["╭", "╮", "╰", "╯"]
            assert {row[0] + row[-1] for row in rows[2:above]} == {"││"}
            await pilot.press("escape")
            await until(pilot, lambda: "q leave" in shown(pilot.app))


async def test_the_palette_has_no_two_names_alike(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("colon")
        await until(pilot, lambda: "deny, saying …" in shown(pilot.app) and "allow changed …" in shown(pilot.app))
        names = [action.label for action in ACTIONS if action.verb in pilot.app.session.offered_keys()]
        assert len(names) == len({*names})


async def test_the_keys_of_what_is_in_front_stay_when_the_session_ends(story: Story, desk: Desk) -> None:
    from proctor.journal import events as ev

    story.running()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "+new" in shown(pilot.app))
        story.append(ev.StatusChanged(status=SessionStatus.DONE), ev.SupervisorEnded(exit_code=0))
        await until(pilot, lambda: "DONE" in shown(pilot.app))
        pilot.app.session.tick()
        await pilot.pause()
        assert shown(pilot.app).splitlines()[-1].startswith(" esc close")


async def test_going_on_after_a_plateau_starts_anew_and_a_refused_start_is_one_line(story: Story, desk: Desk) -> None:
    from proctor.journal import events as ev

    def start() -> None:
        raise UsageError("supervisor 7 is up; use `proctor attach`")

    story.plateau()
    story.append(
        ev.StatusChanged(status=SessionStatus.PARKED, why="plateau:same_failure"), ev.SupervisorEnded(exit_code=4)
    )
    app = desk.app()
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "p go on, counters anew" in shown(app))
        await pilot.press("p")
        await until(pilot, lambda: desk.started == 1 and not app.operator.starting)
        app.start = start
        await pilot.press("p")
        await until(pilot, lambda: shown(app).splitlines()[-2].strip() == "supervisor 7 is up; use `proctor attach`")


async def test_without_a_supervisor_the_checkpoint_verbs_are_done_here(workspace: Path, desk: Desk) -> None:
    story = Story(workspace).parked()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "PARKED" in shown(pilot.app))
        await pilot.press("c")
        await until(pilot, lambda: "checkpoint: done without a supervisor" in shown(pilot.app))
        await pilot.press("R")
        await until(pilot, lambda: ("rollback", {}) in desk.offline)
        await pilot.press("p")
        await until(pilot, lambda: desk.started == 1)
        assert story.answer_orders() == []
    story.close()


async def test_a_ceiling_that_stopped_it_can_be_raised_from_here(workspace: Path, desk: Desk) -> None:
    story = Story(workspace).parked()
    read = threading.Event()

    def start() -> None:
        story.append(
            ev.SupervisorStarted(pid=1, boot="", started=1, token=story.journal.token),
            ev.StatusChanged(status=SessionStatus.PARKED, why="budget:tokens"),
            ev.SupervisorEnded(exit_code=3),
        )
        assert read.wait(PATIENCE), "the screen reads of the end before the start is done with"

    app = desk.app()
    app.start = start
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "tokens used up" in shown(pilot.app))
        await pilot.press("p")
        await until(pilot, lambda: app.view.state.supervisor.pid == 1 and app.view.state.supervisor.ended)
        read.set()
        await until(pilot, lambda: "e raises the ceiling, then p goes on" in shown(pilot.app))
        await pilot.press("e", "enter")
        await until(pilot, lambda: "500k more of it is granted" in shown(pilot.app))
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert taken[0].args == {"dimension": "tokens", "by": 500_000}
        await until(pilot, lambda: "2.5M" in shown(pilot.app))
    story.close()


async def test_a_start_that_fails_with_many_lines_is_shown_as_a_page(workspace: Path, desk: Desk) -> None:
    (workspace / "proctor.yaml").write_text("goal: something")

    def start() -> None:
        raise UsageError("proctor.yaml:1: budget: missing\nproctor.yaml:1: worker: missing")

    app = desk.app()
    app.start = start
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "p run it now" in shown(app))
        await pilot.press("p")
        await until(pilot, lambda: "worker: missing" in shown(app) and "budget: missing" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: "p run it now" in shown(app))


async def test_stop_wants_a_second_press_and_says_so(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("S")
        await until(pilot, lambda: "S again to stop" in shown(pilot.app))
        desk.moment += AGAIN
        await until(pilot, lambda: "S again to stop" not in shown(pilot.app))
        await pilot.press("S")
        await until(pilot, lambda: "S again to stop" in shown(pilot.app))
        assert story.answer_orders() == []
        await pilot.press("S")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [order.verb for order in taken] == ["stop"]
        await until(pilot, lambda: "stop not done: stop cannot be done here" in shown(pilot.app))


async def test_a_plateau_goes_on_with_its_counters_reset(story: Story, desk: Desk) -> None:
    story.plateau()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "Plateau: the same failure comes back" in shown(pilot.app))
        assert "task 3 · 3 iterations" in shown(pilot.app)
        await pilot.resize_terminal(80, 24)
        await pilot.press("N")
        await until(pilot, lambda: "enter send   esc cancel" in shown(pilot.app).splitlines()[-1])
        await pilot.press("escape")
        await pilot.press("p")
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert (taken[0].verb, taken[0].args) == ("resume", {"reset_plateau": True})
        await until(pilot, lambda: "RUNNING" in shown(pilot.app))


async def test_pause_and_go_on_are_the_same_key(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "p pause" in shown(pilot.app))
        await pilot.press("p")
        await until(pilot, story.answer_orders)
        await until(pilot, lambda: "p go on" in shown(pilot.app))
        await pilot.press("p")
        await until(pilot, story.answer_orders)
        await until(pilot, lambda: "RUNNING" in shown(pilot.app))


async def test_the_diff_the_budget_the_help_and_the_palette_open_and_close(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        for key, words in (
            ("v", "+new"),
            ("b", "812,345"),
            ("question_mark", "proctor rollback"),
            ("colon", "Keep the"),
        ):
            await pilot.press(key)
            await until(pilot, lambda words=words: words in shown(pilot.app), key)
            footer = shown(pilot.app).splitlines()[-1]
            assert "esc" in footer
            assert "q leave" not in footer
            await pilot.press("escape")
            await until(pilot, lambda: "q leave" in shown(pilot.app).splitlines()[-1])
        for key, words in (("l", "premature victory"), ("o", "verified change"), ("b", "812,345")):
            await pilot.press(key)
            await until(pilot, lambda words=words: words in shown(pilot.app), "one page leads to the next")
        assert len(pilot.app.screen_stack) == 3
        await pilot.press("b")
        await until(pilot, lambda: pilot.app.session.in_front)
        known = threading.Event()
        pilot.app.diff = lambda: known.wait(PATIENCE) and desk.patch
        await pilot.press("v")
        await until(pilot, lambda: "comparing …" in shown(pilot.app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Keys that work now" in shown(pilot.app))
        known.set()
        await until(pilot, lambda: not pilot.app.operator._busy)
        assert "Keys that work now" in shown(pilot.app), "what comes late lies over nothing that was opened meanwhile"


async def test_every_key_in_the_footer_works_and_no_other(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(200, 50), notifications=True) as pilot:
        await settled(pilot)
        offered = pilot.app.session.keys()
        for action in ACTIONS:
            works = pilot.app.session.check_action("do", (action.verb,))
            assert works is (action.verb in offered)
        footer = shown(pilot.app).splitlines()[-1]
        for action in ACTIONS:
            if action.rank is not None:
                assert (f"{offered.get(action.verb)} {action.label}" in footer) is (action.verb in offered), action.verb


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 45), marks=pytest.mark.cases)], ids=["80x24", "160x45"])
async def test_the_task_at_work_stands_first_whatever_is_warned_of_and_w_shows_it_all(
    size: tuple[int, int], story: Story, desk: Desk
) -> None:
    story.append(ev.TasksLoaded(tasks=tuple(ev.TaskFact(id=i, task=f"Do thing {i}") for i in range(1, 61))))
    story.asking()
    paths = tuple(f"packages/p{number}/.npmrc" for number in range(40))
    story.append(
        ev.Quarantined(iteration=3, paths=("lib/.git", "hooks/pre-commit")),
        ev.Autorun(iteration=3, paths=paths, new=paths),
    )
    async with desk.app().run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("1")
        await until(pilot, lambda: "careful 40" in shown(pilot.app) and "↓" in shown(pilot.app))
        text = shown(pilot.app)
        assert "3 Do thing 3" in text
        assert "claims done" in text
        assert re.search(r"↓ \d+ more", text)
        assert re.search(r"careful 40  packages/p0.*…", text)
        await pilot.press("w")
        await until(pilot, lambda: "  hooks/pre-commit" in shown(pilot.app) and "Look at these" in shown(pilot.app))
        await pilot.press("G")
        await until(pilot, lambda: "packages/p39/.npmrc" in shown(pilot.app))
        await pilot.press("w")
        await until(pilot, lambda: "Look at these" not in shown(pilot.app))
        await pilot.resize_terminal(150, 42)
        await until(pilot, lambda: "○ six lights quiet" in shown(pilot.app), "what has room again is drawn")


async def test_leaving_leaves_the_session_alone(story: Story, desk: Desk) -> None:
    story.running()
    before = story.state.seq
    app = desk.app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("q")
    assert app.return_value == 0
    assert story.state.seq == before
    assert story.state.status is SessionStatus.RUNNING
    assert story.answer_orders() == []


# --- the desk ---------------------------------------------------------------------------------


async def test_tabs_show_one_panel_at_a_time_when_there_is_no_room(story: Story, desk: Desk) -> None:
    story.running()
    async with desk.app().run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "2 worker" in shown(pilot.app) and "Ran 9 tests" in shown(pilot.app))
        assert "Column statistics" not in shown(pilot.app)
        await pilot.press("1")
        await until(pilot, lambda: "Column statistics" in shown(pilot.app))
        await pilot.press("3")
        await until(pilot, lambda: "exhausts" in shown(pilot.app))
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: "Column statistics" in shown(pilot.app) and "Ran 9 tests" in shown(pilot.app))
        await pilot.press("1")
        assert "exhausts" in shown(pilot.app)


async def test_s15_ascii_alone_says_the_same(story: Story, desk: Desk) -> None:
    story.asking()
    async with desk.app(ascii_only=True).run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "a allow once" in shown(pilot.app))
        text = shown(pilot.app)
        assert text.isascii(), {char for char in text if not char.isascii()}
        for part in ("? ASKING", "+ 1 Parse", "> 3 Stream", "[####", "done, not judged", "# start -- # 1"):
            assert part in text


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast", "mono", "sixteen"])
async def test_every_theme_shows_the_same_words(theme: str, story: Story, desk: Desk) -> None:
    story.soft()
    async with desk.app(theme=theme).run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "73 % SOFT" in shown(pilot.app))
        assert pilot.app.theme == theme


async def test_no_color_shows_the_same_words(story: Story, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    story.soft()
    async with desk.app(theme=None).run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "73 % SOFT" in shown(pilot.app))
        assert pilot.app.no_color
        assert pilot.app.theme == "mono", "no grey of a red, which would be dimmer than its text"


async def test_s12_the_bell_rings_once_a_notice_and_only_while_nobody_looks(
    story: Story, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.journal import events as ev

    story.running()
    story.append(ev.Noticed(text="before the screen came", why="x"))
    app, rung = desk.app(), []
    monkeypatch.setattr(app, "bell", lambda: rung.append(1))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        story.append(ev.Noticed(text="asks", why="request:1"), ev.Noted(text="seen"))
        await until(pilot, lambda: "seen" in shown(pilot.app))
        assert rung == []
        app.post_message(events.AppBlur())
        await until(pilot, lambda: not app.app_focus)
        story.append(ev.Noticed(text="asks", why="request:1"), ev.Noted(text="unseen"))
        await until(pilot, lambda: "unseen" in shown(pilot.app))
        assert rung == [1]


async def test_s16_keys_can_be_rebound_and_are_shown_as_they_are(story: Story, desk: Desk, tmp_path: Path) -> None:
    keys = tmp_path / "config" / "proctor" / "keys.yaml"
    keys.parent.mkdir(parents=True)
    keys.write_text("rollback: f5\nquit: x\n")
    story.running()
    app = desk.app()
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "f5 back to task 2" in shown(pilot.app))
        assert "x leave" in shown(pilot.app)
        await pilot.press("R")
        assert story.answer_orders() == []
        await pilot.press("f5")
        await until(pilot, lambda: [order.verb for order in story.answer_orders()] == ["rollback"])
        await pilot.press("x")
    assert app.return_value == 0


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("themes/mine.yaml", "name: mine\ncolours:\n  background: nonsense\n", 3),
        ("themes/mine.yaml", "name: [mine\n", 2),
        ("keys.yaml", "quit: x\nfly: z\n", 2),
    ],
)
async def test_s19_a_broken_file_is_told_once_with_its_line_and_the_defaults_stay(
    file: str, text: str, line: int, story: Story, desk: Desk, tmp_path: Path
) -> None:
    broken = tmp_path / "config" / "proctor" / file
    broken.parent.mkdir(parents=True)
    broken.write_text(text)
    story.running()
    async with desk.app().run_test(size=(160, 36), notifications=True) as pilot:
        await settled(pilot)
        await pilot.pause()
        (told,) = pilot.app.session.said
        assert f"{broken}:{line}:" in told
        assert pilot.app.theme == "dark"
        assert "q leave" in shown(pilot.app)


async def test_an_operators_theme_can_be_used_by_name(story: Story, desk: Desk, tmp_path: Path) -> None:
    mine = tmp_path / "config" / "proctor" / "themes" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    from proctor.data import themes_dir

    mine.write_text((themes_dir() / "dark.yaml").read_text().replace("name: dark", "name: mine"))
    story.running()
    async with desk.app(theme="mine").run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        assert pilot.app.theme == "mine"


async def test_y_copies_to_a_file_as_well(story: Story, desk: Desk, tmp_path: Path) -> None:
    story.asking()
    async with desk.app().run_test(size=(120, 36), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: pilot.app.dock.request)
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.clipboard == "git push origin proctor/7")
        assert (tmp_path / "state" / "proctor" / "copied.txt").read_text() == "git push origin proctor/7"


def test_a_log_entry_is_drawn_in_fixed_columns() -> None:
    from datetime import UTC, datetime

    from proctor.tui.entries import Entry, Kind

    entry = Entry(
        datetime(2026, 11, 29, tzinfo=UTC), Kind.WORKER, "shell", "python -m unittest tests.test_stream", rows=2
    )
    wide, narrow = drawn(entry, 80), drawn(entry, 40)
    assert re.fullmatch(r"\d\d:\d\d:\d\d shell   python -m unittest tests.test_stream", plain(wide[0]))
    assert re.fullmatch(r"\d\d:\d\d shell   python -m unittest", plain(narrow[0]))
    assert plain(narrow[1]) == " " * 14 + "tests.test_stream"
