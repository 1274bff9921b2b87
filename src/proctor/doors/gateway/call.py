"""One call of a model: held, admitted, asked, passed on while it is read, and settled exactly once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from uuid import uuid4

from aiohttp import ClientError, ClientSession
from msgspec import structs

from proctor.budget.dimensions import Usage
from proctor.doors.gateway.answer import Answer
from proctor.doors.gateway.ask import Asking, Broken, Error, Incoming, Outgoing
from proctor.doors.gateway.hold import Hold, Limit
from proctor.doors.gateway.meter import Estimate, Meter
from proctor.doors.gateway.port import Admitted, Denied, Steward, Upstream, Wanted
from proctor.doors.gateway.providers.base import Asked, Provider, Reading, Refusal
from proctor.doors.gateway.providers.exchange import exchanged
from proctor.doors.gateway.record import MOST_OF_A_BODY, Recorder
from proctor.doors.gateway.trouble import why
from proctor.doors.gateway.upstream import address, asking, end_to_end
from proctor.journal.events import ModelCall, TaskId
from proctor.text import safe_id, safe_line
from proctor.words import CallEnd, Source

logger = logging.getLogger(__name__)

READ_ON = 60.0
"""Seconds that an answer is waited for and read on for its usage when the worker has gone away."""
END_WAIT = 2.0
"""Seconds to wait for what may follow an answer's own end, where usage has not come yet."""
MOST_AFTER = 4_096
"""Bytes that are passed on after an answer's own end."""
MOST_HELD = 64
"""Pieces of it that wait for usage to come."""
PING_EVERY = 20.0
"""Seconds between pings in a stream that waits; a short wait shows nothing."""
MOST_NAMED = 100
UNSEEN_RATE = 50
"""Tokens a second that a model is taken to write, or to think, where no text was seen before its answer was cut."""
MOST_UNSEEN = 4_096
FAILED_STATUS = {"anthropic": 502}
"""The status of a failure, by family: one at which clients do not go on for minutes. Others: 400."""


@dataclass(slots=True)
class House:
    """What all calls of one worker share."""

    steward: Steward
    session: ClientSession
    meter: Meter
    hold: Hold
    iteration: int
    task: TaskId | None
    recorder: Recorder | None = None
    limits: dict[str, Limit] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    ids: Iterator[str] = field(default_factory=lambda: map(f"{uuid4().hex[:12]}-{{}}".format, count(1)))
    """Names for calls."""

    def limit(self, upstream: str) -> Limit:
        return self.limits.setdefault(upstream, Limit(self.steward, upstream))

    def log_once(self, text: str, tell: Callable[[str], None] | None = None) -> None:
        """Once for this worker, and so many lines in all; by `tell` instead of the steward's `log`."""
        if text not in self.said and len(self.said) < 100:
            self.said.add(text)
            (tell or self.steward.log)(text)


