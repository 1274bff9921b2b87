"""The terminal: what it can show, its title, and its end."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

HUNG_UP = 128 + signal.SIGHUP


def ascii_wanted(environment: Mapping[str, str]) -> bool:
    """Whether only ASCII can be shown: asked for, or the locale names another encoding than UTF-8."""
    if wish := environment.get("PROCTOR_ASCII"):
        return wish not in ("0", "no", "off")
    named = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    return bool(named) and "utf" not in named.lower()


def title(text: str) -> str:
    """The sequence that sets the terminal's title. `text` must have been made safe."""
    return f"\x1b]2;{text}\x07"


KEEP_TITLE, GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"


def end_with_terminal() -> None:
    """Make this process end at once when its terminal hangs up, whoever started it and whatever it is doing.

    A screen without a terminal must neither spin nor linger; the session is not its business and goes on.
    """
    signal.signal(signal.SIGHUP, _end)
    if sys.__stdin__ is not None:
        threading.Thread(target=_watch, args=(sys.__stdin__.fileno(),), name="proctor-terminal", daemon=True).start()


def _watch(terminal: int) -> None:
    poll = select.poll()
    poll.register(terminal, 0)  # nothing but a hang-up or an error wakes it
    poll.poll()
    _end()


def _end(_: int = 0, __: FrameType | None = None) -> NoReturn:
    os._exit(HUNG_UP)
