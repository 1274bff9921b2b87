"""The talk with systemd, against a program that speaks the bus's side of it and reads what it is sent."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import PATIENCE
from proctor.sandbox import manager

RETURN, ERROR, SIGNAL = 2, 3, 4


class Reader:
    """Reads values of the bus's format by their signature."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, kind: str) -> Any:
        size = struct.calcsize(kind)
        self.place += -self.place % size
        self.place += size
        return struct.unpack_from("<" + kind, self.data, self.place - size)[0]

    def text(self, length: int) -> str:
        self.place += length + 1
        assert self.data[self.place - 1] == 0
        return self.data[self.place - 1 - length : self.place - 1].decode()

    def value(self, kind: str) -> Any:
        if kind in "so":
            return self.text(self.take("I"))
        if kind == "g":
            return self.text(self.take("B"))
        if kind in "ut":
            return self.take({"u": "I", "t": "Q"}[kind])
        if kind == "v":
            return self.value(self.value("g"))
        if kind.startswith("("):
            self.place += -self.place % 8
            return tuple(self.value(one) for one in kind.strip("()"))
        assert kind.startswith("a"), kind
        length = self.take("I")
        self.place += -self.place % (8 if kind[1] == "(" else 4)
        end, found = self.place + length, []
        while self.place < end:
            found.append(self.value(kind[1:]))
        assert self.place == end
        return found


def message(kind: int, serial: int, replies: int, said: str = "") -> bytes:
    fields = b"\x05\x01u\0" + struct.pack("<I", replies)
    if said:
        fields += b"\x08\x01g\0\x01s\0"
    body = struct.pack("<I", len(said)) + said.encode() + b"\0" if said else b""
    head = struct.pack("<BBBBIII", ord("l"), kind, 0, 1, len(body), serial, len(fields))
    return head + fields + bytes(-len(fields) % 8) + body


Bus = Callable[..., list[tuple[dict[int, Any], bytes]]]


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    """Stands as a bus that answers the second call as it is told; returns the list of calls that will have come."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "bus"))
    server.listen()
    monkeypatch.setattr(manager, "address", lambda: str(tmp_path / "bus"))
    threads = []

    def stand(answer: bytes, welcome: bytes = b"OK 0123\r\n") -> list[tuple[dict[int, Any], bytes]]:
        calls: list[tuple[dict[int, Any], bytes]] = []

        def serve() -> None:
            talk, _ = server.accept()
            with talk, talk.makefile("rb") as lines:
                assert lines.readline().startswith(b"\0AUTH EXTERNAL 3")
                talk.sendall(welcome)
                if lines.readline() != b"BEGIN\r\n":
                    return
                for reply in (message(RETURN, 1, 1, ":1.7"), message(SIGNAL, 2, 0, ":1.7") + answer):
                    head = lines.read(16)
                    if not head:
                        return
                    length, _, count = struct.unpack("<III", head[4:])
                    rest = lines.read(count + -count % 8)
                    reader = Reader(head + rest)
                    reader.place = 12
                    calls.append((dict(_fields(reader)), lines.read(length)))
                    talk.sendall(reply)

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return calls

    yield stand
    server.close()
    for thread in threads:
        thread.join(PATIENCE)


def _fields(reader: Reader) -> list[tuple[int, Any]]:
    length = reader.take("I")
    end = reader.place + length
    found = []
    while reader.place < end:
        reader.place += -reader.place % 8
        found.append((reader.take("B"), reader.value("v")))
    return found


def test_a_scope_is_asked_for_with_its_bounds(bus: Bus) -> None:
    calls = bus(message(RETURN, 3, 2, "/job/1"))
    manager.start_scope("proctor-7.scope", 7, 1 << 30, 513)
    assert calls[0][0][manager.MEMBER] == "Hello"
    fields, body = calls[1]
    assert fields[manager.MEMBER] == "StartTransientUnit"
    assert fields[manager.DESTINATION] == "org.freedesktop.systemd1"
    assert fields[manager.SIGNATURE] == "ssa(sv)a(sa(sv))"
    reader = Reader(body)
    assert (reader.value("s"), reader.value("s")) == ("proctor-7.scope", "fail")
    given = dict(reader.value("a(sv)"))
    assert given.pop("Description")
    assert given == {
        "PIDs": [7],
        "MemoryMax": 1 << 30,
        "MemorySwapMax": 0,
        "TasksMax": 513,
        "CollectMode": "inactive-or-failed",
    }
    assert reader.value("a(sv)") == []
    assert reader.place == len(body)


def test_a_refusal_is_told_in_the_manager_s_words(bus: Bus) -> None:
    bus(message(ERROR, 3, 2, "no such process"))
    with pytest.raises(OSError, match="no such process"):
        manager.start_scope("proctor-7.scope", 7, 1 << 30, 513)


def test_who_is_not_the_bus_s_user_and_who_is_cut_off_gets_an_error(bus: Bus) -> None:
    bus(b"", welcome=b"REJECTED EXTERNAL\r\n")
    with pytest.raises(OSError, match="does not take us"):
        manager.start_scope("proctor-7.scope", 7, 1 << 30, 513)
    bus(b"")
    with pytest.raises(OSError, match="ended the talk"):
        manager.start_scope("proctor-7.scope", 7, 1 << 30, 513)


def test_without_a_bus_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "address", lambda: str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        manager.start_scope("proctor-7.scope", 7, 1 << 30, 513)
