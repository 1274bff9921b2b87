"""The first process of a sandbox without namespaces, run as a script in an interpreter of its own.

    python -I -S keeper.py STATUS GATE LEASH ORDER COMMAND...

It adopts every orphan below it, so that a daemonised process is still found, and ends all of them when the
command ends or when the leash breaks: a pipe whose other end only the supervisor holds, broken by its death
however it dies. It speaks bubblewrap's status protocol. ORDER is a JSON object: `rules` for Landlock
(see `landlock.py`) or null, where system calls are not closed either; `calls`, what `seccomp.restrict` is told;
`scratch`, a folder to be removed at the end, or null.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import kill  # type: ignore[import-not-found]
import landlock  # type: ignore[import-not-found]
import seccomp  # type: ignore[import-not-found]

PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    status, gate, leash = (int(word) for word in sys.argv[1:4])
    order, command = json.loads(sys.argv[4]), sys.argv[5:]
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    failed, failed_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(status)
        os.close(leash)
        become(gate, failed_end, order["rules"], order["calls"], command)
    os.close(gate)
    os.close(failed_end)
    os.write(status, json.dumps({"child-pid": child}).encode() + b"\n")
    code = keep(child, leash)
    kill.end(lambda: kill.descendants(os.getpid()))
    if order["scratch"]:
        sys.path.append(str(Path(__file__).parents[1]))  # behind all of the standard library
        import trees  # type: ignore[import-not-found]

        trees.remove_tree(order["scratch"])
    if code is not None and not os.read(failed, 1):
        os.write(status, json.dumps({"exit-code": code}).encode() + b"\n")


def become(
    gate: int, failed: int, rules: dict[str, list[str | int]] | None, calls: list[bool], command: list[str]
) -> None:
    """In the child: waits at the gate, walls itself in, becomes the command; says on `failed` that it could not."""
    try:
        os.setsid()
        os.read(gate, 1)
        os.close(gate)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if rules is not None:
            landlock.restrict(rules)
            seccomp.restrict(*calls)
        os.execvp(command[0], command)  # noqa: S606
    except BaseException as error:
        os.write(failed, b"-")
        print(f"proctor: {command[0]}: {getattr(error, 'strerror', None) or error}", file=sys.stderr, flush=True)
    os._exit(1)


def keep(child: int, leash: int) -> int | None:
    """Reaps until the command has ended and returns its code; None when the leash broke before."""
    wakes, wakes_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes_end, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(wakes, select.POLLIN)
    poll.register(leash, 0)
    while True:
        while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
            if reaped[0] == child:
                return os.WEXITSTATUS(reaped[1]) if os.WIFEXITED(reaped[1]) else 128 + os.WTERMSIG(reaped[1])
        if leash in dict(poll.poll()):
            return None
        os.read(wakes, 512)


if __name__ == "__main__":
    main()
