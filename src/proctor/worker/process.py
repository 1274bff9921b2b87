"""A running worker: its pipes, its lines, and its end. What the lines mean is its dialect's to say.

The brief is handed over in sealed memory, not as a file of the host: a descriptor of a host file could be
reopened for writing from inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import termios
import time
import tty
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from proctor.doors.door import Door
from proctor.sandbox.policy import DOOR, Policy
from proctor.sandbox.running import Exit, Running
from proctor.worker import tools
from proctor.worker.base import Ask, Resting, Tool, Trouble, TurnEnded, WorkerEvent
from proctor.worker.dialect import Dialect, Launch, Setting, Stdin
from proctor.worker.pipes import Channel, Lines

CHUNK = 256 * 1024
SLICE = 0.03
"""Seconds for which lines are heard without a pause: a question may take long to judge, and nothing else moves."""
TERMINAL_SIZE = (50, 1000)
"""Rows and columns."""
GRACE = 10.0
"""Seconds that a program has to leave by itself after its agent's last turn, without those in which it stood still."""
PATIENCE = 300.0
"""Seconds of silence in which an agent that left something running may be told of its end and go on. Its stdin stays
open meanwhile: there it puts its questions."""
TICK = 0.25
TOO_LARGE = "This is too large to be judged: do it in parts."
"""The answer to a question whose input nobody could be shown."""

HOME = "home"
"""In a worker's door: what its scratch home begins with."""
FILL = 'cp -R "$0/." "$HOME" && exec "$@"'
PLACES = {
    "HOME": "",
    "CLAUDE_CONFIG_DIR": "/.claude",
    "CODEX_HOME": "/.codex",
    "XDG_CACHE_HOME": "/.cache",
    "XDG_CONFIG_HOME": "/.config",
    "XDG_DATA_HOME": "/.local/share",
    "XDG_STATE_HOME": "/.local/state",
}
"""Where agents keep their state, below a home that is theirs alone."""


class Launcher(Protocol):
    """What starts a program in a sandbox."""

    name: str

    def launch(self, argv: Sequence[str], policy: Policy, *, stdin: int, stdout: int, stderr: int) -> Running:
        """See `Backend.launch`."""


OnLine = Callable[[str, bytes, tuple[WorkerEvent, ...]], None]
"""Called on the loop for each line: source (`stdout`, `stderr`), the line, the events it holds; what a dialect tells at
another time comes with the source `harness` and an empty line."""


class Worker:
    """One running worker. Make it with `start`, on the main thread, inside the event loop."""

    def __init__(
        self,
        running: Running,
        dialect: Dialect,
        channel: Channel,
        *,
        on_line: OnLine,
        on_exit: Callable[[], object],
        grace: float = GRACE,
    ) -> None:
        self.running = running
        self.turn: TurnEnded | None = None
        """How the agent's last turn ended, by its own word."""
        self.overstayed = False
        """Whether the program did not leave after its last turn: it is to be ended, and counts as completed."""
        self._dialect = dialect
        self._channel = channel
        self._on_line = on_line
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, Lines] = {}
        self._unheard: deque[Callable[[], None]] = deque()
        self._rested = asyncio.Event()
        """No line waits to be heard."""
        self._rested.set()
        self._drained = asyncio.Event()
        self._watching = True
        self._grace = self._left = grace
        self._timer: asyncio.TimerHandle | None = None
        self._told: list[WorkerEvent] | None = None
        self._loop.add_reader(running.fileno(), self._has_ended)

    def listen(self, stdout: int, stderr: int | None) -> None:
        """Read its pipes from now on, and let the dialect begin; the descriptors become the worker's to close."""
        self._read(stdout, "stdout")
        if stderr is not None:
            self._read(stderr, "stderr")
        self._dialect.begin(self._channel.send, self._tell)

    def _read(self, fd: int, source: str) -> None:
        os.set_blocking(fd, False)
        self._open[fd] = Lines(lambda line: self._unheard.append(partial(self._hear, source, line)))
        self._loop.add_reader(fd, self._on_readable, fd)

    def _on_readable(self, fd: int) -> None:
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._open[fd].feed(chunk)
        else:
            self._open[fd].end()
            self._unheard.append(partial(self._close, fd))
        for each in self._open:
            self._loop.remove_reader(each)
        self._work()

    def _work(self) -> None:
        """Hear lines for a while, then let others have the loop; nothing more is read before all are heard."""
        until = time.monotonic() + SLICE
        while self._unheard:
            self._unheard.popleft()()
            if time.monotonic() > until:
                break
        if self._unheard:
            self._rested.clear()
            self._loop.call_soon(self._work)
            return
        self._rested.set()
        for fd in self._open:
            self._loop.add_reader(fd, self._on_readable, fd)

    def _hear(self, source: str, line: bytes) -> None:
        if self._timer is not None and self.turn is None:
            self._left = PATIENCE
        told: list[WorkerEvent] = []
        self._told = told
        try:
            self._dialect.heard(source, line)
        except Exception as error:  # no line may cost those that follow it
            told.append(Trouble(f"a line could not be read: {type(error).__name__}"))
        finally:
            self._told = None
        self._on_line(source, line, tuple(told))

    def _tell(self, event: WorkerEvent) -> None:
        if isinstance(event, Ask) and self.turn is not None:
            return None  # nothing can be answered any more
        if isinstance(event, Tool | Ask) and tools.is_too_large(event.input):
            if isinstance(event, Ask):
                return self._dialect.answer(event.id, False, TOO_LARGE)
            event = replace(event, input={})
        if isinstance(event, TurnEnded) and self.turn is None:
            self.turn = event
            self._channel.finish()
            self._count_down(self._grace)
        elif isinstance(event, Resting) and self.turn is None:
            self._count_down(PATIENCE)
        if self._told is None:
            self._on_line("harness", b"", (event,))
        else:
            self._told.append(event)
        return None

    def _count_down(self, seconds: float) -> None:
        self._left = seconds
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if not self.running.frozen:
            self._left -= TICK
        if self._left > 0:
            self._count_down(self._left)
        elif self._watching:
            self.overstayed = True
            self._has_ended()

    def _close(self, fd: int) -> None:
        if self._open.pop(fd, None) is not None:
            self._loop.remove_reader(fd)
            os.close(fd)
        if not self._open:
            self._drained.set()

    def _has_ended(self) -> None:
        self._stop_watching()
        self._on_exit()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
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
        await self._rested.wait()
        self._stop_watching()  # what was left may have begun the countdown
        return end

    def release(self) -> None:
        """Give all descriptors back, once nobody serves the sandbox's sockets any more."""
        self._channel.close()
        self.running.close()

    def answer(self, asked: str, allow: bool, reason: str, granted: dict[str, Any] | None = None) -> bool:
        """Give the worker the operator's answer to its question, with the input that was granted; False if it has read
        so little of what it was told that this is dropped."""
        dropped = self._channel.dropped
        self._dialect.answer(asked, allow, reason, granted)
        return self._channel.dropped == dropped

    def interrupt(self) -> None:
        """Ask the agent to stop by itself."""
        self._dialect.interrupt()


