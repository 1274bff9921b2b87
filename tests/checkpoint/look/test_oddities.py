"""What git cannot say of files is found by a process of its own as it is found without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.look import oddities
from proctor.checkpoint.look.oddities import Oddities

NAMES = [
    b"plain",
    b"run.sh",
    b"private",
    b"writable",
    b"one name",
    b"another\nname",
    b"noted",
    b"link",
    b"\xff\xfe",
    b"gone",
]
ODD = {b"private", b"writable", b"one name", b"another\nname", b"noted", b"gone"}


@pytest.fixture
def top(tmp_path: Path) -> bytes:
    for name, mode in (("plain", 0o644), ("run.sh", 0o755), ("private", 0o600), ("writable", 0o664)):
        write(tmp_path / name, "x", mode)
    write(tmp_path / "one name", "x", 0o644)
    os.link(tmp_path / "one name", tmp_path / "another\nname")
    os.setxattr(write(tmp_path / "noted", "x", 0o644), "user.note", b"mine")
    (tmp_path / "link").symlink_to("nowhere")
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")), "x", 0o644)
    return os.fsencode(tmp_path)


@pytest.mark.parametrize("many", [1, 1_000])
def test_files_that_are_more_than_git_can_say_are_found(top: bytes, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(oddities, "MANY", many)
    assert Oddities(top, NAMES, 0o022).found() == ODD
    assert Oddities(top, [], 0o022).found() == set()


def test_if_the_process_fails_they_are_found_all_the_same(top: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oddities, "MANY", 1)
    monkeypatch.setattr(oddities.sys, "executable", "/bin/false")
    assert Oddities(top, NAMES, 0o022).found() == ODD


def test_nothing_is_left_of_one_that_is_forgotten(top: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oddities, "MANY", 1)
    before = set(os.listdir("/proc/self/fd"))
    Oddities(top, NAMES * 1_000, 0o022).forget()
    assert set(os.listdir("/proc/self/fd")) == before
