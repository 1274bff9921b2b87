"""A worker of kind `command`: any program, its brief, its lines, and the answers it waits for.

The brief is handed over in sealed memory, not as a file of the host: a descriptor of a host file could be
reopened for writing from inside. Lines are cut at `MAX_LINE`, so that a program that never ends a line
costs no memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import termios
import tty
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from proctor.sandbox.policy import Policy
from proctor.sandbox.running import Exit, Running
from proctor.worker.base import WorkerEvent, parse_line

MAX_LINE = 1024 * 1024
CHUNK = 256 * 1024
MAX_UNSENT = 4 * 1024 * 1024
"""Bytes of answers that wait for a worker to read them."""
TERMINAL_SIZE = (50, 1000)
"""Rows and columns."""
MAX_ARGUMENT = 120_000
"""Bytes of a brief that fit into one argument of a program on Linux."""


class Launcher(Protocol):
    """What starts a program in a sandbox."""

    def launch(self, argv: Sequence[str], policy: Policy, *, stdin: int, stdout: int, stderr: int) -> Running:
        """See `Backend.launch`."""


OnLine = Callable[[str, bytes, WorkerEvent | None], None]
"""Called on the loop for each line: source (`stdout`, `stderr`), the line, the event it holds."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start, how it gets its brief: `stdin`, `file` (only `$PROCTOR_BRIEF`) or `argument`, and whether its
    output goes to a terminal of its own, on which nothing tells errors from the rest."""

    argv: tuple[str, ...]
    brief: str = "stdin"
    terminal: bool = False


class Lines:
    """Cuts a stream of chunks into lines."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._rest = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> None:
        *whole, rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            if not self._skipping:
                self._on_line(line.removesuffix(b"\r"))
            self._skipping = False
        if len(rest) > MAX_LINE and not self._skipping:
            self._on_line(rest)
            self._skipping = True
        self._rest = b"" if self._skipping else rest

    def end(self) -> None:
        if self._rest and not self._skipping:
            self._on_line(self._rest)
        self._rest = b""


class Worker:
    """One running worker. Make it with `start`, on the main thread, inside the event loop."""

    def __init__(self, running: Running, answers: Path, on_line: OnLine, on_exit: Callable[[], object]) -> None:
        self.running = running
        # Open for both, so that an answer can be written before the worker comes to read it.
        self._answers = os.open(answers, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._loop = asyncio.get_running_loop()
        self._open: set[int] = set()
        self._drained = asyncio.Event()
        self._unsent = bytearray()
        self._watching = True
        self._on_line = on_line
        self._on_exit = on_exit
        self._loop.add_reader(running.fileno(), self._has_ended)

    def listen(self, stdout: int, stderr: int | None) -> None:
        """Read its pipes from now on; the descriptors become the worker's to close."""
        self._read(stdout, Lines(lambda line: self._on_line("stdout", line, parse_line(line))))
        if stderr is not None:
            self._read(stderr, Lines(lambda line: self._on_line("stderr", line, None)))

    def _read(self, fd: int, lines: Lines) -> None:
        os.set_blocking(fd, False)
        self._open.add(fd)
        self._loop.add_reader(fd, self._on_readable, fd, lines)

    def _on_readable(self, fd: int, lines: Lines) -> None:
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            lines.feed(chunk)
            return
        lines.end()
        self._close(fd)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._loop.remove_reader(fd)
            os.close(fd)
            self._open.discard(fd)
        if not self._open:
            self._drained.set()

    def _has_ended(self) -> None:
        self._stop_watching()
        self._on_exit()

    def _stop_watching(self) -> None:
        if self._watching:
            self._loop.remove_reader(self.running.fileno())
            self._watching = False

    async def close(self) -> Exit:
        """End everything that is still alive, read what was left in the pipes, and return how it ended."""
        self._stop_watching()
        end = self.running.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), 2)
        for fd in list(self._open):
            self._close(fd)
        return end

    def release(self) -> None:
        """Give all descriptors back, once nobody serves the sandbox's sockets any more."""
        self._loop.remove_writer(self._answers)
        self.running.close()
        os.close(self._answers)

    def answer(self, worker_id: str, allow: bool, reason: str, tool_input: dict[str, Any]) -> None:
        """Give the worker the operator's answer to its question."""
        decision = "allow" if allow else "deny"
        answer = {"id": worker_id, "decision": decision, "reason": reason, "input": tool_input}
        line = msgspec.json.encode(answer) + b"\n"
        if len(self._unsent) + len(line) <= MAX_UNSENT:  # one that never reads costs no more
            self._unsent += line
            self._send()

    def _send(self) -> None:
        """Write what fits into the pipe, the rest when there is room: never half a line and no more."""
        with contextlib.suppress(BlockingIOError):
            sent = os.write(self._answers, self._unsent)
            del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._answers, self._send)
        else:
            self._loop.remove_writer(self._answers)


def start(
    command: Command,
    brief: str,
    *,
    backend: Launcher,
    policy: Policy,
    answers: Path,
    on_line: OnLine,
    on_exit: Callable[[], object],
) -> Worker:
    """Start the program in its sandbox with its brief. Raises what `Backend.launch` raises."""
    argv = [*command.argv]
    if command.brief == "argument":
        argv.append(brief.encode()[:MAX_ARGUMENT].decode(errors="ignore"))
    stdin = _sealed(brief.encode()) if command.brief == "stdin" else os.open(os.devnull, os.O_RDONLY)
    reads, writes = zip(*([_terminal()] if command.terminal else [os.pipe(), os.pipe()]), strict=True)
    try:
        running = backend.launch(argv, policy, stdin=stdin, stdout=writes[0], stderr=writes[-1])
    except BaseException:
        for fd in reads:
            os.close(fd)
        raise
    finally:
        for fd in (stdin, *writes):
            os.close(fd)
    worker = Worker(running, answers, on_line, on_exit)
    worker.listen(reads[0], reads[1] if len(reads) > 1 else None)
    return worker


def _terminal() -> tuple[int, int]:
    """Both ends of a terminal that changes nothing of what is written to it, and is too wide to break lines."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    termios.tcsetwinsize(theirs, TERMINAL_SIZE)
    return ours, theirs


def _sealed(data: bytes) -> int:
    """A read-only copy of `data` in memory: a descriptor at its beginning that nobody can write to."""
    fd = os.memfd_create("brief", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd
