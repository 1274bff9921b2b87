"""A launched sandbox: started held, bounded, released; then frozen, thawed, waited for, ended.

Every backend's first process speaks bubblewrap's status protocol on a descriptor: a JSON document with
`child-pid` once the sandbox exists, one with `exit-code` if and only if the command ran and ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from typing import IO, Final

from proctor.errors import Unrecoverable
from proctor.sandbox import kill
from proctor.sandbox.cgroup import Bound
from proctor.sandbox.limits import Bounds
from proctor.sandbox.policy import Policy

DEVNULL: Final = subprocess.DEVNULL
PIPE: Final = subprocess.PIPE
START_SECONDS = 20.0
END_SECONDS = 10.0

TICK, WHOLE = 10_000_000, 2_000_000_000
"""How late (ns) a change may be by the kernel's clock for file times, and where a file system keeps whole seconds."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended. `ran` is False when there is no result: it never started, or it was killed from outside.

    By the shells' convention a command that died of a signal has the code 128 + `signal`.
    """

    code: int | None
    signal: int | None
    ran: bool


class StartFailed(Exception):
    """The sandbox ended before its command could start; its first process may have said why on its stderr."""


class Backend(ABC):
    """A way to run a command behind walls."""

    name: str

    @abstractmethod
    def describe(self) -> str:
        """One line: what runs the commands, and why that."""

    @abstractmethod
    def selftest(self, policy: Policy) -> Bounds:
        """Runs the real thing once with a command that does nothing, and says what bounds it.

        Unrecoverable names cause and one fix.
        """

    @abstractmethod
    def launch(
        self, argv: Sequence[str], policy: Policy, *, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL
    ) -> Running:
        """Starts a command. Call it from a thread that stays: the sandbox dies with the thread that started it.

        The streams are descriptors (which stay the caller's), `PIPE` or `DEVNULL`; `stderr` may be
        `subprocess.STDOUT`. Unrecoverable when the sandbox is refused.
        """


class Running:
    """One launched sandbox; thread-safe."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        status: int,
        init_pid: int,
        listener: socket | None,
        bounds: Bounds,
    ) -> None:
        self.pid = process.pid
        self.bounds = bounds
        self.init_pid = init_pid
        self.listener = listener
        self.stdin: IO[bytes] | None = process.stdin
        self.stdout: IO[bytes] | None = process.stdout
        self.stderr: IO[bytes] | None = process.stderr
        self._process = process
        self._status = status
        self._pidfd = os.pidfd_open(process.pid)
        self._lock = threading.RLock()
        self._stopped: set[int] | None = None
        self._stood: list[tuple[int, int]] = []
        self._still_since = 0
        self._exit: Exit | None = None
        self._seconds = 0.0

    def members(self) -> list[int]:
        """The pids on the host of everything that runs inside."""
        raise NotImplementedError

    def _end_members(self) -> None:
        """Ends everything inside and waits for it."""
        raise NotImplementedError

    def fileno(self) -> int:
        """A descriptor that becomes readable when the command has ended; `poll` then tells how."""
        return self._pidfd

    @property
    def frozen(self) -> bool:
        return self._stopped is not None

    def freeze(self) -> None:
        """Stops everything inside; on return nothing inside runs. TimeoutError, with all going on, if that fails."""
        with self._lock:
            if self._exit is None and self._stopped is None:
                self._stopped = kill.stop(self.members)
                self._still_since = time.time_ns()

    def thaw(self) -> None:
        """Lets go on what `freeze` stopped; what had stopped itself stays so."""
        with self._lock:
            if self._stopped is not None:
                self._stood.append((self._still_since, time.time_ns()))
                kill.go_on(self._stopped)
            self._stopped = None

    def stood_at(self, moment: int) -> bool:
        """Whether nothing inside ran at a moment (ns since the epoch), and none that a file system takes for it."""
        with self._lock:
            still = self._stopped is not None and moment > self._still_since
            return still or any(start < moment and moment + late(moment) < end for start, end in self._stood)

    def cpu_seconds(self) -> float:
        """CPU time of everything that ran inside so far; never falls."""
        with self._lock:
            if self._exit is None:
                self._seconds = max(self._seconds, kill.cpu_seconds([*self.members(), self.init_pid]))
            return self._seconds

    def poll(self) -> Exit | None:
        """How the command ended, once it has and nothing it started is left; None while it runs."""
        with self._lock:
            if self._exit is None and self._process.poll() is not None:
                self._settle(killed=False)
            return self._exit

    def wait(self, timeout: float | None = None) -> Exit:
        """Waits that many seconds for the end; TimeoutError if it does not come."""
        if self._exit is None and not kill.ended(self._pidfd, timeout):
            raise TimeoutError(f"still running after {timeout} s")
        result = self.poll()
        if result is None:
            raise TimeoutError("the sandbox's end was announced and did not come")
        return result

    def kill(self) -> Exit:
        """Ends everything inside, frozen or not; returns once none of it lives. Does nothing after the end."""
        with self._lock:
            return self.poll() or self._settle(killed=True)

    def close(self) -> None:
        """Ends everything and gives back all descriptors, also the listener; nothing can be asked afterwards."""
        with self._lock:
            self.kill()
            for stream in (self.stdin, self.stdout, self.stderr, self.listener):
                if stream is not None:
                    stream.close()
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, killed: bool) -> Exit:
        self._end_members()
        self._process.kill()
        self._process.wait(END_SECONDS)
        self.bounds.lift()
        code = None if killed else _exit_code(self._status)
        os.close(self._status)
        died_of = signal.SIGKILL if killed else (code or 0) - 128
        self._exit = Exit(code, died_of if 0 < died_of < signal.NSIG else None, ran=code is not None)
        self._stopped = None
        return self._exit


