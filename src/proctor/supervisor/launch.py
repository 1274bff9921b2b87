"""Starting a supervisor from a verb or a screen, and seeing whether it has taken over. Light to import."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import ProctorError, UsageError
from proctor.journal.store import Damaged, NoJournal, journal_path, refuse_damaged
from proctor.supervisor import process, sessions
from proctor.supervisor.client import Client
from proctor.text import safe_line
from proctor.words import ExitCode

START_SECONDS = 60.0
"""Seconds a supervisor may take to check everything and take over."""


class Failed(ProctorError):
    """The supervisor ended before it began; its last words and its exit code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.exit_code = ExitCode(code) if code in list(ExitCode) and code else ExitCode.FAULT


@dataclass(slots=True)
class Launch:
    """A supervisor that this process has started: the last journal row before it, its process, its log."""

    workspace: Path
    before: int
    process: subprocess.Popen[bytes]
    log: Path
    _size: int
    _client: Client | None = field(default=None)

    def is_up(self) -> bool:
        """Whether it has taken over. Raises `Failed` where it ended before that."""
        failure = self.failure()  # looked for first: what it wrote, it wrote before it ended
        with contextlib.suppress(ProctorError):  # the journal is not there yet, or is just being made
            self._client = self._client or Client(self.workspace)
            state = self._client.state()
            if state.seq > self.before and state.supervisor and state.supervisor.pid == self.process.pid:
                self._client.close()
                return True
        if failure:
            raise failure
        return False

    def wait(self) -> None:
        """Until it has taken over. Raises why it does not."""
        deadline = time.monotonic() + START_SECONDS
        with self.unless_interrupted():
            while not self.is_up():
                if time.monotonic() > deadline:
                    what = f"the supervisor (pid {self.process.pid}) does not start; see {self.log}"
                    raise UsageError(f"{self.workspace}: {what}")
                time.sleep(0.02)

    @contextlib.contextmanager
    def unless_interrupted(self) -> Iterator[None]:
        """Ctrl-C within the block takes the start back."""
        try:
            yield
        except KeyboardInterrupt:
            self.process.terminate()
            self.process.wait()
            raise

    def failure(self) -> Failed | None:
        """Why it ended without a last row, if it did."""
        code = self.process.poll()
        return None if code is None else Failed(_last_words(self.log, self._size), code)


def launch(workspace: Path, arguments: list[str]) -> Launch:
    """Start a detached supervisor. Raises what stands in its way, in one line."""
    from proctor.supervisor.preflight import preflight, state_dir

    contract = preflight(workspace)
    folder = state_dir(workspace, contract)
    before = 0
    try:
        with contextlib.suppress(NoJournal), Client(workspace) as client:
            before = client.state().seq
            holder = client.state().supervisor
            if holder and client.alive():
                where = f"{workspace}: supervisor {holder.pid} is up"
                raise UsageError(f"{where}; use `proctor attach` or `proctor stop`")
    except Damaged:
        refuse_damaged(journal_path(folder))
        raise
    sessions.remember(workspace)
    log = folder / "supervisor.log"
    size = log.stat().st_size if log.exists() else 0
    return Launch(workspace, before, process.start_detached(workspace, arguments, log), log, size)


def _last_words(log: Path, size: int) -> str:
    with log.open("rb") as file:
        file.seek(size)
        lines = [line for line in file.read(65536).decode(errors="replace").splitlines() if line.strip()]
    own = [line.removeprefix("proctor: ") for line in lines if line.startswith("proctor: ")]
    last = lines[-1] if lines else f"the supervisor ended without a word; is {log} writable?"
    return "\n".join(own) or safe_line(last)
