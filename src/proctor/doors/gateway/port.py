"""What the gateway and whoever owns the budget say to each other. The gateway knows nothing of a session; the owner
nothing of HTTP. Every method is called on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from proctor.doors.gateway.providers.exchange import Exchange
from proctor.journal.events import ModelCall
from proctor.words import Api


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider: `name` as in the contract, `base_url` up to the path that clients add, and the key itself.

    `speaks` are the families (`anthropic`, `openai`, `gemini`) it understands; empty: any. `auth` is the header that
    the key goes into (`authorization` as a bearer); empty: the language's own. `query` is added to each
    request. With `subscription` a login pays, not a price per call. `proxy` is the operator's HTTP proxy on the way.
    """

    name: str
    base_url: str
    key: str | None = field(default=None, repr=False)
    speaks: frozenset[str] = frozenset()
    auth: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    subscription: bool = False
    proxy: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the next request; read anew for each, so that a change holds at once."""

    upstreams: tuple[Upstream, ...] = ()
    unknown_paths: bool = False
    """Whether paths that are no model call are passed on: batches, embeddings, files and all else that costs."""
    model_lists: bool = False
    """Whether questions for the models that there are pass in any case."""
    record: bool = False
    """Whether bodies are stored."""
    hosts: tuple[str, ...] = ()
    """The host door's list: `name`, `name:port`, or `*.name`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that asks for admission. `prefix` and `most_output` in tokens; the latter None where the client names no
    limit. `tier` is a service that costs more or less than the usual one. `exchange` are the tool calls of the last
    answer with what they came to, as the conversation tells them."""

    call: str
    api: Api
    model: str
    prefix: int
    most_output: int | None
    subscription: bool = False
    tier: str = ""
    exchange: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call may go, perhaps to another `model` or with a lower limit of output; None changes nothing.

    The provider is asked at once; nothing of its answer is passed on before `durable` is done (None: it is already).
    """

    model: str | None = None
    most_output: int | None = None
    durable: asyncio.Future[None] | None = None


@dataclass(frozen=True, slots=True)
class Denied:
    """A call may not go; the message is what the client shows."""

    message: str


class Steward(Protocol):
    """The owner of the budget, as the gateway sees it."""

    def rules(self) -> Rules: ...

    def held(self) -> str | None:
        """Why calls have to wait now: a request is open, the session is paused. None: they may go."""

    async def settled(self) -> None:
        """Returns when `held` may say something else."""

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        """Reserve for a call. The reservation is durable on return, or once `Admitted.durable` is done. An admitted
        call is settled exactly once."""

    async def settle(self, call: ModelCall) -> None:
        """What a call came to; on return it is durable. Refused calls are settled too, without having been admitted."""

    def limited(self, upstream: str, why: str, until: float | None) -> None:
        """A provider's own limit holds calls back until then (seconds since the epoch; None: not known)."""

    def unlimited(self, upstream: str) -> None:
        """Calls go through again."""

    def holding(self, calls: int, since: float) -> None:
        """So many calls are held, the oldest since then (seconds since the epoch): a worker that does not suspend."""

    async def asks_host(self, host: str, port: int) -> bool:
        """A host that the list does not have: whether it is granted, now or once the operator has answered."""

    def log(self, text: str) -> None:
        """A line for the operator; escaped already."""

    def log_once(self, text: str) -> None:
        """One that holds for the whole session, however many of its workers bring it about."""
