"""The steward: a session's budget and policy, as the gateway of one worker asks for them.

Here a model call is admitted, reserved for, priced and written down. The gateway carries the bytes and knows nothing of
this; the steward sees none of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from proctor.budget.admission import CALLS, Call, Exhausted, Fits, Spent, Unpriced, fit
from proctor.budget.dimensions import Usage
from proctor.budget.thresholds import Binding, Scope
from proctor.doors.gateway.port import Admitted, Denied, Rules, Upstream, Wanted
from proctor.journal import events as ev
from proctor.supervisor.desk import Desk
from proctor.supervisor.running import Refusal
from proctor.supervisor.session import Session
from proctor.units import format_amount
from proctor.words import AtSoft, CallEnd, Dimension, Exhaustion, IterationEnd

HELD_AT_MOST = 300.0
"""Seconds that a call is held before the iteration is ended as suspended."""
GATHER = 0.002
"""Seconds in which rows gather before they are written: a call is on its way before its row takes a thread, and rows of
calls that come together are one commit."""
NO_FAULT = (0, 401, 402, 403, 408, 429)
"""Status codes below 500 that say nothing against the request; 0 where no answer came."""
COUNTED = (CallEnd.ANSWERED, CallEnd.CUT, CallEnd.LOST)


class SessionSteward:
    """The steward of one iteration's worker. See `port.Steward`."""

    def __init__(
        self, session: Session, desk: Desk, intent: ev.IterationStarted, upstreams: tuple[Upstream, ...]
    ) -> None:
        self._s = session
        self._desk = desk
        self._intent = intent
        self._upstreams = upstreams
        self._flying: dict[str, Mapping[Dimension, int]] = {}
        """What is set aside for calls in flight."""
        self._mix = Usage(input=1)
        self._rows: list[tuple[ev.Event, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._pen = ThreadPoolExecutor(1, "rows")
        """A thread that ends with this."""

    # --- policy -------------------------------------------------------------------------------

    def rules(self) -> Rules:
        """What holds now: the contract, and the hosts that were granted since."""
        contract = self._s.terms.contract
        gateway = contract.gateway
        return Rules(
            upstreams=self._upstreams,
            unknown_paths=gateway.unknown_paths == "pass",
            model_lists=gateway.unknown_paths != "refuse",
            record=gateway.record == "full",
            hosts=(*contract.sandbox.hosts, *self._s.state.hosts),
        )

    def held(self) -> str | None:
        """Nothing moves while a request waits or the session is paused."""
        waiting = self._s.waiting_requests
        if waiting:
            return f"request {waiting[0].id} waits for an answer"
        return "the session is paused" if self._s.paused else None

    async def settled(self) -> None:
        self._s.changed.clear()
        await self._s.changed.wait()

    async def asks_host(self, host: str, port: int) -> bool:
        return await self._desk.asks_host(host, port)

    def log(self, text: str) -> None:
        self._s.log("gateway", text)

    def log_once(self, text: str) -> None:
        self._s.log_once("gateway", text)

    # --- admission ----------------------------------------------------------------------------

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        """Reserve, with the model asked for or with the cheaper one, and write it down."""
        running = self._s.running
        if running is not None and running.circles is not None:
            running.circles.exchanged(wanted.exchange)
        cheaper = self._s.terms.contract.worker.cheaper
        low = cheaper.model if cheaper else None
        found: Fits | Exhausted | Unpriced | None = None
        if low is None or not self._must_be_cheap():
            found = self._fit(wanted, wanted.model, cheaper=False)
        if low is not None and not isinstance(found, Fits) and (found is None or _degrades(found)):
            if isinstance(found, Exhausted) and not self._s.state.degraded:
                self._s.append(ev.Degraded(dimension=found.dimension, model=low))
            found = self._fit(wanted, low, cheaper=True)
            model = low
        else:
            model = wanted.model
        if not isinstance(found, Fits):
            return self._refuse(found, model)
        self._flying[wanted.call] = found.amounts
        asked = ev.ModelAsked(
            call=wanted.call,
            iteration=self._intent.iteration,
            api=wanted.api,
            model=model,
            prefix=wanted.prefix,
            output=found.amounts[Dimension.GENERATED_TOKENS],
            micro=found.amounts[Dimension.COST],
        )
        return Admitted(model if model != wanted.model else None, found.most_output, self._write(asked))

    def _must_be_cheap(self) -> bool:
        return self._s.degrading or self._s.at_soft(AtSoft.CHEAPER_MODEL)

    def _fit(self, wanted: Wanted, model: str, *, cheaper: bool) -> Fits | Exhausted | Unpriced:
        s = self._s
        task = s.state.task(self._intent.task)
        totals = s.account.figures()
        iteration = s.account.iteration_used(totals)
        before = task.spent if task else {}
        reserved: dict[Dimension, int] = {}
        for one in self._flying.values():
            for dimension, amount in one.items():
                reserved[dimension] = reserved.get(dimension, 0) + amount
        spent = Spent(
            totals,
            {d: before.get(d, 0) + iteration.get(d, 0) for d in CALLS},
            iteration,
            reserved,
        )
        free = wanted.subscription and not s.terms.contract.gateway.enforce_subscription
        ceilings = [c for c in s.ceilings if not (free and c.dimension is Dimension.COST)]
        prefix = self._split(wanted.prefix)

        def price(output: int) -> int | None:
            found = s.account.price(model, prefix + Usage(output=output), wanted.tier)
            return found.micro if found else None

        return fit(Call(wanted.prefix, wanted.most_output, price), ceilings, spent, cheaper=cheaper)

    def _split(self, prefix: int) -> Usage:
        """A prefix as the last call's was made up: a conversation's cache does not go away between two calls."""
        mix, whole = self._mix, max(1, self._mix.prefix)
        read = prefix * mix.cache_read // whole
        write = prefix * mix.cache_write // whole
        long = prefix * mix.cache_write_1h // whole
        return Usage(prefix - read - write - long, cache_read=read, cache_write=write, cache_write_1h=long)

    def _refuse(self, why: Exhausted | Unpriced | None, model: str) -> Denied:
        if isinstance(why, Exhausted):
            left, wanted = (format_amount(why.dimension, amount) for amount in (why.left, why.wanted))
            limit = format_amount(why.dimension, why.limit)
            scope = "" if why.scope is Scope.SESSION else f" of one {why.scope}"
            said = f"budget used up: {left} of {limit} {why.dimension}{scope} left, the next call needs about {wanted}"
            # What the reserve of `degrade` does not hold is over.
            action = Exhaustion.PARK if why.action is Exhaustion.DEGRADE else why.action
            bound = Binding(why.dimension, why.scope, max(0, why.limit - why.left), why.limit, action)
            raised = self._s.state.raised.get(why.dimension, 0)
            self._s.refused(Refusal(bound, said, self._intent.task, raised))
        else:
            said = f"{model} has no price and cost is capped: give it one in gateway.prices"
            self._s.refused(Refusal(None, said))
        return Denied(f"proctor: {said}")

    # --- settlement ---------------------------------------------------------------------------

    async def settle(self, call: ev.ModelCall) -> None:
        """Price it, count it, write it down."""
        contract = self._s.terms.contract
        if call.end in COUNTED and not call.duplicate:
            usage = Usage(
                call.input, call.output, call.cache_read, call.cache_write, call.cache_write_1h, call.reasoning
            )
            found = self._s.account.price(call.model, usage, call.tier)
            if call.subscription and not contract.gateway.enforce_subscription:
                call = replace(call, notional=True)
            call = replace(call, micro=found.micro if found else None, entry=found.entry if found else "")
            if usage.prefix:
                self._mix = usage
        call = replace(call, task=self._intent.task)
        self._s.saw_call()
        self._s.hindered = call.why if _hinders(call) else ""
        if self._s.running is not None and self._s.running.circles is not None:
            self._s.running.circles.answered()
        await asyncio.shield(self._write(call))
        self._s.check_budget()

    def _write(self, row: ev.Event) -> asyncio.Future[None]:
        """Done when the row is durable. Rows are written off the loop, all that came meanwhile together."""
        loop = asyncio.get_running_loop()
        written = loop.create_future()
        self._rows.append((row, written))
        if self._writing is None:
            self._writing = loop.create_task(self._write_rows())
        return written

    async def _write_rows(self) -> None:
        loop = asyncio.get_running_loop()
        while self._rows:
            await asyncio.sleep(GATHER)
            now, self._rows = self._rows, []
            rows = [row for row, _ in now]
            try:
                await loop.run_in_executor(self._pen, self._s.journal.commit, *rows)
                for row in rows:
                    if isinstance(row, ev.ModelCall):  # not before: a row of what was spent, between, would count twice
                        self._flying.pop(row.call, None)
                        self._s.account.meter(row)
                self._s.append()
            except Exception as error:
                for _, written in now:
                    written.set_exception(error)
            else:
                for _, written in now:
                    written.set_result(None)
        self._writing = None

    # --- waits --------------------------------------------------------------------------------

    def limited(self, upstream: str, why: str, until: float | None) -> None:
        self._s.append(ev.ProviderLimited(upstream=upstream, why=why, until=until))
        self._s.settle_motion()

    def unlimited(self, upstream: str) -> None:
        self._s.unlimited()

    def holding(self, calls: int, since: float) -> None:
        """A worker that still asks while everything stands still is named, and in the end started afresh."""
        if self._s.running is None:
            return
        self._s.running.held_calls = calls
        if calls:
            self._s.log_once("gateway", "this worker does not suspend: it asks the model while a request waits")
            if time.time() - since >= HELD_AT_MOST:
                self._s.end_worker(IterationEnd.SUSPENDED, f"a model call was held for {HELD_AT_MOST:.0f} s")


def _degrades(why: Exhausted | Unpriced) -> bool:
    return isinstance(why, Exhausted) and why.action is Exhaustion.DEGRADE


def _hinders(call: ev.ModelCall) -> bool:
    """Whether a call came to nothing by the provider or the network, or for want of a key that it takes; not if the
    worker went away."""
    failed = call.end is CallEnd.FAILED and (call.status in NO_FAULT or call.status >= 500)
    return bool(call.why) and (failed or call.end is CallEnd.CUT)
