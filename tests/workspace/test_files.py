"""The workspace's own files are read and written safely, whatever a worker put in their place."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from proctor.errors import Unrecoverable, UsageError
from proctor.workspace import files


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    files.write(tmp_path, "a.md", "Grüße\r\n")
    assert files.read(tmp_path, "a.md") == "Grüße\r\n"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o640)
    files.write(tmp_path, "a", "new")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_writing_in_place_keeps_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("something longer")
    inode = (tmp_path / "a").stat().st_ino
    files.write(tmp_path, "a", "new", in_place=True)
    assert ((tmp_path / "a").read_text(), (tmp_path / "a").stat().st_ino) == ("new", inode)


def test_a_write_replaces_a_symlink_and_leaves_its_target_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "a").symlink_to(outside)
    files.write(workspace, "a", "new")
    assert (outside.read_text(), (workspace / "a").is_symlink()) == ("mine", False)
    (workspace / "b").symlink_to(outside)
    with pytest.raises(UsageError, match="b: a symlink, which is not followed"):
        files.write(workspace, "b", "new", in_place=True)
    assert outside.read_text() == "mine"


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(UsageError, match="a: is a directory"):
        files.write(tmp_path, "a", "new")
    assert os.listdir(tmp_path) == ["a"]


def put_symlink(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


def put_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("put", "why"),
    [
        (put_symlink, "a symlink, which is not followed"),
        (put_fifo, "not a plain file"),
        (put_socket, "no such device or address"),
        (put_huge, "larger than 1024 KiB"),
        (Path.mkdir, "not a plain file"),
        (lambda path: path.write_bytes(b"fine\nnot \xff"), "a:2: not UTF-8 text"),
        (lambda path: None, "a: not found"),
    ],
)
def test_what_is_no_plain_text_file_is_refused_by_name(
    tmp_path: Path, put: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "a")  # type: ignore[operator]
    with pytest.raises(UsageError, match=why) as refusal:
        files.read(tmp_path, "a")
    assert str(refusal.value).startswith("a:")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a", "a/../../b", "a\0b", "\ud800"])
def test_a_path_that_could_leave_the_workspace_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="must be a path inside the workspace"):
        files.read(tmp_path, name)


def test_a_folder_that_is_a_symlink_is_not_walked_through(tmp_path: Path) -> None:
    (tmp_path / "specs").symlink_to("/etc")
    with pytest.raises(UsageError, match="specs/passwd: leads through a symlink"):
        files.read(tmp_path, "specs/passwd")


def test_a_missing_file_or_folder_may_be_optional(tmp_path: Path) -> None:
    assert files.read_optional(tmp_path, "a") is None
    assert files.read_optional(tmp_path, "no/such/folder") is None


def test_a_workspace_that_is_gone_is_unrecoverable(tmp_path: Path) -> None:
    with pytest.raises(Unrecoverable, match="not found") as error:
        files.read(tmp_path / "gone", "a")
    assert error.value.word == "workspace"


def test_a_full_disk_is_unrecoverable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unrecoverable, match="no space left") as error:
        files.write(tmp_path, "a", "new")
    assert (error.value.word, os.listdir(tmp_path)) == ("disk", [])


def test_what_is_set_aside_is_kept_whatever_it_is(tmp_path: Path) -> None:
    store = tmp_path / ".proctor" / "aside"
    (tmp_path / "a").write_text("first")
    first = files.set_aside(tmp_path, "a", store)
    (tmp_path / "a").symlink_to("/nowhere")
    second = files.set_aside(tmp_path, "a", store)
    assert first.read_text() == "first"
    assert second.is_symlink()
    assert not os.path.lexists(tmp_path / "a")
