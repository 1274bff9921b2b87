"""What the languages have in common when an answer is read: one that streams, or one JSON document, told by its first
byte. A server may send anything at all: what makes no sense is passed over, never counted, and never raises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from proctor.budget.dimensions import Usage
from proctor.doors.gateway.providers.base import Asked
from proctor.doors.gateway.providers.body import counted, marks
from proctor.doors.gateway.providers.sse import LONGEST, Events
from proctor.text import safe_line

MOST_TOKENS: Final = 10**9
"""No call has more."""
MOST_GENERATED: Final = 1 << 20
"""Bytes of generated text that are kept for an estimate."""
MOST_VALUES: Final = 1 << 20
"""Values in one answer or event; what has more is none, and would take minutes and gigabytes."""
_MOST_PIECES: Final = 10_000
_PENDING: Final = 1 << 18
MOST_NAMED: Final = 4_096
_USUAL: Final = ("default", "auto", "standard", "standard_only", "on_demand")
_CHEAPER: Final = ("flex", "batch")
_SPACE: Final = b" \t\r\n\xef\xbb\xbf"

T = TypeVar("T")


def record(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def word(value: Any, limit: int = 200) -> str:
    """A name or an id; empty if it is no such thing."""
    return safe_line(value[: limit + 1], limit) if isinstance(value, str) else ""


def tier(said: Any) -> str:
    """A service that is not the usual one; empty for that."""
    name = word(said, 40).lower()
    return "" if name in _USUAL else name


def dearer(wished: Any) -> str:
    """A service that a request asks for, where it may cost more. One that costs less holds once the provider names it:
    some give the usual one instead."""
    name = tier(wished)
    return "" if name in _CHEAPER else name


def tokens(value: Any) -> int | None:
    """A number of tokens, None if it cannot be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if good else None


def nonsense(*values: Any) -> bool:
    """Whether a report says something that no number of tokens can be."""
    return any(value is not None and tokens(value) is None for value in values)


def inclusive(reported: Any, given: str, generated: str) -> Usage | None:
    """A report of OpenAI's kind: the input includes what was read from and written to a cache, the output what was
    reasoned. Servers that say so by their total leave either out; theirs is then added, never twice."""
    said = record(reported)
    if nonsense(said.get(f"{given}_tokens"), said.get(f"{generated}_tokens")):
        return None
    prompt, output = tokens(said.get(f"{given}_tokens")), tokens(said.get(f"{generated}_tokens"))
    if prompt is None and output is None:
        return None
    output, total = output or 0, tokens(said.get("total_tokens")) or 0
    prompt = max(0, total - output) if prompt is None else prompt
    details, of_output = record(said.get(f"{given}_tokens_details")), record(said.get(f"{generated}_tokens_details"))
    read = _first(details.get("cached_tokens"), said.get("prompt_cache_hit_tokens"), said.get("cached_tokens"),
                  said.get("cache_read_input_tokens"))  # fmt: skip
    written = _first(details.get("cache_write_tokens"), details.get("cache_creation_tokens"),
                     said.get("cache_creation_input_tokens"))  # fmt: skip
    reasoned = _first(of_output.get("reasoning_tokens"), said.get("reasoning_tokens"))
    cached = read + written
    beside = max(0, total - prompt - output)
    if cached > prompt or (cached and beside != reasoned and beside in (cached, cached + reasoned)):
        prompt += cached
        beside = max(0, beside - cached)
    # What a total has besides was thought, and is billed as output.
    output += beside
    reasoned = max(reasoned, beside)
    return Usage(
        input=prompt - cached,
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=min(reasoned, output),
    )


def _first(*values: Any) -> int:
    return next((found for found in map(tokens, values) if found), 0)


