"""Events of the gateway: every call of a model, metered where the worker cannot argue."""

from __future__ import annotations

from proctor.journal.events.base import Event, TaskId
from proctor.words import Api, CallEnd, Source


class ModelAsked(Event, frozen=True, tag="model_asked"):
    """A call is admitted: what is reserved for it, before it is passed on. A `ModelCall` with its id settles it.

    `prefix` and `output` are tokens, `micro` micro-dollars (None where the model has no price).
    """

    call: str
    iteration: int
    api: Api
    model: str
    prefix: int = 0
    output: int = 0
    micro: int | None = None


class ModelCall(Event, frozen=True, tag="model_call"):
    """One call of a model, written before the bytes that end it are passed on.

    Tokens are as in `budget.Usage`; `source` says whether the provider reported them or they are estimated. `micro` is
    its price in micro-dollars, None where none is known; `entry` the entry of the price list. Under a
    `subscription` that is what it would cost by list, `notional` where no ceiling counts it. `tools` are the tool calls
    in the answer, a lower bound where one runs many. `latency` and `first` (to the first byte) are milliseconds.
    `retries` are the gateway's own tries before the one that counts. `message` and `request` are the provider's ids.
    `tier` is a service that costs more or less than the usual one, such as `priority`.
    A `duplicate` is an answer that an earlier row counted: it adds nothing. A `repeat` asks again what an answered call
    had asked: it is billed, and the trajectory has it once. `changed` says what the gateway changed of it.
    """

    call: str
    iteration: int
    task: TaskId | None = None
    api: Api = Api.OTHER
    model: str = ""
    end: CallEnd = CallEnd.ANSWERED
    status: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    source: Source = Source.MEASURED
    micro: int | None = None
    entry: str = ""
    subscription: bool = False
    notional: bool = False
    tools: int = 0
    named: tuple[str, ...] = ()
    latency: int = 0
    first: int | None = None
    retries: int = 0
    message: str = ""
    request: str = ""
    agent: str = ""
    tier: str = ""
    duplicate: bool = False
    repeat: bool = False
    changed: tuple[str, ...] = ()
    why: str = ""


class ProviderLimited(Event, frozen=True, tag="provider_limited"):
    """A provider's own limit began (`until` is when it should end, seconds since the epoch) or, with `over`, ended."""

    upstream: str
    why: str = ""
    until: float | None = None
    over: bool = False
