"""The real codex in the sandbox, in front of a scripted model: that it does what its dialects take it to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from models.script import Refuse, Script, Shell, Tool, Turn, View, Write, steps
from proctor.worker.base import Ask, Note, Result, Started, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.base import Tool as Called
from proctor.worker.process import Worker
from worker.real import Decide, Session, allow, run

pytestmark = pytest.mark.agents

PLAIN = {"kind": "codex", "model": "gpt-5.5"}
Run = Callable[..., Session]


@pytest.fixture
def codex(tmp_path: Path) -> Run:
    def go(script: Script, decide: Decide = allow, **more: object) -> Session:
        return run(PLAIN, tmp_path, script, decide, **more)  # type: ignore[arg-type]

    return go


def test_it_edits_runs_and_asks_before_each(tmp_path: Path, codex: Run) -> None:
    (tmp_path / "AGENTS.md").write_text("The word is xyzzy-plugh.\n")
    path = Turn("", (Shell("echo $PATH; env"),))
    session = codex(steps(Turn("Writing.", (Write("a.txt", "one\n"),)), path, Turn("Both are done.")))
    assert [ask.tool for ask in session.asked] == ["write", "shell"]
    assert session.asked[0].input["path"] == str(tmp_path / "a.txt")
    assert session.asked[1].input == {"command": "echo $PATH; env", "cwd": str(tmp_path)}
    written, listed = session.of(Result)
    assert (written.ok, listed.ok) == (True, True)
    assert "PROCTOR_GATEWAY_TOKEN" not in listed.output
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert session.of(TurnEnded) == [TurnEnded(True)]
    assert (session.calls, session.side, session.code) == (3, 0, 0)
    assert session.of(Started)[0].version
    assert "xyzzy-plugh" in json.dumps(session.bodies[0])
    assert Note("Both are done.") in session.events
    assert len(session.of(Usage)) == 3
    assert not session.of(Trouble)


def test_a_denials_reason_reaches_the_very_next_call(tmp_path: Path, codex: Run) -> None:
    def decide(worker: Worker, ask: Ask) -> None:
        worker.answer(ask.id, "no.txt" not in ask.input["command"], "make yes.txt")

    def script(view: View) -> Turn:
        return steps(Turn("", (Shell("touch no.txt"),)), Turn("", (Shell("touch yes.txt"),)))(view)

    session = codex(lambda view: Turn("Done.") if "make yes.txt" in view.raw.decode() else script(view), decide)
    assert session.calls == 2
    assert [result.ok for result in session.of(Result)] == [False]
    assert "Denied: touch no.txt: make yes.txt" in json.dumps(session.bodies[1]["input"])
    assert not (tmp_path / "no.txt").exists()


def test_what_one_call_of_code_runs_is_asked_one_by_one(tmp_path: Path) -> None:
    code = 'await tools.exec_command({cmd: "touch one"}); await tools.exec_command({cmd: "touch two"}); text("x")'

    def script(view: View) -> Turn:
        return Turn("", (Tool("exec", code),)) if view.nth == 0 else Turn("Done.")  # type: ignore[arg-type]

    session = run({"kind": "codex", "model": "gpt-6-sol"}, tmp_path, script)
    assert [ask.input["command"] for ask in session.asked] == ["touch one", "touch two"]
    assert session.calls == 2


def test_nothing_can_be_typed_into_a_program_that_was_allowed(tmp_path: Path, codex: Run) -> None:
    def script(view: View) -> Turn:
        if view.nth < 2:
            run = {"cmd": "tail -f /dev/null & cat > typed; wait", "yield_time_ms": 300}
            return Turn("", (Tool("exec_command", run | ({"tty": True} if view.nth == 0 else {})),))
        if view.nth == 2:
            number = int(view.heard[-1].partition("session ID ")[2].split()[0])
            return Turn("", (Tool("write_stdin", {"session_id": number, "chars": "typed\n"}),))
        return Turn("Done.")

    session = codex(script)
    assert session.calls == 4
    assert [ask.tool for ask in session.asked] == ["shell"]
    assert (tmp_path / "typed").read_text() == ""


def test_an_open_question_stops_it_and_an_interrupt_ends_it(tmp_path: Path, codex: Run) -> None:
    session = codex(steps(Turn("", (Shell("touch no"),))), lambda worker, ask: worker.interrupt())
    assert session.of(TurnEnded) == [TurnEnded(False, "interrupted")]
    assert session.of(Withdrawn) in ([], [Withdrawn(session.asked[0].id)])
    assert session.calls == 1
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("status", [400, 401, 429, 503])
def test_a_call_that_fails_is_not_tried_again(codex: Run, status: int) -> None:
    session = codex(steps(Turn("x", faults=(Refuse(status, message="all spent"),) * 9)))
    assert [turn.ok for turn in session.of(TurnEnded)] == [False]
    assert session.of(Trouble)[-1].fatal
    assert session.calls == 1


def test_where_nobody_asks_it_asks_nothing(tmp_path: Path, codex: Run) -> None:
    turns = steps(Turn("Writing.", (Write("a.txt", "one\n"),)), Turn("", (Shell("cat a.txt; exit 3"),)), Turn("Done."))
    session = codex(turns, asked=False, brief="x" * 300_000)
    assert session.asked == []
    assert [(call.name, result.ok) for call, result in zip(session.of(Called), session.of(Result), strict=True)] == [
        ("write", True),
        ("shell", False),
    ]
    assert session.of(TurnEnded) == [TurnEnded(True)]
    assert (session.calls, session.code) == (3, 0)
    (usage,) = session.of(Usage)
    assert usage.output > 0
