"""One command run on this process's own streams, as if there were no sandbox around it."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Sequence
from types import FrameType

from proctor.errors import UsageError
from proctor.sandbox import kill
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import Backend

PR_SET_PDEATHSIG = 1


def foreground(backend: Backend, argv: Sequence[str], policy: Policy) -> int:
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
