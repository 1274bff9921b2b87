"""Makes a trajectory of a session: from its journal, and from the streams of its workers.

python tests/trajectories/export.py WORKSPACE --label stuck --shape oscillation --stuck-from 3 > file.jsonl

The label is yours to give: nothing in a session says what it was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from proctor.journal import events as ev
from proctor.journal import stream
from proctor.supervisor.client import Client
from proctor.supervisor.outcome import EFFORT
from proctor.text import safe_line
from proctor.words import Dimension, Phase, RequestKind, RequestOutcome, TaskStatus
from proctor.worker.base import Ask, Result, Tool
from proctor.worker.command import parse_line
from trajectories.form import Aside, Call, Header, Iteration, Label, Spend, Trajectory, Verdict, write

LONGEST = 200
"""Characters of a reason that are kept."""
SHOWN = 12
"""Digits of a tree that are kept."""
MOST_IDS = 20
"""Failing ids that are named."""
KINDS = (
    "iteration_started",
    "iteration_ended",
    "judged",
    "task_done",
    "task_moved",
    "plateau_reset",
    "settled",
    "request_opened",
    "request_closed",
)


def export(workspace: Path, header: Header) -> Trajectory:
    """The trajectory of the session in a workspace; `limits` are taken from its contract."""
    with Client(workspace) as client:
        state = client.state()
        limits = {name: limit for name in sorted(EFFORT) if (limit := state.limit(name))}
        found = tuple(_iterations([row.event for row in client.rows(kinds=KINDS)], client))
    return Trajectory(msgspec.structs.replace(header, limits=limits), found)


@dataclass
class _Open:
    """An iteration that is being put together."""

    started: ev.IterationStarted
    verdicts: list[Verdict]
    fields: dict[str, Any] = field(default_factory=dict)
    aside: list[Aside] = field(default_factory=list)


def _iterations(events: list[ev.Event], client: Client) -> Iterator[Iteration]:
    denied = _denials(events)
    before: list[Verdict] = []
    made: list[_Open] = []
    for event in events:
        now = made[-1] if made else None
        match event:
            case ev.Judged(phase=Phase.BASELINE | Phase.SMOKE):
                before.append(_verdict(event))
            case ev.IterationStarted():
                made.append(_Open(event, before))
                before = []
            case _ if now is None:
                continue
            case ev.Judged():
                now.verdicts.append(_verdict(event))
            case ev.IterationEnded():
                now.fields |= {"how": str(event.how), "hindered": event.hindered}
                now.fields |= {"files": event.files, "lines": event.lines, "tree": (event.work or event.tree)[:SHOWN]}
            case ev.TaskDone():
                now.fields["done"] = True
            case ev.TaskMoved(status=TaskStatus.BLOCKED | TaskStatus.REVIEW):
                now.aside.append(Aside(task=event.task, why=event.why, status=str(event.status)))
            case ev.PlateauReset():
                now.fields["reset"] = True
            case ev.Settled():
                now.fields["spend"] = _spend(event)
    for one in made:
        number = one.started.iteration
        yield Iteration(
            iteration=number,
            task=one.started.task,
            before=(one.started.work or one.started.tree)[:SHOWN],
            verdicts=tuple(one.verdicts),
            aside=tuple(one.aside),
            events=tuple(calls(_lines(client, number), denied[number])),
            **{"done": False, **one.fields},
        )


def _verdict(event: ev.Judged) -> Verdict:
    return Verdict(
        verdict=str(event.verdict),
        phase=str(event.phase),
        task=event.task,
        check=safe_line(event.check, LONGEST),
        failing=tuple(safe_line(name, LONGEST) for name in event.failing[:MOST_IDS]),
        failures=event.failures or len(event.failing),
        digest=event.digest,
        message=safe_line(event.reason, LONGEST),
    )


def _spend(event: ev.Settled) -> Spend:
    of = event.amounts
    return Spend(
        tokens=of.get(Dimension.TOKENS, 0),
        micro=of.get(Dimension.COST, 0),
        calls=of.get(Dimension.TOOL_CALLS, 0),
        ms=of.get(Dimension.WALL_CLOCK, 0),
    )


def _denials(events: Iterable[ev.Event]) -> dict[int, list[str | None]]:
    """Of each iteration's questions in their order, why they were denied; None for one that was not."""
    found: dict[int, list[str | None]] = defaultdict(list)
    asked: dict[int, tuple[int, int]] = {}
    for event in events:
        match event:
            case ev.RequestOpened(request=RequestKind.TOOL):
                asked[event.id] = event.iteration, len(found[event.iteration])
                found[event.iteration].append(None)
            case ev.RequestClosed(outcome=RequestOutcome.DENIED) if event.id in asked:
                iteration, place = asked[event.id]
                found[iteration][place] = event.reason or "denied"
    return found


def _lines(client: Client, iteration: int) -> Iterator[stream.Line]:
    """The stream, with paths of the workspace as they are from within."""
    offset, inside = 0, f"{client.workspace}/"
    while True:
        lines, after = client.stream(iteration, offset)
        yield from (msgspec.structs.replace(line, text=line.text.replace(inside, "")) for line in lines)
        if after == offset:
            return
        offset = after


def calls(lines: Iterable[stream.Line], denied: list[str | None]) -> list[Call]:
    """The calls of one worker in the order in which they came to something, those without a result last, as the
    watch over a running worker sees them."""
    found: list[Call] = []
    begun: dict[str, tuple[Tool, int, stream.Line]] = {}
    names, questions = count(), iter(denied)
    batch, came = 0, False
    for line in lines:
        match _event(line):
            case Tool() as tool:
                batch += came
                came = False
                begun[tool.id or f"\n{next(names)}"] = tool, batch, line
            case Result() as result:
                came = True
                name = result.id if result.id or not begun else next(reversed(begun))
                if name in begun:
                    tool, of, since = begun.pop(name)
                    found.append(_call(tool, of, result, round((line.at - since.at).total_seconds() * 1000)))
            case Ask() as ask:
                if (why := next(questions, None)) is not None:
                    found.append(Call(tool=ask.tool, input=ask.input, result=why, error=True, denied=True))
    return found + [Call(tool=tool.name, input=tool.input, batch=of) for tool, of, _ in begun.values()]


def _event(line: stream.Line) -> Tool | Result | Ask | None:
    """What a line says, of the protocol or what an agent's was taken for."""
    if line.source == "stdout" and line.event != stream.RAW:
        event = parse_line(line.text.encode())
        return event if isinstance(event, Tool | Result | Ask) else None
    if line.source == stream.AGENT and line.event in ("tool", "result"):
        return msgspec.json.decode(line.text, type=Tool if line.event == "tool" else Result)
    return None


def _call(tool: Tool, batch: int, result: Result, ms: int) -> Call:
    return Call(
        tool=tool.name,
        input=tool.input,
        result=result.output,
        digest=result.digest,
        error=not result.ok,
        ms=ms,
        batch=batch,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("workspace", type=Path)
    arguments.add_argument("--label", type=Label, required=True, choices=list(Label))
    arguments.add_argument("--shape", default="")
    arguments.add_argument("--stuck-from", type=int)
    given = arguments.parse_args()
    header = Header(label=given.label, name=given.workspace.name, shape=given.shape, stuck_from=given.stuck_from)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trajectory.jsonl")
        write(file, export(given.workspace, header))
        sys.stdout.buffer.write(file.read_bytes())


if __name__ == "__main__":
    main()
