"""One command run on this process's own streams, as if there were no sandbox around it."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from proctor.errors import UsageError
from proctor.sandbox import kill
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import START_SECONDS, Backend
from proctor.text import safe_line

PR_SET_PDEATHSIG = 1

Watch = Callable[[Callable[[], object]], AbstractContextManager[object]]
"""Given how to kill what runs, a block in which that may happen."""


def foreground(backend: Backend, argv: Sequence[str], policy: Policy, watch: Watch = lambda kill: nullcontext()) -> int:
    """Runs a command on this process's own streams and returns its exit status. From the main thread only.

    It runs within `watch`. An interrupt is passed on to the command; SIGTERM and SIGHUP, and the end of the program
    that started this one, end it. UsageError when the command cannot be started inside; that it is there is looked up
    first, as its streams are ours and what cannot start it would say so there as well.
    """
    if not _is_there(backend, argv[0], policy):
        raise _missing(argv[0])
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    ended_by: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        for pid in running.members():
            kill.send(pid, number)

    def end(number: int, _: FrameType | None) -> None:
        ended_by.append(number)
        running.kill()

    def give_up() -> None:
        ended_by.append(signal.SIGKILL)
        running.kill()

    with backend.launch(argv, policy, stdin=0, stdout=1, stderr=2) as running, watch(give_up):
        signal.signal(signal.SIGINT, pass_on)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, end)
        result = running.wait()
    if ended_by:
        return 128 + ended_by[0]
    if result.code is None:
        raise _missing(argv[0])
    return result.code


def _is_there(backend: Backend, program: str, policy: Policy) -> bool:
    """Whether a shell inside knows the program; True where no shell is there to tell."""
    with backend.launch(["/bin/sh", "-c", 'command -v -- "$1"', "sh", program], policy) as running:
        return running.wait(START_SECONDS).code in (0, None)


def _missing(program: str) -> UsageError:
    return UsageError(f"{safe_line(program, 200)}: not found inside the sandbox, or not a program")
