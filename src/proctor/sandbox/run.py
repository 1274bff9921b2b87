"""Two ways to run one command to its end: into a bounded file, or as if there were no sandbox around it."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from proctor.errors import UsageError
from proctor.sandbox import kill
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import PIPE, Backend, Exit, Running

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Completed:
    """How a bounded command ended. `truncated`: it wrote more than was kept."""

    exit: Exit
    timed_out: bool
    truncated: bool
    seconds: float


def run(
    backend: Backend,
    argv: Sequence[str],
    policy: Policy,
    timeout: float,
    output: Path,
    limit: int,
    stdin: int = subprocess.DEVNULL,
) -> Completed:
    """Runs a command for at most `timeout` seconds, its first `limit` bytes of output in the file `output`.

    Nothing it started is left when this returns. Unrecoverable when the sandbox is refused.
    """
    begun = time.monotonic()
    with output.open("wb") as file, backend.launch(
        argv, policy, stdin=stdin, stdout=PIPE, stderr=subprocess.STDOUT
    ) as running:
        timed_out = False
        truncated = False
        for chunk in _output(running, begun + timeout):
            if chunk is None:
                timed_out = running.poll() is None
                running.kill()
                continue
            kept = chunk[: max(0, limit - file.tell())]
            truncated |= len(kept) < len(chunk)
            file.write(kept)
        return Completed(running.wait(), timed_out, truncated, time.monotonic() - begun)


def _output(running: Running, deadline: float) -> Iterator[bytes | None]:
    """What the command writes until nobody holds the pipe; None once when its end or the deadline has come."""
    assert running.stdout is not None
    pipe = running.stdout.fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(running, select.POLLIN)
    over = False
    while True:
        wait = None if over else max(0.0, deadline - time.monotonic()) * 1000
        ready = dict(poll.poll(wait))
        if pipe in ready:
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                return
            yield chunk
        elif not over:
            over = True
            poll.unregister(running)
            yield None


def passthrough(backend: Backend, argv: Sequence[str], policy: Policy) -> int:
    """Runs a command on this process's own streams and returns its exit status. From the main thread only.

    An interrupt is passed on to the command; SIGTERM and SIGHUP, and the end of the program that started this
    one, end it. UsageError when the command cannot be started inside.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    ended_by: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        for pid in running.members():
            kill.send(pid, number)

    def end(number: int, _: FrameType | None) -> None:
        ended_by.append(number)
        running.kill()

    with backend.launch(argv, policy, stdin=0, stdout=1, stderr=2) as running:
        signal.signal(signal.SIGINT, pass_on)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, end)
        result = running.wait()
    if ended_by:
        return 128 + ended_by[0]
    if result.code is None:
        raise UsageError(f"{argv[0]}: not found inside the sandbox, or not a program")
    return result.code
