"""The sandboxes under test. `bare` is the control: what it does not allow, no sandbox has blocked."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence

from probes.fixture import Config

Box = Callable[[Config, Sequence[str]], list[str]]


def bare(_: Config, inner: Sequence[str]) -> list[str]:
    return list(inner)


def proctor(config: Config, inner: Sequence[str]) -> list[str]:
    """As a worker would run it. `PROCTOR` names another command than this interpreter's."""
    given = os.environ.get("PROCTOR")
    command = shlex.split(given) if given else [sys.executable, "-P", "-m", "proctor"]
    return [*command, "sandbox", config["ws"], "--", *inner]


BOXES: dict[str, Box] = {"bare": bare, "proctor": proctor}
