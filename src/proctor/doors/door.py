"""A worker's door folder: what stands at /run/proctor inside, one folder for each worker.

The sandbox shows it read-only, so a worker can use what is in it and can replace nothing. A socket made anew by
the supervisor is reached by a worker that already runs.
"""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from proctor.trees import remove_tree

SOCKET = "gateway.sock"
BRIEF = "brief.md"
ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Door:
    """A door folder on the host."""

    folder: Path

    @property
    def brief(self) -> Path:
        return self.folder / BRIEF

    @property
    def answers(self) -> Path:
        """The FIFO that answers to a worker's requests are written to."""
        return self.folder / ANSWERS

    def remove(self) -> None:
        remove_tree(self.folder)


def make(parent: Path) -> Door:
    """A fresh door folder below `parent`, which clears up after a kill; only the owner enters."""
    door = Door(Path(tempfile.mkdtemp(prefix="door-", dir=parent)))
    os.mkfifo(door.answers, 0o600)
    return door


def listen(folder: Path) -> socket.socket:
    """A socket listening at the door, in the place of an older one; the folder's path may have any length."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        (folder / SOCKET).unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(f"/proc/self/fd/{fd}/{SOCKET}")
        (folder / SOCKET).chmod(0o600)
        server.listen(128)
        return server
    finally:
        os.close(fd)
