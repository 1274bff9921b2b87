"""A socket that listens on a sandbox's own loopback and is served from outside.

No program has to start inside for it: this process joins the sandbox's network namespace, listens there and comes
back, or where it is not allowed to, as an ordinary user, a fork of it joins and hands the socket over. The namespace
may be joined as soon as it exists, before its loopback is up. Needs the standard library alone and imports nothing
of the package: `guard.py` runs it, whose forks are cheap and have one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
from collections.abc import Iterator

NS_GET_USERNS = 0xB701
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
IP_FREEBIND = 15

_libc = ctypes.CDLL(None, use_errno=True)


def answer(connection: socket.socket, pid: int, port: int) -> None:
    """Sends a socket listening on 127.0.0.1:`port` in the network namespace of `pid`, or in words why there is none."""
    try:
        with _opened(f"/proc/{pid}/ns/net") as network, _opened("/proc/self/ns/net") as home:
            try:
                _setns(network, CLONE_NEWNET)
            except PermissionError:
                _by_fork(connection, network, port)
                return
            try:
                server = _listen(port)
            finally:
                _setns(home, CLONE_NEWNET)
            with server:
                socket.send_fds(connection, [b"+"], [server.fileno()])
    except OSError as error:
        connection.send(str(error).encode()[:256])


def _by_fork(connection: socket.socket, network: int, port: int) -> None:
    """Enters the network namespace by way of the user namespace that owns it, out of which there is no way back."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        owner = fcntl.ioctl(network, NS_GET_USERNS)
        if os.stat(f"/proc/self/fd/{owner}").st_ino != os.stat("/proc/self/ns/user").st_ino:
            _setns(owner, CLONE_NEWUSER)
        _setns(network, CLONE_NEWNET)
        server = _listen(port)
        socket.send_fds(connection, [b"+"], [server.fileno()])
    except BaseException as error:
        connection.send(str(error).encode()[:256])
    finally:
        os._exit(0)


def _listen(port: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_IP, IP_FREEBIND, 1)
    server.bind(("127.0.0.1", port))
    server.listen(128)
    return server


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _setns(fd: int, kind: int) -> None:
    if _libc.setns(fd, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
