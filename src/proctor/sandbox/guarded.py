"""This process's guard (see `guard.py`): started with the first sandbox, asked for listeners."""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from functools import cache
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
PATIENCE = 10.0

_one_at_a_time = threading.Lock()


def stand() -> None:
    """Makes sure that this process has its guard."""
    with _one_at_a_time:
        _guard(os.getpid())


def listen(pid: int, port: int) -> socket.socket:
    """A socket listening on 127.0.0.1:`port` in the network namespace of `pid`; OSError where there is none."""
    with _one_at_a_time:
        guard = _guard(os.getpid())
        try:
            guard.send(struct.pack("=ii", pid, port))
            said, fds, _, _ = socket.recv_fds(guard, 256, 1)
        except OSError:
            _guard.cache_clear()  # gone, or out of step: the next sandbox gets another
            raise
        if not fds:
            raise OSError(f"no listener inside: {said.decode(errors='replace')}")
        return socket.socket(fileno=fds[0])


@cache
def _guard(_: int) -> socket.socket:
    """The connection to the guard of the process with this pid: a fork needs one of its own."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    with theirs:
        quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(GUARD)],
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), *quiet],
            setsid=True,
        )
    return ours
