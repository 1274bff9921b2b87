"""The room's walls: only what has to knows Textual, and the style sheets ship."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import proctor.tui
from proctor.data import samples_dir, themes_dir

PURE = ("actions", "entries", "format", "glyphs", "spans", "view", "panels.banner", "panels.budget", "panels.empty",
        "panels.gauges", "panels.header", "panels.help", "panels.keys", "panels.request", "panels.strip",
        "panels.tasks")  # fmt: skip


@pytest.mark.parametrize("heavy", ["textual", "yaml", "pydantic", "aiohttp", "git"])
def test_what_the_screen_says_is_known_without(heavy: str) -> None:
    code = f"import sys; {'; '.join(f'import proctor.tui.{name}' for name in PURE)}; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_style_sheets_lie_beside_what_they_dress() -> None:
    folder = Path(proctor.tui.__file__).parent
    assert {path.name for path in folder.rglob("*.tcss")} == {"app.tcss", "session.tcss", "overlay.tcss"}


def test_themes_and_samples_are_found_in_a_checkout() -> None:
    assert (themes_dir() / "dark.yaml").is_file()
    assert samples_dir().name == "sample_workspaces"
