"""The terminal: what it can show, its title, and its end."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import sys
import termios
import textwrap
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import NoReturn

HUNG_UP = 128 + signal.SIGHUP
_COMMAND, _JOINED = re.compile(r"`[^`\n]*`"), "\0"
"""A command in a text, and what stands for its spaces while that is broken into rows."""
_LOCAL = 3
"""The place of the local modes among a terminal's attributes."""


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


def on_terminal() -> bool:
    """Whether there is a terminal to draw on and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def wrapped(text: str, indent: int = 0) -> str:
    """A text broken at spaces where it goes to a terminal, `indent` cells in from the second row; else as it is. A
    command between backticks stays whole, so that it can be taken over."""
    if not sys.stdout.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(
            _COMMAND.sub(lambda found: found[0].replace(" ", _JOINED), row),
            columns,
            subsequent_indent=" " * (indent + len(row) - len(row.lstrip())),
            break_long_words=False,
            break_on_hyphens=False,
        ).replace(_JOINED, " ")
        for row in text.split("\n")
    )


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Until the screen is there, what is typed is not echoed over it; afterwards the terminal is as it was."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = [*before]
    silent[_LOCAL] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, silent)
    _wipe(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _wipe(terminal: int) -> None:
    """Take away what was typed before the echo was off: from the input, and from the rows where it was echoed."""
    typed = b""
    while select.select([terminal], [], [], 0)[0] and (more := os.read(terminal, 4096)):
        typed += more
    if typed:
        rows = typed.count(b"\n")
        sys.stdout.write((f"\x1b[{rows}A" if rows else "") + "\r\x1b[J")
        sys.stdout.flush()


def forget_keys() -> None:
    """Drop what was typed before there was anything to type at."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


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
