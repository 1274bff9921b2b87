"""The themes that ship: complete, named after their files, and readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

THEMES = sorted((Path(__file__).parents[2] / "themes").glob("*.yaml"))
COLOURS = {"background", "surface", "panel", "text", "dim", "faint", "primary", "attention", "danger", "good"}


def read(path: Path) -> dict[str, Any]:
    theme: dict[str, Any] = yaml.safe_load(path.read_text())
    return theme


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_dark_light_mono_and_high_contrast_ship() -> None:
    assert {"dark", "light", "mono", "high-contrast"} <= {path.stem for path in THEMES}


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_a_theme_is_named_after_its_file_and_gives_every_colour(path: Path) -> None:
    theme = read(path)
    assert theme["name"] == path.stem
    assert isinstance(theme["dark"], bool)
    assert set(theme["colours"]) == COLOURS


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_everything_that_is_read_stands_out_from_what_is_behind_it(path: Path) -> None:
    colours = read(path)["colours"]
    floor = 7.0 if path.stem == "high-contrast" else 4.5
    for behind in (colours["background"], colours["surface"]):
        assert contrast(colours["faint"], behind) >= 2.2
        for word in ("text", "dim", "primary", "attention", "danger", "good"):
            assert contrast(colours[word], behind) >= floor, (word, behind)


@pytest.mark.parametrize("path", THEMES, ids=lambda path: path.stem)
def test_light_is_light_and_dark_is_dark(path: Path) -> None:
    theme = read(path)
    assert (luminance(theme["colours"]["background"]) < 0.2) is theme["dark"]
