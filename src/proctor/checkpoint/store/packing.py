"""Putting small packs together in idle time: each checkpoint adds one, and together they are much smaller."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.plumbing import Git

MANY = 20
"""Packs from which on they are put together."""
_COMMAND = ("repack", "--geometric=2", "-d", "-q")
_ROOM = 16 << 20
"""Bytes that stay free beside what the new pack may take."""


def pack(git: Git) -> bool:
    """Put small packs together; whether it was done. Wants the store's lock held, and gives way to whoever wants it.

    Packs marked with `.keep` stay. Cut short or killed it loses nothing: old packs go once the new one is there.
    """
    folder = git.gitdir / "objects" / "pack"
    for leftover in (*folder.glob("tmp_*"), *folder.glob(".tmp-*")):
        leftover.unlink(missing_ok=True)
    packs = [path for path in folder.glob("*.pack") if not path.with_suffix(".keep").exists()]
    if len(packs) <= MANY or not _has_room(folder, sum(path.stat().st_size for path in packs)):
        return False
    with git.start(*_COMMAND, config=("pack.threads=1",), group=True) as command:
        command.be_last()
        git.idle = command
        try:
            command.output()
        except GitFailed:
            return False
        finally:
            git.idle = None
    return True


def _has_room(folder: Path, size: int) -> bool:
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize > size + _ROOM
