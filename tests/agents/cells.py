"""One cell of the table: one agent, one scenario, one session of its own.

Every cell ends with the same proofs: the check's own verdict, the journal's calls against the truth of the server, and
nothing left running.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agents.agents import Agent
from harness import PATIENCE, Workspace, wait_until
from models.script import Edit, Read, Shell, Stall, Tokens, Turn, View, steps
from models.server import Models
from proctor.data import samples_dir
from proctor.journal import events as ev
from proctor.journal.state import RequestState
from proctor.words import CallEnd, RequestOutcome, Source, TaskStatus

READER = "src/csv_tool/reader.py"
SAMPLE = samples_dir() / "csv_tool"
OLD = (SAMPLE / READER).read_text()
NEW = (SAMPLE / "tools/script/1/reader.py").read_text()
PYTEST = "python -m pytest -q -p no:cacheprovider tests/test_quoting.py"
ASKED = "touch asked.txt"
REASON = "not this one, make no such file"
LONG_WAIT = 300.0

LOOK = Turn("I look at the code first.", (Read(READER),))
CHANGE = Turn("Splitting cannot work once quotes count.", (Edit(READER, OLD, NEW),))
END = Turn("Done.")
NOT_APPLICABLE = "n/a: cannot ask"

CONTRACT = """\
goal: Read delimited text without the standard library's csv
worker: WORKER
state: {protect: [tests/, specs/, tools/], commits: none}
budget:
  tokens: {limit: TOKENS, on_exhaustion: park}
  cost: {limit: $50, on_exhaustion: park}
  wall_clock: {limit: 30m, on_exhaustion: park}
  iterations: {limit: 3, on_exhaustion: park}
approvals:
  allow: ["read(*)", "search(*)", "write(*)", "shell(cat *)", "shell(python -m pytest *)"]
