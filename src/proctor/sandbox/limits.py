"""Bounds on a sandbox's processes, set from outside while it is held and inherited by all that follow."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import AbstractContextManager

from proctor.sandbox import cgroup
from proctor.sandbox.policy import Limits
from proctor.units import format_size

NO_CORE = 1
"""Bytes. Too few for a file, as 0 is; but with 0 the kernel still hands cores to a program of the host."""


class Bounds:
    """What binds one sandbox beyond its single processes."""

    def __init__(self, tree: cgroup.Bound, limits: Limits, own_namespace: bool) -> None:
        self._tree = tree
        self._memory = format_size(limits.memory)
        self._processes = f"{limits.processes:,} processes"
        self._file_size = format_size(limits.file_size)
        self._own_namespace = own_namespace

    @property
    def held(self) -> tuple[str, ...]:
        """What is bound for the whole tree, and by what, in words."""
        if self._tree.kind:
            return (f"{self._memory} of memory and {self._processes} for the whole tree, by {self._tree.kind}",)
        if self._own_namespace and os.geteuid():
            return (f"{self._processes}, by the kernel's count inside the sandbox",)
        return ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """What nothing binds, and why, in words; empty when all is bound."""
        if self._tree.kind:
            return ()
        said = [f"memory of all processes together ({self._memory} bind each alone): no control group could be had"]
        if not self._own_namespace:
            said.append("the number of processes: nothing counts them without namespaces")
        elif os.geteuid() == 0:
            said.append("the number of processes: the kernel does not count those of root")
        return tuple(said)

    @property
    def why(self) -> str:
        """What was tried for a control group, and how each was refused."""
        return self._tree.lacking

    def exceeded(self, died_of: int | None = None) -> str:
        """The limit at which the kernel ended processes inside, or the command by that signal; empty if at none."""
        if self._tree.ooms():
            return f"all its processes together used more than {self._memory} of memory (limits.memory)"
        return f"a file grew beyond {self._file_size} (limits.file_size)" if died_of == signal.SIGXFSZ else ""

    def crowded(self) -> str:
        """The limit of processes, in words, if some could not be started for it; empty if not, or if nobody counts."""
        return f"it started more than {self._processes} (limits.processes)" if self._tree.refused() else ""

    def lift(self) -> None:
        """Give back what stood for them, once nothing inside lives."""
        self._tree.remove()


def birth(limits: Limits) -> AbstractContextManager[cgroup.Bound | None]:
    """Surrounds the fork of what is to be bound: see `cgroup.birth`."""
    return cgroup.birth(limits.memory, limits.processes)


def impose(pid: int, limits: Limits, own_namespace: bool, born: cgroup.Bound | None = None) -> Bounds:
    """Bounds the process and what it will start; `born` is what it is in already.

    Data rather than address space: runtimes reserve far more addresses than they use. The number of processes
    only in a user namespace of its own, where it counts what runs inside; elsewhere it would count the
    operator's whole session. It does not bind the host's root; the control group does.
    """
    bounds = {
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: NO_CORE,
    }
    if own_namespace:
        bounds[resource.RLIMIT_NPROC] = limits.processes
    for name, wanted in bounds.items():
        hard = resource.prlimit(pid, name)[1]
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.prlimit(pid, name, (bound, bound))
    tree = born or cgroup.bind(pid, limits.memory, limits.processes)
    return Bounds(tree, limits, own_namespace)
