"""Bounds on a sandbox's processes, set from outside while it is held and inherited by all that follow."""

from __future__ import annotations

import resource

from proctor.sandbox.policy import Limits


def impose(pid: int, limits: Limits, own_namespace: bool) -> None:
    """Bounds the process and what it will start.

    Data rather than address space: runtimes reserve far more addresses than they use. The number of processes
    only in a user namespace of its own, where it counts what runs inside; elsewhere it would count the
    operator's whole session. It does not bind the host's root.
    """
    bounds = {
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    if own_namespace:
        bounds[resource.RLIMIT_NPROC] = limits.processes
    for name, wanted in bounds.items():
        hard = resource.prlimit(pid, name)[1]
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.prlimit(pid, name, (bound, bound))
