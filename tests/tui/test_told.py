"""What the operator is told, in words of his own: what there is to do, what a thing is called, what one press does."""

from __future__ import annotations

import threading
from pathlib import Path

from msgspec.structs import replace

from harness import PATIENCE
from proctor.budget.extension import suggested
from proctor.journal import events as ev
from proctor.journal.state import RequestState
from proctor.supervisor.toll import Toll
from proctor.tui.actions import offered
from proctor.tui.panels import banner, budget, gauges, header, request, strip, tasks
from proctor.tui.panels.help import pages
from proctor.tui.spans import plain, width
from proctor.tui.view import holding
from proctor.tui.wording import answered, because, not_raised
from proctor.words import (
    DROPPED,
    CheckpointKind,
    Dimension,
    Exhaustion,
    Phase,
    RequestKind,
    Rule,
    SessionStatus,
    Source,
    TaskStatus,
    Verdict,
)
from tui.conftest import Desk, settled, shown, until
from tui.story import Story
from tui.test_panels import ALL_KEYS, NOW, a_state, a_view, kept, text


def test_a_session_that_is_paused_while_a_request_waits_says_so_and_offers_the_way_on() -> None:
    asked = ev.RequestOpened(id=1, request=RequestKind.TOOL, what="x", tool="shell", input={"command": "x"}, task=3)
    state = a_state(status=SessionStatus.ASKING, requests=(RequestState(id=1, opened=asked, at=NOW),))
    view = a_view(state, worker={"alive": True, "frozen": True, "paused": True})
    assert "paused too" in request.title(view, request.Docked(state.requests[0]), 80)
    assert offered("resume", holding(view))
    assert not offered("pause", holding(view))


def test_where_every_task_is_dropped_it_is_said_what_there_is_to_do() -> None:
    dropped = tuple(replace(task, status=TaskStatus.BLOCKED, why=DROPPED, verdict=None) for task in a_state().tasks)
    view = a_view(a_state(status=SessionStatus.PARKED, why="dropped", tasks=dropped, intent=None), alive=False)
    said = banner.banner(view)
    assert said is not None
    shown = text(banner.panel(said, 100, ALL_KEYS))
    for part in ("Parked: nothing is left to do", "write another into tasks.json", "p go on, once there is a task"):
        assert part in shown
    assert "write another into tasks.json" in banner.again(view, ALL_KEYS)
    assert "dropped" in text(tasks.tasks(view, 60))
    assert "blocked" not in text(tasks.tasks(view, 60))
    assert because("dropped") == ": every task is dropped"


def test_what_is_left_of_a_parked_session_is_told_with_why_it_was_set_aside() -> None:
    aside = tuple(
        task if task.status is TaskStatus.DONE else replace(task, status=TaskStatus.BLOCKED, why="plateau:no_op")
        for task in a_state().tasks
    )
    said = banner.banner(a_view(a_state(status=SessionStatus.PARKED, why="plateau:no_op", tasks=aside), alive=False))
    assert said is not None
    assert said.headline == "Parked: what is left is set aside"
    assert "task 3: plateau, iterations change nothing" in said.lines


def test_no_way_back_is_shown_where_the_tree_is_known_to_stand_there() -> None:
    there = a_state(tree="c3", status=SessionStatus.PARKED, why="operator", intent=None)
    moved = replace(there, tree="elsewhere")
    at_work = replace(there, status=SessionStatus.RUNNING, intent=ev.IterationStarted(iteration=7, task=3, key="k"))
    still, moving, gone = {"touched": False}, {"touched": True}, {"alive": False}
    for state, worker, back in (
        (there, {}, False),
        (moved, {}, True),
        (at_work, still, False),
        (at_work, moving, True),
        (at_work, gone, True),
        (replace(at_work, tree="elsewhere"), still, True),
    ):
        assert ("R back" in plain(strip.strip(a_view(state, worker=worker), 120, ALL_KEYS))) is back
    assert "R back" in plain(strip.strip(a_view(at_work, worker=still, alive=False), 120, ALL_KEYS)), "not known"
    said = banner.banner(a_view(there))
    assert said is not None
    assert "rollback" not in dict(said.verbs)


def test_a_checkpoint_is_called_by_whole_words() -> None:
    one = kept("c4", CheckpointKind.ASKED)
    for changes, called in (
        ({"edited": True, "note": "changed by the operator"}, "your edit"),
        ({"note": "before the large refactoring"}, "before the large…"),
        ({"name": "before-the-large-refactoring"}, "before-the-large-re…"),
    ):
        assert strip.name(replace(one, taken=replace(one.taken, **changes))) == called


