"""Orders: what an operator wishes, left as files, taken in by the supervisor, answered by rows."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from proctor.journal.encoding import encode_json

MAX_ORDER = 1024 * 1024
MAY_WAIT = frozenset({"approve", "deny", "note", "extend"})
"""Orders that may wait for a supervisor that is down; every other one expires with the supervisor it named."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One wish. `supervisor` is the fencing token of the supervisor it was meant for, None if none was up."""

    id: str
    verb: str
    session: str
    supervisor: int | None
    at: datetime
    by: str = ""
    args: dict[str, Any] = {}


def inbox_dir(state_dir: Path) -> Path:
    return state_dir / "inbox"


def new_order(verb: str, session: str, supervisor: int | None, by: str, args: dict[str, Any]) -> Order:
    """An order with a fresh id."""
    now = datetime.now(UTC)
    return Order(id=uuid.uuid4().hex[:12], verb=verb, session=session, supervisor=supervisor, at=now, by=by, args=args)


def leave(state_dir: Path, order: Order) -> None:
    """Put an order into the inbox: whole or not at all."""
    folder = inbox_dir(state_dir)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = f"{order.at.timestamp():020.6f}-{order.id}.json"
    draft = folder / f".{name}"
    draft.write_bytes(encode_json(order))
    os.rename(draft, folder / name)


def pending(state_dir: Path) -> list[tuple[Path, Order | None]]:
    """Orders in the order they were left; None for a file that is no order."""
    folder = inbox_dir(state_dir)
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return []
    return [(folder / name, _read(folder / name)) for name in names]


def _read(path: Path) -> Order | None:
    try:
        if path.stat().st_size > MAX_ORDER:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Order)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
