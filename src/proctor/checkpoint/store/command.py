"""One running git command: what it prints, how it ends, and what its end means."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from proctor.errors import ProctorError, Unrecoverable
from proctor.text import safe_line

_FULL_WORDS = re.compile(
    rb"No space left on device|Out of diskspace|Disk quota exceeded|File too large"
    rb"|Read-only file system|Input/output error|insufficient permission"
    rb"|[Uu]nable to create temporary file|unable to write (loose|new|sha1|object|file)"
    rb"|Unable to create '[^']*\.lock'"
)
_TRAP_CHECK = 5.0
_READS = frozenset({"cat-file", "ls-tree", "rev-list", "pack-objects", "index-pack", "show-index", "update-ref"})
"""Commands that wait for nobody: one that sleeps stands before a FIFO where an object or a setting is to be."""
_SEES = frozenset(
    {
        "ls-files",
        "check-ignore",
        "check-attr",
        "update-index",
        "checkout-index",
        "read-tree",
        "diff-files",
        "diff-index",
    }
)
"""Commands that look at the workspace. All others may take as long as they like."""


class GitFailed(ProctorError):
    """A plumbing command said no; `str()` is its first line of complaint."""


class Trapped(Exception):
    """Special files that stand where git reads rules, so that it waits for ever; `paths` are absolute."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        super().__init__(repr(paths))
        self.paths = tuple(paths)


class Command:
    """One running git command. What it prints goes to memory, so that several may run side by side unread."""

    def __init__(
        self,
        gitdir: Path,
        verb: str,
        process: subprocess.Popen[bytes],
        out: BinaryIO,
        err: BinaryIO,
        *,
        traps: Callable[[], Sequence[bytes]],
    ) -> None:
        """`traps` finds what a command that looks at the workspace may wait for (absolute paths)."""
        self._gitdir = gitdir
        self._traps = traps
        self._verb = verb
        self._process = process
        self._out = out
        self._err = err

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end()
            self._process.wait()
        self._out.close()
        self._err.close()

    def output(self, ok: Sequence[int] = (0,)) -> bytes:
        """Wait for the end and return what was printed; raises as `Git.run` does."""
        self._wait()
        if self._process.returncode in ok:
            return _all_of(self._out)
        raise self._fault(_all_of(self._err))

    def read(self, size: int) -> bytes:
        """The next bytes of what it prints into a pipe; raises as `Git.run` does if it ends before."""
        if len(found := self._out.read(size)) < size:
            self._wait()
            raise self._fault(_all_of(self._err))
        return found

    def line(self) -> bytes:
        """The same to the end of the line."""
        found = self._out.readline()
        return found if found.endswith(b"\n") else found + self.read(1)

    def end(self) -> None:
        """Have it end now, and what it started with it."""
        if self._process.poll() is None:
            if os.getpgid(self._process.pid) == self._process.pid:
                os.killpg(self._process.pid, signal.SIGTERM)
            else:
                self._process.terminate()  # git takes its lock files with it

    def bound(self, seconds: int) -> None:
        """Have it end once it has used so many seconds of processor time."""
        with contextlib.suppress(OSError):
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (seconds, seconds))

    def be_last(self) -> None:
        """Let everything else on the machine go first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)

    def _wait(self) -> None:
        ended = os.pidfd_open(self._process.pid)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        idle = ""
        try:
            while not poll.poll(_TRAP_CHECK * 1000):
                if self._verb in _SEES and (traps := self._traps()):
                    raise Trapped(traps)
                before, idle = idle, _sleeping(self._process.pid) if self._verb in _READS else ""
                if idle and idle == before:
                    self.end()
                    raise GitFailed(f"git {self._verb}: it waits for a file that is none, such as a FIFO")
        finally:
            os.close(ended)
        self._process.wait()

    def _fault(self, err: bytes) -> ProctorError:
        lines = [safe_line(line, 300) for line in err.splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith(("error:", "fatal:"))), lines[0] if lines else "")
        if _FULL_WORDS.search(err):
            return Unrecoverable(f"{self._gitdir.parent}: {said}; free or allow it, then run again", "disk")
        said = said or f"ended with {self._process.returncode}"
        return GitFailed(f"git {self._verb} in {self._gitdir}: {said}")


def _all_of(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _sleeping(pid: int) -> str:
    """The time that a process has used, if all of it sleeps; else ""."""
    try:
        tasks = [Path(f"/proc/{pid}/task", name, "stat").read_text() for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return ""
    fields = [task.rpartition(")")[2].split() for task in tasks]
    return repr([one[11:13] for one in fields]) if all(one[0] == "S" for one in fields) else ""
