"""A believable session, told to a real journal: scenes that a test asks for, played by a stand-in for the supervisor.

The stand-in is this process: it writes rows as a supervisor would and answers the orders it finds in the inbox.
`python tests/tui/story.py FOLDER` plays it at a human pace; `proctor attach FOLDER` watches it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.journal.store import Journal, journal_path
from proctor.journal.stream import StreamWriter, stream_path
from proctor.supervisor import inbox, process
from proctor.words import (
    CheckpointKind,
    Dimension,
    Exhaustion,
    IterationEnd,
    Level,
    Phase,
    RequestKind,
    RequestOutcome,
    Response,
    Rule,
    SessionStatus,
    Source,
    TaskStatus,
    Verdict,
)

TASKS = (
    "Parse quoted fields",
    "Detect the dialect",
    "Stream large files",
    "Column statistics",
    "Command line",
)
CEILINGS = (
    ev.CeilingFact(dimension=Dimension.WALL_CLOCK, limit=4 * 3_600_000, action=Exhaustion.PARK),
    ev.CeilingFact(dimension=Dimension.TOKENS, limit=2_000_000, action=Exhaustion.PARK),
    ev.CeilingFact(dimension=Dimension.COST, limit=20_000_000, action=Exhaustion.ESCALATE),
    ev.CeilingFact(dimension=Dimension.TOOL_CALLS, limit=3_000, action=Exhaustion.ESCALATE),
    ev.CeilingFact(dimension=Dimension.FILES_TOUCHED, limit=60, action=Exhaustion.ESCALATE),
)


class Story:
    """One session in `workspace`. Every method is a scene and leaves the journal where that scene ends."""

    def __init__(self, workspace: Path, *, sandbox: str = "bwrap", alive: bool = True) -> None:
        self.workspace = workspace
        workspace.mkdir(parents=True, exist_ok=True)
        self.state_dir = process.state_dir_of(workspace.resolve())
        self.journal = Journal(journal_path(self.state_dir))
        self.lock = threading.Lock()
        self.writer: StreamWriter | None = None
        pid = os.getpid()
        started = process.start_time(pid) or 0
        self.append(
            ev.SessionStarted(session="s1", workspace=str(workspace), goal="Make csv_tool ready for large files"),
            ev.SupervisorStarted(
                pid=pid,
                boot=process.boot_id(),
                started=started if alive else started + 1,
                token=self.journal.token,
                sandbox=sandbox,
                worker="command",
            ),
            ev.ContractLoaded(contract="c", plan="p", ceilings=CEILINGS),
            ev.TasksLoaded(tasks=tuple(ev.TaskFact(id=i, task=task) for i, task in enumerate(TASKS, 1))),
            ev.StatusChanged(status=SessionStatus.RUNNING),
        )
        self.checkpoint(CheckpointKind.START)

    def append(self, *events: ev.Event) -> None:
        with self.lock:
            self.journal.append(*events)

    @property
    def state(self) -> State:
        with self.lock:
            return self.journal.state()

    def close(self) -> None:
        if self.writer:
            self.writer.close()
        self.journal.close()

    # --- small steps --------------------------------------------------------------------------

    def checkpoint(self, kind: CheckpointKind, task: int | None = None, note: str = "") -> str:
        state = self.state
        name = state.next_checkpoint
        marks = tuple(
            replace(m, status=TaskStatus.DONE, verified_by=state.seq) if m.id == task else m for m in state.marks
        )
        self.append(
            ev.CheckpointTaken(
                id=name,
                checkpoint=kind,
                commit=name,
                tree=name,
                iteration=state.iteration,
                task=task,
                marks=marks,
                note=note,
            )
        )
        return name

    def begin(self, task: int, model: str = "claude-sonnet-4-5") -> int:
        iteration = self.state.iteration + 1
        self.append(ev.IterationStarted(iteration=iteration, task=task, key=f"k{iteration}", model=model))
        self.writer = StreamWriter(stream_path(self.state_dir, iteration))
        self.live(model=model)
        return iteration

    def say(self, text: str | bytes, source: str = "stdout") -> None:
        assert self.writer
        self.writer.add(source, text)
        self.writer.flush()

    def protocol(self, event: str, **body: object) -> None:
        assert self.writer
        self.writer.add("stdout", json.dumps({"proctor": event, **body}), event)
        self.writer.flush()

    def tool(self, name: str, **arguments: object) -> None:
        self.protocol("tool", name=name, input=arguments)

    def note(self, text: str) -> None:
        self.protocol("note", text=text)

    def claim(self, task: int) -> None:
        self.protocol("claim", task=task, status="done")
        self.append(ev.ClaimRecorded(iteration=self.state.iteration, task=task, status="done"))

    def end(self, task: int, files: int = 3, lines: int = 48) -> None:
        iteration = self.state.iteration
        how = IterationEnd.EXITED
        self.append(ev.IterationEnded(iteration=iteration, task=task, how=how, exit_code=0, files=files, lines=lines))

    def judge(self, task: int, verdict: Verdict, reason: str = "", failing: tuple[str, ...] = ()) -> None:
        iteration = self.state.iteration
        self.append(
            ev.Judged(iteration=iteration, task=task, phase=Phase.WORK, verdict=verdict, reason=reason, failing=failing)
        )
        if verdict is not Verdict.PASSED and (state := self.state.task(task)) and state.claim == "done":
            self.append(ev.FalseClaim(iteration=iteration, task=task, verdict=verdict))

    def verify(self, task: int) -> None:
        self.judge(task, Verdict.PASSED)
        name = self.checkpoint(CheckpointKind.TASK, task)
        iteration = self.state.iteration
        self.append(
            ev.TaskDone(task=task, iteration=iteration, checkpoint=name),
            ev.Settled(iteration=iteration, task=task, amounts={Dimension.TOKENS: 200_000}),
        )

    def spend(self, **used: int | tuple[int, Source]) -> None:
        figures = {}
        for name, value in used.items():
            amount, source = value if isinstance(value, tuple) else (value, Source.MEASURED)
            figures[Dimension(name)] = ev.Figure(amount, source)
        self.append(ev.Spent(figures=figures))
        self.gauges()

    def gauges(self, **more: object) -> None:
        used = self.state.used
        row = {
            "figures": {d: {"used": f.used, "source": f.source} for d, f in used.items()},
            "active_ms": used[Dimension.WALL_CLOCK].used if Dimension.WALL_CLOCK in used else 0,
            "burn": {"tokens": 19_200.0, "cost": 420_000.0, "tool_calls": 3.4, "wall_clock": 60_000.0},
            "spark": {"tokens": [1, 1, 2, 3, 5, 5, 3, 2], "cost": [1, 2, 2, 4, 7, 8, 6, 5]},
            "exhaustion": {"cost": 31 * 60, "tokens": 62 * 60, "wall_clock": 3 * 3600},
            **more,
        }
        with self.lock:
            self.journal.write_live(gauges=row)

    def live(
        self, *, frozen: bool = False, model: str = "claude-sonnet-4-5", step: str = "act", alive: bool = True
    ) -> None:
        worker = {"pid": os.getpid(), "alive": alive, "frozen": frozen, "lines": 12, "cpu_s": 4, "model": model}
        with self.lock:
            iteration = self.journal.state().iteration
            self.journal.write_live(worker=worker, loop={"step": step, "iteration": iteration})

    def status(self, status: SessionStatus, why: str | None = None) -> None:
        self.append(ev.StatusChanged(status=status, why=why))

    # --- scenes -------------------------------------------------------------------------------

    def running(self) -> Story:
        """Two tasks verified, the third claimed falsely once and being repaired."""
        for task in (1, 2):
            self.begin(task)
            self.tool("read", path="src/csv_tool/reader.py")
            self.claim(task)
            self.end(task)
            self.verify(task)
        self.begin(3)
        self.claim(3)
        self.end(3, files=1, lines=20)
        self.judge(3, Verdict.FAILED, "1 of 9 tests failed", ("test_stream.StreamTest.test_rows",))
        self.begin(3)
        self.tool("read", path="src/csv_tool/reader.py")
        self.tool("edit", path="src/csv_tool/reader.py")
        self.tool("shell", command="python -m unittest tests.test_stream")
        self.say("FAIL: test_rows (test_stream.StreamTest.test_rows)")
        self.say("AssertionError: 65536 != 65537")
        self.note(
            "The last chunk is dropped when it does not end in a newline. I will read in chunks and keep the rest."
        )
        self.tool("edit", path="src/csv_tool/reader.py")
        self.say("Ran 9 tests in 0.041s")
        self.claim(3)
        self.spend(
            tokens=(812_345, Source.REPORTED),
            cost=(9_300_000, Source.REPORTED),
            wall_clock=42 * 60_000,
            tool_calls=(118, Source.REPORTED),
            files_touched=9,
            lines_changed=214,
            iterations=3,
        )
        return self

    def asking(self, command: str = "git push origin proctor/7") -> Story:
        """The worker asks, and is frozen."""
        self.running()
        self.ask(command)
        return self

    def ask(self, command: str, why: str = "reaches a host that is not on the list") -> int:
        number = self.state.next_request
        self.append(
            ev.RequestOpened(
                id=number,
                request=RequestKind.TOOL,
                what=command,
                why=why,
                tool="shell",
                input={"command": command},
                task=3,
                iteration=self.state.iteration,
            ),
            ev.StatusChanged(status=SessionStatus.ASKING, why=f"request:{number}"),
        )
        self.live(frozen=True)
        return number

    def soft(self) -> Story:
        """Cost beyond its soft ceiling, tokens beyond their alert."""
        self.running()
        self.spend(cost=(14_600_000, Source.REPORTED), tokens=(1_140_000, Source.REPORTED))
        self.append(
            ev.LevelCrossed(dimension=Dimension.COST, level=Level.SOFT, used=14_600_000, limit=20_000_000),
        )
        return self

    def hard(self) -> Story:
        """Cost at its ceiling; an extension is asked for."""
        self.soft()
        self.spend(cost=(20_400_000, Source.REPORTED))
        self.append(
            ev.LevelCrossed(dimension=Dimension.COST, level=Level.HARD, used=20_400_000, limit=20_000_000),
            ev.RequestOpened(
                id=self.state.next_request,
                request=RequestKind.EXTENSION,
                what="cost is used up",
                why="the contract says escalate",
                dimension=Dimension.COST,
                task=3,
            ),
            ev.StatusChanged(status=SessionStatus.ASKING, why="budget:cost"),
        )
        self.live(alive=False, step="decide")
        return self

    def parked(self) -> Story:
        """Parked at the token ceiling, no supervisor up."""
        self.running()
        self.spend(tokens=(2_004_000, Source.REPORTED))
        self.append(
            ev.LevelCrossed(dimension=Dimension.TOKENS, level=Level.HARD, used=2_004_000, limit=2_000_000),
            ev.StatusChanged(status=SessionStatus.PARKED, why="budget:tokens"),
            ev.SupervisorEnded(exit_code=3),
        )
        return self

    def plateau(self) -> Story:
        """A fired rule waits for the operator."""
        self.running()
        evidence = (
            "iteration 4: test_stream.StreamTest.test_rows",
            "iteration 5: test_stream.StreamTest.test_rows",
            "iteration 6: test_stream.StreamTest.test_rows",
        )
        self.append(
            ev.PlateauSignal(rule=Rule.SAME_FAILURE, window=3, evidence=evidence, task=3),
            ev.PlateauFired(rule=Rule.SAME_FAILURE, window=3, evidence=evidence, response=Response.ESCALATE, task=3),
            ev.StatusChanged(status=SessionStatus.PLATEAU, why="plateau:same_failure"),
        )
        self.live(alive=False, step="decide")
        return self

    def plateau_asked(self) -> Story:
        """The same, and the contract says that the operator decides."""
        self.plateau()
        self.append(
            ev.RequestOpened(
                id=self.state.next_request,
                request=RequestKind.PLATEAU,
                what="go on after a plateau?",
                why="iteration 4: test_stream.StreamTest.test_rows",
                task=3,
            )
        )
        return self

    def rolled_back(self) -> Story:
        """Back at the second task, everything else kept."""
        self.running()
        state = self.state
        safety = self.checkpoint(CheckpointKind.SAFETY)
        self.append(
            ev.RollbackBegun(safety=safety, target=state.good, way="rollback"),
            ev.RolledBack(safety=safety, target=state.good, way="rollback", changed=14),
            ev.StatusChanged(status=SessionStatus.PAUSED, why="operator"),
        )
        self.live(alive=False, step="")
        return self

    def done(self) -> Story:
        """All five verified."""
        self.running()
        self.end(3)
        self.verify(3)
        for task in (4, 5):
            self.begin(task)
            self.claim(task)
            self.end(task)
            self.verify(task)
        self.append(
            ev.Judged(iteration=self.state.iteration, task=None, phase=Phase.FINAL, verdict=Verdict.PASSED),
            ev.StatusChanged(status=SessionStatus.DONE),
            ev.SupervisorEnded(exit_code=0),
        )
        return self

    # --- answering ----------------------------------------------------------------------------

    def answer_orders(self) -> list[inbox.Order]:
        """Take in every order that lies in the inbox and answer it with a row; returns them."""
        taken = []
        for path, order in inbox.pending(self.state_dir):
            path.unlink()
            if order is None:
                continue
            taken.append(order)
            effects, outcome, detail = self._effects(order)
            self.append(
                *effects, ev.OrderTaken(order=order.id, verb=order.verb, outcome=outcome, detail=detail, by="operator")
            )
        return taken

    def _effects(self, order: inbox.Order) -> tuple[list[ev.Event], str, str]:
        state = self.state
        match order.verb:
            case "approve" | "deny":
                request = state.request(order.args["id"])
                if request is None or request.outcome is not None:
                    return [], "lost", f"#{order.args['id']} was answered before"
                outcome = RequestOutcome.GRANTED if order.verb == "approve" else RequestOutcome.DENIED
                closed = ev.RequestClosed(
                    id=request.id, outcome=outcome, by="operator", reason=order.args.get("reason", "")
                )
                return [closed, ev.StatusChanged(status=SessionStatus.RUNNING)], "done", f"#{request.id} {outcome}"
            case "extend":
                dimension = Dimension(order.args["dimension"])
                limit = (state.limit(dimension) or 0) + order.args["by"]
                raised: list[ev.Event] = [ev.CeilingRaised(dimension=dimension, by=order.args["by"], limit=limit)]
                if "request" in order.args:
                    raised.append(ev.RequestClosed(id=order.args["request"], outcome=RequestOutcome.GRANTED))
                return raised, "done", f"{dimension} raised"
            case "note":
                return [ev.Noted(text=order.args["text"])], "done", "in the next brief"
            case "pause":
                return [ev.StatusChanged(status=SessionStatus.PAUSED, why="operator")], "done", "paused"
            case "resume":
                return (
                    [ev.PlateauReset(by="operator"), ev.StatusChanged(status=SessionStatus.RUNNING)],
                    "done",
                    "going on",
                )
            case "rollback":
                safety = state.next_checkpoint
                kept = ev.CheckpointTaken(
                    id=safety,
                    checkpoint=CheckpointKind.SAFETY,
                    commit=safety,
                    tree=safety,
                    iteration=state.iteration,
                    marks=state.marks,
                )
                back = ev.RolledBack(safety=safety, target=state.good, way="rollback", changed=14)
                return (
                    [kept, back, ev.StatusChanged(status=SessionStatus.PAUSED, why="operator")],
                    "done",
                    f"back at {state.good}",
                )
            case "undo":
                way = "redo" if order.args.get("redo") else "undo"
                last = state.rollbacks[-1]
                return (
                    [ev.RolledBack(safety=last.safety, target=last.safety, way=way, changed=14)],
                    "done",
                    f"{way} done",
                )
            case _:
                return [], "refused", f"{order.verb} cannot be done here"


SCENES: dict[str, Callable[[Path], Story]] = {
    "running": lambda path: Story(path).running(),
    "asking": lambda path: Story(path).asking(),
    "soft": lambda path: Story(path).soft(),
    "hard": lambda path: Story(path).hard(),
    "parked": lambda path: Story(path).parked(),
    "plateau": lambda path: Story(path).plateau(),
    "plateau_asked": lambda path: Story(path).plateau_asked(),
    "rolled_back": lambda path: Story(path).rolled_back(),
    "weak": lambda path: Story(path, sandbox="weak").running(),
    "none": lambda path: Story(path, sandbox="none").asking(),
    "done": lambda path: Story(path).done(),
    "interrupted": lambda path: Story(path, alive=False).running(),
}


def play(workspace: Path, pace: float = 0.4) -> None:
    """Tell the session at a human pace, answering orders, until interrupted."""
    story = Story(workspace).running()
    started = time.monotonic()
    words = ("read", "edit", "shell")
    step = 0
    while True:
        story.answer_orders()
        if story.state.status is SessionStatus.RUNNING:
            step += 1
            story.live()
            story.tool(words[step % 3], command=f"python -m unittest tests.test_stream  # {step}")
            story.say(f"Ran {step} tests in {step / 100:.2f}s")
            active = 42 * 60_000 + int((time.monotonic() - started) * 1000)
            tokens = (812_345 + step * 4_321, Source.REPORTED)
            story.spend(wall_clock=active, tokens=tokens, cost=(9_300_000 + step * 90_000, Source.REPORTED))
            if step % 60 == 0:
                story.ask("git push origin proctor/7")
        time.sleep(pace)


if __name__ == "__main__":
    play(Path(sys.argv[1]))
