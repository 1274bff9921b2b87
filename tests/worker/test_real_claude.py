"""The real Claude Code in the sandbox, in front of a scripted model: that it does what its dialect takes it to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.script import Agent, Refuse, Script, Shell, Tool, Turn, Write, by_prompt, steps
from proctor.worker.base import Ask, Note, Resting, Result, Started, TurnEnded, Usage, Withdrawn
from proctor.worker.process import Worker
from worker import real
from worker.real import Decide, Session, allow

pytestmark = pytest.mark.agents


def run(workspace: Path, script: Script, decide: Decide = allow, brief: str = "Do it.", rules: str = "") -> Session:
    contract = {"kind": "claude", "model": "claude-sonnet-4-5"}
    return real.run(contract, workspace, script, decide, brief=brief, rules=rules)


def test_it_edits_runs_and_asks_before_each(tmp_path: Path) -> None:
    turns = steps(Turn("Writing.", (Write("a.txt", "one\n"),)), Turn("", (Shell("cat a.txt"),)), Turn("Both are done."))
    session = run(tmp_path, turns, brief="/cost is no command here", rules="xyzzy-plugh")
    assert [ask.tool for ask in session.asked] == ["write", "shell"]  # the second it would have allowed by itself
    assert [result.ok for result in session.of(Result)] == [True, True]
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert session.of(TurnEnded) == [TurnEnded(True)]
    assert (session.calls, session.code) == (3, 0)
    assert session.of(Started)[0].version
    assert "xyzzy-plugh" in json.dumps(session.bodies[0]["system"])
    assert "/cost is no command here" in json.dumps(session.bodies[0]["messages"])
    assert Note("Both are done.") in session.events
    assert sum(usage.output for usage in session.of(Usage)) > 0


def test_a_denial_and_a_change_reach_it(tmp_path: Path) -> None:
    def decide(worker: Worker, ask: Ask) -> None:
        changed = {**ask.input, "command": "echo changed"}
        worker.answer(ask.id, "one" not in ask.input["command"], "use two", changed)

    session = run(tmp_path, steps(Turn("", (Shell("echo one"),)), Turn("", (Shell("echo two"),)), Turn("Yes.")), decide)
    assert [(result.ok, result.output.strip()) for result in session.of(Result)] == [
        (False, "use two"),
        (True, "changed"),
    ]


def test_it_asks_nothing_of_the_model_while_a_question_waits_and_an_interrupt_ends_it(tmp_path: Path) -> None:
    session = run(tmp_path, steps(Turn("", (Shell("touch no"),))), lambda worker, ask: worker.interrupt())
    assert session.of(Withdrawn) == [Withdrawn(session.asked[0].id)]
    assert [turn.ok for turn in session.of(TurnEnded)] == [False]
    assert session.calls == 1
    assert not (tmp_path / "no").exists()


def test_a_refused_call_ends_its_turn_at_once(tmp_path: Path) -> None:
    refused = Turn("x", faults=(Refuse(402, message="all spent"),) * 3)
    session = run(tmp_path, steps(Turn("", (Shell("echo one"),)), refused))
    assert [(turn.ok, "all spent" in turn.why) for turn in session.of(TurnEnded)] == [(False, True)]
    assert session.calls == 2


def test_a_failed_call_is_not_tried_again(tmp_path: Path) -> None:
    session = run(tmp_path, steps(Turn("x", faults=(Refuse(500),) * 9)))
    assert [turn.ok for turn in session.of(TurnEnded)] == [False]
    assert session.calls == 1


def test_a_sub_agents_questions_are_asked_like_any_other(tmp_path: Path) -> None:
    script = by_prompt(
        {"part": steps(Turn("", (Shell("touch made"),)), Turn("Made."))}, steps(Turn("", (Agent("part"),)))
    )
    session = run(tmp_path, script)
    assert [ask.tool for ask in session.asked] == ["agent", "shell"]
    assert session.asked[1].agent
    assert (tmp_path / "made").exists()


def test_it_goes_on_when_what_it_left_running_has_ended(tmp_path: Path) -> None:
    later = {"command": "sleep 1; touch made", "description": "x", "run_in_background": True}
    first = steps(Turn("", (Tool("Bash", later),)), Turn("It runs."))
    session = run(tmp_path, by_prompt({"Do it": first}, steps(Turn("I saw it end."))))
    assert session.of(Resting) == [Resting(1)]
    assert Note("I saw it end.") in session.events
    assert session.of(TurnEnded) == [TurnEnded(True)]
    assert (tmp_path / "made").exists()
