"""JSON-RPC over lines, both ways and without I/O: how codex and ACP agents are spoken to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from proctor.worker.decoding import Unreadable, decoded
from proctor.worker.dialect import Send

T = TypeVar("T")
Id = int | str
NO_METHOD, BAD_PARAMS = -32601, -32602
MOST_KEPT = 256
HEAD = 1_000
REQUEST = re.compile(rb'\{(?:"jsonrpc":"2\.0",)?(?:"method":"[\w/]+",)?"id":(\d{1,9}),(?:"method":"[\w/]+",)?"params":')
"""How a request begins in each agent that is known."""
TOO_LARGE = "it is too large to be judged: split it"
UNCHANGEABLE = "another input was granted than the one asked for, and this agent takes none"


class Peer:
    """One side of a conversation. What is called when a message arrives may raise ValueError or a msgspec error for
    one of another shape than it knows: a request is then refused, anything else ignored. `on_refused` is told why a
    request was refused that could not even be read."""

    def __init__(
        self,
        send: Send,
        on_request: Callable[[Id, str, Any], None],
        on_notice: Callable[[str, Any], None],
        header: Mapping[str, str] | None = None,
        on_refused: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._send = send
        self._on_request = on_request
        self._on_notice = on_notice
        self._header = dict(header or {})
        self._on_refused = on_refused
        self._last = 0
        self._waiting: dict[Id, tuple[Callable[[Any], None], Callable[[str], None]]] = {}

    def ask(self, method: str, params: Any, done: Callable[[Any], None], failed: Callable[[str], None]) -> None:
        """Send a request. One of the two is called with its result, or with what went wrong in the other's words."""
        self._last += 1
        self._waiting[self._last] = done, failed
        self._write(id=self._last, method=method, params=params)

    def notify(self, method: str, params: Any = None) -> None:
        self._write(method=method, **({} if params is None else {"params": params}))

    def reply(self, asked: Id, result: Any) -> None:
        self._write(id=asked, result=result)

    def refuse(self, asked: Id, code: int, message: str) -> None:
        self._write(id=asked, error={"code": code, "message": message})

    def heard(self, line: bytes) -> bool:
        """Take one line; whether it was a message at all. A request that cannot be read is refused: whoever sent it
        would wait for ever."""
        try:
            message = decoded(line)
        except Unreadable:
            if head := REQUEST.match(line, 0, HEAD):
                self.refuse(int(head[1]), BAD_PARAMS, TOO_LARGE)
                self._on_refused(TOO_LARGE)
            return False
        if not isinstance(message, dict):
            return False
        asked, method = message.get("id"), message.get("method")
        if isinstance(asked, bool) or not isinstance(asked, int | str):
            asked = None
        try:
            if isinstance(method, str):
                if asked is None:
                    self._on_notice(method, message.get("params"))
                else:
                    self._on_request(asked, method, message.get("params"))
            elif asked in self._waiting:
                self._settle(*self._waiting.pop(asked), message)
            else:
                return False
        except (msgspec.MsgspecError, ValueError, RecursionError):
            if isinstance(method, str) and asked is not None:
                self.refuse(asked, BAD_PARAMS, "not understood")
        return True

    def _settle(self, done: Callable[[Any], None], failed: Callable[[str], None], message: dict[str, Any]) -> None:
        if "result" not in message:
            error = message.get("error")
            text = error.get("message") if isinstance(error, dict) else None
            return failed(text if isinstance(text, str) and text else "failed without a word")
        try:
            done(message["result"])
        except (msgspec.MsgspecError, ValueError, RecursionError):
            failed("an answer that is not understood")

    def _write(self, **message: Any) -> None:
        self._send(msgspec.json.encode(self._header | message) + b"\n")


def keep(held: dict[str, T], key: str, value: T) -> None:
    """Hold a value, and let the oldest go where there are too many: the other side decides what it ever ends."""
    held[key] = value
    if len(held) > MOST_KEPT:
        del held[next(iter(held))]


def denial(what: str, reason: str) -> str:
    """A denial in the operator's words, for a model that is told of it later or beside others."""
    return f"Denied: {what[:200]}: {reason}" if what else f"Denied: {reason}"