def _exit_code(status: int) -> int | None:
    """The command's exit code from what is left in the status pipe; None if it never came."""
    os.set_blocking(status, False)  # a fork elsewhere may hold a copy of the other end
    try:
        text = os.read(status, 1 << 16)
    except BlockingIOError:
        return None
    for line in text.splitlines():
        document = json.loads(line)
        if "exit-code" in document:
            return int(document["exit-code"])
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """A sandbox that exists and waits at its gate before its command; nothing of the command has run.

    `bound` is what it was born in, if it was: see `cgroup.birth`.
    """

    process: subprocess.Popen[bytes]
    status: int
    gate: int
    child: int
    bound: Bound | None

    def latched(self, latch: int) -> Held:
        """Lets the sandbox be built, and wait at a latch of its own instead: the writing end of a pipe. Its end, also
        by the supervisor's death, is the release; only where that death ends the sandbox as well."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.gate, b"\n")
        os.close(self.gate)
        return replace(self, gate=latch)

    @contextlib.contextmanager
    def preparing(self) -> Iterator[contextlib.ExitStack]:
        """Lets the command go at the end of the block; at an exception in it nothing of the sandbox is left.

        What the yielded stack holds is then done after the sandbox's end. An OSError is taken for that end and
        becomes StartFailed.
        """
        undo = contextlib.ExitStack()
        if self.bound:
            undo.callback(self.bound.remove)
        try:
            yield undo
            os.write(self.gate, b"\n")
        except BaseException as error:
            kill.send(self.child, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            os.close(self.status)
            undo.close()
            if isinstance(error, OSError):
                raise StartFailed(str(error)) from error
            raise
        finally:
            os.close(self.gate)


def hold(
    command: Callable[[int, int], Sequence[str]],
    executable: Path,
    *,
    fds: Sequence[int],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    place: Path | None = None,
    birth: contextlib.AbstractContextManager[Bound | None] = contextlib.nullcontext(),  # noqa: B008 - holds nothing
) -> Held:
    """Starts a backend's first process and waits until its sandbox exists; StartFailed if that does not come.

    `command` makes the argument list from the descriptors of the status pipe and of the gate. The gate is a pipe
    that the sandbox itself keeps open for writing: the death of the supervisor must not look like the release.
    `birth` surrounds the fork alone.
    """
    status, status_end = os.pipe()
    gate_end, gate = os.pipe()
    both_ends = os.open(f"/proc/self/fd/{gate_end}", os.O_RDWR)
    os.close(gate_end)
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, status)
        undo.callback(os.close, gate)
        try:
            with birth as bound:
                if bound:
                    undo.callback(bound.remove)
                process = subprocess.Popen(
                    command(status_end, both_ends),
                    executable=str(executable),
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    env=environment,
                    cwd=place,
                    pass_fds=(*fds, status_end, both_ends),
                    start_new_session=True,
                    bufsize=0,
                )
                undo.callback(process.wait)
                undo.callback(process.kill)
        except OSError as error:
            raise StartFailed(str(error)) from error
        finally:
            os.close(status_end)
            os.close(both_ends)
        child = _child_pid(status)
        if child is None:
            raise StartFailed("it ended at once")
        undo.pop_all()
    return Held(process, status, gate, child, bound)


def _child_pid(status: int) -> int | None:
    poll = select.poll()
    poll.register(status, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        if not poll.poll(START_SECONDS * 1000) or not (byte := os.read(status, 4096)):
            return None
        line += byte
    return int(json.loads(line.splitlines()[0])["child-pid"])


def refused(sentence: str) -> Unrecoverable:
    return Unrecoverable(sentence, "sandbox")


def late(moment: int) -> int:
    """By how much a change may have come after the moment that its file system has for it; both in ns."""
    return TICK if moment % 1_000_000_000 else WHOLE
