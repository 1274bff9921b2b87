from __future__ import annotations

import os
import socket
import subprocess

import pytest

from proctor.sandbox import listener
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import PIPE, Backend

ASK = "while ! curl -s http://127.0.0.1:8378/ 2>/dev/null; do :; done"


@pytest.mark.parametrize("way", ["by a fork, as for an ordinary user", "as this user"])
def test_a_listener_inside_is_served_from_outside(bwrap: Backend, policy: Policy, way: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with bwrap.launch(["sh", "-c", f"read go; {ASK}"], policy, stdin=PIPE, stdout=PIPE) as running, ours, theirs:
        if way == "as this user":
            listener.answer(theirs, running.init_pid, 8378)
        else:
            network = os.open(f"/proc/{running.init_pid}/ns/net", os.O_RDONLY)
            listener._by_fork(theirs, network, 8378)
            os.close(network)
        said, fds, _, _ = socket.recv_fds(ours, 256, 1)
        assert said == b"+"
        assert running.stdin
        assert running.stdout
        running.stdin.write(b"\n")
        with socket.socket(fileno=fds[0]) as server:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nfrom outside")
        assert running.stdout.read() == b"from outside"
    assert _listeners_here() == 0, "this process came back to its own network"


def test_why_there_is_no_listener_is_said() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, subprocess.Popen(["true"]) as process:
        process.wait()
        listener.answer(theirs, process.pid, 8378)
        assert socket.recv_fds(ours, 256, 1)[:2] == (
            f"[Errno 2] No such file or directory: '/proc/{process.pid}/ns/net'".encode(),
            [],
        )


def _listeners_here() -> int:
    with open("/proc/thread-self/net/tcp") as lines:
        return sum(line.split()[1].endswith(f":{8378:04X}") for line in lines)
