"""A scope of its own for a process, asked of systemd: the user's manager, or as root the system's.

It is asked over the bus directly, in one connection: the message format is small, and a program for it would cost
more than the whole start of a sandbox. Only systemd may move a process out of the session it was started in.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable, Sequence

PATIENCE = 2.0
"""Seconds for the manager's answer."""
METHOD_CALL, METHOD_RETURN, ERROR = 1, 2, 3
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SIGNATURE = 1, 2, 3, 5, 6, 8
MOST = 1 << 20
"""Bytes of a message that are read."""


def address() -> str:
    """The socket of the bus on which the manager of this user is found."""
    if os.geteuid() == 0:
        return "/run/dbus/system_bus_socket"
    given = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    for one in given.split(";"):
        if one.startswith("unix:path="):
            return one.removeprefix("unix:path=").partition(",")[0]
    return os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}") + "/bus"


def start_scope(name: str, pid: int, memory: int, processes: int) -> None:
    """Moves a process into a new scope with these bounds of bytes (no swap) and tasks; OSError where that fails.

    The scope is gone by itself when its last process has ended. Whether the bounds hold is the caller's to see: a
    manager without the controllers takes them and does nothing.
    """
    properties: list[tuple[str, str, int | str | bool | list[int]]] = [
        ("Description", "s", "a sandbox of proctor"),
        ("PIDs", "au", [pid]),
        ("MemoryMax", "t", memory),
        ("MemorySwapMax", "t", 0),
        ("TasksMax", "t", processes),
        ("CollectMode", "s", "inactive-or-failed"),
    ]
    body = _Message()
    body.text(name)
    body.text("fail")
    body.array(8, [lambda given=given: body.property(*given) for given in properties])  # type: ignore[misc]
    body.array(8, [])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bus:
        bus.settimeout(PATIENCE)
        bus.connect(address())
        _introduce(bus)
        _call(bus, 1, ("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus", "Hello"))
        systemd = "/org/freedesktop/systemd1", "org.freedesktop.systemd1", "org.freedesktop.systemd1.Manager"
        _call(bus, 2, (*systemd, "StartTransientUnit"), "ssa(sv)a(sa(sv))", bytes(body.data))


class _Message:
    """Bytes in the bus's format, little-endian, each value aligned to its size."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self, size: int) -> None:
        self.data += bytes(-len(self.data) % size)

    def number(self, value: int, kind: str = "I") -> None:
        self.align(struct.calcsize(kind))
        self.data += struct.pack("<" + kind, value)

    def text(self, value: str) -> None:
        self.number(len(value.encode()))
        self.data += value.encode() + b"\0"

    def signature(self, value: str) -> None:
        self.data += bytes([len(value)]) + value.encode() + b"\0"

    def array(self, size: int, items: Sequence[Callable[[], None]]) -> None:
        """Items that write themselves, each aligned to `size`; the length counts from the first one."""
        self.number(0)
        place = len(self.data) - 4
        self.align(size)
        begin = len(self.data)
        for item in items:
            self.align(size)
            item()
        struct.pack_into("<I", self.data, place, len(self.data) - begin)

    def property(self, name: str, kind: str, value: int | str | list[int]) -> None:
        self.text(name)
        self.variant(kind, value)

    def variant(self, kind: str, value: int | str | list[int]) -> None:
        self.signature(kind)
        if isinstance(value, list):
            self.array(4, [lambda one=one: self.number(one) for one in value])  # type: ignore[misc]
        elif isinstance(value, int):
            self.number(value, {"u": "I", "t": "Q"}[kind])
        elif kind == "g":
            self.signature(value)
        else:
            self.text(value)


def _introduce(bus: socket.socket) -> None:
    """Says who we are: the kernel vouches for the user id."""
    bus.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
    said = b""
    while not said.endswith(b"\r\n"):
        said += (chunk := bus.recv(512))
        if not chunk or len(said) > MOST:
            raise OSError(errno.EPROTO, "the bus ended the talk")
    if not said.startswith(b"OK"):
        raise OSError(errno.EACCES, "the bus does not take us for its user")
    bus.sendall(b"BEGIN\r\n")


def _call(bus: socket.socket, serial: int, method: tuple[str, ...], kind: str = "", body: bytes = b"") -> None:
    """Calls a method of an object and waits for its return; OSError with the answer's words when it is an error."""
    path, destination, interface, member = method
    fields = [(PATH, "o", path), (DESTINATION, "s", destination), (INTERFACE, "s", interface), (MEMBER, "s", member)]
    fields += [(SIGNATURE, "g", kind)] if kind else []
    message = _Message()
    message.data += struct.pack("<BBBBII", ord("l"), METHOD_CALL, 0, 1, len(body), serial)

    def field(number: int, of: str, value: str) -> None:
        message.data.append(number)
        message.variant(of, value)

    message.array(8, [lambda one=one: field(*one) for one in fields])  # type: ignore[misc]
    message.align(8)
    bus.sendall(message.data + body)
    while True:
        kind_of, replied, said = _receive(bus)
        if replied == serial and kind_of == METHOD_RETURN:
            return
        if replied == serial and kind_of == ERROR:
            raise OSError(errno.EPROTO, said)


def _receive(bus: socket.socket) -> tuple[int, int, str]:
    """The next message: its type, the serial it replies to, and the text its body begins with, if it does."""
    head = _exactly(bus, 16)
    order = "<" if head[0] == ord("l") else ">"
    length, _, fields = struct.unpack(order + "III", head[4:])
    rest = _exactly(bus, fields + -fields % 8 + length)
    replied, place, kind = 0, 0, ""
    while place < fields:
        place += -place % 8
        number, of = rest[place], chr(rest[place + 2])
        place += 4
        if of in "so":
            place += -place % 4
            place += 4 + struct.unpack_from(order + "I", rest, place)[0] + 1
        elif of == "g":
            text = rest[place + 1 : place + 1 + rest[place]].decode()
            kind = text if number == SIGNATURE else kind
            place += 2 + rest[place]
        else:
            place += -place % 4
            value = struct.unpack_from(order + "I", rest, place)[0]
            replied = value if number == REPLY_SERIAL else replied
            place += 4
    body = rest[fields + -fields % 8 :]
    said = ""
    if kind.startswith("s"):
        said = body[4 : 4 + struct.unpack_from(order + "I", body)[0]].decode(errors="replace")
    return head[1], replied, said


def _exactly(bus: socket.socket, count: int) -> bytes:
    if count > MOST:
        raise OSError(errno.EPROTO, "the bus sent more than an answer")
    data = b""
    while len(data) < count:
        data += (chunk := bus.recv(count - len(data)))
        if not chunk:
            raise OSError(errno.EPROTO, "the bus ended the talk")
    return data