class Call:
    """One request for a model, from a worker's connection. `run()` raises nothing but cancellation."""

    def __init__(
        self, house: House, provider: Provider, asked: Asked, upstream: Upstream, answer: Answer, *, record: bool
    ) -> None:
        self.id = next(house.ids)
        self._house = house
        self._provider = provider
        self._asked = asked
        self._upstream = upstream
        self._answer = answer
        self._record = house.recorder if record else None
        self._recorded = bytearray()
        self._asking = Asking(house.session, provider, asked, house.limit(upstream.name), answer.mask)
        self._deadline = asyncio.timeout(None)
        self._incoming: Incoming | None = None
        self._model = asked.model
        self._estimate = Estimate()
        self._status = 0
        self._changed: tuple[str, ...] = ()
        self._why = ""
        self._wanted = self._admitted = self._settled = False
        self._after = 0
        """Bytes that came after the answer's own end."""
        self._settlement: asyncio.Task[None] | None = None

    @property
    def in_flight(self) -> bool:
        """Admitted and not settled yet."""
        return self._admitted and not (self._settlement and self._settlement.done())

    def left(self) -> None:
        """The worker's connection is gone: the answer is read on for a while if it has been asked for."""
        self._why = self._why or "the worker went away"
        self._stop_in(READ_ON if self._asking.working else 0.0)

    def give_up(self) -> None:
        """End now, and settle for what has been seen."""
        self._why = self._why or "the worker was ended"
        self._stop_in(0.0)

    def _stop_in(self, seconds: float) -> None:
        with contextlib.suppress(RuntimeError):  # it is over
            self._deadline.reschedule(asyncio.get_running_loop().time() + seconds)

    async def run(self, headers: Mapping[str, str]) -> None:
        try:
            async with self._deadline:
                await self._go(headers)
        except TimeoutError:
            self._answer.abort()
        except Broken as broken:
            said = f"the upstream {self._upstream.name} did not answer: {broken}"
            self._house.log_once(self._word(said, 300))
            await self._fail(said)
        except Exception:
            logger.exception("a call of %s failed", self._upstream.name)
            await self._fail("the gateway itself failed: its log says how")
        finally:
            if self._incoming:
                self._incoming.response.release()
            await self._end_somehow()

    async def _go(self, headers: Mapping[str, str]) -> None:
        asked, house = self._asked, self._house
        self._estimate = await house.meter.estimate(asked, lambda: self._provider.prompt(asked))
        await self._clear()
        self._wanted = True
        most, pays = asked.most_output, self._upstream.subscription
        prefix = self._estimate.prefix
        told = exchanged(asked.api, asked.body)
        wanted = Wanted(self.id, asked.api, self._word(asked.model, 200), prefix, most, pays, asked.tier, told)
        said = await house.steward.admit(wanted)
        if isinstance(said, Denied):
            self._why = said.message
            await self._settle(CallEnd.REFUSED)
            await self._answer.say(self._provider.refusal(asked, said.message), asked.api)
            return
        self._admitted = True
        found = await self._asking.answer(self._outgoing(said, headers), self._clear, self._patiently)
        if not isinstance(found, Error):
            self._incoming = found[0]
        if said.durable is not None:
            await asyncio.shield(said.durable)
        if isinstance(found, Error):
            await self._pass_error(found)
            return
        incoming, first = found
        if self._record:
            self._recorded += first
        await self._relay(incoming, first)

    def _outgoing(self, said: Admitted, headers: Mapping[str, str]) -> Outgoing:
        """The request as it goes upstream; what the steward changed of it is noted."""
        asked, changed = self._asked, []
        if said.model is not None and said.model != asked.model:
            changed.append(f"model: {asked.model} to {said.model}")
            self._model = said.model
        if said.most_output is not None and said.most_output != asked.most_output:
            changed.append(f"output: at most {said.most_output}")
        self._changed = tuple(safe_line(change, 200) for change in changed)
        path, body = self._provider.rewritten(asked, said.model, said.most_output)
        if self._record:
            self._record.keep(self.id, "request", body, self._answer.mask)
        url = address(self._upstream, path or asked.path)
        sent = asking(headers, self._upstream, self._provider.family)
        sent["Content-Type"] = "application/json"  # no charset in which the body would say something else
        return Outgoing("POST", url, sent, body, self._upstream.proxy)

    # --- waiting ------------------------------------------------------------------------------

    async def _clear(self) -> None:
        """Returns when the session does not hold calls."""
        while self._house.hold.on:
            await self._patiently(self._house.hold.over())

    async def _patiently(self, waiting: Awaitable[None]) -> None:
        """Wait with pings, where the language has them and the client wants a stream."""
        ping = self._provider.ping if self._asked.stream else None
        task = asyncio.ensure_future(waiting)
        try:
            while not (await asyncio.wait({task}, timeout=PING_EVERY if ping else None))[0]:
                await self._answer.ping(ping or b"")
            task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})

    # --- the answer ---------------------------------------------------------------------------

    async def _relay(self, incoming: Incoming, chunk: bytes) -> None:
        """Pass the answer on as it comes, but for the bytes that end it: those wait until the call is settled."""
        response, answer = incoming.response, self._answer
        self._status = response.status
        await answer.begin(response.status, response.reason, end_to_end(response.headers))
        held: list[bytes] = []
        try:
            while chunk:
                await self._pass(incoming, chunk, held)
                chunk = await self._next(incoming, held)
        except (ClientError, OSError) as error:
            self._why = self._why or f"the answer broke off: {why(error, self._house.session.timeout)}"
            await self._settle()
            answer.abort()
            return
        incoming.reading.end()
        await self._end(held)
        await answer.finish()

    async def _pass(self, incoming: Incoming, chunk: bytes, held: list[bytes]) -> None:
        """Pass a chunk on or hold it: of a stream the event that ends it, of another answer always the last chunk."""
        if self._settled:
            self._after += len(chunk)
            if self._after > MOST_AFTER:
                raise ConnectionError  # nobody counts what is said there
            await self._answer.write(chunk)
        elif incoming.streams:
            if incoming.free:
                await self._answer.write(chunk[: incoming.free])
            if incoming.free < len(chunk):
                held.append(chunk[incoming.free :])
                if incoming.reading.final or len(held) == MOST_HELD:
                    await self._end(held)
        else:
            if held:
                await self._answer.write(held.pop())
            held.append(chunk)

    async def _next(self, incoming: Incoming, held: list[bytes]) -> bytes:
        content = incoming.response.content
        chunk = None
        if held and incoming.streams:
            try:
                async with asyncio.timeout(END_WAIT) as patience:
                    chunk = await content.readany()
            except TimeoutError:
                if not patience.expired():
                    raise
                await self._end(held)
        if chunk is None:
            chunk = await content.readany()
        if not self._settled:
            incoming.feed(chunk)
        if self._record and len(self._recorded) < MOST_OF_A_BODY:
            self._recorded += chunk
        return chunk

    async def _end(self, held: list[bytes]) -> None:
        """Settle, and let go of what waited for that."""
        await self._settle()
        for chunk in held:
            await self._answer.write(chunk)
        held.clear()

    # --- other ends ---------------------------------------------------------------------------

    async def _pass_error(self, error: Error) -> None:
        """An error that is the request's fault goes to the worker as it is, but for what would make it come again."""
        self._status, self._why = error.status, self._word(f"the upstream {self._upstream.name}: {error}", 300)
        if error.status in (401, 403):
            self._house.log_once(f"{self._why}; is its key right?")
        if error.status == 429:
            await self._fail(self._why)
            return
        await self._settle(CallEnd.FAILED)
        headers = end_to_end(error.headers)
        headers.popall("Retry-After", None)
        headers["x-should-retry"] = "false"
        await self._answer.say(Refusal(error.status, error.body, headers), self._asked.api, error.reason)

    async def _fail(self, why: str) -> None:
        self._why = self._word(why, 500)
        await self._end_somehow()
        status = FAILED_STATUS.get(self._provider.family, 400)
        refusal = self._provider.failure(self._asked, status, self._why)
        headers = {**refusal.headers, "x-should-retry": "false"}
        await self._answer.say(Refusal(refusal.status, refusal.body, headers), self._asked.api)

    async def _end_somehow(self) -> None:
        """Settle, whatever happened, what the steward may have set something aside for."""
        try:
            if self._wanted:
                await self._settle()
        except Exception:
            logger.exception("a call of %s could not be settled", self._upstream.name)

    # --- settling -----------------------------------------------------------------------------

    async def _settle(self, end: CallEnd | None = None) -> None:
        """Tell what the call came to, once, whoever is cancelled meanwhile. Raises what the steward raises."""
        if self._settlement is None:
            self._settlement = asyncio.create_task(self._tell(end))
        await asyncio.shield(self._settlement)

    async def _tell(self, end: CallEnd | None) -> None:
        reading = self._incoming.reading if self._incoming else None
        end = end or self._ended(reading)
        usage, source = await self._usage(end, reading)
        if self._record and self._recorded:
            self._record.keep(self.id, "answer", bytes(self._recorded), self._answer.mask)
        duplicate = repeat = False
        if end is CallEnd.ANSWERED and reading is not None:
            duplicate, repeat = await self._house.meter.answered(self._asked, reading.message)
        call = self._row(end, reading, usage, source)
        await self._house.steward.settle(structs.replace(call, duplicate=duplicate, repeat=repeat))
        self._settled = True

    def _ended(self, reading: Reading | None) -> CallEnd:
        if reading is not None and reading.complete:
            return CallEnd.ANSWERED
        return CallEnd.CUT if self._asking.working else CallEnd.FAILED

    async def _usage(self, end: CallEnd, reading: Reading | None) -> tuple[Usage, Source]:
        if end not in (CallEnd.ANSWERED, CallEnd.CUT):
            return Usage(), Source.MEASURED
        usage = (reading and reading.usage) or Usage()
        text = reading.generated() if reading and not (reading.final and usage.output) else b""
        if reading and reading.final and usage.prefix and (usage.output or not text):
            if end is CallEnd.ANSWERED:
                self._house.meter.learn(self._asked, self._estimate, usage)
            return usage, Source.MEASURED
        output = await self._house.meter.generated(text, self._model)
        if not text and end is CallEnd.CUT:
            output = min(self._asking.ms() * UNSEEN_RATE // 1000, self._asked.most_output or MOST_UNSEEN)
        usage = usage if usage.prefix else replace(usage, input=self._estimate.prefix)
        return replace(usage, output=max(usage.output, output)), Source.ESTIMATED

    def _row(self, end: CallEnd, reading: Reading | None, usage: Usage, source: Source) -> ModelCall:
        named = reading.named if reading else []
        return ModelCall(
            call=self.id,
            iteration=self._house.iteration,
            task=self._house.task,
            api=self._asked.api,
            model=self._word(self._model, 200),
            end=end,
            status=self._status,
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            cache_write_1h=usage.cache_write_1h,
            reasoning=usage.reasoning,
            source=source,
            subscription=self._upstream.subscription,
            tools=len(named),
            named=tuple(safe_id(self._word(name, 64), 64) for name in named[:MOST_NAMED]),
            latency=self._asking.ms(),
            first=self._incoming.first if self._incoming else None,
            retries=self._asking.retries,
            message=self._word(reading.message, 200) if reading else "",
            request=self._word(self._incoming.request, 200) if self._incoming else "",
            agent=self._word(self._asked.agent, 100),
            tier=self._word(reading.tier if reading else self._asked.tier, 40),
            changed=self._changed,
            why=self._word(self._why, 300) if end is not CallEnd.ANSWERED else "",
        )

    def _word(self, text: str, limit: int) -> str:
        """What a worker or a server said, fit for a row and without a key."""
        return safe_line(self._answer.mask.text(text), limit)
