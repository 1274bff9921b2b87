"""An answer before it has an API's form, and what the four forms share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.script import Tokens, View, Where
from models.tools import Call


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn with its identity. `usage` as in `Turn`."""

    id: str
    model: str
    text: str
    think: str
    calls: tuple[tuple[str, Call], ...]
    tokens: Tokens
    usage: Literal["once", "none", "every"]
    view: View


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a stream and what they are."""

    data: bytes
    mark: Literal["", "text", "tool", "usage", "stop"] = ""


def parts(text: str, count: int = 4) -> list[str]:
    """A text in up to `count` pieces, cut anywhere."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def event(data: Mapping[str, Any], name: str = "", mark: Any = "") -> Piece:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return Piece(f"{head}data: {json.dumps(data)}\n\n".encode(), mark)


def place(pieces: Sequence[Piece], where: Where) -> int:
    """The index of the piece before which something happens."""
    if where == "start":
        return 1
    found = [at for at, piece in enumerate(pieces) if piece.mark == where]
    if where in ("text", "tool") and found:
        return found[len(found) // 2]
    return found[0] if found else len(pieces) - 1


def share(pieces: Sequence[Piece], sent: int) -> tuple[int, int]:
    """How many of the pieces that hold what was generated are among the first `sent`, and how many there are."""
    made = [at for at, piece in enumerate(pieces) if piece.mark in ("text", "tool")]
    return sum(at < sent for at in made), len(made)


def joined(pieces: Iterable[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)
