"""The process table, and what is done to whole trees of processes: count, stop, go on, end.

Needs the standard library alone and imports nothing of the package: the keeper of the weaker backends
(`keeper.py`) runs it in an interpreter of its own.

A tree can fork while it is listed. Everything here therefore repeats until a whole pass finds nothing new:
a process that has a pending SIGSTOP cannot complete a fork, so the number of passes is small.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

Members = Callable[[], Collection[int]]
"""Lists the pids of a tree as the caller sees them, zombies left out."""

TICK = os.sysconf("SC_CLK_TCK")
AT_REST = frozenset("TtZX")
_OWNER = re.compile(rb"proctor-sandbox:(\d+):(\d+)\0")


class Entry(NamedTuple):
    """One line of the process table; `ticks` is CPU time with that of reaped children, `started` since boot."""

    pid: int
    parent: int
    state: str
    ticks: int
    threads: int
    started: int

    @property
    def alive(self) -> bool:
        """A process whose first thread has ended is a zombie by its state, and lives by its other threads."""
        return self.state not in "ZX" or self.threads > 1


def _fields(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def entry(pid: int) -> Entry | None:
    """The process's line, or None once it is gone."""
    if not (fields := _fields(f"/proc/{pid}/stat")):
        return None
    ticks = sum(map(int, fields[11:15]))
    return Entry(pid, int(fields[1]), fields[0].decode(), ticks, int(fields[17]), int(fields[19]))


def unrest(pid: int) -> set[str]:
    """The states of the process's threads that are neither stopped nor dead."""
    line = entry(pid)
    if line is None or not line.alive:
        return set()
    states = {line.state}
    if line.threads > 1:
        with contextlib.suppress(OSError):
            tasks = os.listdir(f"/proc/{pid}/task")
            states = {fields[0].decode() for task in tasks if (fields := _fields(f"/proc/{pid}/task/{task}/stat"))}
    return states - AT_REST


def pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def namespace(pid: int) -> int | None:
    """The identity of the process's PID namespace; None when it is gone or not ours to see."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def namespace_members(inode: int) -> list[int]:
    """Every process of a PID namespace."""
    return [pid for pid in pids() if namespace(pid) == inode]


def descendants(root: int) -> list[int]:
    """Every living process below `root`, itself left out."""
    children: dict[int, list[Entry]] = {}
    for pid in pids():
        if line := entry(pid):
            children.setdefault(line.parent, []).append(line)
    found: list[int] = []
    queue = [root]
    while queue:
        for line in children.pop(queue.pop(), ()):
            queue.append(line.pid)
            if line.alive:
                found.append(line.pid)
    return found


def cpu_seconds(members: Collection[int]) -> float:
    """CPU time of these processes and of the children they have reaped."""
    return sum(line.ticks for pid in members if (line := entry(pid))) / TICK


def send(pid: int, number: int) -> None:
    """Signals a process that may already be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def stop(members: Members, patience: float = 2.0) -> set[int]:
    """Stops a whole tree, returns those that ran before; raises TimeoutError when it does not come to rest.

    A thread in uninterruptible sleep counts as at rest once it was asked: it stops before it returns to its
    program. (The parent of a stopped vfork child stays in that sleep until the child goes on.)
    """
    asked: set[int] = set()
    seen: set[int] = set()
    deadline = time.monotonic() + patience
    while True:
        now = set(members())
        restless = {pid: states for pid in now if (states := unrest(pid))}
        moving = {pid for pid, states in restless.items() if states != {"D"} or pid not in asked}
        for pid in restless:
            send(pid, signal.SIGSTOP)
        if not moving and now <= seen:
            return asked & now
        if time.monotonic() > deadline:
            go_on(asked)
            raise TimeoutError(f"{len(moving)} processes did not stop within {patience:.0f} s")
        if moving <= asked:
            time.sleep(0.0005)
        asked |= moving
        seen |= now


def go_on(stopped: Collection[int]) -> None:
    for pid in stopped:
        send(pid, signal.SIGCONT)


def end(members: Members, patience: float = 5.0) -> None:
    """Ends a whole tree and returns once none of it lives; raises TimeoutError when some of it does."""
    with contextlib.suppress(TimeoutError):
        stop(members)
    deadline = time.monotonic() + patience
    while left := members():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(left)} processes could not be ended: {sorted(left)[:10]}")
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(0.001)


def ended(pidfd: int, seconds: float | None) -> bool:
    """Waits for the end of the process behind a pidfd; a namespace's init ends last of its namespace."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else max(0, seconds * 1000)))


def tag() -> str:
    """`argv[0]` of what this process starts, so that `end_orphans` knows whose it was."""
    me = entry(os.getpid())
    return f"proctor-sandbox:{os.getpid()}:{me.started if me else 0}"


def lives(pid: int, started: int) -> bool:
    """Whether exactly that process lives: the same pid, the same start in ticks since boot."""
    line = entry(pid)
    return line is not None and line.started == started and line.alive


def end_orphans() -> int:
    """Ends every sandbox whose supervisor is gone, and returns how many processes that took.

    Only a process that still is bubblewrap itself carries the tag; with its init a sandbox ends whole.
    """
    count = 0
    for pid in pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                owner = _OWNER.match(file.read(64))
        except OSError:
            continue
        if owner and not lives(int(owner[1]), int(owner[2])):
            send(pid, signal.SIGKILL)
            count += 1
    return count
