"""Disk space: how little may be left while a worker runs, and how much one wrote."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.units import format_count, format_size

MIB = 1 << 20
MOST = 1 << 30
"""More than this need not be left on any disk."""
SHARE = 10
"""Nor more than this part of one, nor half of what was free at the start."""
LEAST = 8 * MIB
"""Less than this is never enough: the journal and its checkpoints are written there too."""
MOST_FILES, LEAST_FILES = 10_000, 100
BLOCK = 512
"""Bytes in a unit of `st_blocks`, whatever the file system's own blocks."""


@dataclass(frozen=True, slots=True)
class Free:
    """What an ordinary user may still use of a file system. `all_files` is 0 where files are not counted."""

    bytes: int
    all_bytes: int
    files: int
    all_files: int


def free(path: Path) -> Free:
    """The file system of `path`; OSError when it is gone."""
    found = os.statvfs(path)
    return Free(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, found.f_favail, found.f_files)


def low_water(start: Free) -> Free:
    """What must be left, given what was there at the start."""
    least_bytes = max(LEAST, min(MOST, start.all_bytes // SHARE, start.bytes // 2))
    least_files = max(LEAST_FILES, min(MOST_FILES, start.all_files // SHARE, start.files // 2))
    return Free(least_bytes, start.all_bytes, least_files, start.all_files)


def shortage(now: Free, mark: Free) -> str:
    """What is short, in words; empty while enough is left."""
    if now.bytes < mark.bytes:
        return f"{format_size(now.bytes)} of space left, and {format_size(mark.bytes)} must stay free"
    if now.all_files and now.files < mark.files:
        return f"room for {format_count(now.files)} more files, and for {format_count(mark.files)} it must stay"
    return ""


def written(folder: Path, since: float) -> int:
    """Bytes on disk of the files below `folder` that were changed since then, on its own file system alone.

    Each file counts once, whatever its names. Folders that cannot be read are left out.
    """
    return sum(_files(folder, since))


def _files(top: Path, since: float) -> Iterator[int]:
    seen: set[int] = set()
    queue = [str(top)]
    device = os.stat(top).st_dev
    while queue:
        try:
            entries = list(os.scandir(queue.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if found.st_dev != device:
                continue
            if stat.S_ISDIR(found.st_mode):
                queue.append(entry.path)
            elif found.st_ctime >= since and found.st_ino not in seen:
                if found.st_nlink > 1:
                    seen.add(found.st_ino)
                yield found.st_blocks * BLOCK
