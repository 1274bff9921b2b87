"""Who has a file open that is about to change: its processes are named, so that the operator can look."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator

from proctor.checkpoint.look.mapped import mapped_by
from proctor.text import safe_line

MOST = 5
"""Files of one process that are named."""
_SWAP = re.compile(rb"\.(.+)\.sw[a-p]")
"""What vim has open while it shows a file."""


def holders(top: bytes, paths: Collection[bytes]) -> list[str]:
    """Lines such as `vim (pid 4242) has src/a.py open`, of the paths given. Only processes that this user may look
    into are seen."""
    real = os.path.realpath(top) + b"/"
    lines = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            here = f"/proc/{pid}"
            links = {path.removesuffix(b" (deleted)") for path in _links(f"{here}/fd")}.union(mapped_by(str(pid)))
            inside = {_meant(path[len(real) :]) for path in links if path.startswith(real)}
            held = sorted(inside.intersection(paths))
            if held:
                shown = ", ".join(safe_line(path, 100) for path in held[:MOST])
                more = f" and {len(held) - MOST} more" if len(held) > MOST else ""
                lines.append(f"{_comm(here)} (pid {pid}) has {shown}{more} open")
    return lines


def _links(folder: str) -> Iterator[bytes]:
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            yield os.fsencode(os.readlink(f"{folder}/{name}"))


def _meant(path: bytes) -> bytes:
    """The file that an editor's swap file stands for; else the path itself."""
    folder, slash, name = path.rpartition(b"/")
    swap = _SWAP.fullmatch(name)
    return folder + slash + swap[1] if swap else path


def _comm(here: str) -> str:
    with open(f"{here}/comm", "rb") as file:
        return safe_line(file.read().strip(), 40)
