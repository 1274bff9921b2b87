"""A worker's door folder: what stands at /run/proctor inside, one folder for each worker.

The sandbox shows it read-only, so a worker can use what is in it and can replace nothing. A socket made anew by
the supervisor is reached by a worker that already runs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
from pathlib import Path

SOCKET = "gateway.sock"
BRIEF = "brief.md"
ANSWERS = "answers"
ANSWERS_BYTES = 1 << 20
"""How much of answers a worker may leave unread."""


class Door:
    """One door folder on the host; only its owner may enter it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path / ANSWERS, 0o600)
        # Both ends are held: no answer waits for a reader, and no reader sees an end between two answers.
        self._answers = os.open(path / ANSWERS, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(self._answers, fcntl.F_SETPIPE_SZ, ANSWERS_BYTES)

    @classmethod
    def create(cls, brief: str, parent: Path | None = None) -> Door:
        """A fresh folder below `parent`, or among the system's temporary files, with the brief in it."""
        door = cls(Path(tempfile.mkdtemp(prefix="proctor-door-", dir=parent)))
        (door.path / BRIEF).write_text(brief, encoding="utf-8")
        return door

    def answer(self, line: bytes) -> bool:
        """Puts one line into the worker's FIFO; False when it is full of answers that the worker did not read."""
        try:
            return os.write(self._answers, line) == len(line)
        except BlockingIOError:
            return False

    def listen(self) -> socket.socket:
        """A socket listening at the door, in the place of an older one; the folder's path may have any length."""
        folder = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            (self.path / SOCKET).unlink(missing_ok=True)
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind(f"/proc/self/fd/{folder}/{SOCKET}")
            (self.path / SOCKET).chmod(0o600)
            server.listen(128)
            return server
        finally:
            os.close(folder)

    def remove(self) -> None:
        """Takes the folder away. Does nothing the second time."""
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1
        shutil.rmtree(self.path, ignore_errors=True)
