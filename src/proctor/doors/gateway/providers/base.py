"""What the gateway needs of every language: to read a request, to change it, to read an answer as it passes by, and to
say no in the words that make a client stop. No I/O here, and nothing raises for what a worker or a server sends but
`ValueError` from `asked`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from proctor.budget.dimensions import Usage
from proctor.words import Api


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a model, as far as it matters here. `body` is decoded and not to be changed, `raw` as it came.

    `most_output` is the client's own limit, for all answers it asks for at once; None where it names none. `agent` is
    the sub-agent that asks, if said, `tier` a service that costs more or less than the usual one, such as `priority`.
    """

    api: Api
    model: str
    stream: bool
    most_output: int | None
    body: Mapping[str, Any]
    raw: bytes
    agent: str = ""
    path: str = ""
    tier: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of the gateway's own."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Limited:
    """An answer that says: later. `seconds` until then, None where nothing says how long."""

    why: str
    seconds: float | None = None


class Reading(Protocol):
    """An answer, read as its bytes pass by. Everything is what is known so far."""

    usage: Usage | None
    """As the provider reports it, None until it does."""
    final: bool
    """Whether `usage` is the provider's last word on this call."""
    complete: bool
    """Whether the answer came to its own end, not to the connection's."""
    message: str
    """The provider's id of the answer."""
    model: str
    """The model that answered, as it says."""
    tier: str
    """The service that it was, as in `Asked`."""
    named: list[str]
    """The names of the tools that were called, in order, each call once; server-side tools of the provider not."""
    error: str
    """An error inside a stream that began well."""

    def feed(self, chunk: bytes) -> None: ...

    def end(self) -> None:
        """The connection has ended: read what is left."""

    def generated(self) -> bytes:
        """What was generated so far that can be seen, for an estimate where no usage came: bounded,
        and in no order that matters."""


class Provider(Protocol):
    """One language."""

    family: str
    """`anthropic`, `openai` or `gemini`: which upstreams speak it."""
    ping: bytes | None
    """What keeps a held stream alive, if the language has such a thing."""

    def asked(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Asked | None:
        """The request; None if it is no call of this language. ValueError, one line, where its body is malformed."""

    def rewritten(
        self, asked: Asked, model: str | None = None, most_output: int | None = None
    ) -> tuple[str | None, bytes]:
        """The request's path (None: as it was) and body as they go upstream, with another model or a lower limit if
        given, and with what makes the provider report usage. `raw` itself where nothing changes."""

    def prompt(self, asked: Asked) -> list[str]:
        """All that will be counted as input, for an estimate."""

    def reading(self, asked: Asked) -> Reading: ...

    def refusal(self, asked: Asked, message: str) -> Refusal:
        """The answer that makes this language's clients stop at once and show the message."""

    def failure(self, asked: Asked, status: int, message: str) -> Refusal:
        """An error of the gateway in this language's form."""

    def limited(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> Limited | None:
        """Whether an upstream's answer means: later. `now` in seconds since the epoch."""
