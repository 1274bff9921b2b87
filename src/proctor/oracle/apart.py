"""Questions about what a worker wrote, put to a process of their own: it may be made to cost time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import proctor

_ROOT = str(Path(proctor.__file__).parents[1])


class Pair(Protocol):
    """A file's bytes before and after."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> bytes | None: ...
    @property
    def after(self) -> bytes | None: ...


class Holds(Protocol):
    """The part of `checkpoint.Store` that such questions are made from."""

    def pairs(
        self, before: str, after: str, wanted: Callable[[str], bool], largest: int = ...
    ) -> tuple[Sequence[Pair], list[str]]: ...
    def read(self, commit: str, path: str) -> bytes: ...
    def paths(self, commit: str) -> tuple[str, ...]: ...


def ask(package: str, question: Mapping[str, object], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run the `main` of a package of the oracle's that reads JSON and prints its answer. TimeoutExpired after so many
    seconds. Without the start of a site, which takes longer than all that such a package needs."""
    paths = [_ROOT, *filter(None, sys.path)]
    program = f"import sys; sys.path[:] = {paths!r}; from proctor.oracle.{package}.__main__ import main; main()"
    command = [sys.executable, "-I", "-S", "-c", program]
    asked = json.dumps(question).encode()
    return subprocess.run(command, input=asked, capture_output=True, timeout=seconds, cwd="/", env={}, check=False)
