"""Events between the operator and the harness: requests, orders, notes, notices."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.journal.events.base import Event, TaskId
from proctor.words import Dimension, RequestKind, RequestOutcome


class RequestOpened(Event, frozen=True, tag="request_opened"):
    """Something waits for the operator. `worker_id` is the worker's own name for its question, `agent` the sub-agent
    that asks; one that is not `changeable` can be granted only as it is. One that is `granted` at once, by a rule,
    waits for nobody and has no other row. Two that ask for the same have the same `digest`. `wanted` is how much more
    of a ceiling the next task is known to need."""

    id: int
    request: RequestKind
    what: str
    why: str = ""
    tool: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    task: TaskId | None = None
    iteration: int = 0
    worker_id: str = ""
    agent: str = ""
    changeable: bool = True
    granted: str = ""
    digest: str = ""
    dimension: Dimension | None = None
    wanted: int = 0


class RequestClosed(Event, frozen=True, tag="request_closed"):
    """Answered once: the first answer wins. `by` names who or what (an order, a rule, a flag). `input` is what was
    granted where it is not what was asked for. An answer that is not `told` came when its worker was gone: it is kept
    for the next one that asks the same, whose answer is then the one `kept` of that request."""

    id: int
    outcome: RequestOutcome
    by: str = ""
    reason: str = ""
    input: dict[str, Any] | None = None
    told: bool = True
    kept: int = 0


class OrderTaken(Event, frozen=True, tag="order_taken"):
    """The answer to an order: `done`, `refused`, `expired` or `lost` (another answer came first)."""

    order: str
    verb: str
    outcome: str
    detail: str = ""
    by: str = ""


class Noted(Event, frozen=True, tag="noted"):
    """A note of the operator for the next brief."""

    text: str


class Noticed(Event, frozen=True, tag="noticed"):
    """One notice to the operator: `urgency` is low, normal or high."""

    text: str
    why: str
    urgency: str = "normal"


class Logged(Event, frozen=True, tag="logged"):
    """A fact of the harness worth a line: a restored projection, a dead watcher, a refused start."""

    text: str
    room: str = ""