class Answer:
    """A `Reading`; each language says what an event and what a document means."""

    def __init__(self, asked: Asked) -> None:
        self.usage: Usage | None = None
        self.final = False
        self.complete = False
        self.message = ""
        self.model = ""
        self.tier = asked.tier
        self.named: list[str] = []
        self.error = ""
        self._events: Events | None = None
        self._document: list[bytes] | None = None
        self._size = 0
        self._pending: list[bytes] = []
        self._waiting = 0
        self._texts: list[bytes] = []
        self._length = 0

    # Each language's own.

    def event(self, data: bytes) -> None:
        """One event of a stream."""

    def document(self, value: Any) -> None:
        """The whole of an answer that does not stream, or one part of a list of them."""

    def light(self, data: bytes) -> bool:
        """Whether an event does no more than carry on a text, as its bytes show: it is read if an estimate wants it."""
        return False

    def delta(self, data: bytes) -> Iterator[Any]:
        """What a light event adds to a text."""
        yield from ()

    # The same for all.

    def feed(self, chunk: bytes) -> None:
        if self._events is None and self._document is None:
            chunk = chunk.lstrip(_SPACE)
            if not chunk:
                return
            if chunk[:1] in (b"{", b"["):
                self._document = []
            else:
                self._events = Events()
        if self._events is not None:
            for data in self._events.feed(chunk):
                self._read(data)
        elif self._document is not None and self._size <= LONGEST:
            self._document.append(chunk)
            self._size += len(chunk)

    def end(self) -> None:
        if self._events is not None:
            for data in self._events.end():
                self._read(data)
            self._events = None
        if self._document:
            whole = b"".join(self._document)
            self._document = None
            self._read_document(whole)

    def generated(self) -> bytes:
        self._collect()
        return b"".join(self._texts)

    def _read(self, data: bytes) -> None:
        if _endless(data):
            return
        if not self.light(data):
            self.event(data)
            return
        self._pending.append(data)
        self._waiting += len(data)
        if self._waiting > _PENDING:
            self._collect()

    def _collect(self) -> None:
        pending, self._pending, self._waiting = self._pending, [], 0
        for data in pending:
            if self._length > MOST_GENERATED:
                return
            self.wrote_light(data)

    def _read_document(self, whole: bytes) -> None:
        value = None if _endless(whole) else parsed(whole)
        if value is None:
            self._read_pieces(whole)
        elif isinstance(value, list):
            for one in value:
                self.document(one)
        else:
            self.document(value)

    def _read_pieces(self, whole: bytes) -> None:
        """What stands whole in a list that broke off; of anything else, its bytes as what was generated."""
        text, at = whole.decode(errors="replace"), 1
        decoder = json.JSONDecoder()
        for _ in range(_MOST_PIECES if whole[:1] == b"[" else 0):
            at += len(text[at : at + 64]) - len(text[at : at + 64].lstrip(" \t\r\n,"))
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            self.document(value)
        self.wrote(text[at:])

    def wrote(self, text: Any) -> None:
        """A piece of what was generated."""
        if isinstance(text, str) and text and self._length <= MOST_GENERATED:
            piece = text[:MOST_GENERATED].encode(errors="replace")
            self._texts.append(piece)
            self._length += len(piece)

    def wrote_light(self, data: bytes) -> None:
        for text in self.delta(data):
            self.wrote(text)

    def wrote_all(self, value: Any) -> None:
        """All words in a piece of what was generated."""
        self.wrote("\n".join(counted([value])))

    def ended(self) -> None:
        """The answer has come to its own end."""
        self.complete = not self.error

    def served(self, said: Any) -> None:
        """The provider's word for the service, if it says one."""
        self.tier = tier(said) if isinstance(said, str) and said else self.tier

    def called(self, name: Any) -> None:
        """One call of a tool."""
        if len(self.named) < MOST_NAMED:
            self.named.append(word(name) or "?")

    def failed(self, error: Any) -> None:
        """An error in an answer that began well."""
        self.complete = False
        said = record(error)
        kind = word(said.get("type")) or word(said.get("code")) or word(said.get("status"))
        message = word(said.get("message"), 500) or word(error, 500)
        self.error = ": ".join(filter(None, (kind, message))) or "an error that says nothing"


def _endless(data: bytes) -> bool:
    return len(data) > MOST_VALUES and marks(data) > MOST_VALUES


def decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """What an event holds, None if that cannot be read."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        found: T = msgspec.convert(_leniently(data), decoder.type)
    except (ValueError, RecursionError):
        return None
    return found


def parsed(data: bytes) -> Any:
    """Any JSON, None if it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return _leniently(data)
    except (ValueError, RecursionError):
        return None


def _leniently(data: bytes) -> Any:
    """Half a surrogate pair, as stands where a text was cut, or NaN is no reason not to read the figures beside it."""
    return json.loads(data.decode(errors="replace"))
