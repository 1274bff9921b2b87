"""A process that works on a store and is killed at any moment."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import sys, time
from pathlib import Path
import git
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store
work, what, *args = sys.argv[1:]
store = Store(Path(work), Path(work) / ".proctor/checkpoints.git", keep=Keep(max_file=1 << 20))
print("go", flush=True)
begun = time.monotonic()
if what == "gc":
    store.gc(set(args))
elif what == "provisional":
    store.provisional(args[0], args[2:], args[1])
else:
    getattr(store, what)(*args)
print(time.monotonic() - begun, flush=True)
"""


FIRST_GUESS = 0.2


class Killer:
    """Runs `Store` methods on one workspace in processes of their own, and kills them at a moment drawn from how long
    each takes, seconds, as far as one that ended by itself has shown."""

    def __init__(self, work: Path, seed: int) -> None:
        self._work = work
        self._chance = random.Random(seed)
        self._longest: dict[str, float] = {}
        self._turn = 0
        self.killed = 0
        """How many were still running."""

    def kill(self, *args: str) -> None:
        """Run and kill. In every other turn the git commands that it started live on for a moment."""
        self._turn += 1
        command = [sys.executable, "-c", PROGRAM, str(self._work), *args]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        until = time.monotonic() + self._chance.random() * self._longest.get(args[0], FIRST_GUESS)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if self._turn % 2 else process.kill()
        said = process.communicate()[0]
        if process.returncode < 0:
            self.killed += 1
        else:
            assert process.returncode == 0
            self._longest[args[0]] = float(said)
