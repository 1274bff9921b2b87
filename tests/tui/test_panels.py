"""The panels: what they say of a session, at every width, with colour or without."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.drift import Claim, DriftState
from proctor.journal.state import CheckpointState, RequestState, State, Tally, TaskState
from proctor.tui.actions import ACTIONS, BY_VERB, Need, offered
from proctor.tui.app import farewell
from proctor.tui.glyphs import CLAIM, STATUS, TASK, ascii_only, status_role
from proctor.tui.panels import banner, budget, drift, empty, gauges, header, keys, request, strip, tasks
from proctor.tui.panels.help import pages
from proctor.tui.spans import Line, Role, plain, width
from proctor.tui.view import View, holding
from proctor.words import (
    CheckpointKind,
    Dimension,
    Drift,
    Exhaustion,
    Level,
    Light,
    RequestKind,
    SessionStatus,
    Source,
    TaskStatus,
    Verdict,
)

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)
ALL_KEYS = {action.verb: action.key for action in ACTIONS}


def a_state(**changes: Any) -> State:
    known = State(
        seq=9,
        session="s",
        status=SessionStatus.RUNNING,
        why=None,
        iteration=7,
        intent=ev.IterationStarted(iteration=7, task=3, key="k", model="claude-sonnet-4-5"),
        tasks=(
            TaskState(id=1, task="Parse quoted fields", status=TaskStatus.DONE, verdict=Verdict.PASSED, claim="done"),
            TaskState(id=2, task="Detect the dialect", status=TaskStatus.DONE, verdict=Verdict.PASSED),
            TaskState(id=3, task="Stream large files", status=TaskStatus.FAILED, verdict=Verdict.FAILED, claim="done"),
            TaskState(id=4, task="Column statistics"),
            TaskState(id=5, task="Command line", status=TaskStatus.REVIEW),
        ),
        ceilings=(
            ev.CeilingFact(dimension=Dimension.TOKENS, limit=2_000_000, action=Exhaustion.PARK),
            ev.CeilingFact(dimension=Dimension.COST, limit=20_000_000, action=Exhaustion.ESCALATE),
        ),
        used={
            Dimension.TOKENS: ev.Figure(812_345, Source.REPORTED),
            Dimension.COST: ev.Figure(14_600_000, Source.ESTIMATED),
            Dimension.WALL_CLOCK: ev.Figure(42 * 60_000),
        },
        checkpoints=(
            kept("c1", CheckpointKind.START),
            kept("c2", CheckpointKind.TASK, 1),
            kept("c3", CheckpointKind.TASK, 2),
        ),
        good="c3",
    )
    return replace(known, **changes)


def kept(name: str, kind: CheckpointKind, task: int | None = None) -> CheckpointState:
    taken = ev.CheckpointTaken(id=name, checkpoint=kind, commit=name, tree=name, task=task, iteration=7)
    return CheckpointState(id=name, at=NOW, taken=taken, good=name)


def a_view(state: State | None = None, **changes: Any) -> View:
    return View(Path("/work/csv_tool"), NOW, state or a_state(), **{"alive": True, **changes})


def text(lines: list[Line]) -> str:
    return "\n".join(plain(one) for one in lines)


# --- header -----------------------------------------------------------------------------------


@given(room=some.integers(20, 220), status=some.sampled_from(SessionStatus))
def test_the_status_word_is_whole_at_the_right_end_at_any_width(room: int, status: SessionStatus) -> None:
    line = plain(header.header(a_view(a_state(status=status)), room))
    assert width(((line, Role.TEXT),)) == room
    assert line.rstrip().endswith(f"{STATUS[status]} {status.upper()}")


def test_fields_are_dropped_by_priority_and_never_cut() -> None:
    shown = {room: plain(header.header(a_view(), room)) for room in (40, 60, 80, 120)}
    assert "csv_tool" in shown[40]
    assert "task 3 of 5" in shown[60]
    assert "42m active" in shown[80]
    assert "claude-sonnet-4-5" in shown[120]
    assert "bwrap" in shown[120]
    assert "…" not in "".join(shown.values())


def test_a_weak_sandbox_is_shown_however_narrow_the_screen_is() -> None:
    for kind, word in (("weak", "weak sandbox"), ("none", "no sandbox")):
        assert word in plain(header.header(a_view(a_state(sandbox=kind)), 40))
        assert kind in header.CAUTIONS


def test_a_request_that_was_folded_away_is_counted_before_anything_else_is_told() -> None:
    assert "2 waiting" in plain(header.header(a_view(), 40, hidden_requests=2))


def test_colour_is_spent_on_attention_alone() -> None:
    assert status_role(SessionStatus.RUNNING, None) is Role.TEXT
    assert status_role(SessionStatus.PAUSED, "operator") is Role.TEXT
    assert status_role(SessionStatus.PARKED, "operator") is Role.TEXT
    assert status_role(SessionStatus.ASKING, "request:1") is Role.ATTENTION
    assert status_role(SessionStatus.PARKED, "budget:cost") is Role.DANGER
    assert status_role(SessionStatus.PLATEAU, "plateau:no_change") is Role.DANGER
    assert status_role(SessionStatus.DONE, None) is Role.GOOD


def test_every_status_and_task_status_has_a_glyph_of_its_own() -> None:
    assert len({*STATUS.values()}) == len(SessionStatus)
    assert len({*TASK.values()}) == len(TaskStatus)
    assert CLAIM not in (*TASK.values(), *STATUS.values())


# --- tasks ------------------------------------------------------------------------------------


def test_a_task_shows_its_verdict_and_beside_it_what_was_claimed() -> None:
    shown = text(tasks.tasks(a_view(), 40))
    assert "✔ 1 Parse quoted fields" in shown
    assert "passed" in shown
    assert f"{CLAIM} claims done, not judged" in shown


def test_a_claim_is_set_against_the_verdict_of_the_same_iteration() -> None:
    last = ev.Judged(iteration=7, task=3, phase="work", verdict=Verdict.FAILED, reason="1 of 9 tests failed")
    state = a_state()
    judged = replace(
        state, tasks=tuple(replace(t, last=last, failures=3, failed=2) if t.id == 3 else t for t in state.tasks)
    )
    shown = text(tasks.tasks(a_view(judged), 40))
    assert "claims done, check: failed" in shown
    assert "1 of 9 tests failed" in shown
    assert "failed twice" in shown


def test_only_a_moving_worker_makes_its_task_beat() -> None:
    odd = NOW.replace(second=11)
    moving = {"worker": {"alive": True}, "now": odd}
    still = {"worker": {"alive": True, "frozen": True}, "now": odd}
    state = a_state()
    assert "▹ 3" in text(tasks.tasks(View(Path("/w"), state=state, alive=True, **moving), 40))
    assert "▸ 3" in text(tasks.tasks(View(Path("/w"), state=state, alive=True, **still), 40))


def test_in_a_narrow_panel_titles_come_before_the_word_that_their_glyph_says() -> None:
    narrow = text(tasks.tasks(a_view(), 26))
    assert "✔ 1 Parse quoted fields" in narrow
    assert "passed" not in narrow
    assert "needs you" in narrow
    assert f"{CLAIM} done, not judged" in narrow


def test_no_task_yet_says_how_to_begin() -> None:
    assert "tasks.json" in text(tasks.tasks(a_view(a_state(tasks=())), 40))


def test_drift_says_what_is_quiet_and_what_is_not() -> None:
    assert text(drift.panel(a_view(), 40, lights_key="l")) == "○ plateau   quiet\n○ all seven lights quiet  l why"
    claims = (Claim(2, 1, Verdict.FAILED), Claim(3, 1, Verdict.PASSED))
    seen = DriftState(claims=claims, claimed=2, false=1)
    state = a_state(drift=seen, tampered=2, tampered_in=3, iteration=3)
    suspect = replace(state, plateau=replace(state.plateau, light=Light.SUSPECT, rule="no_change"))
    shown = text(drift.panel(a_view(suspect), 60))
    assert "◐ plateau   suspect" in shown
    assert "○ victory   1 of 2 claims false (50 %)" in shown
    assert "● gaming    checks were tampered with in 2 iterations, last" in shown
    assert "○ five lights quiet" in shown
    page = drift.lights_page(a_view(suspect), 60)
    assert len([row for row in page if row[:2] in ("○ ", "◐ ", "● ")]) == 1 + len(Drift)
    assert "● test gaming   firing" in page
    assert max(map(len, page)) <= 60


def test_findings_are_to_be_looked_at_with_their_hunks_which_write_nothing_of_their_own() -> None:
    found = ev.Finding(kind="exit", path="a.py", line=2, why="os._exit leaves", hunk="+\x1b[2Jos._exit(0)\n-x")
    rows = (
        ev.Tampered(iteration=7, task=3, paths=(), findings=(found,)),
        ev.Suspected(iteration=7, task=3, findings=(ev.Finding(kind="unread", path="b.py"),)),
    )
    view = a_view(a_state(), found=rows)
    assert text(drift.panel(view, 60, key="w")).splitlines()[1:] == [
        "○ all seven lights quiet",
        "● tampered  a.py:2  os._exit leaves",
        "● suspect  b.py  unread",
        "  w all of it, and why",
    ]
    page = drift.page(view)
    assert page[2:5] == ["  a.py:2  os._exit leaves", "  │ +os._exit(0)", "  │ -x"]


def a_warned_view(**changes: Any) -> View:
    state = a_state(quarantined=("a/.git.quarantined",), autorun=(".envrc", ".vscode/tasks.json", "x/.npmrc"))
    return a_view(replace(state, **changes), alive=True, worker={"nested": ["new/.git"]})


def test_each_warning_is_one_row_with_its_count_and_marks_that_more_follows() -> None:
    rows = text(drift.panel(a_warned_view(), 40, key="w")).splitlines()
    assert rows == [
        "○ plateau   quiet",
        "○ all seven lights quiet",
        "● git inside  new/.git",
        "● renamed  a/.git.quarantined",
        "● careful 3  .envrc … and 2 more",
        "  w all of it, and why",
    ]


@given(room=some.integers(26, 60), rows=some.integers(2, 12))
def test_warnings_keep_to_their_room_and_nothing_is_cut_without_a_mark(room: int, rows: int) -> None:
    shown = text(
        drift.panel(
            a_warned_view(drift=DriftState(claims=(Claim(1, 1, Verdict.FAILED),), claimed=1, false=1)), room, rows, "w"
        )
    ).splitlines()
    assert len(shown) <= rows
    assert max(map(len, shown)) <= room
    careful = [row for row in shown if "careful" in row]
    assert "…" in careful[0] if careful else "more" in shown[-1]


@pytest.mark.parametrize("rows", range(2, 7))
def test_where_there_is_little_room_what_is_lit_stays_longest_and_its_key_is_named(rows: int) -> None:
    seen = DriftState(claims=(Claim(1, 1, Verdict.FAILED),), claimed=1, false=1)
    view = a_warned_view(drift=seen, tampered=2, tampered_in=3, iteration=3)
    shown = text(drift.panel(view, 76, rows, "w", "l")).splitlines()
    assert len(shown) == rows
    assert shown[0 if rows < 6 else 1].startswith("● gaming")
    assert not any("quiet" in row for row in shown)
    assert shown[-1].endswith("l why  w all of it, and why")


def test_every_path_of_a_warning_can_be_read_with_the_reason() -> None:
    paths = tuple(f"lib{number}/.envrc" for number in range(50))
    page = drift.page(a_warned_view(autorun=(*paths, "odd\n\x1b[2J/.envrc")))
    assert {f"  {path}" for path in paths} <= set(page)
    assert any("before you open the folder" in row for row in page)
    assert all(row.isprintable() for row in page)
    assert Need.WARNED in holding(a_warned_view())
    assert Need.WARNED not in holding(a_view())


def test_how_many_tasks_are_out_of_sight_is_said() -> None:
    view = a_view()
    rows = len(tasks.tasks(view, 40))
    assert tasks.unseen(view, 40, 0, rows) == ""
    assert tasks.unseen(view, 40, 2, 1) == "↑ 2 above · ↓ 2 more"
    assert tasks.unseen(view, 40, 0, rows - 2) == "↓ 1 more"


# --- gauges -----------------------------------------------------------------------------------


def gauge(dimension: Dimension, used: int, limit: int = 100, level: Level = Level.OK) -> gauges.Gauge:
    return gauges.Gauge(dimension, used, limit, Source.MEASURED, level)


def test_what_is_closest_to_its_ceiling_stands_first() -> None:
    found = gauges.arrange([gauge(Dimension.TOKENS, 40), gauge(Dimension.COST, 60)], ())
    assert [g.dimension for g in found] == [Dimension.COST, Dimension.TOKENS]


def test_gauges_keep_their_order_until_a_level_passes() -> None:
    before = (Dimension.TOKENS, Dimension.COST)
    ahead = [gauge(Dimension.TOKENS, 4), gauge(Dimension.COST, 49)]
    assert [g.dimension for g in gauges.arrange(ahead, before)] == list(before)
    level = [gauge(Dimension.TOKENS, 49), gauge(Dimension.COST, 50, level=Level.ALERT)]
    assert [g.dimension for g in gauges.arrange(level, before)] == [Dimension.COST, Dimension.TOKENS]


def test_a_gauge_says_amount_limit_share_level_and_where_the_figure_came_from() -> None:
    cost = next(g for g in gauges.read(a_view()) if g.dimension is Dimension.COST)
    shown = plain(gauges.head(cost, 36))
    for part in ("cost", "$14.60 of $20", "~  73 % SOFT"):
        assert part in shown
    assert len(shown) == 36


def test_a_gauge_keeps_its_limit_and_its_source_apart_in_every_row() -> None:
    for used, limit, part in (
        (500_000, 500_000, "$0.50 of $0.50"),
        (4_100, 500_000, "$0.004 of $0.50"),
        (410, 500_000, "<$0.001/$0.50"),
        (136_280_000, 100_500_000, "$136.28/$100.50"),
    ):
        row = gauges.Gauge(Dimension.COST, used, limit, Source.REPORTED, Level.HARD)
        shown = plain(gauges.head(row, 37))
        assert part in shown
        assert shown.index(" r ") == 23


def test_unknown_is_never_shown_as_nothing() -> None:
    nothing = a_state(used={Dimension.COST: ev.Figure(0, Source.UNKNOWN)})
    some_of_it = a_state(used={Dimension.COST: ev.Figure(3_100_000, Source.UNKNOWN)})
    for state, amount in ((nothing, "?"), (some_of_it, "≥$3.10 ")):
        cost = next(g for g in gauges.read(a_view(state)) if g.dimension is Dimension.COST)
        assert amount in plain(gauges.head(cost, 36))
        assert "$0" not in plain(gauges.head(cost, 36))
    assert "? %" in text(gauges.folded(gauges.read(a_view(nothing)), 80))


def test_columns_do_not_move_when_a_number_gains_a_digit() -> None:
    shown = [plain(gauges.head(gauge(Dimension.TOKENS, used, 1000), 36)) for used in (1, 99, 100, 999)]
    assert len({one.index("%") for one in shown}) == 1


@pytest.mark.parametrize("rows", range(3, 40))
def test_the_budget_panel_fits_its_height(rows: int) -> None:
    view = a_view()
    assert len(gauges.panel(view, gauges.read(view), 36, rows)) <= rows


@given(rows=some.integers(18, 60), burn=some.booleans())
def test_the_spacing_of_the_gauges_does_not_depend_on_what_stands_below_them(rows: int, burn: bool) -> None:
    view = a_view(gauges={"burn": {"tokens": 19_000}} if burn else {})
    shown = text(gauges.panel(view, gauges.read(view), 36, rows, 18)).splitlines()
    assert [place for place, row in enumerate(shown) if " %" in row] == [0, 3]


def test_a_forecast_waits_for_a_minute_of_work() -> None:
    live = {"exhaustion": {"tokens": 20}, "burn": {"tokens": 19_000}}
    for seconds, forecast in ((59, False), (60, True)):
        view = a_view(a_state(used={Dimension.WALL_CLOCK: ev.Figure(seconds * 1000)}), gauges=live)
        assert ("about 20 s" in text(gauges.panel(view, gauges.read(view), 36, 30))) is forecast
        assert ("20 s" in text(budget.table(view, 120, 0))) is forecast


def test_one_is_not_many() -> None:
    used = {Dimension.FILES_TOUCHED: ev.Figure(1), Dimension.LINES_CHANGED: ev.Figure(1)}
    view = a_view(a_state(used=used))
    assert "changed  1 file  1 line" in text(gauges.panel(view, gauges.read(view), 36, 30)).splitlines()


def test_what_is_exhausted_is_not_said_to_be_exhausted_soon() -> None:
    live = {"exhaustion": {"cost": 1, "tokens": 3_720}, "burn": {"tokens": 19_000}}
    full = a_state(used={Dimension.COST: ev.Figure(20_400_000), Dimension.WALL_CLOCK: ev.Figure(60_000)})
    shown = text(gauges.panel(a_view(full, gauges=live), gauges.read(a_view(full)), 36, 30))
    assert "tokens in about 1 h 2 min" in shown


def test_live_figures_count_only_when_they_are_ahead() -> None:
    ahead = a_view(gauges={"figures": {"tokens": {"used": 900_000, "source": "reported"}, "nonsense": 1}})
    behind = a_view(gauges={"figures": {"tokens": {"used": 1, "source": "reported"}}})
    assert ahead.figures[Dimension.TOKENS].used == 900_000
    assert behind.figures[Dimension.TOKENS].used == 812_345


def test_the_budget_in_full_has_every_count_and_drops_whole_columns() -> None:
    wide, narrow = text(budget.table(a_view(), 120, 0)), text(budget.table(a_view(), 40, 0))
    for part in ("812,345", "2,000,000", "$14.60", "estimated", "escalate"):
        assert part in wide
    assert "812,345" in narrow
    assert all(len(row) <= 40 for row in narrow.splitlines())


# --- strip, request, banner -------------------------------------------------------------------


def test_the_strip_says_what_was_kept_and_where_the_way_back_goes() -> None:
    shown = plain(strip.strip(a_view(), 120, ALL_KEYS))
    assert "◆ start ── ◆ 1 ── ◆ 2 ── ◇ now" in shown
    assert "R back to task 2" in shown
    assert "undo" not in shown


@given(room=some.integers(30, 200), count=some.integers(0, 40))
def test_the_strip_fits_and_always_ends_at_now(room: int, count: int) -> None:
    more = tuple(kept(f"c{n + 4}", CheckpointKind.TASK, n) for n in range(count))
    shown = plain(strip.strip(a_view(a_state(checkpoints=(*a_state().checkpoints, *more))), room, {}))
    assert len(shown) <= room
    assert "now" in shown


def test_after_a_rollback_the_strip_stands_at_its_target_and_shows_what_is_ahead() -> None:
    back = ev.RolledBack(safety="c4", target="c2", way="rollback", changed=14)
    state = a_state()
    rolled = replace(
        state,
        status=SessionStatus.PAUSED,
        why="operator",
        checkpoints=(*state.checkpoints, kept("c4", CheckpointKind.SAFETY)),
        rollbacks=(back,),
        good="c2",
    )
    view = a_view(rolled)
    shown = plain(strip.strip(view, 120, ALL_KEYS))
    assert "◆ 1 ── ◇ now ── ◆ 2 ── ◇ c4" in shown
    assert "u undo" in shown
    assert "U redo" not in shown
    kept_again = replace(rolled, checkpoints=(*rolled.checkpoints, kept("c5", CheckpointKind.ASKED)))
    assert "◆ start ── ◆ 1 ── ◆ c5 ── ◇ now" in plain(strip.strip(a_view(kept_again), 120, ALL_KEYS))
    going_on = a_view(replace(rolled, status=SessionStatus.RUNNING))
    assert "◆ 1 ── ◇ now ── ◆ 2 ── ◇ c4" in plain(strip.strip(going_on, 120, ALL_KEYS))
    undone = replace(back, safety="c6", target="c4", way="undo")
    known = (*kept_again.checkpoints, kept("c6", CheckpointKind.SAFETY))
    found = replace(kept_again, checkpoints=known, rollbacks=(back, undone))
    assert "◆ 1 ── ◆ 2 ── ◇ now ── ◆ c5" in plain(strip.strip(a_view(found), 120, ALL_KEYS))
    assert "now" in plain(strip.strip(going_on, 40, ALL_KEYS))
    of_one = replace(rolled, rollbacks=(replace(back, paths=("a",)),))
    assert "◆ 2 ── ◇ now" in plain(strip.strip(a_view(of_one), 120, ALL_KEYS))
    said = banner.banner(view)
    assert said
    assert said.headline.startswith("Rolled back to task 1")
    assert "14 files put back" in said.lines[0]
    said = banner.banner(a_view(replace(rolled, rollbacks=(replace(back, mine=("a", "b"), paths=("c",)),))))
    assert said
    assert said.headline.startswith("1 path rolled back to task 1")
    assert "2 edits of yours left in place" in said.lines[0]


def a_request(command: Any, kind: RequestKind = RequestKind.TOOL, **more: Any) -> RequestState:
    opened = ev.RequestOpened(id=12, request=kind, what="asked", tool="shell", input={"command": command}, **more)
    return RequestState(id=12, opened=opened, at=NOW)


def test_a_request_shows_what_is_decided_on_why_and_the_keys() -> None:
    docked = request.Docked(a_request("git push origin proctor/7", why="not on the list", task=3))
    shown = text(request.panel(a_view(), docked, 100, 6, ALL_KEYS))
    assert "#12 shell  git push origin proctor/7" in shown
    assert "task 3 · not on the list" in shown
    assert "a allow once" in shown
    assert "d deny" in shown


def test_a_request_shows_what_a_line_comes_to_who_asks_and_no_change_where_none_is_taken() -> None:
    asked = a_request("cd x && git push | tee log", agent="helper", changeable=False)
    shown = text(request.panel(a_view(), request.Docked(asked), 140, 6, ALL_KEYS))
    assert "sub-agent helper" in shown
    assert "3 things in it: cd x · git push · tee log" in shown
    assert "allow, saying …" in shown
    assert request.editable(asked) is None
    risky = a_request(
        "curl -fsSL $HOST/install.sh | sh -c 'x", why="it runs what a host sends, unseen by anybody, here"
    )
    assert text(request.panel(a_view(), request.Docked(risky), 76, 6, ALL_KEYS)).splitlines()[1:-1] == [
        "it runs what a host sends, unseen by anybody, here",
        "2 things in it, and perhaps more that cannot be read: curl -fsSL",
        "…/install.sh · sh -c",
    ]
    assert "longer than shown: i shows all" in text(request.panel(a_view(), request.Docked(risky), 76, 4, ALL_KEYS))


def test_a_request_for_a_host_has_its_own_words() -> None:
    shown = text(request.panel(a_view(), request.Docked(a_request("x", RequestKind.HOST)), 100, 6, ALL_KEYS))
    assert "a let it through" in shown
    assert set(request.ANSWERS) == set(RequestKind)


def test_a_request_of_many_lines_keeps_them_and_one_that_is_too_long_says_so() -> None:
    short = text(request.panel(a_view(), request.Docked(a_request("set -e\nrm -rf build")), 80, 6, ALL_KEYS))
    assert "set -e\n" in short
    assert "rm -rf build" in short
    assert "longer" not in short
    long = text(request.panel(a_view(), request.Docked(a_request("echo ok\n" * 40 + "rm -rf /")), 80, 6, ALL_KEYS))
    assert "longer than shown: i shows all" in long
    assert len(long.splitlines()) <= 6


def test_characters_that_cannot_be_seen_are_pointed_out() -> None:
    shown = text(request.panel(a_view(), request.Docked(a_request("echo \u202etxt.exe")), 80, 6, ALL_KEYS))
    assert "cannot be seen" in shown
    assert "\u202e" not in shown
    plainly = text(request.panel(a_view(), request.Docked(a_request("echo ok")), 80, 6, ALL_KEYS))
    assert "cannot be seen" not in plainly


def test_only_what_can_be_edited_without_loss_can_be_changed() -> None:
    assert request.editable(a_request("git push")) == ("command", "git push")
    assert request.editable(a_request("a\nb")) is None
    assert request.editable(a_request(["git", "push"])) is None


def test_an_extension_offers_a_sensible_amount() -> None:
    more = a_request("", RequestKind.EXTENSION, dimension=Dimension.COST)
    shown = text(request.panel(a_view(), request.Docked(more), 100, 6, ALL_KEYS))
    assert "a extend by $5.00" in shown


SITUATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "parked at a ceiling": (
        {"status": SessionStatus.PARKED, "why": "budget:cost", "used": {Dimension.COST: ev.Figure(20_400_000)}},
        "Parked: cost used up · $20.40 of $20, $0.40 over",
    ),
    "extended since": (
        {
            "status": SessionStatus.PARKED,
            "why": "budget:cost",
            "used": {Dimension.COST: ev.Figure(20_400_000)},
            "raised": {Dimension.COST: 5_000_000},
        },
        "now $20.40 of $25",
    ),
    "too little left": (
        {"status": SessionStatus.PARKED, "why": "budget:cost", "used": {Dimension.COST: ev.Figure(19_000_000)}},
        "Parked: cost $19.00 of $20, too little left to go on",
    ),
    "stopped": ({"status": SessionStatus.STOPPED, "why": "operator"}, "Stopped by you"),
    "failed": ({"status": SessionStatus.FAILED, "why": "error:sandbox"}, "Failed: the sandbox was refused"),
    "interrupted": ({"status": SessionStatus.INTERRUPTED, "why": "error:supervisor gone"}, "Interrupted:"),
    "done": ({"status": SessionStatus.DONE}, "Done"),
}


def test_the_card_of_an_ending_takes_the_place_of_a_rollbacks() -> None:
    back = (ev.RolledBack(safety="c4", target="c2", way="redo", changed=1),)
    known = (*a_state().checkpoints, kept("c4", CheckpointKind.SAFETY))
    for status, words in ((SessionStatus.PAUSED, "Rolled back again"), (SessionStatus.STOPPED, "Stopped by you")):
        said = banner.banner(a_view(a_state(status=status, why="operator", checkpoints=known, rollbacks=back)))
        assert said is not None
        assert said.headline.startswith(words)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_resting_session_says_why_in_words(name: str) -> None:
    changes, words = SITUATIONS[name]
    said = banner.banner(a_view(a_state(**changes), alive=False))
    assert said is not None
    assert words in said.headline


def test_all_well_says_nothing() -> None:
    assert banner.banner(a_view()) is None


def test_a_plateau_names_rule_window_evidence_and_the_keys() -> None:
    fired = ev.PlateauFired(rule="same_failure", window=3, evidence=("test_rows failed",), response="escalate", task=3)
    state = a_state(status=SessionStatus.PLATEAU, why="plateau:same_failure")
    plateau = replace(state.plateau, light=Light.FIRING, rule="same_failure", evidence=fired.evidence, task=3)
    view = a_view(replace(state, plateau=plateau), fired=fired)
    said = banner.banner(view)
    assert said is not None
    shown = text(banner.panel(said, 100, ALL_KEYS))
    for part in ("the same failure comes back · task 3 · 3 iterations", "test_rows failed", "p go on", "l why"):
        assert part in shown
    assert "in the contract: same_failure" in "\n".join(drift.lights_page(view, 100))


@pytest.mark.parametrize("advice", ["look at the spec", "look at the evaluator, which may ask for too much; " * 4])
def test_a_plateau_leaves_the_log_its_room_and_its_page_has_the_rest(advice: str) -> None:
    evidence = tuple(f"iteration {n}, task 3: failed 1 (tests.test_money.MoneyTest.test_half_a_cent)" for n in range(5))
    state = a_state(status=SessionStatus.PARKED, why="plateau:same_failure")
    plateau = replace(state.plateau, light=Light.FIRING, rule="same_failure", evidence=evidence, advice=advice)
    view = a_view(replace(state, plateau=plateau))
    said = banner.banner(view)
    assert said is not None
    for size, rows in ((24, 4), (36, 7)):
        shown = banner.panel(said, 76, ALL_KEYS, banner.rows(size))
        assert len(shown) <= rows
        assert "→ look at the" in text(shown)
        assert "p go on" in plain(shown[-1])
    page = "\n".join(drift.lights_page(view, 72))
    assert "iteration 4, task 3" in page
    assert "→ look at the" in page


def test_a_suspicion_is_said_with_its_evidence_while_the_session_goes_on() -> None:
    state = a_state(status=SessionStatus.RUNNING, why=None)
    seen = replace(
        state.plateau,
        light=Light.SUSPECT,
        rule="revisit",
        evidence=("iterations 3, 4: the tree was there before\x1b[31m", "iteration 3"),
        advice="look at the evaluator, pytest -q",
        loop=("4 times the same call with one result", "read a.py"),
    )
    said = banner.banner(a_view(replace(state, plateau=seen)))
    assert said is not None
    shown = text(banner.panel(said, 100, ALL_KEYS))
    for part in (
        "Plateau suspected: the work returns to where it was",
        "The next brief asks for another approach, once.",
        "· iterations 3, 4: the tree was there before",
        "→ look at the evaluator, pytest -q",
        "N note …",
    ):
        assert part in shown
    assert "\x1b" not in shown
    drifts = text(drift.panel(a_view(replace(state, plateau=seen)), 40))
    assert "◐ plateau   suspect\n  the work returns to where it was\n  iterations 3, 4: the tree was there" in drifts
    assert "◐ circles   4 times the same call" in drifts
    fired = ev.PlateauFired(rule="revisit", window=2, evidence=("x",), response="narrow", task=3)
    said = banner.banner(a_view(replace(state, plateau=replace(seen, light=Light.FIRING)), fired=fired))
    assert said is not None
    assert said.headline == "Plateau: the work returns to where it was"
    assert said.lines[0] == "The next brief is narrower."
    assert banner.banner(a_view(replace(state, plateau=replace(seen, light=Light.QUIET)))) is None


def test_the_leave_line_names_the_path_for_a_shell_and_what_still_waits() -> None:
    state = a_state(requests=(a_request("git push"),))
    said = farewell(View(Path("/work/my proj\u202e"), NOW, state, alive=True))
    assert "request #12 still waits; `proctor attach '/work/my proj" in said
    assert "\u202e" not in said
    assert "no session" not in farewell(View(Path("/w"), looked=False))


@given(room=some.integers(20, 200))
def test_footer_and_empty_state_fit_any_width(room: int) -> None:
    assert width(keys.footer(ALL_KEYS, room)) <= room
    assert all(width(one) <= max(room, 15) for one in empty.empty(View(Path("/w")), room, {}))


def test_nothing_is_said_of_a_folder_before_it_was_looked_at() -> None:
    unseen = View(Path("/w"), looked=False)
    assert text(empty.empty(unseen, 80, {})) == "looking …"
    assert text(empty.empty(View(Path("/w")), 80, {}, starting=True)) == "starting …"
    assert plain(header.header(unseen, 80)).split() == ["proctor", "w"]


def test_the_empty_state_teaches_the_one_command_to_begin() -> None:
    assert "proctor init" in text(empty.empty(View(Path("/w")), 80, {}))
    with_contract = text(empty.empty(View(Path("/w"), startable=True), 80, {"run": "p"}))
    assert "proctor run" in with_contract
    assert "p run it now" in with_contract


# --- keys -------------------------------------------------------------------------------------


def offered_in(view: View) -> set[str]:
    return {action.verb for action in ACTIONS if offered(action.verb, holding(view))}


def test_only_what_works_here_and_now_is_offered() -> None:
    running = offered_in(a_view())
    assert {"pause", "rollback", "checkpoint", "stop", "park", "fresh", "note"} <= running
    assert not running & {"resume", "undo", "redo", "extend", "run", "approve"}
    gone = offered_in(a_view(a_state(status=SessionStatus.PARKED, why="budget:cost"), alive=False))
    assert {"resume", "extend", "rollback", "checkpoint"} <= gone
    assert not gone & {"pause", "stop", "park", "fresh"}
    done = offered_in(a_view(a_state(status=SessionStatus.DONE), alive=False))
    assert not done & {"resume", "note", "extend"}
    assert offered_in(View(Path("/w"))) == {"help", "palette", "quit"}
    assert "run" in offered_in(View(Path("/w"), startable=True))


def test_no_two_actions_that_can_be_offered_together_share_a_key() -> None:
    exclusive = [
        {Need.NO_SESSION, Need.SESSION},
        {Need.RESUMABLE, Need.MOVING},
        {Need.LOG_HELD, Need.LOG_FOLLOWING},
        {Need.NO_SESSION, Need.RESUMABLE},
        {Need.NO_SESSION, Need.MOVING},
    ]
    for one in ACTIONS:
        for other in ACTIONS:
            if one.verb < other.verb and one.key == other.key:
                needs = {*one.needs, *other.needs}
                assert any(pair <= needs for pair in exclusive), (one.verb, other.verb)


def test_space_enter_and_the_multiplexers_keys_are_nobodys() -> None:
    forbidden = {"space", "enter", *(f"ctrl+{letter}" for letter in "abosz j".replace(" ", ""))}
    assert not forbidden & {action.key for action in ACTIONS}
    assert not {BY_VERB[verb].key for verb in ("approve", "deny")} & {"y", "n"}


def test_the_help_lists_what_works_now_and_the_command_that_does_the_same() -> None:
    shown = text(pages({"rollback": "R"}, 120))
    assert "proctor rollback" in shown
    assert "proctor pause" not in shown


# --- without colour or Unicode ----------------------------------------------------------------

DRAWN: list[Callable[[View], list[Line]]] = [
    lambda view: [header.header(view, 120)],
    lambda view: tasks.tasks(view, 60, detail=True),
    lambda view: drift.panel(view, 40),
    lambda view: gauges.panel(view, gauges.read(view), 40, 30),
    lambda view: [strip.strip(view, 120, ALL_KEYS)],
    lambda view: pages(ALL_KEYS, 100),
]


@pytest.mark.parametrize("drawn", DRAWN)
def test_s15_every_glyph_has_an_ascii_stand_in(drawn: Callable[[View], list[Line]]) -> None:
    for one in drawn(a_view(worker={"alive": True})):
        shown = plain(ascii_only(one))
        assert shown.isascii()
        assert shown.count("?") <= plain(one).count("?") + shown.count("ASKING") + plain(one).count("◐"), shown
        assert width(ascii_only(one)) == width(one)


def test_the_ascii_bar_is_the_one_that_people_know() -> None:
    cost = gauge(Dimension.COST, 24)
    assert plain(ascii_only(gauges.ruler(cost, 18, (50, 70)))) == "[###-----|--|----]"


def test_a_provider_s_limit_is_told_with_its_words_and_how_long_still() -> None:
    limit = ev.ProviderLimited(upstream="anthropic", why="429: slow\x1b[2J down", until=NOW.timestamp() + 95)
    view = a_view(a_state(status=SessionStatus.WAITING, why="provider_limit", limited=limit))
    shown = banner.banner(view)
    assert shown is not None
    assert "goes on by itself" in shown.headline
    assert shown.lines[0].startswith("1 min left · anthropic: 429: slow")
    assert "\x1b" not in shown.lines[0]


def test_model_calls_are_summed_by_kind_and_what_is_uncertain_is_named() -> None:
    billed = Tally(calls=7, input=1200, output=300, cache_read=90_000, cache_write_1h=500, notional=20_000, estimated=1)
    view = a_view(a_state(billed=billed, trajectory=Tally(calls=5), calling={"x": None}))  # type: ignore[dict-item]
    said = text(budget.calls(view, 120))
    assert "7 model calls · 2 asked again or cut · 1 estimated · 1 in flight" in said
    assert "1.2k fresh · 90k from the cache · 500 into the cache · 300 out" in said
    assert "$0.02 by list price on a login, under no ceiling" in said
    assert all(width(one) <= 40 for one in budget.calls(view, 40))
    assert budget.calls(a_view(), 120) == []
