"""Watches over this process's sandboxes from outside of it, in a process of its own.

A sandbox dies with its supervisor by itself, except when that is killed in the few milliseconds in which
bubblewrap has started and has not yet asked the kernel for it. The guard waits at a pipe that only the supervisor
holds, and ends what is left. It is started with the first sandbox and idles.

    python -I -S guard.py < PIPE
"""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from pathlib import Path

QUIET_PASSES = 10
PAUSE = 0.02
"""Seconds. A start that was under way may become visible a little after its supervisor's end."""


def stand() -> None:
    """Makes sure that this process has its guard."""
    _start(os.getpid())


@cache
def _start(_: int) -> int:
    """Starts a guard for the process with this pid: a fork needs one of its own. Returns the end to be held."""
    waits, held = os.pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", __file__],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, waits, 0), *quiet],
        setsid=True,
    )
    os.close(waits)
    return held


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import kill  # type: ignore[import-not-found]

    os.read(0, 1)
    quiet = 0
    while quiet < QUIET_PASSES:
        quiet = 0 if kill.end_orphans() else quiet + 1
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
