"""What the screen points at: the keys that matter now, why nothing came of one, and what to do when all is done."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.journal import checks
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.tui.app import farewell
from proctor.tui.panels import banner, keys
from proctor.tui.panels.help import pages
from proctor.tui.spans import plain
from proctor.words import Dimension, Light, Rule, SessionStatus

from .test_checks import ROW, measured
from .test_panels import ALL_KEYS, a_state, a_view, offered_in

CALM = {Dimension.COST: ev.Figure(1_000_000)}


def footer(state: State, room: int) -> str:
    view = a_view(state)
    offered = {verb: ALL_KEYS[verb] for verb in offered_in(view)}
    return plain(keys.footer(offered, room, first=keys.matters(view)))


def test_the_footer_keeps_what_there_is_reason_to_look_at() -> None:
    calm = a_state(used=CALM)
    assert not keys.matters(a_view(calm)) & {"lights", "checks", "budget"}
    lit = replace(calm, plateau=replace(calm.plateau, light=Light.SUSPECT, rule=Rule.NO_CHANGE))
    assert "l drift" not in footer(calm, 78)
    assert "l drift" in footer(lit, 78)
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