def start(
    dialect: Dialect,
    setting: Setting,
    *,
    backend: Launcher,
    policy: Policy,
    door: Door,
    on_line: OnLine,
    on_exit: Callable[[], object],
    grace: float = GRACE,
) -> Worker:
    """Start the program in its sandbox and let the dialect speak to it.

    `on_exit` is called once, when the program has ended or should be ended. Raises what `Dialect.launch` and
    `Backend.launch` raise.
    """
    launch = dialect.launch(setting)
    argv, policy = _housed(launch, policy, backend.name, door)
    stdin, channel_end = _stdin(launch.stdin, setting.brief, door)
    reads, writes = zip(*([_terminal()] if launch.terminal else [os.pipe(), os.pipe()]), strict=True)
    try:
        running = backend.launch(argv, policy, stdin=stdin, stdout=writes[0], stderr=writes[-1])
    except BaseException:
        for fd in (*reads, channel_end):
            os.close(fd)
        raise
    finally:
        for fd in (stdin, *writes):
            os.close(fd)
    worker = Worker(running, dialect, Channel(channel_end), on_line=on_line, on_exit=on_exit, grace=grace)
    worker.listen(reads[0], reads[1] if len(reads) > 1 else None)
    return worker


def _housed(launch: Launch, policy: Policy, backend: str, door: Door) -> tuple[tuple[str, ...], Policy]:
    """The command and the walls with what is the dialect's: variables, programs, and a home with files in it.

    Where there are no walls the home would be the operator's: then it is the folder in the door.
    """
    argv, environment = launch.argv, {**policy.environment, **launch.environment}
    if launch.files or launch.home:
        home = door.folder / HOME
        home.mkdir(mode=0o700)
        for name, text in launch.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        if backend == "none":
            environment |= {name: f"{DOOR}/{HOME}{below}" for name, below in PLACES.items()}
        elif launch.files:
            argv = ("/bin/sh", "-c", FILL, f"{DOOR}/{HOME}", *argv)
    programs = tuple(dict.fromkeys((*policy.programs, *launch.programs)))
    return argv, replace(policy, environment=environment, programs=programs)


def _stdin(kind: Stdin, brief: str, door: Door) -> tuple[int, int]:
    """The program's stdin, and the descriptor by which it is spoken to: the other end of it, or the door's FIFO."""
    if kind is Stdin.OPEN:
        return os.pipe()
    stdin = _sealed(brief.encode()) if kind is Stdin.BRIEF else os.open(os.devnull, os.O_RDONLY)
    # Open for both, so that an answer can be written before the worker comes to read it.
    return stdin, os.open(door.answers, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


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
