"""The recorded runs can be read and replayed, and the rules hold their bars on them. `python benchmarks/detectors.py`
prints the table."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proctor.journal import events as ev
from proctor.journal.events import Row
from proctor.words import Light

from . import record
from .form import Call, Malformed, Trajectory, files, read, write
from .rules import (
    PUBLIC,
    events,
    five_hashes,
    four_pairs,
    openhands,
    openhands_loosely,
    ours,
    pair,
    signals,
    three_idle_loops,
)
from .scenes import first_stuck
from .score import left, not_beaten, scores

HERE = Path(__file__).parent
HALVES = ("first", "second")
BUSY = {"tool": "read", "input": {"path": "a"}, "result": "x"}


@pytest.fixture(scope="module", params=HALVES)
def half(request: pytest.FixtureRequest) -> list[Trajectory]:
    return [read(path) for path in files([HERE / request.param])]


def test_each_half_has_runs_of_many_shapes(half: list[Trajectory]) -> None:
    assert len(half) >= 30
    for label in ("healthy", "stuck"):
        assert len({one.header.shape for one in half if one.header.label == label}) >= 8
    assert len({one.header.name for one in half}) == len(half)


def test_a_run_is_what_the_loop_can_have_written(half: list[Trajectory]) -> None:
    for one in half:
        assert [x.iteration for x in one.iterations] == list(range(1, len(one.iterations) + 1))
        assert all(x.tree and x.before for x in one.iterations)
        assert one.tokens > 0
        assert not one.is_stuck or 1 <= one.stuck_from <= len(one.iterations)
        if not one.is_stuck:
            assert one.iterations[-1].verified


def test_no_alarm_on_a_healthy_run_and_every_public_rule_is_beaten(half: list[Trajectory]) -> None:
    own, others = scores(half)
    assert own.false == []
    assert {other.name: why for other in others if (why := not_beaten(own, other))} == {}


def test_what_is_written_is_what_was_read(tmp_path: Path, half: list[Trajectory]) -> None:
    write(tmp_path / "one.jsonl", half[0])
    assert read(tmp_path / "one.jsonl") == half[0]


def made(tmp_path: Path, *lines: dict[str, Any], **header: Any) -> Trajectory:
    """A file with these lines, read."""
    path = tmp_path / "made.jsonl"
    path.write_text("\n\n".join(json.dumps(line) for line in ({"label": "stuck", **header}, *lines)))
    return read(path)


def test_a_replay_says_what_the_session_itself_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are on in this one, so that the session ends where they fire."""
    seen: list[Row] = []

    def export(workspace: Path, header: Any) -> Trajectory:
        with record.Client(workspace) as client:
            seen.extend(client.rows(kinds=("plateau_signal", "loop_seen")))
        return real(workspace, header)

    real = record.export
    monkeypatch.setattr(record, "export", export)
    scene = first_stuck.same_error(Random(1))
    one = record.record(scene, 1, plateau={})
    said = [
        (row.event.iteration, str(row.event.rule), str(row.event.light) if isinstance(row.event, ev.LoopSeen) else "")
        for row in seen
        if isinstance(row.event, ev.LoopSeen | ev.PlateauSignal)
    ]
    replayed: list[tuple[int, str, str]] = []
    for alarm, light in signals(one):
        rules = alarm.why.partition(":")[0].split(" and ")
        replayed += [(alarm.iteration, rule, "" if alarm.calls is None else str(light)) for rule in rules]
    assert ("same_error", "firing") in [(rule, light) for _, rule, light in said]
    assert any(not light for _, _, light in said)
    assert sorted(replayed) == sorted(said)


def test_a_file_with_little_in_it_is_read(tmp_path: Path) -> None:
    failed = {"verdicts": [{"verdict": "failed", "message": "E: 1"}], "lines": 3, "unknown": 1, "hindered": None}
    one = made(tmp_path, {"iteration": 1, "tree": "a", **failed}, {"iteration": 2, "tree": "a", "lines": 0})
    assert one.stuck_from == 1
    assert [x.changed for x in one.iterations] == [True, False]
    assert one.iterations[1].before == "a"
    assert ours(one) is None
    many = [{"iteration": n, **failed} for n in range(1, 9)]
    alarm = ours(made(tmp_path, *many))
    assert alarm is not None
    assert alarm.iteration == 4
    assert ours(made(tmp_path, *many, windows={"same_failure": 0, "no_change": 0, "stalled": 0})) is None


