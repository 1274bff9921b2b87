"""Themes and keymaps from files: what is broken in one is told in a line, and the defaults stay."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from textual.theme import Theme

from proctor.data import themes_dir
from proctor.tui.actions import BY_VERB

COLOURS = ("background", "surface", "panel", "text", "dim", "faint", "primary", "attention", "danger", "good")
DEFAULT = "dark"
COLOURLESS = "mono"
"""What is loud by its weight; the greys of another theme's red would be dimmer than its text."""
SIXTEEN = "sixteen"
"""The terminal's own colours, for terminals that have only sixteen."""
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Themes:
    """The themes by name, and one line for each file that could not be used."""

    found: dict[str, Theme]
    problems: tuple[str, ...] = ()


class _Broken(ValueError):
    """A file that cannot be used; the text is `file:line: what`."""


def config_dir() -> Path:
    """Where an operator keeps themes (`themes/*.yaml`) and keys (`keys.yaml`)."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "proctor"


def load_themes() -> Themes:
    """What ships, then the operator's own, which may replace it."""
    found, problems = {SIXTEEN: _sixteen()}, []
    for folder in (themes_dir(), config_dir() / "themes"):
        for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            try:
                theme = _theme(path)
            except _Broken as problem:
                problems.append(str(problem))
            else:
                found[theme.name] = theme
    if DEFAULT not in found:
        found[DEFAULT] = _built("dark", True, dict(zip(COLOURS, _LAST_RESORT, strict=True)))
    return Themes(found, tuple(problems))


def load_keys() -> tuple[dict[str, str], str]:
    """The operator's keys by verb, and one line if the file cannot be used (then there are none)."""
    path = config_dir() / "keys.yaml"
    if not path.exists():
        return {}, ""
    try:
        keys = _mapping(path)
        for verb, key in keys.items():
            if verb not in BY_VERB:
                raise _Broken(f"{path}:{_line_of(path, verb)}: {verb}: no such action")
            if not isinstance(key, str) or not key:
                raise _Broken(f"{path}:{_line_of(path, verb)}: {verb}: a key is written like q, ctrl+k or f5")
    except _Broken as problem:
        return {}, f"{problem}; the default keys stay"
    return keys, ""


def _theme(path: Path) -> Theme:
    data = _mapping(path)
    colours = data.get("colours")
    if not isinstance(colours, dict):
        raise _Broken(f"{path}:1: colours: missing; see dark.yaml for an example")
    for name in COLOURS:
        value = colours.get(name)
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            raise _Broken(f'{path}:{_line_of(path, name)}: {name}: give a colour like "#8fb0d0"')
    return _built(str(data.get("name") or path.stem), bool(data.get("dark", True)), colours)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise _Broken(f"{path}:1: too large")
        data = yaml.safe_load(path.read_text())
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _Broken(f"{path}:{where}: {error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _Broken(f"{path}:1: {str(error).splitlines()[0]}") from None
    if not isinstance(data, dict):
        raise _Broken(f"{path}:1: a list of `name: value` lines is wanted")
    return {str(key): value for key, value in data.items()}


def _line_of(path: Path, name: str) -> int:
    for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if text.strip().startswith((f"{name}:", f'"{name}"')):
            return number
    return 1


def _built(name: str, dark: bool, colours: dict[str, str]) -> Theme:
    return Theme(
        name=name,
        dark=dark,
        primary=colours["primary"],
        secondary=colours["dim"],
        accent=colours["primary"],
        foreground=colours["text"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["panel"],
        warning=colours["attention"],
        error=colours["danger"],
        success=colours["good"],
        variables={
            "dim": colours["dim"],
            "faint": colours["faint"],
            "badge-text": colours["background"],
            "border": colours["faint"],
            "scrollbar": colours["panel"],
            "scrollbar-hover": colours["faint"],
            "scrollbar-active": colours["primary"],
            "scrollbar-background": colours["background"],
            "scrollbar-background-hover": colours["background"],
            "scrollbar-background-active": colours["background"],
            "scrollbar-corner-color": colours["background"],
            "input-cursor-background": colours["text"],
            "input-cursor-foreground": colours["background"],
            "input-selection-background": f"{colours['primary']} 40%",
        },
    )


def _sixteen() -> Theme:
    """Every colour is one of the terminal's own sixteen, or its default."""
    colours = ("ansi_default", "ansi_default", "ansi_bright_black", "ansi_default", "ansi_white", "ansi_bright_black",
               "ansi_bright_blue", "ansi_bright_yellow", "ansi_bright_red", "ansi_bright_green")  # fmt: skip
    theme = _built(SIXTEEN, True, dict(zip(COLOURS, colours, strict=True)))
    theme.variables.pop("input-selection-background")
    theme.variables |= {"badge-text": "ansi_black", "ansi-background": "ansi_black", "ansi-foreground": "ansi_white"}
    theme.ansi = True
    return theme


_LAST_RESORT = (
    "#15171a",
    "#191c20",
    "#22262b",
    "#d7dade",
    "#8d949e",
    "#565d67",
    "#8fb0d0",
    "#e5b454",
    "#ef6b73",
    "#7fbf8a",
)
