"""Runs probes: a fresh fixture and services for each, the sandbox under test around it, the host's check after it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probes import services
from probes.boxes import Box
from probes.fixture import SETUPS, Config, build
from probes.services import Services
from probes.verify import VERIFY

HERE = Path(__file__).parent
PROBES = {path.stem: path for path in sorted((HERE / "p").glob("*.py"))}
SECONDS = 60.0
"""How long a probe may take under a sandbox."""
LEAKED = 39
"""The descriptor of an outside folder that a probe with `LEAKFD` finds open where the sandbox does not close it."""
KEPT = ("PATH", "LANG", "TERM", "USER", "LOGNAME", "SHELL", "NODE_PATH")
WORD = re.compile(r"\s*(ALLOWED|BLOCKED|SKIP|WORKS|BROKEN)\b")


@dataclass(frozen=True, slots=True)
class Result:
    """One row. `word` is ALLOWED or BLOCKED, WORKS or BROKEN, SKIP, or ERROR, which is none of them."""

    probe: str
    title: str
    goal: str
    word: str
    said: str
    control: str = ""


def header(path: Path) -> dict[str, str]:
    """The `# NAME: value` lines at the top of a probe."""
    found = {}
    for line in path.read_text().splitlines():
        if not (match := re.fullmatch(r"# ([A-Z]+): (.*)", line)):
            break
        found[match[1]] = match[2].strip()
    return found


class Bench:
    """One fixture in one layout, rebuilt for every probe from a copy of its first state."""

    def __init__(self, root: Path, layout: str) -> None:
        self.root, self.layout = str(root), layout
        self._template = f"{root}.template"
        for folder in (self.root, self._template):
            _remove(folder)
        os.makedirs(self.root)
        self._secret = f"s3cr3t{os.urandom(6).hex()}"
        self._paths = build(self.root, self._secret, layout)
        subprocess.run(["cp", "-a", self.root, self._template], check=True)
        self._key = f"sbxkey{os.urandom(4).hex()}"  # one for the whole run: a user's quota of keys is small
        if not services.add_key(self._key, self._secret):
            self._key = ""
        self._runtime = f"{self.root}/run"

    def close(self) -> None:
        for folder in (self.root, self._template):
            _remove(folder)

    @contextlib.contextmanager
    def _fresh(self, setup: str = "") -> Iterator[tuple[Config, Services]]:
        for _ in range(60):  # a daemon that outlived its sandbox may write here for some seconds
            for name in os.listdir(self.root):
                _remove(f"{self.root}/{name}")
            if not os.listdir(self.root):
                break
            time.sleep(0.3)
        subprocess.run(["cp", "-a", f"{self._template}/.", self.root], check=True)
        c: Config = {
            **self._paths,
            "tag": f"sbx{os.urandom(4).hex()}",
            "runtime_dir": self._runtime,
            "key_name": self._key,
            "python": sys.executable,
        }
        os.makedirs(self._runtime, exist_ok=True)
        if setup:
            SETUPS[setup](c)
        host = Services(c)
        c["niceness"] = host.niceness()
        try:
            shutil.copytree(HERE / "p", f"{c['ws']}/.probe")
            shutil.copy(HERE / "probelib.py", f"{c['ws']}/.probe")
            yield c, host
        finally:
            host.stop()

    def _environment(self, c: Config) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if name in KEPT}
        return {
            **kept,
            "HOME": c["home"],
            "XDG_RUNTIME_DIR": c["runtime_dir"],
            "SSH_AUTH_SOCK": c["sock_agent"],
            "ANTHROPIC_API_KEY": f"sk-{c['secret']}",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={c['sock_bus']}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _command(self, box: Box, c: Config, inner: Sequence[str]) -> list[str]:
        c["gateway_sock"] = c["gateway_host_sock"]
        Path(c["ws"], ".probe", "cfg.json").write_text(json.dumps(c))
        return box(c, inner)

    def probe(self, box: Box, name: str) -> Result:
        """One row under one sandbox."""
        path = PROBES[name]
        about = header(path)
        with self._fresh(about.get("SETUP", "")) as (c, host):
            inner = [sys.executable, f"{c['ws']}/.probe/{path.name}", f"{c['ws']}/.probe/cfg.json"]
            argv, environment = self._command(box, c, inner), self._environment(c)
            if "INBOUND" in about:
                host.dial(c["inbound_port"])
            with _leaked(c["outside"] if "LEAKFD" in about else None) as fds:
                if "TTY" in about:
                    said, c["tty_report"] = on_terminal(argv, environment, c["ws"], SECONDS)
                else:
                    said = _run(argv, environment, c["ws"], fds)
            line = next((line.strip() for line in said.splitlines() if WORD.match(line)), "")
            word = line.split(" ")[0] if line else "ERROR"
            line = line or said.strip()[-300:].replace("\n", " | ") or "not a word"
            if "VERIFY" in about and word != "SKIP":
                word = judged(about["GOAL"], word, VERIFY[about["VERIFY"]](c, host))
        return Result(name, about["PROBE"], about["GOAL"], word, line, about.get("CONTROL", ""))


def judged(goal: str, word: str, effect: bool) -> str:
    """The host's check over the probe's own word. An ERROR is never BLOCKED; what the host saw is always ALLOWED."""
    if goal == "deny":
        return "ALLOWED" if effect else "ERROR" if word == "ERROR" else "BLOCKED"
    return "BROKEN" if word == "WORKS" and not effect else word


def _remove(path: str) -> None:
    subprocess.run(["rm", "-rf", path], check=False, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def _leaked(folder: str | None) -> Iterator[tuple[int, ...]]:
    if folder is None:
        yield ()
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.dup2(fd, LEAKED, inheritable=True)
    os.close(fd)
    try:
        yield (LEAKED,)
    finally:
        os.close(LEAKED)


def _run(argv: Sequence[str], environment: dict[str, str], folder: str, fds: tuple[int, ...]) -> str:
    """The output of a command that is killed when its time is over; it may leave the output open behind it."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            argv,
            env=environment,
            cwd=folder,
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        late = ""
        try:
            child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            late = "\nstill running after its time"
        said.seek(0)
        return said.read().decode(errors="replace") + late


def on_terminal(argv: Sequence[str], environment: dict[str, str], folder: str, seconds: float) -> tuple[str, str]:
    """A command as the foreground job of a terminal of its own: its output, and what is left to be read there."""
    pid, master = pty.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir(folder)
            code = subprocess.Popen(argv, env=environment).wait()
            tty.setraw(0, termios.TCSANOW)
            left = b""
            while select.select([0], [], [], 0.3)[0] and (part := os.read(0, 100)):
                left += part
            os.write(1, b"\nLEFT<" + left.hex().encode() + b">\n")
        finally:
            os._exit(code)
    said = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)
    left_there = re.search(rb"LEFT<([0-9a-f]*)>", said)
    return said.decode("latin1"), bytes.fromhex(left_there[1].decode()).decode("latin1") if left_there else ""
