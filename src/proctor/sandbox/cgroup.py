"""The whole tree of a sandbox bound in memory and processes, by the first kind of control group that can be had."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from proctor.sandbox import groups, kill, manager

INIT = 1
"""Tasks of ours inside: the first process of a namespace."""
VERSION_1 = "cgroup v1"
STARTER = 1
"""The task of ours that is inside too where a sandbox is born bound: bubblewrap's outer process."""


class Bound:
    """What a sandbox's tree is bound by; `kind` is empty and `lacking` says why where nothing binds it."""

    def __init__(self, group: groups.Group | None, kind: str, lacking: str = "", ours: bool = True) -> None:
        self.kind = kind
        self.lacking = lacking
        self._group = group
        self._ours = ours
        self._ooms = 0
        self._refused = 0

    def ooms(self) -> int:
        """How many processes were ended because all together used too much memory; never falls."""
        if self._group is not None:
            self._ooms = max(self._ooms, self._group.ooms())
        return self._ooms

    def refused(self) -> int:
        """How many processes could not be started because there were too many; never falls."""
        if self._group is not None:
            self._refused = max(self._refused, self._group.refused())
        return self._refused

    def remove(self) -> None:
        """Takes the group away, once no process is in it."""
        self.ooms()
        self.refused()
        if self._group is not None and self._ours:
            self._group.remove()
        self._group = None


def bind(pid: int, memory: int, processes: int) -> Bound:
    """Binds a process that waits, and all it will start, to so many bytes and tasks together. Never raises."""
    _sweep(os.getpid())
    reasons = []
    for kind, way in sorted(WAYS, key=lambda known: known[1] not in _worked):
        try:
            bound = way(kind, pid, memory, processes + INIT)
        except (OSError, ValueError) as error:
            reasons.append(f"{kind}: {getattr(error, 'strerror', None) or error}")
        else:
            _worked[:] = [way]
            return bound
    return Bound(None, "", "; ".join(reasons))


@contextlib.contextmanager
def birth(memory: int, processes: int) -> Iterator[Bound | None]:
    """Binds what this thread forks in the block from its birth, where it can; otherwise yields None: see `bind`.

    The kernel makes a process that is moved wait until every processor has passed through the scheduler, several
    times as long as a sandbox takes to start. A thread that moves itself, as version 1 allows, does not wait.
    """
    found = _nursery(memory, processes + INIT + STARTER)
    if found is None:
        yield None
        return
    home, group = found
    try:
        try:
            group.host()
            yield Bound(group, VERSION_1)
        finally:
            home.host()
    except BaseException:
        group.remove()
        raise


def _nursery(memory: int, processes: int) -> tuple[groups.Group, groups.Group] | None:
    """The group this thread is in, and a new one below it, in version 1, if such a one was had the last time."""
    if not any(kind == VERSION_1 for kind, way in WAYS if way in _worked):
        return None
    with contextlib.suppress(OSError):
        home = groups.below_own_in_version_1()
        group = groups.make(home)
        try:
            group.limit(memory, processes)
        except OSError:
            group.remove()
        else:
            return groups.Group(*home), group
    return None


Way = Callable[[str, int, int, int], Bound]
_worked: list[Way] = []
"""The way that was had last in this process; it is tried first."""


def _in(home: Callable[[], groups.Home]) -> Way:
    """In a group that we make and remove ourselves."""

    def way(kind: str, pid: int, memory: int, processes: int) -> Bound:
        group = groups.make(home())
        try:
            group.limit(memory, processes)
            group.join(pid)
        except OSError:
            group.remove()
            raise
        return Bound(group, kind)

    return way


def _by_manager(kind: str, pid: int, memory: int, processes: int) -> Bound:
    """In a scope of systemd, seen to hold: a manager without the controllers takes the bounds and does nothing."""
    memory -= memory % os.sysconf("SC_PAGE_SIZE")
    name = f"proctor-{pid}-{time.monotonic_ns()}.scope"
    manager.start_scope(name, pid, memory, processes)
    deadline = time.monotonic() + manager.PATIENCE
    while not (folder := groups.version_2(pid) or "").endswith(name):
        if time.monotonic() > deadline:
            raise TimeoutError("the scope did not come")
        time.sleep(0.0005)
    for file, bound in (("memory.max", memory), ("pids.max", processes)):
        try:
            held = Path(folder, file).read_text().strip()
        except FileNotFoundError:
            raise OSError(0, f"the manager has no {file.partition('.')[0]} controller") from None
        if held != str(bound):
            raise OSError(0, f"{file} is {held} and not {bound}")
    return Bound(groups.Group(2, (folder,)), kind, ours=False)


WAYS: tuple[tuple[str, Way], ...] = (
    ("cgroup v2", _in(groups.below_own)),
    ("a scope of systemd", _by_manager),
    ("cgroup v2", _in(groups.beside_own)),
    (VERSION_1, _in(groups.below_own_in_version_1)),
)


@cache
def _sweep(_: int) -> None:
    """Once in each process: what an earlier one left."""
    with contextlib.suppress(OSError):
        groups.sweep(kill.lives)
