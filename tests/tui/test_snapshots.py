"""A few pictures of the screen. They hold for one version of Textual, whose drawing they contain."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import textual

from proctor.tui import format as fmt
from tui.conftest import Desk
from tui.story import SCENES

pytestmark = pytest.mark.skipif(textual.__version__ != "8.2.8", reason="pictures are of Textual 8.2.8")

PICTURES = [
    ("asking", (120, 36), {}),
    ("hard", (80, 24), {}),
    ("plateau", (120, 36), {"theme": "light"}),
    ("rolled_back", (60, 20), {"theme": "mono"}),
    ("running", (120, 36), {"ascii_only": True}),
    ("done", (40, 15), {}),
]


@pytest.mark.parametrize(("scene", "size", "more"), PICTURES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_screen_looks_like_its_picture(
    scene: str,
    size: tuple[int, int],
    more: dict[str, Any],
    workspace: Path,
    desk: Desk,
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fmt, "clock", lambda at, seconds=True: "14:02:11" if seconds else "14:02")
    story = SCENES[scene](workspace)
    story.live(frozen=True, step="act")
    app = desk.app(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), **more)

    async def painted(pilot: Any) -> None:
        for _ in range(400):
            await pilot.pause(0.025)
            if app.view.state is not None and (app.dock.request is None or app.dock.armed):
                break
        await pilot.pause(0.3)
        app.session.tick()

    assert snap_compare(app, terminal_size=size, run_before=painted)
    story.close()