gateway: {upstream: {scripted: {base_url: URL, key: "env:SCRIPTED_KEY"}}}
notify: []
"""


@dataclass
class Cell:
    """A session to be: its workspace and its model."""

    agent: Agent
    workspace: Workspace
    models: Models

    @classmethod
    def made(cls, agent: Agent, folder: Path, models: Models, *, tokens: str = "5M", tasks: int = 1) -> Cell:
        workspace = Workspace.sample("csv_tool", folder)
        models.root = str(workspace.path)
        text = CONTRACT.replace("WORKER", agent.worker).replace("TOKENS", tokens).replace("URL", models.url)
        (workspace.path / "proctor.yaml").write_text(text)
        listed = workspace.path / "tasks.json"
        listed.write_text(json.dumps(json.loads(listed.read_text())[:tasks], indent=1))
        return cls(agent, workspace, models)

    def run(self, code: int = 0) -> None:
        """To the end, which has this code."""
        child = self.workspace.start()
        self.ended(child, code)

    def ended(self, child: subprocess.Popen[str], code: int = 0) -> None:
        output, _ = child.communicate(timeout=LONG_WAIT)
        assert child.returncode == code, f"exit {child.returncode}: {output[-1500:]}{self.said()}"

    def said(self) -> str:
        """The last that the worker said, for a failure's text."""
        streams = sorted(self.workspace.path.glob(".proctor/iterations/*/worker.jsonl"))
        return "\n" + streams[-1].read_text()[-2000:] if streams else ""

    def over(self, child: subprocess.Popen[str]) -> None:
        """Fails once the run has ended: what is waited for cannot come."""
        assert child.poll() is None, f"ended with {child.returncode} too early{self.said()}"

    def verified(self) -> None:
        """The session's own check says that task 1 is done, and so does a run of it here."""
        state = self.workspace.state()
        assert state
        assert state.sandbox == "bwrap"
        task = state.task(1)
        assert task
        assert (task.status, task.verified_by is not None) == (TaskStatus.DONE, True), f"{task.last}{self.said()}"
        assert (self.workspace.path / READER).read_text() == NEW
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "unittest", "tests.test_quoting"]
        done = subprocess.run(command, cwd=self.workspace.path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    def metered(self) -> None:
        """Every call that the server answered is in the journal with the server's own figures, and no other is."""
        assert self.models.failures == []
        rows = [row for row in self.workspace.events("model_call") if isinstance(row, ev.ModelCall)]
        answered = {row.message: row for row in rows if row.end is CallEnd.ANSWERED}
        served = [row for row in self.models.rows if row.whole]
        assert sorted(answered) == sorted(row.message for row in served)
        for truth in served:
            row, t = answered[truth.message], truth.tokens
            assert (row.input + row.cache_read, row.output) == (t.input + t.cache_read, t.output), truth
            assert (row.tools, row.micro) == (len(truth.tools), truth.micro), (row, truth)
            assert row.source is Source.MEASURED

    def nothing_left(self) -> None:
        wait_until(lambda: not self.workspace.processes(), "no process left")


def edits(cell: Cell) -> None:
    cell.models.script = steps(LOOK, CHANGE, END)
    cell.run()
    assert _outcomes(cell) == []
    assert cell.workspace.events("quarantined") == []  # it made no repository of its own


def runs_pytest(cell: Cell) -> None:
    test = Turn("Now the tests.", (Shell(PYTEST),))
    if not cell.agent.tools:
        return _tested_by_aider(cell)
    cell.models.script = steps(LOOK, test, CHANGE, test, END)
    cell.run()
    heard = b"".join(cell.models.bodies).decode()
    assert re.search(r"\d failed", heard)
    assert "6 passed" in heard
    assert _outcomes(cell) == []


def _tested_by_aider(cell: Cell) -> None:
    """It runs no command that a model asks for."""
    _after_each_edit(cell, PYTEST)
    half = OLD.replace("Rows out of", "Rows from")
    first = Turn("A first try.", (Edit(READER, OLD, half),))

    def script(view: View) -> Turn:
        failed = re.search(r"\d failed", view.prompt)
        return Turn("Splitting cannot work.", (Edit(READER, half, NEW),)) if failed else first

    cell.models.script = script
    cell.run()
    assert len(cell.models.calls()) == 2


def _after_each_edit(cell: Cell, command: str) -> None:
    """Aider runs a command that it is told to after each edit; what that says goes back to the model."""
    path = cell.workspace.path / "proctor.yaml"
    told = f'command: [aider, --auto-test, --test-cmd, "{command}"]'
    path.write_text(path.read_text().replace("agent: aider", f"agent: aider, {told}"))


def is_allowed(cell: Cell) -> None:
    cell.models.script = steps(LOOK, Turn("A mark first.", (Shell(ASKED),)), CHANGE, END)
    child = cell.workspace.start()
    asked = opened(cell)
    assert not (cell.workspace.path / "asked.txt").exists()
    done = cell.workspace.proctor("approve", "--id", str(asked.id))
    assert done.returncode == 0, done.stderr
    cell.ended(child)
    assert (cell.workspace.path / "asked.txt").exists()
    assert _outcomes(cell) == [RequestOutcome.GRANTED]


def is_denied(cell: Cell) -> None:
    """The command is not run, the reason reaches the model, and the agent does what is left to do."""
    ask = Turn("A mark first.", (Shell(ASKED),))

    def script(view: View) -> Turn:
        if REASON in view.raw.decode():
            told = view.nth if REASON in view.prompt else view.nth - 2
            return (CHANGE, END)[min(told, 1)]
        return (LOOK, ask, CHANGE, END)[min(view.nth, 3)]

    cell.models.script = script
    child = cell.workspace.start()
    asked = opened(cell)
    done = cell.workspace.proctor("deny", "--id", str(asked.id), "--reason", REASON)
    assert done.returncode == 0, done.stderr
    cell.ended(child)
    assert not (cell.workspace.path / "asked.txt").exists()
    assert _outcomes(cell) == [RequestOutcome.DENIED]
    assert any(REASON.encode() in body for body in cell.models.bodies), "the reason never reached the model"


def meets_a_ceiling(cell: Cell) -> None:
    """The call after that in which the work is done does not fit: it is refused, no other is asked for, and the work is
    kept and judged."""
    share = Tokens(cell.agent.size, 100)
    look, change = Turn(LOOK.say, LOOK.do, tokens=share), Turn(CHANGE.say, CHANGE.do, tokens=share)
    cell.models.script = steps(look, change, then=Turn("And on.", (Shell("cat PLAN.md"),), tokens=share))
    if not cell.agent.tools:
        _after_each_edit(cell, "ls /no/such/folder")
        alone = Turn(CHANGE.say, CHANGE.do, tokens=Tokens(cell.agent.size * 19 // 8, 100))
        cell.models.script = lambda _: alone
    cell.run(3)
    status = cell.workspace.status()
    assert (status["status"], status["why"]) == ("parked", "budget:tokens")
    assert len([row for row in cell.models.calls() if row.status == 200]) == (2 if cell.agent.tools else 1)
    rows = [row for row in cell.workspace.events("model_call") if isinstance(row, ev.ModelCall)]
    assert [row for row in rows if row.end is CallEnd.REFUSED]
    assert status["budget"]["tokens"]["used"] <= _ceiling(cell.agent)


def _ceiling(agent: Agent) -> int:
    """Tokens: room for two calls, not for three."""
    return agent.size * 5 // 2


def is_killed(cell: Cell) -> None:
    """The supervisor dies while a call is in flight; the next run settles that call and does the task."""
    dead = False

    def script(view: View) -> Turn:
        stall = () if dead or (cell.agent.tools and view.nth == 0) else (Stall("never"),)
        turn = steps(LOOK, CHANGE, END)(view)
        return Turn(turn.say, turn.do, faults=stall * 9)

    cell.models.script = script
    first = cell.workspace.start()
    wait_until(lambda: any("Stall" in r.fault for r in cell.models.rows) or cell.over(first), "a stalled call", 120)
    wait_until(lambda: (s := cell.workspace.state()) and s.calling, "the call's row")
    dead = True
    os.kill(wait_until(cell.workspace.supervisor), signal.SIGKILL)
    first.wait(PATIENCE)
    cell.nothing_left()
    cell.run()
    rows = [row for row in cell.workspace.events("model_call") if isinstance(row, ev.ModelCall)]
    lost = [row for row in rows if row.end is CallEnd.LOST]
    assert [row.source for row in lost] == [Source.ESTIMATED]


def opened(cell: Cell) -> RequestState:
    """The request for what the rules do not allow, once it is open."""

    def found() -> RequestState | None:
        state = cell.workspace.state()
        wanted = (one for one in state.requests if one.outcome is None and ASKED in str(one.opened)) if state else ()
        return next(iter(wanted), None)

    return wait_until(lambda: found() or cell.over(cell.workspace.children[-1]), "a request", LONG_WAIT)


def _outcomes(cell: Cell) -> list[RequestOutcome]:
    """What was decided by somebody; what a rule decided is not among it."""
    closed = [row for row in cell.workspace.events("request_closed") if isinstance(row, ev.RequestClosed)]
    return [row.outcome for row in closed if row.by != "rule"]


Scenario = Callable[[Cell], None]
SCENARIOS: dict[str, Scenario] = {
    "edit": edits,
    "pytest": runs_pytest,
    "allowed": is_allowed,
    "denied": is_denied,
    "ceiling": meets_a_ceiling,
    "killed": is_killed,
}
ASKS = ("allowed", "denied")


def tried(agent: Agent, scenario: str, folder: Path) -> str:
    """Run one cell; what the table says of it where it does not fail."""
    if scenario in ASKS and not agent.asks:
        return NOT_APPLICABLE
    ceiling = scenario == "ceiling"
    with Models() as models:
        cell = Cell.made(agent, folder, models, tokens=str(_ceiling(agent)) if ceiling else "5M", tasks=1 + ceiling)
        try:
            SCENARIOS[scenario](cell)
            cell.verified()
            cell.metered()
            cell.nothing_left()
        finally:
            cell.workspace.settle()
    return "ok"
