"""One notice to the operator, over every channel of the contract at once. No channel's failure stops anything."""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from proctor.lookup import find_program, search_path
from proctor.text import safe_line

PATIENCE = 10.0
"""Seconds that a channel may take."""

_TITLE_LIMIT = 120
_TEXT_LIMIT = 400
_SESSION = ("DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DISPLAY")


class Urgency(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Channels:
    """Where notices go: the screens' bells, the desktop by `notify-send`, programs of the operator's."""

    bell: bool = True
    desktop: bool = False
    commands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """Whether the screens should ring, and a line for each channel that failed."""

    bell: bool
    failures: tuple[str, ...] = ()


async def send(
    channels: Channels,
    title: str,
    text: str,
    urgency: Urgency,
    cwd: Path,
    *,
    environment: Mapping[str, str] = os.environ,
    patience: float = PATIENCE,
) -> Sent:
    """Send one notice and return within `patience` seconds; never raises. Title and text are made safe here.

    The bell stands in for a desktop that cannot be reached. Commands run in `cwd` with `PROCTOR_TITLE`,
    `PROCTOR_TEXT` and `PROCTOR_URGENCY` set, and with no folder of a workspace on PATH; what they start in their
    process group ends with them.
    """
    title, text = safe_line(title, _TITLE_LIMIT), safe_line(text, _TEXT_LIMIT)
    environment = {**environment, "PATH": search_path(environment.get("PATH"))}
    told = {**environment, "PROCTOR_TITLE": title, "PROCTOR_TEXT": text, "PROCTOR_URGENCY": urgency}
    runs = [_run("command", command, cwd, told, patience) for command in channels.commands]
    program = find_program("notify-send", environment["PATH"])
    desktop = channels.desktop and program is not None and any(environment.get(name) for name in _SESSION)
    if desktop:
        level = "critical" if urgency is Urgency.HIGH else urgency
        # The text is markup to a desktop, the title is not.
        words = (program or "", "--app-name=proctor", f"--urgency={level}", "--", title, html.escape(text, quote=False))
        runs.append(_run("desktop", words, cwd, environment, patience))
    failures = tuple(failure for failure in await asyncio.gather(*runs) if failure)
    unreached = channels.desktop and (not desktop or any(failure.startswith("desktop") for failure in failures))
    return Sent(channels.bell or unreached, failures)


async def _run(
    channel: str, words: tuple[str, ...], cwd: Path, environment: Mapping[str, str], patience: float
) -> str | None:
    """Run a program to its end, or end it; a line if it did not succeed."""
    name = f"{channel}: {safe_line(words[0] if words else 'no program', 200)}"
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError, TypeError) as error:
        return f"{name}: {safe_line(str(error))}"
    try:
        status = await asyncio.wait_for(process.wait(), patience)
    except TimeoutError:
        return f"{name}: did not end within {patience:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return f"{name}: exit status {status}" if status else None
