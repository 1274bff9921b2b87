"""A page that has to render: its server and its one visitor in a sandbox of their own (`visitor.py`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from proctor.journal.events.checks import Page
from proctor.oracle import visitor
from proctor.oracle.rules import MOST, SECONDS, Broken, Text, failed, looks_like
from proctor.sandbox.policy import DOOR
from proctor.sandbox.run import Completed
from proctor.text import safe_line
from proctor.words import Verdict

NAME = "visitor.py"
SOURCE = Path(__file__).with_name(NAME)
GRACE = 5.0
"""Seconds beyond the page's own in which the visitor has to have said something."""
_HEAD = 1 << 16


class _Head(msgspec.Struct, frozen=True):
    found: bool
    why: str
    status: int
    location: str


def visit(page: Page, fd: int, run: Callable[[Sequence[str], float], Completed]) -> None:
    """Start a page's server, fetch the page, show it in its browser; Broken where it is not what it has to be.

    `run` runs a command with a time limit in the check's sandbox, where `SOURCE` stands in the door, and with `fd`, an
    empty file, as its input.
    """
    asked = {
        "run": page.run,
        "url": page.url,
        "within": page.within,
        "most": MOST,
        "status": page.status,
        "browser": page.browser,
    }
    seconds = page.within + GRACE + (visitor.TRIAL if page.browser else 0)
    completed = run((sys.executable, "-I", "-S", f"{DOOR}/{NAME}", json.dumps(asked)), seconds)
    head, _, body = os.pread(fd, _HEAD + MOST + 1, 0).partition(b"\n")
    try:
        said = msgspec.json.decode(head, type=_Head)
    except msgspec.MsgspecError:
        if completed.exceeded:
            raise Broken(Verdict.INFRA, completed.exceeded) from None
        raise failed(
            f"nobody could visit {page.url}" + (": it came to no end" if completed.timed_out else "")
        ) from None
    if said.why:
        raise Broken(Verdict.FAILED if said.found else Verdict.INFRA, said.why)
    if said.status != page.status:
        leads = f", which leads to {safe_line(said.location, 100)}" if said.location else ""
        raise failed(f"{page.url} answers with status {said.status}{leads}, not {page.status}")
    name = f"{page.url} in {page.browser}" if page.browser else page.url
    answer = Text(name, body[:MOST], len(body) > MOST)
    answer.whole()
    looks_like(answer, page.text, page.matches, min(page.within, SECONDS))
    if completed.exceeded:
        raise Broken(Verdict.INFRA, completed.exceeded)
