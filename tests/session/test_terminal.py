"""The main job at a real terminal: tmux types and reads what a person would."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import PROCTOR, Workspace, wait_until
from proctor.words import SessionStatus

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")

WRITER = """\
import itertools, json, os, time
from pathlib import Path
asked = {"proctor": "ask", "id": 1, "tool": "shell", "input": {"command": "git push origin main"}, "why": "to share it"}
print(json.dumps(asked), flush=True)
with open(os.environ["PROCTOR_ANSWERS"]) as answers:
    print("answered", answers.readline(), flush=True)
folder = Path("made")
folder.mkdir(exist_ok=True)
begun = time.monotonic()
for n in itertools.count():
    (folder / f"{n % 3000}.txt").write_text(f"{n} {time.monotonic()}")
    Path("src/app.py").write_text(f"version = {n}")
    if n % 100 == 0:
        print(json.dumps({"proctor": "usage", "model": "claude-sonnet-4-5", "input": 400, "output": 100}), flush=True)
        print(json.dumps({"proctor": "tool", "name": "edit", "input": {"path": f"made/{n}.txt"}}), flush=True)
    time.sleep(max(0, begun + n / 1000 - time.monotonic()))
"""
TEST = """\
import unittest
class T(unittest.TestCase):
    def test_it(self):
        self.fail()
"""
CONTRACT = """\
goal: write a great deal
worker: {kind: command, command: [python, tools/worker.py], model: claude-sonnet-4-5}
state: {protect: [tests/, tools/]}
budget:
  tokens: {limit: 10M, on_exhaustion: park}
  wall_clock: {limit: 30m, on_exhaustion: park}
progress: {checks: [{run: [python, -m, unittest, tests.test_it]}]}
notify: []
"""


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux.sock"), "-f", "/dev/null"]
        self._size = ["-x", str(width), "-y", str(height)]

    def start(self, *command: str) -> None:
        variables = [f"{name}={os.environ[name]}" for name in ("XDG_STATE_HOME",)]
        self._run("new-session", "-d", *self._size, "env", *variables, "TERM=xterm-256color", *command)

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def text(self) -> str:
        return self._run("capture-pane", "-p", check=False).stdout

    def pid(self) -> int:
        return int(self._run("list-panes", "-F", "#{pane_pid}").stdout)

    def alive(self) -> bool:
        return self._run("has-session", check=False).returncode == 0

    def kill(self) -> None:
        self._run("kill-server", check=False)

    def shows(self, *words: str) -> None:
        wait_until(lambda: all(word in self.text() for word in words), f"{words} on the screen")

    def _run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=check)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Terminal, Workspace]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "busy"
    for name, text in {
        "proctor.yaml": CONTRACT,
        "PLAN.md": "- [ ] write a great deal\n",
        "tools/worker.py": WRITER,
        "src/app.py": "version = None",
        "src/data.bin": "\0\1\2 binary \r\n",
        "tests/__init__.py": "",
        "tests/test_it.py": TEST,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    workspace, terminal = Workspace(folder), Terminal(tmp_path, 120, 36)
    yield terminal, workspace
    terminal.kill()
    workspace.settle()


def sums(folder: Path) -> dict[str, str]:
    """The sha256 of every file that is part of the tree's identity."""
    owned = {"PROGRESS.md", "RULES.md", "tasks.json"}
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(".proctor") and name not in owned:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def test_supervising_at_the_desk(desk: tuple[Terminal, Workspace]) -> None:
    terminal, workspace = desk
    before = sums(workspace.path)
    terminal.start(*PROCTOR, "run", str(workspace.path))
    terminal.shows("ASKING", "git push origin main")
    wait_until(lambda: workspace.live("worker").get("frozen"), "frozen")
    time.sleep(0.4)  # a key in the first 300 ms answers nothing: that is a promise, not a race
    terminal.keys("a")
    wait_until(lambda: (s := workspace.state()) and not s.open_requests, "the answer")
    terminal.shows("RUNNING")

    first = workspace.live("gauges")["figures"]["tokens"]["used"]
    wait_until(lambda: workspace.live("gauges")["figures"]["tokens"]["used"] > first + 2000, "the gauge moves")
    wait_until(lambda: len(list((workspace.path / "made").glob("*"))) > 1000, "a thousand files")

    terminal.keys("R")
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.PAUSED, "rolled back")
    terminal.shows("PAUSED")
    assert sums(workspace.path) == before
    state = workspace.state()
    assert state is not None
    assert len(state.rollbacks) == 1
    safety = state.checkpoint(state.rollbacks[0].safety)
    assert safety is not None
    assert safety.taken.files > 1000

    terminal.keys("u")
    wait_until(lambda: (s := workspace.state()) and len(s.rollbacks) == 2 and not s.rollback, "undone")
    later = sums(workspace.path)
    assert len(later) > 1000
    terminal.shows("Rollback undone")
    terminal.keys("U")
    wait_until(lambda: (s := workspace.state()) and len(s.rollbacks) == 3 and not s.rollback, "done again")
    assert sums(workspace.path) == before
    terminal.shows("Rolled back again")
    terminal.keys("u")
    wait_until(lambda: (s := workspace.state()) and len(s.rollbacks) == 4 and not s.rollback, "undone again")
    assert sums(workspace.path) == later

    supervisor = workspace.state()
    assert supervisor is not None
    held = supervisor.supervisor
    terminal.keys("q")
    wait_until(lambda: not terminal.alive(), "detached")
    terminal.start(*PROCTOR, "attach", str(workspace.path))
    terminal.shows("PAUSED")
    os.kill(terminal.pid(), signal.SIGKILL)
    wait_until(lambda: not terminal.alive(), "the screen is dead")
    terminal.start(*PROCTOR, "attach", str(workspace.path))
    terminal.shows("PAUSED")
    after = workspace.state()
    assert after is not None
    assert after.supervisor == held
    assert workspace.supervisor() == held.pid if held else False
    assert [row.seq for row in workspace.rows()] == list(range(1, after.seq + 1))
    assert workspace.proctor("stop").returncode == 0
    terminal.shows("STOPPED")


def test_eighty_columns_show_what_matters(desk: tuple[Terminal, Workspace], tmp_path: Path) -> None:
    terminal, workspace = desk
    terminal.kill()
    small = Terminal(tmp_path, 80, 24)
    small.start(*PROCTOR, "run", str(workspace.path))
    try:
        small.shows("ASKING", "git push origin main", "allow", "deny")
        lines = small.text().splitlines()
        assert len(lines) <= 24
        assert all(len(line) <= 80 for line in lines)
        assert workspace.proctor("stop").returncode == 0
        small.shows("STOPPED")
    finally:
        small.kill()
