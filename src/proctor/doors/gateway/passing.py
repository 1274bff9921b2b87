"""Requests that are no calls of a model: passed on, not counted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from aiohttp import ClientError, ClientSession

from proctor.doors.gateway.answer import Answer
from proctor.doors.gateway.ask import PACKED, Outgoing, packed, send
from proctor.doors.gateway.hold import Hold
from proctor.doors.gateway.port import Upstream
from proctor.doors.gateway.providers.base import Refusal
from proctor.doors.gateway.trouble import why
from proctor.doors.gateway.upstream import end_to_end


class Passing:
    """One such request. `run()` raises nothing but cancellation."""

    in_flight = False

    def __init__(
        self, session: ClientSession, hold: Hold, answer: Answer, upstream: Upstream, failure: Callable[[str], Refusal]
    ) -> None:
        self._session = session
        self._hold = hold
        self._answer = answer
        self._upstream = upstream
        self._failure = failure
        self._deadline = asyncio.timeout(None)

    def left(self) -> None:
        self.give_up()

    def give_up(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is over
            self._deadline.reschedule(asyncio.get_running_loop().time())

    async def run(self, outgoing: Outgoing) -> None:
        try:
            async with self._deadline:
                while self._hold.on:
                    await self._hold.over()
                await self._pass(outgoing)
        except (ClientError, OSError, ValueError) as error:
            said = self._answer.mask.text(why(error, self._session.timeout))
            await self._answer.say(self._failure(f"the upstream {self._upstream.name} did not answer: {said}"))

    async def _pass(self, outgoing: Outgoing) -> None:
        async with await send(self._session, outgoing) as response:
            if packed(response):
                await self._answer.say(self._failure(f"the upstream {self._upstream.name}: {PACKED}"))
                return
            await self._answer.begin(response.status, response.reason, end_to_end(response.headers))
            async for chunk in response.content.iter_any():
                await self._answer.write(chunk, drain=True)
            await self._answer.finish()
