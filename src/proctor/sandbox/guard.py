"""A small process beside the supervisor, run as a script in an interpreter of its own.

    python -I -S guard.py < SOCKET

It outlives the supervisor by a moment, to end the sandboxes that are left and to take their control groups away.
They die with it by themselves, except when it is killed in the few milliseconds in which bubblewrap has started and
has not yet asked the kernel for that. And it forks where a supervisor with many threads and much memory had better
not: to open listeners inside sandboxes. It idles at a socket whose other end only the supervisor holds.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import groups  # type: ignore[import-not-found]
import kill  # type: ignore[import-not-found]
import listener  # type: ignore[import-not-found]

REQUEST = struct.Struct("=ii")
"""A process in a sandbox, and the port to listen on there."""
QUIET_PASSES = 10
PAUSE = 0.02
"""Seconds. A start that was under way may become visible a little after its supervisor's end."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    supervisor = socket.socket(fileno=0)
    with contextlib.suppress(OSError):  # a death in the middle of a talk is no orderly end
        while request := supervisor.recv(REQUEST.size):
            listener.answer(supervisor, *REQUEST.unpack(request))
    quiet = 0
    while quiet < QUIET_PASSES:
        quiet = 0 if kill.end_orphans() else quiet + 1
        time.sleep(PAUSE)
    groups.sweep(kill.lives)


if __name__ == "__main__":
    main()
