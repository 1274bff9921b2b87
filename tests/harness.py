"""Real sessions for tests: sample workspaces copied to a temporary folder, run by the real command."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

from proctor.cli.main import main
from proctor.cli.registry import VERBS
from proctor.data import samples_dir
from proctor.journal.events import Event, Row
from proctor.journal.state import State
from proctor.journal.store import NoJournal, journal_path
from proctor.supervisor.client import Client
from proctor.supervisor.launch import launch
from proctor.supervisor.process import state_dir_of

T = TypeVar("T")
PROCTOR = [sys.executable, "-m", "proctor"]
PATIENCE = 120.0
"""Seconds after which a condition that does not come fails the test."""


def wait_until(condition: Callable[[], T | None], what: str = "", seconds: float = PATIENCE) -> T:
    """The first true value of `condition`; fails when it does not come."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"did not come within {seconds:.0f} s: {what or condition}")


def proctor(*words: object) -> subprocess.CompletedProcess[str]:
    """A verb of the command line, run to its end in a copy of this process, which spares its start: a start of Python
    costs more than most verbs. It is killed at its time."""
    command = [str(word) for word in words]
    _load()
    for workspace in Workspace.all:
        workspace.forget()  # SQLite's connections do not go along with a copy of a process
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            _become(command, out.fileno(), err.fileno())
        pidfd = os.pidfd_open(pid)
        try:
            assert select.select([pidfd], [], [], PATIENCE)[0], f"proctor {shlex.join(command)}: no end"
        finally:
            os.close(pidfd)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0) for file in (out, err)]
    return subprocess.CompletedProcess(command, code, *(text.decode(errors="replace") for text in texts))


@cache
def _load() -> None:
    """What every copy of this process would have to load."""
    for name in {f"cli.{verb.code.partition(':')[0]}" for verb in VERBS}:
        import_module(f"proctor.{name}")
    for name in ("auditor", "enclosure", "offline", "past", "startup", "sweeping"):
        import_module(f"proctor.supervisor.{name}")


def _become(command: list[str], out: int, err: int) -> NoReturn:
    code: object = 99
    try:
        for fd, stream in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(fd, stream)
        sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, closefd=False) for fd, mode in enumerate("rww"))  # noqa: SIM115
        code = main(command)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else code is not None)