def test_numbers_and_results_of_other_kinds_are_taken_as_they_are(tmp_path: Path) -> None:
    call = {"tool": "read", "input": {"path": "a"}, "result": {"b": [1]}, "ms": 0.5}
    line = {"iteration": 1, "events": [call] * 4, "spend": {"tokens": 1.5}}
    one = made(tmp_path, line, limits={"tokens": 1e6, "odd": 1})
    assert one.iterations[0].events[0].said == '{"b":[1]}'
    alarm = ours(one)
    assert alarm is not None
    assert alarm.calls == 4


def test_a_verdict_without_a_digest_is_named_by_what_it_says(tmp_path: Path) -> None:
    lines = [{"iteration": n, "verdicts": [{"verdict": "failed", "message": f"E: {n}"}]} for n in (1, 2)]
    digests = [e.digest for x in made(tmp_path, *lines).iterations for e in events(x) if isinstance(e, ev.Judged)]
    assert digests[0] == digests[1] != ""


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"label": "odd"}', '{"label": "stuck"}\n{"iteration": "x"}', "x"])
def test_what_is_no_trajectory_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(text)
    with pytest.raises(Malformed, match=r"odd\.jsonl"):
        read(path)


# --- the public rules, each at its border ---------------------------------------------------------


def calls(*results: str, error: bool = False, tool: str = "read") -> list[Any]:
    return [pair(Call(tool=tool, input={"path": "a"}, result=result, error=error)) for result in results]


def test_four_pairs_are_equal_in_action_and_observation() -> None:
    assert not four_pairs(calls("x", "x", "x"))
    assert four_pairs(calls("y", "x", "x", "x", "x"))
    assert not four_pairs(calls("x", "x", "y", "x"))


def test_openhands_sees_errors_and_alternation_too() -> None:
    assert openhands(calls("x", "y", "z", error=True))
    assert not openhands(calls("x", "y", "z", error=True, tool="shell"))
    assert openhands(calls(*"xyxyxy"))
    assert not openhands(calls(*"xyxyx"))
    assert not openhands(calls(*"xyzxyz"))


def test_openhands_of_old_compares_commands_by_their_exit_code() -> None:
    assert openhands_loosely(calls(*"abcd", tool="shell"))
    assert not openhands_loosely(calls(*"abcd"))
    assert not openhands_loosely([*calls(*"abc", tool="shell"), *calls("d", tool="shell", error=True)])


def test_five_hashes_ignore_what_calls_come_to() -> None:
    assert five_hashes(calls(*"abcde"))
    assert not five_hashes(calls(*"abcd"))


def test_three_idle_loops_begin_anew_with_a_change(tmp_path: Path) -> None:
    idle, busy = {"files": 0}, {"files": 1}
    numbered = lambda *of: [{"iteration": n, **one} for n, one in enumerate(of, 1)]  # noqa: E731
    assert three_idle_loops(made(tmp_path, *numbered(idle, idle, busy, idle, idle))) is None
    assert three_idle_loops(made(tmp_path, *numbered(busy, idle, idle, idle))) == (
        4,
        None,
        "three loops without a change",
    )


def test_a_rule_over_calls_begins_anew_with_a_worker_unless_it_looks_across(tmp_path: Path) -> None:
    one = made(tmp_path, *({"iteration": n, "events": [BUSY, BUSY]} for n in (1, 2, 3)))
    alarms = {rule.name: rule.alarm(one) for rule in PUBLIC}
    assert alarms["four identical pairs"] is None
    assert alarms["four identical pairs, across workers"] == (2, 2, "four identical pairs")
    assert alarms["five identical calls, across workers"] == (3, 1, "five identical calls")


def test_what_is_saved_within_an_iteration_goes_by_its_calls(tmp_path: Path) -> None:
    lines = [{"iteration": n, "events": [BUSY] * 8, "spend": {"tokens": 800}} for n in (1, 2)]
    one = made(tmp_path, *lines)
    alarm = ours(one)
    assert alarm is not None
    assert (alarm.iteration, alarm.calls) == (1, 4)
    assert left(one, alarm) == 400 + 800
    assert [light for _, light in signals(one)] == [Light.FIRING, Light.FIRING]
