"""One command run to its end, or to its time's, with its output in a bounded file."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox.policy import Policy
from proctor.sandbox.running import PIPE, Backend, Exit, Running
from proctor.units import format_size

FLOOD = 256 << 20
"""Bytes of output at which a command is ended: no report of anything is as long."""


@dataclass(frozen=True, slots=True)
class Completed:
    """How a bounded command ended. `truncated`: it wrote more than was kept; `exceeded`: the limit that it ran into, in
    words."""

    exit: Exit
    timed_out: bool
    truncated: bool
    seconds: float
    exceeded: str = ""


def run(  # noqa: PLR0917 - one whole order, in the order it is told
    backend: Backend,
    argv: Sequence[str],
    policy: Policy,
    timeout: float,
    output: Path,
    limit: int,
    stdin: int = subprocess.DEVNULL,
) -> Completed:
    """Runs a command for at most `timeout` seconds, its first `limit` bytes of output in the file `output`.

    One that writes more than `FLOOD` is ended. Nothing it started is left when this returns. Unrecoverable when the
    sandbox is refused.
    """
    begun = time.monotonic()
    with (
        output.open("wb") as file,
        backend.launch(argv, policy, stdin=stdin, stdout=PIPE, stderr=subprocess.STDOUT) as running,
    ):
        timed_out = False
        written = 0
        for chunk in _output(running, begun + timeout):
            if chunk is None:
                timed_out = running.poll() is None
                running.kill()
                continue
            kept = chunk[: max(0, limit - file.tell())]
            file.write(kept)
            written += len(chunk)
            if written > FLOOD:
                running.kill()
                break
        ended = running.wait()
        flooded = f"it wrote more than {format_size(FLOOD)} of output" if written > FLOOD else ""
        exceeded = flooded or running.bounds.crowded() or running.bounds.exceeded()
        return Completed(ended, timed_out, written > limit, time.monotonic() - begun, exceeded)


def _output(running: Running, deadline: float) -> Iterator[bytes | None]:
    """What the command writes, until its end and what is left in the pipe; None once, at its end or the deadline."""
    assert running.stdout is not None
    pipe, end = running.stdout.fileno(), running.fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(end, select.POLLIN)
    over = False
    while True:
        left = deadline - time.monotonic()
        ready = dict(poll.poll(0 if over else max(0.0, left * 1000)))
        if not over and (end in ready or left <= 0):
            over = True
            poll.unregister(end)
            yield None
        elif pipe in ready:
            chunk = os.read(pipe, 1 << 16)
            if chunk:
                yield chunk
            else:
                poll.unregister(pipe)
        elif over:
            return