class Workspace:
    """One workspace and what can be done with it from outside."""

    all: ClassVar[weakref.WeakSet[Workspace]] = weakref.WeakSet()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading: tuple[Client, tuple[int, int]] | None = None
        Workspace.all.add(self)
        self.children: list[subprocess.Popen[str]] = []
        self.supervisors: list[subprocess.Popen[bytes]] = []

    @classmethod
    def sample(cls, name: str, into: Path, pause: float = 0.02) -> Workspace:
        """A copy of a sample, with its worker's pauses shortened."""
        target = into / name
        shutil.copytree(samples_dir() / name, target, ignore=shutil.ignore_patterns("__pycache__", ".proctor"))
        contract = target / "proctor.yaml"
        contract.write_text(contract.read_text().replace("progress:\n", "progress:\n  audit: never\n", 1))
        worker = target / "tools" / "worker.py"
        worker.write_text(re.sub(r"^PAUSE = .*$", f"PAUSE = {pause}", worker.read_text(), flags=re.M))
        return cls(target)

    def contract(self, old: str, new: str) -> None:
        """Change the contract's text."""
        path = self.path / "proctor.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def freeze(self) -> None:
        """Pause while a worker is at work; where that came between two workers, go on and try again."""
        while True:
            wait_until(lambda: self.live("worker").get("alive"), "a worker")
            self.proctor("pause", check=True)
            if wait_until(lambda: (now := self.live("worker")).get("paused") and now, "paused").get("frozen"):
                return
            self.proctor("resume", check=True)

    def raise_ceiling(self, dimension: str, factor: int) -> None:
        """Multiply one limit of the contract."""
        path = self.path / "proctor.yaml"
        pattern = rf"^(  {dimension}: +{{limit: \$?)([0-9.]+)"
        text, found = re.subn(pattern, lambda m: f"{m[1]}{float(m[2]) * factor:g}", path.read_text(), flags=re.M)
        assert found == 1
        path.write_text(text)

    def proctor(self, verb: str, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end; see `proctor`."""
        done = proctor(verb, self.path, *words)
        if check:
            done.check_returncode()
        return done

    def finish(self, *words: str) -> tuple[int, str]:
        """Run headless to the end: the exit code, and all that was printed."""
        done = self.proctor("run", "--headless", *words)
        return done.returncode, done.stdout + done.stderr

    def start(self, *words: str, verb: str = "run") -> subprocess.Popen[str]:
        """Start a headless run beside the test, as a process of its own."""
        command = [*PROCTOR, verb, str(self.path), "--headless", *words]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    def begin(self, *flags: str) -> None:
        """Start a supervisor as `run` does, and nobody who follows it."""
        started = launch(self.path, list(flags))
        self.supervisors.append(started.process)
        started.wait()

    def status(self) -> dict[str, Any]:
        """`status --json`."""
        return dict(json.loads(self.proctor("status", "--json", check=True).stdout))

    def client(self) -> Client | None:
        """A client that stays open, as folding a journal again for each look at it costs; None before there is one."""
        journal = journal_path(state_dir_of(self.path.resolve()))
        try:
            found = journal.stat()
        except OSError:
            return None
        if self._reading and self._reading[1] != (found.st_dev, found.st_ino):
            self.forget()
        if self._reading is None:
            try:
                self._reading = Client(self.path), (found.st_dev, found.st_ino)
            except NoJournal:
                return None
        return self._reading[0]

    def forget(self) -> None:
        """Close that client."""
        if self._reading:
            self._reading[0].close()
        self._reading = None

    def state(self) -> State | None:
        """The folded state, as a client sees it; None before there is a journal."""
        return client.state() if (client := self.client()) else None

    def live(self, key: str) -> dict[str, Any]:
        """A live row."""
        return client.live(key) if (client := self.client()) else {}

    def rows(self, *kinds: str) -> list[Row]:
        """The journal's rows of these kinds; none before there is a journal."""
        return list(client.rows(kinds=kinds)) if (client := self.client()) else []

    def events(self, *kinds: str) -> list[Event]:
        return [row.event for row in self.rows(*kinds)]

    def supervisor(self) -> int | None:
        """The pid of the living supervisor."""
        if not (client := self.client()):
            return None
        fact = client.state().supervisor
        return fact.pid if fact and client.alive() else None

    def processes(self) -> list[int]:
        """Everything alive that has to do with this workspace: by command line, folder or mounts."""
        needle = os.fsencode(self.path)
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdigit() and int(entry.name) != os.getpid() and _touches(entry.path, needle):
                found.append(int(entry.name))
        return found

    def settle(self) -> None:
        """End whatever the test left behind."""
        pid = self.supervisor()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.kill()
            child.wait()
            if child.stdout:
                child.stdout.close()
        for supervisor in self.supervisors:
            supervisor.kill()
            supervisor.wait()
        self.forget()
        wait_until(lambda: not self.processes(), "no process left")


def _touches(process: str, needle: bytes) -> bool:
    try:
        if Path(process, "stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX":
            return False
        texts = [Path(process, name).read_bytes() for name in ("cmdline", "mountinfo")]
        texts.append(os.fsencode(os.readlink(f"{process}/cwd")))
    except OSError:
        return False
    return any(needle in text for text in texts)


def opened(factory: Callable[[], Workspace]) -> Iterator[Workspace]:
    """For fixtures: a workspace that is settled in any case."""
    workspace = factory()
    try:
        yield workspace
    finally:
        workspace.settle()
