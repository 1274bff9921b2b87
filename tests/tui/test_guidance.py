"""What the screen points at: the keys that matter now, why nothing came of one, and what to do when all is done."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import checks
from proctor.journal import events as ev
from proctor.journal.state import RequestState, State, TaskState
from proctor.tui.app import farewell
from proctor.tui.panels import banner, budget, drift, keys, tasks
from proctor.tui.panels.help import pages
from proctor.tui.spans import plain
from proctor.words import DROPPED, CheckpointKind, Dimension, Light, RequestKind, Rule, SessionStatus, TaskStatus

from .test_checks import ROW, measured
from .test_panels import ALL_KEYS, NOW, a_state, a_view, kept, offered_in

CALM = {Dimension.COST: ev.Figure(1_000_000)}


def footer(state: State, room: int) -> str:
    view = a_view(state)
    offered = {verb: ALL_KEYS[verb] for verb in offered_in(view)}
    return plain(keys.footer(offered, room, first=keys.matters(view)))


def condition(state: State, *, starting: bool = False) -> str:
    said = banner.banner(a_view(state), starting=starting)
    return "\n".join(map(plain, banner.panel(said, 76, ALL_KEYS, 4))) if said else ""


def test_who_paused_is_said_first_and_what_went_back_by_itself_after_it() -> None:
    back = ev.RolledBack(safety="c4", target="c2", way="failed_verdict", changed=14)
    checkpoints = (*a_state().checkpoints, kept("c4", CheckpointKind.SAFETY))
    paused = a_state(status=SessionStatus.PAUSED, why="operator", rollbacks=(back,), checkpoints=checkpoints)
    first, then, *_ = condition(paused).split("\n")
    assert (first, then[:52]) == ("Paused by you", "before that, after a failed verdict: rolled back to ")
    by_hand = replace(paused, rollbacks=(replace(back, way="rollback"),))
    assert condition(by_hand).startswith("Rolled back to task 1")


def test_while_a_supervisor_is_on_its_way_the_rest_is_what_was() -> None:
    parked = a_state(status=SessionStatus.PARKED, why="budget:tokens")
    said = condition(parked, starting=True)
    assert said.startswith("Starting: ")
    assert "It was parked: tokens used up." in said
    assert "p " not in said.split("\n")[-1]
    assert not condition(a_state(), starting=True).startswith("Starting"), "it goes on already"


def test_a_task_that_needs_a_person_says_why_and_when_that_is_asked() -> None:
    why = "its check passed before the work"
    waiting = a_state(tasks=(TaskState(id=1, task="Count", status=TaskStatus.REVIEW, why=why),))
    assert "asked at the end: its check passed" in " ".join(map(plain, tasks.tasks(a_view(waiting), 60)))
    opened = ev.RequestOpened(id=4, request=RequestKind.REVIEW, what="x", task=1)
    asked = replace(waiting, requests=(RequestState(id=4, at=NOW, opened=opened),))
    assert "asked as #4: its check passed" in " ".join(map(plain, tasks.tasks(a_view(asked), 60)))


def test_a_name_is_cut_where_its_room_ends() -> None:
    long = a_state(tasks=(TaskState(id=1, task="Multiplication: mul returns the product", status=TaskStatus.DONE),))
    assert plain(tasks.tasks(a_view(long), 34)[0]) == "✔ 1 Multiplication: mul r…  passed"


def test_the_budget_opens_at_what_is_used_up() -> None:
    parked = a_state(status=SessionStatus.PARKED, why="budget:tokens", used=CALM)
    assert (budget.fullest(a_view(parked)), budget.fullest(a_view())) == (0, 1)


def test_the_footer_keeps_what_there_is_reason_to_look_at() -> None:
    calm = a_state(used=CALM)
    assert not keys.matters(a_view(calm)) & {"lights", "checks", "budget"}
    lit = replace(calm, plateau=replace(calm.plateau, light=Light.SUSPECT, rule=Rule.NO_CHANGE))
    assert "l drift" not in footer(calm, 78)
    assert "l drift" in footer(lit, 78)
    warned = replace(lit, autorun=(".envrc",))
    assert all(key in footer(warned, 78) for key in ("S stop", "v diff", "l drift", "q leave")), footer(warned, 78)
    missed = measured(ROW).state
    assert missed is not None
    assert "o checks" in footer(replace(missed, used=CALM), 78)
    assert "b budget" in footer(a_state(), 78), "cost is beyond its soft ceiling"
    assert "o checks" in footer(replace(calm, status=SessionStatus.DONE), 78)


def test_the_help_lists_every_key_however_narrow_it_is() -> None:
    offered = {verb: ALL_KEYS[verb] for verb in offered_in(a_view())}
    shown = [plain(one) for one in pages(offered, 72)]
    for verb, key in offered.items():
        assert any(one.startswith(f"  {key} ") for one in shown), verb


def test_a_finished_session_names_what_measures_its_checks_or_what_they_miss() -> None:
    done = a_state(status=SessionStatus.DONE)
    assert "`proctor audit /w` measures" in checks.hint(done, "/w")
    assert "`proctor audit" in farewell(a_view(done))
    assert "`proctor audit` measures" in condition(done)
    assert "`proctor audit" not in farewell(a_view(a_state(status=SessionStatus.PARKED)))
    missed, caught = measured(ROW).state, measured(replace(ROW, caught=100)).state
    assert missed is not None
    assert caught is not None
    assert "checks catch 29% of what is taken out: `proctor audit /w` names" in checks.hint(missed, "/w")
    assert checks.hint(caught, "/w") == ""


def test_going_on_in_vain_says_why_and_what_helps() -> None:
    used = {Dimension.COST: ev.Figure(20_400_000)}
    said = banner.again(a_view(a_state(status=SessionStatus.PARKED, why="budget:cost", used=used)), ALL_KEYS)
    assert said.startswith("It ended again at once. Parked: cost used up")
    assert said.endswith("e raises the ceiling, then p goes on")
    refused = banner.again(a_view(a_state(status=SessionStatus.FAILED, why="error:sandbox")), ALL_KEYS)
    assert refused == "It ended again at once. Failed: the sandbox was refused"
    for status in (SessionStatus.PARKED, SessionStatus.STOPPED):
        assert banner.again(a_view(a_state(status=status, why="operator")), ALL_KEYS) == "", "his own keys ended it"
    assert banner.again(a_view(a_state(status=SessionStatus.DONE)), ALL_KEYS) == ""


def test_what_is_granted_of_a_ceiling_and_waits_to_count_is_said() -> None:
    state = a_state(status=SessionStatus.PARKED, why="budget:cost", used={Dimension.COST: ev.Figure(20_400_000)})
    said = banner.banner(a_view(state, promised={Dimension.COST: 5_000_000}))
    assert said is not None
    assert said.lines[0] == "$5.00 more of it is granted and counts as soon as it goes on"
    assert said.verbs[0] == ("resume", "go on")


def test_what_is_left_out_of_the_work_is_called_by_one_name() -> None:
    state = a_state()
    dropped = replace(state.tasks[3], status=TaskStatus.BLOCKED, why=DROPPED)
    aside = replace(state.tasks[2], status=TaskStatus.BLOCKED, why="plateau:no_op")
    told = replace(state, tasks=(*state.tasks[:2], aside, dropped), status=SessionStatus.DONE)
    assert "2 of 4 tasks verified · 1 set aside · 1 dropped" in banner.summary(a_view(told))[1][0]


def test_a_plateau_of_a_task_that_is_no_longer_at_work_has_no_banner() -> None:
    state = a_state()
    seen = replace(state.plateau, light=Light.FIRING, rule=Rule.NO_OP, task=2)
    there, gone = (a_view(replace(state, plateau=replace(seen, task=task))) for task in (3, 2))
    assert banner.banner(there) is not None
    assert banner.banner(gone) is None
    assert "task 2: iterations change nothing" in "\n".join(map(plain, drift.panel(gone, 60)))
