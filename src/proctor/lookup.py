"""Programs that proctor itself starts on the host by name, never one that a worker may have written.

An operator's PATH may begin with a folder of a workspace, such as its `.venv/bin`: in there workers write.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_MARKS = ("proctor.yaml", ".proctor")


def search_path(path: str | None = None) -> str:
    """PATH, or what is given in its place, without what is relative and what lies in a workspace."""
    given = os.environ.get("PATH", os.defpath) if path is None else path
    return os.pathsep.join(entry for entry in given.split(os.pathsep) if os.path.isabs(entry) and _is_safe(entry))


def find_program(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program on PATH that lies in no workspace, nor leads into one; None where there is none.

    A workspace is a folder that holds a contract or a session, and all below it.
    """
    for entry in search_path(path).split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and _is_safe(found):
            return found
    return None


def _is_safe(place: str) -> bool:
    real = Path(os.path.realpath(place))
    ways = {*Path(os.path.abspath(place)).parents, Path(place), real, *real.parents}
    return not any(os.path.lexists(folder / mark) for folder in ways for mark in _MARKS)
