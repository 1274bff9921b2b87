"""Files that processes write through memory: after the first write to a page, no time of the file says that there was
another, on some file systems until it is written back, on others never."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

_SHARED = re.compile(rb"^\S+ .w.s \S+ \S+ \S+ +(/.*)$", re.MULTILINE)


def mapped(top: bytes) -> set[bytes]:
    """The paths below `top` that some process can write that way now. Only processes that this user may look into are
    seen; paths may stand for what is there no more."""
    inside = os.path.realpath(top) + b"/"
    said = inside.replace(b"\n", b"\\012")
    maps = (_maps(name) for name in os.listdir("/proc") if name.isdigit())
    return {path[len(inside) :] for one in maps if said in one for path in _shared(one) if path.startswith(inside)}


def mapped_by(pid: str) -> Iterator[bytes]:
    """The absolute paths of files that a process has mapped for writing and shares with the file."""
    return _shared(_maps(pid))


def _maps(pid: str) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb", buffering=0) as maps:
        return maps.readall()
    return b""


def _shared(maps: bytes) -> Iterator[bytes]:
    for path in _SHARED.findall(maps):
        yield path.replace(b"\\012", b"\n").removesuffix(b" (deleted)")
