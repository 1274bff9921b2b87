"""Where an agent's program is, and which version: what a contract names by kind or agent, found on PATH."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proctor.errors import UsageError
from proctor.lookup import find_program
from proctor.sandbox import host
from proctor.text import safe_line
from proctor.trees import scratch_folder

VERSION_SECONDS = 30.0
MOST_SAID = 64 * 1024
NUMBER = re.compile(rb"\b\d{1,9}(\.\d{1,9}){1,3}(?=[^\d.])")

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A program by its name on PATH, the first and the last version that was tested, and how it is installed."""

    program: str
    first: Version
    last: Version
    install: str
    package: str = ""
    """Of PyPI, for a program that does not tell its version."""


KNOWN = {
    "claude": Known("claude", (2, 1, 197), (2, 1, 328), "npm install -g @anthropic-ai/claude-code"),
    "codex": Known("codex", (0, 169, 0), (0, 171, 0), "npm install -g @openai/codex"),
    "opencode": Known("opencode", (1, 18, 33), (1, 18, 33), "npm install -g opencode-ai"),
    "gemini": Known("gemini", (0, 61, 0), (0, 61, 0), "npm install -g @google/gemini-cli"),
    "qwen": Known("qwen", (0, 15, 10), (0, 15, 10), "npm install -g @qwen-code/qwen-code"),
    "aider": Known("aider", (0, 86, 2), (0, 86, 2), "pip install aider-chat"),
    "mini": Known("mini", (2, 4, 6), (2, 4, 6), "pip install mini-swe-agent", "mini_swe_agent"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A program that is there: its absolute path, its version where it tells one, and what is to be said of that."""

    program: str
    version: str = ""
    warning: str = ""


def agent(kind: str, agent: str = "", command: Sequence[str] = (), path: str | None = None) -> Found:
    """The program of a worker that is not just any, and its version: it is run once, in an empty home.

    `path` is searched in the place of PATH. UsageError, one line, where it is not there.
    """
    known = KNOWN.get(agent or kind)
    program = locate(kind, agent, command, path)[0]
    if known is None:
        return Found(program)
    version = _version(program) or _packaged(program, known.package)
    return Found(program, version, _warning(known, version))


def locate(kind: str, agent: str = "", command: Sequence[str] = (), path: str | None = None) -> tuple[str, ...]:
    """How the program is called: by the path of what really runs, then the words of `command` after it."""
    name = agent or kind
    known = KNOWN.get(name)
    if known is None and not command:
        raise UsageError(f"worker.agent: {safe_line(name, 80)!r} is not known; known are {', '.join(sorted(KNOWN))}")
    wanted = command[0] if command else known.program  # type: ignore[union-attr]
    found = find_program(wanted, path or host.environment()["PATH"])
    if found is None:
        fix = f"install it ({known.install}), or name its path in worker.command" if known else "install it"
        raise UsageError(f"worker: {safe_line(wanted, 200)!r} was not found on PATH: {fix}")
    return _native(found), *command[1:]


def _native(found: str) -> str:
    """What a launcher of npm's would start: a process between ends without what it started."""
    real = Path(os.path.realpath(found))
    if real.name == "codex.js":
        return str(next((place for place in _vendored(real) if os.access(place, os.X_OK)), found))
    return str(real) if real.suffix == ".exe" else found


def _vendored(launcher: Path) -> Iterator[Path]:
    """Where codex may lie for this machine: in a package beside its own, below it, or in its own."""
    package = launcher.parent.parent
    target = f"{os.uname().machine}-unknown-linux-musl"
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, "")
    for holder in (package.parent, package / "node_modules" / package.parent.name):
        yield holder / f"codex-linux-{arch}" / "vendor" / target / "bin" / "codex"
        yield holder / f"codex-linux-{arch}" / "vendor" / target / "codex" / "codex"
    yield package / "vendor" / target / "bin" / "codex"
    yield package / "vendor" / target / "codex" / "codex"


@cache
def _version(program: str) -> str:
    """What it says of its version; nothing of it runs afterwards, whatever it started and however long that would."""
    with scratch_folder("proctor-") as home:
        quiet = {"PATH": host.environment()["PATH"], "HOME": str(home), "NO_UPDATE_NOTIFIER": "1", "TERM": "dumb"}
        try:
            running = subprocess.Popen(
                [program, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=quiet,
                cwd=home,
                start_new_session=True,
            )
        except OSError:
            return ""
        with running:
            assert running.stdout is not None
            try:
                number = _number(running.stdout.fileno())
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
    return number.decode()


def _number(fd: int) -> bytes:
    """The first that looks like a version, in as much as anybody says of his."""
    said, deadline = b"", time.monotonic() + VERSION_SECONDS
    while len(said) < MOST_SAID and (left := deadline - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        part = os.read(fd, MOST_SAID)
        said += part
        if number := NUMBER.search(said if part else said + b"\n"):
            return number[0]
        if not part:
            break
    return b""


def _packaged(program: str, package: str) -> str:
    """The version by which a package of PyPI is installed with a program."""
    if not package:
        return ""
    around = Path(os.path.realpath(program)).parent.parent
    infos = sorted(around.glob(f"lib/python*/site-packages/{package}-*.dist-info"))
    return infos[0].name.removesuffix(".dist-info").partition("-")[2] if infos else ""


def _warning(known: Known, version: str) -> str:
    first, last = (".".join(map(str, number)) for number in (known.first, known.last))
    tested = first if first == last else f"{first} to {last}"
    if not version:
        return f"{known.program} does not tell its version; tested is {tested}"
    number = tuple(int(part) for part in version.split(".")[:4] if part.isdigit())
    return (
        "" if known.first <= number <= known.last else f"{known.program} {version} was not tested; tested is {tested}"
    )
