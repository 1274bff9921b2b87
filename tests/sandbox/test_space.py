from __future__ import annotations

import os
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from proctor.sandbox.space import LEAST, LEAST_FILES, MIB, MOST, Free, free, low_water, shortage, written

GIB = 1 << 30


def disk(left: int, size: int = 100 * GIB, files: int = 1_000_000, all_files: int = 6_000_000) -> Free:
    return Free(left, size, files, all_files)


def test_a_large_disk_keeps_a_gibibyte_a_small_one_a_tenth_a_full_one_half_of_the_rest() -> None:
    assert low_water(disk(50 * GIB)).bytes == GIB
    assert low_water(disk(4 * GIB, 5 * GIB)).bytes == GIB // 2
    assert low_water(disk(100 * MIB)).bytes == 50 * MIB
    assert low_water(disk(2 * MIB)).bytes == LEAST
    assert shortage(disk(GIB, files=3), low_water(disk(GIB, files=3))), "nor is there room for files"


def test_what_is_short_is_said() -> None:
    mark = low_water(disk(50 * GIB))
    assert not shortage(disk(GIB), mark)
    assert shortage(disk(GIB - 1), mark) == "1023M of space left, and 1G must stay free"
    assert "more files" in shortage(disk(GIB, files=9_999), mark)
    assert not shortage(disk(GIB, files=0, all_files=0), low_water(disk(50 * GIB, files=0, all_files=0)))


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_a_start_that_has_room_is_never_short_at_once(left: int, size: int, files: int, all_files: int) -> None:
    start = Free(left, size, files, all_files)
    mark = low_water(start)
    assert mark.bytes <= max(MOST, LEAST)
    if left >= LEAST and files >= LEAST_FILES:
        assert not shortage(start, mark)


def test_this_disk_is_read(tmp_path: Path) -> None:
    found = free(tmp_path)
    assert 0 < found.bytes <= found.all_bytes


def test_only_what_changed_since_counts_each_file_once_no_link_followed(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    (folder / "deep").mkdir(parents=True)
    (folder / "old").write_bytes(bytes(5 * MIB))
    (tmp_path / "outside").write_bytes(bytes(5 * MIB))
    since = os.stat(folder / "old").st_ctime + 0.001
    while time.time() < since + 0.02:
        pass
    (folder / "deep" / "new").write_bytes(bytes(MIB))
    os.link(folder / "deep" / "new", folder / "again")
    (folder / "link").symlink_to(tmp_path / "outside")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert MIB <= written(folder, since) < MIB + (1 << 17)
    assert written(folder, time.time() + 60) == 0
