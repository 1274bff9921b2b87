"""Where the files lie that ship with proctor: in the wheel beside the code, in a checkout beside `src`."""

from __future__ import annotations

from pathlib import Path

_WHEEL = Path(__file__).parent / "_data"
_CHECKOUT = Path(__file__).parents[2]


def themes_dir() -> Path:
    """The folder of the themes, one YAML file each."""
    return _folder("themes")


def samples_dir() -> Path:
    """The folder of the sample workspaces."""
    return _folder("sample_workspaces")


def _folder(name: str) -> Path:
    inside = _WHEEL / name
    return inside if inside.is_dir() else _CHECKOUT / name
