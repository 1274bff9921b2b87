"""A process of its own with the gateway of one worker: `gated.py FOLDER UPSTREAM` prints its port.

Its steward is as strict as a session's: each call must fit into ceilings of tokens and cost, is priced, and leaves two
durable rows in the journal. Rows of the same moment are written together, in a thread. A line on its input is answered
by what there is then: resident bytes, rows, tokens; when the input ends, so does it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from proctor.budget.admission import Call, Exhausted, Spent, Unpriced, fit
from proctor.budget.dimensions import Ceiling, Usage
from proctor.doors import door
from proctor.doors.gateway import prices
from proctor.doors.gateway.port import Admitted, Denied, Rules, Upstream, Wanted
from proctor.doors.gateway.server import Gateway
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.words import Dimension, Exhaustion

PRICES = {f"wait-{ms}": prices.Rates(150_000, 600_000) for ms in (0, 20)}
GATHERED = 0.002
"""Seconds in which rows come together: less than any provider takes to answer."""
CEILINGS = [Ceiling(d, 10**12, Exhaustion.STOP) for d in (Dimension.TOKENS, Dimension.COST, Dimension.TOOL_CALLS)]


class Rows:
    """Writes rows durably, those of one moment together."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._pool = ThreadPoolExecutor(1)
        self._waiting: list[tuple[ev.Event, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    def put(self, row: ev.Event) -> asyncio.Future[None]:
        """Done when the row is durable."""
        loop = asyncio.get_running_loop()
        self._waiting.append((row, written := loop.create_future()))
        if self._writing is None:
            self._writing = loop.create_task(self._write())
        return written

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(GATHERED)
            now, self._waiting = self._waiting, []
            await loop.run_in_executor(self._pool, lambda: self.journal.append(*[row for row, _ in now]))  # noqa: B023
            for _, written in now:
                written.set_result(None)
        self._writing = None


class Owner:
    """The steward."""

    def __init__(self, upstream: str, rows: Rows) -> None:
        self._rules = Rules((Upstream("bench", upstream, "sk-the-real-key"),))
        self._rows = rows
        self._used = {d: ev.Figure(0) for d in Dimension}
        self._reserved: dict[str, dict[Dimension, int]] = {}

    def rules(self) -> Rules:
        return self._rules

    def held(self) -> str | None:
        return None

    async def settled(self) -> None:
        raise AssertionError("nothing is held")

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        def price(output: int) -> int | None:
            return self._price(wanted.model, Usage(wanted.prefix, output))

        held = Counter[Dimension]()
        for amounts in self._reserved.values():
            held.update(amounts)
        spent = Spent(self._used, {}, {}, held)
        found = fit(Call(wanted.prefix, wanted.most_output, price), CEILINGS, spent, cheaper=False)
        if isinstance(found, Exhausted | Unpriced):
            return Denied(str(found))
        self._reserved[wanted.call] = amounts = dict(found.amounts)
        asked = ev.ModelAsked(
            call=wanted.call,
            iteration=1,
            api=wanted.api,
            model=wanted.model,
            prefix=wanted.prefix,
            output=amounts[Dimension.GENERATED_TOKENS],
            micro=amounts[Dimension.COST],
        )
        return Admitted(None, found.most_output, self._rows.put(asked))

    async def settle(self, call: ev.ModelCall) -> None:
        self._reserved.pop(call.call, None)
        micro = self._price(call.model, Usage(call.input, call.output, call.cache_read))
        call = replace(call, micro=micro, entry="contract")
        for dimension, amount in ((Dimension.TOKENS, call.input + call.output), (Dimension.COST, micro or 0)):
            self._used[dimension] = self._used[dimension] + ev.Figure(amount)
        await self._rows.put(call)

    def _price(self, model: str, usage: Usage) -> int | None:
        found = prices.price(model, usage, at=datetime.now(UTC), overrides=PRICES)
        return found.micro if found else None

    def limited(self, upstream: str, why: str, until: float | None) -> None:
        raise AssertionError(why)

    def unlimited(self, upstream: str) -> None: ...

    def holding(self, calls: int, since: float) -> None:
        raise AssertionError("nothing is held")

    async def asks_host(self, host: str, port: int) -> bool:
        return False

    def log(self, text: str) -> None:
        print(text, file=sys.stderr)

    log_once = log


def now(journal: Journal) -> dict[str, int]:
    kinds = Counter(type(row.event).__name__ for row in journal.rows())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    billed = journal.state().billed
    return {"resident": pages * 4096, "asked": kinds["ModelAsked"], "settled": billed.calls, "tokens": billed.input}


async def main(folder: Path, upstream: str) -> None:
    journal = Journal(journal_path(folder))
    made = door.make(folder)
    gateway = Gateway(Owner(upstream, Rows(journal)), iteration=1, task=None)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        await gateway.start(made.folder, listener)
        print(listener.getsockname()[1], flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(now(journal)), flush=True)
    await gateway.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
