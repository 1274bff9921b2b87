"""Watches `go test` and `cargo test` from beside them: the code under test is a process of its own there.

Started in front of the check's command it runs it, follows what the test binaries say, and tells the judge what
really ran, in the form and over the line of `witness.py`. What a test prints is never believed. It runs in proctor's
own interpreter with the standard library alone, out of an archive that holds this module and those of the tools.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence

SECRET_LENGTH = 64
FIELD, RECORD = "\x1f", "\x1e"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
GO, CARGO = "go", "cargo"

_EXCERPT = 500
_NOT_DUMPABLE = (4, 0)
_KEPT = 1 << 20
"""Bytes of what a process says of which the end is kept."""
_LEFT = 32
"""How often a pipe is read once its process has ended, of which at most a pipe's fill can be its own."""


class NotWatched(Exception):
    """This tool is not as it is known, so that nothing it would say could be believed."""


class Notes:
    """One outcome for each test id; a failure is never taken back."""

    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, str]] = {}

    def add(self, name: str, outcome: str, message: str = "") -> None:
        if self.outcomes.get(name, ("", ""))[0] != FAILED:
            self.outcomes[name] = outcome, message.strip()[:_EXCERPT] if outcome == FAILED else ""

    def report(self, secret: str) -> bytes:
        clean = re.compile("[\x00-\x08\x0b-\x1f]").sub
        rows = [FIELD.join(clean("?", f) for f in (o, name, why)) for name, (o, why) in self.outcomes.items()]
        return (secret + RECORD.join(rows) + RECORD + secret).encode("utf-8", "backslashreplace")


def start(words: Sequence[str]) -> int:
    """What the archive's script does; the exit code."""
    from proctor.oracle import witness_cargo

    match words:
        case ["binary", *rest]:
            return witness_cargo.binary(rest)
        case ["docs", *rest]:
            return witness_cargo.docs(rest)
        case [how, at, *rest]:
            return main(how, int(at), rest)
    return 2


def main(how: str, at: int, argv: Sequence[str]) -> int:
    """Runs a command whose word `at` is the tool's `test`, and tells the judge; its exit code."""
    from proctor.oracle import witness_cargo, witness_go  # which rest on this module

    ctypes.CDLL(None).prctl(*_NOT_DUMPABLE)  # the memory and the files of this process are nobody's from here on
    line = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    secret = ""
    if stat.S_ISREG(os.fstat(line).st_mode):  # else nobody asks
        secret = os.pread(line, SECRET_LENGTH, 0).decode("ascii", "replace")
        os.ftruncate(line, 0)
    notes = Notes()
    with tempfile.TemporaryDirectory(prefix=".", ignore_cleanup_errors=True) as folder:
        try:
            code = (witness_go.run if how == GO else witness_cargo.run)(argv[: at + 1], argv[at + 1 :], folder, notes)
        except NotWatched as error:
            print(error, flush=True)
            return 126
        except FileNotFoundError as error:
            print(error, flush=True)
            return 127
    report = notes.report(secret) if secret else b""
    done = 0
    while done < len(report):
        done += os.pwrite(line, report[done:], done)
    return code


def exit_code(code: int) -> int:
    return 128 - code if code < 0 else code


def holds(words: Iterable[str], *options: str) -> bool:
    return any(word.partition("=")[0] in options for word in words)


def show(text: str) -> None:
    if text.strip():
        sys.stdout.write(text)
        sys.stdout.flush()


def shown(kept: bytearray) -> Callable[[bytes], None]:
    """Takes what a process says: shows it, and keeps the end of it."""

    def show(chunk: bytes) -> None:
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
        kept.extend(chunk)
        del kept[:-_KEPT]

    return show


def read(process: subprocess.Popen[bytes], takes: dict[int, Callable[[bytes], None]]) -> None:
    """Reads what comes through pipes until a process ends; whoever else holds them then is not waited for."""
    end = os.pidfd_open(process.pid)
    left = _LEFT
    while takes and left:
        ready = select.select([*takes, end], [], [])[0]
        if end in ready:
            left = left - 1 if len(ready) > 1 else 0
        for fd in (fd for fd in ready if fd != end):
            if chunk := os.read(fd, 1 << 16):
                takes[fd](chunk)
            else:
                del takes[fd]
    os.close(end)
