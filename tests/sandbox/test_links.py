"""Files with a second name: what a worker writes by one of them reaches no other."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from proctor.errors import Unrecoverable
from proctor.sandbox import links
from proctor.sandbox.links import asks, separate
from proctor.sandbox.survey import UNFINISHED, Linked, survey

from .conftest import Shell, tree


def linked(workspace: Path) -> Linked:
    return survey(workspace, links=True).linked


def test_a_worker_that_writes_an_alias_changes_neither_the_oracle_nor_a_file_outside(
    shell: Shell, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "store").write_text("shared\n")
    (workspace / "tests").mkdir(exist_ok=True)
    (workspace / "tests/test_sum.py").write_text("assert True\n")
    os.link(workspace / "tests/test_sum.py", workspace / "alias.py")
    os.link(tmp_path / "store", workspace / "dependency.js")
    assert separate(workspace, linked(workspace)) == 2
    assert linked(workspace) == Linked()
    assert shell("echo evil > alias.py; echo evil > dependency.js", protect=("tests/",)) == (0, "")
    assert (workspace / "tests/test_sum.py").read_text() == "assert True\n"
    assert (tmp_path / "store").read_text() == "shared\n"
    assert (workspace / "dependency.js").read_text() == "evil\n"


def test_a_copy_keeps_contents_mode_times_and_attributes_also_of_a_file_with_holes(
    workspace: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.write(b"head")
        file.truncate(50 << 20)
        file.seek(20 << 20)
        file.write(b"middle")
    source.chmod(0o4751)
    os.setxattr(source, "user.note", b"\0kept")
    os.utime(source, ns=(1_000_000_000_000_000_001, 1_100_000_000_000_000_002))
    os.link(source, workspace / "copy")
    assert separate(workspace, linked(workspace)) == 1
    one, other = source.stat(), (workspace / "copy").stat()
    assert one.st_ino != other.st_ino
    for field in ("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_nlink"):
        assert getattr(one, field) == getattr(other, field), field
    assert source.read_bytes() == (workspace / "copy").read_bytes()
    assert os.getxattr(workspace / "copy", "user.note") == b"\0kept"
    assert other.st_blocks < 10_000


def test_names_of_any_kind_in_closed_folders_are_separated_and_the_folders_stay_closed(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "source").write_text("x")
    closed = workspace / "mod@v1"
    closed.mkdir()
    odd = os.fsencode(closed) + b"/\xff\n"
    os.link(os.fsencode(tmp_path / "source"), odd)
    closed.chmod(0o555)
    assert separate(workspace, linked(workspace)) == 1
    assert stat.S_IMODE(closed.stat().st_mode) == 0o555
    assert os.stat(odd).st_nlink == 1


def test_the_last_name_keeps_the_file_and_what_is_no_longer_linked_is_left_alone(workspace: Path) -> None:
    (workspace / "a").write_text("x")
    os.link(workspace / "a", workspace / "b")
    seen = linked(workspace)
    assert seen.files == 2
    assert separate(workspace, seen) == 1
    before = tree(workspace)
    assert separate(workspace, seen) == 0
    assert tree(workspace) == before


def test_what_a_crash_left_is_removed_the_next_time(workspace: Path) -> None:
    (workspace / "src" / f"{UNFINISHED}0123").write_text("half")
    seen = linked(workspace)
    assert seen.unfinished == (f"src/{UNFINISHED}0123",)
    assert separate(workspace, seen) == 0
    assert not (workspace / "src" / f"{UNFINISHED}0123").exists()


@pytest.mark.parametrize("what", ["replaced by a link", "folder replaced by a link", "written"])
def test_a_race_is_refused_in_one_line_and_nothing_is_left(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (workspace / "folder").mkdir()
    os.link(outside / "file", workspace / "folder/file")
    seen = linked(workspace)
    sound = links._attributes

    def meddle(*given: object) -> None:
        sound(*given)  # type: ignore[arg-type]
        if what == "written":
            (outside / "file").write_text("longer than it was")
            return
        if what == "replaced by a link":
            (workspace / "folder/file").unlink()
            (workspace / "folder/file").symlink_to(outside / "file")
            return
        (workspace / "folder").rename(workspace / "moved")
        (workspace / "folder").symlink_to(outside)

    monkeypatch.setattr(links, "_attributes", meddle)
    with pytest.raises(Unrecoverable, match=r"^folder/file: it changed while it was copied.*start again$"):
        separate(workspace, seen)
    assert os.listdir(outside) == ["file"]
    if what != "folder replaced by a link":
        assert os.listdir(workspace / "folder") == ["file"]


def test_a_full_disk_is_said_and_the_files_are_as_they_were(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        os.link(tmp_path / name, workspace / name)
    before = tree(workspace)
    full = iter((False, True))
    sound = links._fill

    def fill(source: int, target: int, size: int) -> None:
        if next(full):
            raise OSError(errno.ENOSPC, "full")
        sound(source, target, size)

    monkeypatch.setattr(links, "_fill", fill)
    with pytest.raises(Unrecoverable, match="two: no room to copy it") as refused:
        separate(workspace, linked(workspace))
    assert refused.value.word == "disk"
    assert tree(workspace) == before


def test_many_or_large_files_are_asked_about_in_full() -> None:
    assert asks(Linked(1_000, 500 << 20, ("a",) * 1_000)) is None
    question = asks(Linked(41_201, 1_288_490_188, ("node_modules/.pnpm/a/index.js", "b")))
    assert question is not None
    assert question.what == "copy 41,201 files (1.19G) that have a second name?"
    for part in ("node_modules/.pnpm/a/index.js", "package store", "Yes: ", "1.19G more", "No: nothing is changed"):
        assert part in question.why
    assert asks(Linked(1, (500 << 20) + 1, ("a",))) is not None
    assert asks(Linked(1_001, 0, ("a",) * 1_001)) is not None
