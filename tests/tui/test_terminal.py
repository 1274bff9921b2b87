"""The screen on a real terminal: it ends when the terminal does, and the session does not."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness import PATIENCE
from proctor.supervisor.launch import Launch
from proctor.tui.app import farewell
from proctor.tui.terminal import HUNG_UP, ascii_wanted, forget_keys, hushed, title
from tui.conftest import Desk, shown, until
from tui.story import Story

SCREEN = """
import sys
from pathlib import Path
from proctor.tui import app
acts = {"offline": lambda verb, args: "", "start": lambda: None, "diff": lambda: "", "preview": lambda: None}
sys.exit(app.run(Path(sys.argv[1]), **acts, theme="dark"))
"""


class Terminal:
    """A pseudo-terminal with a screen in it."""

    def __init__(self, workspace: Path, *, leader: bool) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCREEN, str(workspace)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=leader,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(slave)
        self.seen = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while data := os.read(self.master, 65536):
                self.seen += data
        except OSError:
            return

    def until(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen[-2000:]
            assert self.process.poll() is None, self.seen[-2000:]
            time.sleep(0.02)

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def close(self) -> None:
        os.close(self.master)


@pytest.mark.parametrize("how", ["signal", "only the terminal goes"])
def test_s18_when_the_terminal_hangs_up_the_screen_ends_at_once_and_the_session_goes_on(
    how: str, story: Story, workspace: Path
) -> None:
    story.running()
    terminal = Terminal(workspace, leader=how == "signal")
    terminal.until(b"RUNNING")
    if how == "signal":
        terminal.process.send_signal(signal.SIGHUP)
    else:
        terminal.close()
    assert terminal.process.wait(timeout=PATIENCE) == HUNG_UP
    assert story.state.status == "running"
    assert story.answer_orders() == []


def test_leaving_says_where_the_session_stands_and_gives_the_title_back(story: Story, workspace: Path) -> None:
    story.running()
    terminal = Terminal(workspace, leader=True)
    terminal.until(b"RUNNING")
    terminal.type(b"q")
    assert terminal.process.wait(timeout=PATIENCE) == 0
    terminal._reader.join(PATIENCE)
    said = terminal.seen.decode()
    assert title("running · csv_tool · proctor") in said
    assert "\x1b[23;2t" in said
    assert "csv_tool: running · 2 of 5 tasks verified" in said
    assert f"`proctor attach {workspace}`" in said, "a command is never broken over rows"


def test_an_ended_session_gives_its_exit_code_and_the_same_word(workspace: Path) -> None:
    story = Story(workspace).parked()
    terminal = Terminal(workspace, leader=True)
    terminal.until(b"PARKED")
    terminal.type(b"q")
    assert terminal.process.wait(timeout=PATIENCE) == 3
    terminal._reader.join(PATIENCE)
    assert "csv_tool: parked: " in terminal.seen.decode()
    story.close()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"LANG": "C.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C.UTF-8", "PROCTOR_ASCII": "1"}, True),
        ({"LC_ALL": "C", "PROCTOR_ASCII": "0"}, False),
    ],
)
def test_ascii_is_used_where_asked_or_where_the_locale_names_another_encoding(
    environment: dict[str, str], wanted: bool
) -> None:
    assert ascii_wanted(environment) is wanted


def test_what_is_typed_before_the_screen_is_there_is_neither_shown_nor_taken_for_its_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal, os.fdopen(master, "rb", buffering=0) as outside:
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(slave)
        os.write(master, b"early\na")
        assert outside.read(100) == b"early\r\na", "the terminal echoes what comes before there is a program"
        with hushed():
            assert capsys.readouterr().out == "\x1b[1A\r\x1b[J", "both rows are wiped"
            os.write(master, b"pS\n")
            forget_keys()
            assert not select.select([outside, slave], [], [], 0)[0]
        assert termios.tcgetattr(slave) == before


async def test_the_screen_is_there_before_the_supervisor_and_ends_with_it_where_it_cannot_start(
    workspace: Path, desk: Desk
) -> None:
    log = workspace / "supervisor.log"
    log.write_text("proctor: of an earlier one\n")
    ended: list[int] = []
    process = cast("Any", SimpleNamespace(pid=0, poll=lambda: ended[0] if ended else None))
    app = desk.app(started=Launch(workspace, 0, process, log, log.stat().st_size))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "starting …" in shown(pilot.app))
        assert "its supervisor is still starting" in farewell(app.view, starting=app.operator.starting)
        log.write_text(f"{log.read_text()}proctor: the sandbox was refused\n")
        ended.append(5)
        await until(pilot, lambda: app.failure is not None)
    assert app.failure is not None
    assert (str(app.failure), app.failure.exit_code) == ("the sandbox was refused", 5)


async def test_the_screen_shows_the_session_once_its_supervisor_has_taken_over(
    workspace: Path, story: Story, desk: Desk
) -> None:
    story.running()
    process = cast("Any", SimpleNamespace(pid=os.getpid(), poll=lambda: None))
    app = desk.app(started=Launch(workspace, 0, process, workspace, 0))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: not app.operator.starting and "2 worker" in shown(pilot.app))
        assert "starting …" not in shown(pilot.app)