def test_the_task_at_work_is_called_by_its_id_and_its_place_where_that_is_another_number() -> None:
    other = tuple(replace(task, id=f"T{task.id}") for task in a_state().tasks)
    intent = ev.IterationStarted(iteration=7, task="T3", key="k")
    assert "task T3, no. 3 of 5" in plain(header.header(a_view(a_state(tasks=other, intent=intent)), 120))


def test_to_drop_a_task_takes_two_presses_and_the_final_check_is_no_task_to_drop() -> None:
    asked = ev.RequestOpened(id=1, request=RequestKind.REVIEW, what="task 5: no check", task=5)
    one = RequestState(id=1, opened=asked, at=NOW)
    last = replace(one, opened=replace(asked, task=None))
    assert request.drops(one)
    assert not request.drops(last)
    keys_shown = {verb: ALL_KEYS[verb] for verb in ("approve", "deny")}
    again = text(request.panel(a_view(), request.Docked(one, again=True), 80, 5, keys_shown))
    assert "d again to drop the task" in again
    assert "task 5, Command line" in again
    assert "d park" in text(request.panel(a_view(), request.Docked(last), 80, 5, keys_shown))


def test_tampering_shows_the_lines_and_whether_they_were_undone() -> None:
    hunk = "tests/a.py:2  a test was deleted\n-def test_a():\n+def a():"
    asked = ev.RequestOpened(id=1, request=RequestKind.TAMPERING, what="go on after tampering?", iteration=3, task=3,
                             why="tests/a.py:2: a test was deleted", input={"hunk": hunk})  # fmt: skip
    one = RequestState(id=1, opened=asked, at=NOW)
    row = ev.Tampered(iteration=3, task=3, paths=("tests/a.py",))
    for rows, said in (((row,), "1 file put back for the verdict"), ((replace(row, paths=()),), "nothing was undone")):
        shown = text(request.panel(a_view(found=rows), request.Docked(one), 76, 6, ALL_KEYS))
        assert "-def test_a():" in shown
        assert "+def a():" in shown
        assert said in shown
        assert "longer" not in shown
    assert "\n".join(request.whole(a_view(), one)).count("-def test_a():") == 1
    assert request.title(a_view(), request.Docked(one), 76).startswith("Checks were tampered with")


def test_the_whole_of_a_request_has_all_that_the_dock_has() -> None:
    asked = ev.RequestOpened(
        id=1, request=RequestKind.TOOL, what="x", why="publish it", tool="shell", input={"command": "a; b"}, task=3
    )
    shown = "\n".join(request.whole(a_view(), RequestState(id=1, opened=asked, at=NOW)))
    for part in ("a; b", "task 3 · publish it", "2 things in it:", "- a", "shell · asked just now"):
        assert part in shown
    long = "because " * 200 + "of this"
    shown = "\n".join(request.whole(a_view(), RequestState(id=1, opened=replace(asked, why=long), at=NOW)))
    assert "of this" in shown


def test_no_line_of_the_help_is_cut() -> None:
    assert max(width(one) for one in pages(ALL_KEYS, 72)) <= 72


async def test_a_page_and_a_prompt_that_are_open_move_with_the_session(story: Story, desk: Desk) -> None:
    story.parked()
    app = desk.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "2M used of 2M" in shown(app))
        story.append(ev.CeilingRaised(dimension=Dimension.TOKENS, by=500_000, limit=2_500_000))
        await until(pilot, lambda: "2M used of 2.5M" in shown(app))
        await pilot.press("escape", "l")
        await until(pilot, lambda: "○ plateau   quiet" in shown(app))
        story.append(ev.PlateauSignal(rule=Rule.NO_OP, window=2, evidence=("no diff",), task=3, iteration=4))
        await until(pilot, lambda: "◐ plateau   suspect" in shown(app))


async def test_one_press_drops_no_task(story: Story, desk: Desk) -> None:
    story.append(
        ev.RequestOpened(id=1, request=RequestKind.REVIEW, what="task 5: no check", task=5),
        ev.StatusChanged(status=SessionStatus.ASKING, why="request:1"),
    )
    app = desk.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: app.dock.armed)
        now = app.dock._clock()
        app.dock._clock = lambda: now
        await pilot.press("d")
        await until(pilot, lambda: "d again to drop the task" in shown(app))
        assert not app.dock.answered
        await pilot.press("d")
        await until(pilot, lambda: app.dock.answered)


