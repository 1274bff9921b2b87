"""The real Claude Code in the sandbox, in front of a scripted model: that it does what its dialect takes it to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from models.script import Agent, Refuse, Script, Shell, Tool, Turn, Write, by_prompt, steps
from models.server import Models
from proctor.doors import door as doors
from proctor.errors import UsageError
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import GATEWAY, Policy
from proctor.worker import find
from proctor.worker.base import Ask, Note, Resting, Result, Started, TurnEnded, Usage, Withdrawn, WorkerEvent
from proctor.worker.claude import Claude
from proctor.worker.dialect import Setting
from proctor.worker.process import Worker, start

pytestmark = pytest.mark.agents

Decide = Callable[[Worker, Ask], None]


def allow(worker: Worker, ask: Ask) -> None:
    worker.answer(ask.id, True, "", ask.input)


@dataclass
class Session:
    """What a session came to: its events, and how the program ended."""

    events: list[WorkerEvent] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    calls: int = 0
    code: int | None = None

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def relay(here: tuple[asyncio.StreamReader, asyncio.StreamWriter], port: int) -> None:
    """Bytes both ways between the sandbox and the model."""
    there = await asyncio.open_connection("127.0.0.1", port)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    await asyncio.gather(pump(here[0], there[1]), pump(there[0], here[1]), return_exceptions=True)


def run(workspace: Path, script: Script, decide: Decide = allow, brief: str = "Do it.", rules: str = "") -> Session:
    try:
        program = find.locate("claude")
    except UsageError as error:
        pytest.fail(str(error))

    async def go() -> Session:
        session, over, door = Session(), asyncio.Event(), doors.make()

        def hear(source: str, line: bytes, events: tuple[WorkerEvent, ...]) -> None:
            session.events += events
            for event in events:
                if isinstance(event, Ask):
                    session.asked.append(event)
                    decide(worker, event)

        with Models(script, root=str(workspace)) as models:
            worker = start(
                Claude(program),
                Setting(brief, "claude-sonnet-4-5", f"http://{GATEWAY}", "token", str(workspace), rules),
                backend=choose("bwrap"),
                policy=Policy(workspace, door=door.folder, listen=True, environment={"IS_SANDBOX": "1"}),
                door=door,
                on_line=hear,
                on_exit=over.set,
            )
            server = await asyncio.start_server(lambda *here: relay(here, models.port), sock=worker.running.listener)
            try:
                await asyncio.wait_for(over.wait(), 60)
            finally:
                session.code = (await worker.close()).code
                server.close()
                worker.release()
                door.remove()
            session.calls = len(models.calls())
            session.bodies = [json.loads(body) for body in models.bodies]
            assert models.failures == []
        return session

    return asyncio.run(go())


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
