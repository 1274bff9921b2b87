"""A desk for screens: a workspace with a name, an operator without a configuration, a stand-in supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import textual.app
from textual.pilot import Pilot

from proctor.journal import events as ev
from proctor.journal.state import CheckpointState
from proctor.supervisor.toll import Toll
from proctor.tui.app import ProctorApp
from proctor.words import CheckpointKind
from tui.story import Story

GOOD = CheckpointState(
    id="c2",
    at=datetime(2026, 1, 1, tzinfo=UTC),
    taken=ev.CheckpointTaken(id="c2", checkpoint=CheckpointKind.TASK, task=2, commit="", tree=""),
)

HOPS = 50
"""Turns of the loop in which a key goes from the driver to the widget in focus, and up to who acts on it."""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests is read or written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def keys_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is pressed has been acted on, however busy the machine is. Textual's pilot waits until its process
    uses no time, and one that is given none uses none."""
    wait_for_idle = textual.app.wait_for_idle

    async def wait(*moments: float) -> None:
        await wait_for_idle(*moments)
        for _ in range(HOPS):
            await asyncio.sleep(0)

    monkeypatch.setattr(textual.app, "wait_for_idle", wait)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "csv_tool"
    folder.mkdir()
    return folder


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    told = Story(workspace)
    yield told
    told.close()


class Desk:
    """What the screen was given, and what it asked of it."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.offline: list[tuple[str, dict[str, Any]]] = []
        self.started = 0
        self.moment = 0.0
        """What lasts a moment on the screen lasts until a test moves this on: no test has to be quick to see it."""
        self.toll = Toll(GOOD, ())
        self.patch = "--- a/reader.py\n+++ b/reader.py\n@@ -1 +1 @@\n-old\n+new\n"

    def app(self, **more: Any) -> ProctorApp:
        return ProctorApp(
            self.workspace,
            offline=self._offline,
            start=self._start,
            diff=lambda: self.patch,
            preview=lambda: self.toll,
            **{"theme": "dark", "moment": lambda: self.moment, **more},
        )

    def _offline(self, verb: str, arguments: dict[str, Any]) -> str:
        self.offline.append((verb, arguments))
        return f"{verb}: done without a supervisor"

    def _start(self) -> None:
        self.started += 1


@pytest.fixture
def desk(workspace: Path) -> Desk:
    return Desk(workspace)


async def until(pilot: Pilot[Any], condition: Callable[[], object], what: str = "") -> None:
    """Wait until something holds, for at most ten seconds of the screen's own time."""
    for _ in range(400):
        if condition():
            return
        await pilot.pause(0.025)
    raise AssertionError(f"never came true: {what or condition}\n{shown(pilot.app)}")


async def settled(pilot: Pilot[Any]) -> None:
    """The session is on the screen."""
    await until(pilot, lambda: pilot.app.view.state is not None, "the session was read")
    await pilot.pause()


def shown(app: ProctorApp) -> str:
    """Everything on the screen, as text."""
    width, height = app.size
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    options = app.console.options.update(width=width, height=height)
    lines = app.console.render_lines(update, options, pad=False)
    return "\n".join("".join(part.text for part in line if not part.control) for line in lines[:height])