def test_what_takes_time_before_a_worker_runs_is_named_and_nothing_is_said_to_run_while_it_is_paused() -> None:
    begun = {"step": "select", "since": NOW.timestamp() - 23}
    unseen = a_state(intent=None)
    failing = ev.Judged(iteration=7, task=3, phase=Phase.BASELINE, verdict=Verdict.FAILED)
    seen = replace(unseen, tasks=tuple(replace(task, baseline=failing) for task in unseen.tasks))
    finished = replace(unseen, tasks=unseen.tasks[:2])
    for state, said in (
        (unseen, "the check before the work · 23 s"),
        (seen, "choosing a task · 23 s"),
        (finished, "the last checks · 23 s"),
        (replace(unseen, status=SessionStatus.PAUSED, why="operator"), "paused"),
        (replace(unseen, status=SessionStatus.PLATEAU), ""),
    ):
        assert a_view(state, loop=begun).step == said
    assert a_view(unseen, loop={"step": "judge", "since": NOW.timestamp() - 70}).step == "checking · 1 min"
    assert a_view(unseen, loop={"step": "load"}, worker={"paused": True}).step == "paused"


def test_of_what_goes_on_in_a_tab_as_much_is_told_as_fits() -> None:
    names = (("1", "tasks 0/2"), ("2", "worker"), ("3", "budget"))
    shown = plain(header.tabs(names, 2, ("the check before the work · 23 s", "following"), 80))
    assert shown.rstrip().endswith("the check before the work · 23 s")
    assert plain(header.tabs(names, 2, ("at work", "following"), 80)).rstrip().endswith("at work   following")


def test_a_ceiling_is_raised_by_what_somebody_may_have_meant() -> None:
    most = "at most 200M at once: a ceiling is not lowered again"
    for by, used, said in ((0, 0, "a ceiling can only be raised"), (200_000_000, 0, ""), (10**16, 0, most)):
        assert not_raised(Dimension.TOKENS, by, 2_000_000, used) == said
    offered = suggested(Dimension.ITERATIONS, 5_000, 1)
    assert not_raised(Dimension.ITERATIONS, offered, 1, 5_000) == ""


async def test_a_mistyped_extension_is_refused_where_it_is_typed(workspace: Path, desk: Desk) -> None:
    story = Story(workspace).parked()
    async with desk.app().run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e", *"99999999999", "enter")
        await until(pilot, lambda: "at most 200M at once" in shown(pilot.app))
        assert story.answer_orders() == []
    story.close()


def test_the_answer_to_an_order_says_what_it_is_about() -> None:
    for verb, outcome, detail, said in (
        ("note", "done", "in the next brief", "your note is in the next brief"),
        ("checkpoint", "done", "kept as c4", "kept as c4"),
        ("fresh", "done", "", "fresh done"),
        ("rollback", "refused", "there is none", "rollback not done: there is none"),
    ):
        assert answered(verb, outcome, detail) == said


def test_no_digit_and_no_mark_moves_what_stands_behind_it_in_the_line_of_budgets() -> None:
    def shown(share: int, source: Source) -> list[str]:
        state = a_state(used={Dimension.TOKENS: ev.Figure(20_000 * share, source), Dimension.COST: ev.Figure(1)})
        return [plain(row) for row in gauges.folded(gauges.read(a_view(state)), 40)]

    small, large = shown(0, Source.MEASURED), shown(45, Source.ESTIMATED)
    assert (small[0].rstrip(), large[0].rstrip()) == ("tok  0 %    $ <1 %", "tok 45 % ~  $ <1 %")


def test_iterations_are_counted_when_they_have_ended_and_say_so_beside_the_one_at_work() -> None:
    ceiling = ev.CeilingFact(dimension=Dimension.ITERATIONS, limit=12, action=Exhaustion.PARK)
    view = a_view(a_state(ceilings=(ceiling,), used={Dimension.ITERATIONS: ev.Figure(6)}))
    (gauge,) = gauges.read(view)
    assert "6 ended of 12" in plain(gauges.head(gauge, 38))
    assert "iterations ended" in text(budget.table(view, 80, 0))


async def test_a_key_with_nothing_to_show_or_that_has_to_wait_says_so(story: Story, desk: Desk) -> None:
    story.rolled_back()
    app, read = desk.app(), threading.Event()

    def preview() -> Toll:
        assert read.wait(PATIENCE)
        return desk.toll

    app.preview = preview
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("w")
        await until(pilot, lambda: "nothing was warned of" in shown(app))
        await pilot.press("R", "u", "p")
        await until(pilot, lambda: "going back: looking for edits of yours" in shown(app))
        read.set()
        taken = []
        await until(pilot, lambda: taken.extend(story.answer_orders()) or taken)
        assert [order.verb for order in taken] == ["rollback"]
