"""A process of its own with the gateway of one worker: `gated.py FOLDER UPSTREAM` prints its port.

Its steward is a session's own: each call must fit into ceilings of tokens, cost and tool calls, is priced, and leaves
two durable rows in the journal. Of the session there is what a steward asks for. A line on its input is answered by
what there is then: resident bytes, rows, tokens; when the input ends, so does it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.contract.load import load
from proctor.doors import door
from proctor.doors.gateway.port import Upstream
from proctor.doors.gateway.server import Gateway
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.supervisor.account import Account
from proctor.supervisor.session import Options, Running, Session
from proctor.supervisor.startup import rates
from proctor.supervisor.steward import SessionSteward
from proctor.supervisor.terms import Terms

CONTRACT = """\
goal: Measure what a gateway adds
worker: {kind: claude, model: wait-20}
budget:
  tokens: {limit: 1000000000000, on_exhaustion: stop}
  cost: {limit: $1000000, on_exhaustion: stop}
  tool_calls: {limit: 1000000000, on_exhaustion: stop}
gateway:
  prices: {wait-0: {input: 0.15, output: 0.6}, wait-20: {input: 0.15, output: 0.6}}
progress: {checks: [{run: ["true"]}]}
"""
ABSENT: Any = None
"""Parts of a session that no call of a model comes to."""


def session(folder: Path) -> Session:
    """A session with one iteration under way."""
    folder.mkdir()
    (folder / "proctor.yaml").write_text(CONTRACT)
    (folder / "tasks.json").write_text('[{"id": 1, "task": "Ask"}]')
    contract = load(folder)
    journal = Journal(journal_path(folder))
    journal.append(
        ev.SessionStarted(session="bench", workspace=str(folder), goal=contract.goal),
        ev.TasksLoaded(tasks=(ev.TaskFact(id=1, task="Ask"),)),
        ev.IterationStarted(iteration=1, task=1, key="bench"),
    )
    account = Account({}, datetime.now(UTC), rates(contract), time.monotonic)
    account.begin(None, gateway=True, agent=True)
    absent = dict.fromkeys(
        ("store", "timeline", "sweeper", "backend", "frozen", "executor", "projection", "blast", "disk"), ABSENT
    )
    made = Session(folder, folder, Terms(contract, ""), Options(), journal, account=account, **absent)
    began = time.monotonic()
    made.running = Running(ABSENT, ABSENT, 1, 1, None, asyncio.Event(), began, began)
    return made


def now(journal: Journal) -> dict[str, int]:
    kinds = Counter(type(row.event).__name__ for row in journal.rows())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    billed = journal.state().billed
    return {"resident": pages * 4096, "asked": kinds["ModelAsked"], "settled": billed.calls, "tokens": billed.input}


async def main(folder: Path, upstream: str) -> None:
    running = session(folder)
    journal, intent = running.journal, running.state.intent
    assert intent is not None
    made = door.make(folder)
    steward = SessionSteward(running, ABSENT, intent, (Upstream("bench", upstream, "sk-the-real-key"),))
    gateway = Gateway(steward, iteration=1, task=1)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        await gateway.start(made.folder, listener)
        print(listener.getsockname()[1], flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(now(journal)), flush=True)
    await gateway.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
