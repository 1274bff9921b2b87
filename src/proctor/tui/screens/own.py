"""The screen's own acts: what a key changes on the screen alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from proctor.tui.panels.checks import page as measured
from proctor.tui.panels.drift import light_line, lights_page, page, page_line
from proctor.tui.panels.help import pages
from proctor.tui.panels.request import parts_of, subject
from proctor.tui.screens.budget import Budget
from proctor.tui.screens.reading import Reading, patch_line

if TYPE_CHECKING:
    from proctor.tui.screens.session import Session


def show_help(screen: Session) -> None:
    """What every key does here and now."""
    screen.app.push_screen(
        Reading("Help", pages(screen.offered_keys(), screen.size.width - 8), key=screen.proctor.key_of("help"))
    )


def inspect(screen: Session) -> None:
    """The whole request, line by line, with every argument."""
    request = screen.dock.request
    if request is not None:
        raw = [*subject(request)[1].split("\n"), ""]
        if len(pieces := parts_of(request)) > 1:
            raw += [*(f"- {piece}" for piece in pieces), ""]
        for name, value in request.opened.input.items():
            raw += f"{name}: {value if isinstance(value, str) else json.dumps(value, indent=2)}".split("\n")
        screen.app.push_screen(Reading(f"Request #{request.id}", raw, key=screen.proctor.key_of("inspect")))


def diff(screen: Session) -> None:
    """The patch since the last good checkpoint (where that is nothing, since the start), as soon as it is known."""

    def show(patch: str) -> None:
        raw = patch.split("\n") if patch.strip() else ["Nothing has changed."]
        screen.app.push_screen(Reading("What changed", raw, patch_line, key=screen.proctor.key_of("diff")))

    screen.proctor.operator.show_diff(show)


def warnings(screen: Session) -> None:
    """Every warning with its reason and all of its paths."""
    raw = page(screen.proctor.view)
    screen.app.push_screen(Reading("Look at these", raw, page_line, key=screen.proctor.key_of("warnings")))


def checks(screen: Session) -> None:
    """How much the checks catch, and what nothing verifies."""
    raw = measured(screen.proctor.view, screen.size.width - 8)
    screen.app.push_screen(Reading("What the checks catch", raw, key=screen.proctor.key_of("checks")))


def lights(screen: Session) -> None:
    """The seven lights of drift, and why each is as it is."""
    raw = lights_page(screen.proctor.view, screen.size.width - 8)
    screen.app.push_screen(Reading("Plateau and drift", raw, light_line, key=screen.proctor.key_of("lights")))


def copy(screen: Session) -> None:
    """The request that is shown, else the newest lines of the log."""
    request = screen.dock.request if not screen.dock.minimised else None
    screen.proctor.copy(subject(request)[1] if request else screen.log_view.text())


def _tab(number: int, screen: Session) -> None:
    screen.choose_tab(number)


OWN: dict[str, Callable[[Session], object]] = {
    "help": show_help,
    "palette": lambda screen: screen.app.action_command_palette(),
    "next": lambda screen: screen.dock.turn(),
    "minimise": lambda screen: screen.dock.minimise(),
    "inspect": inspect,
    "diff": diff,
    "warnings": warnings,
    "lights": lights,
    "checks": checks,
    "budget": lambda screen: screen.app.push_screen(Budget()),
    "hold": lambda screen: screen.log_view.hold(False),
    "follow": lambda screen: screen.log_view.hold(True),
    "copy": copy,
    "tab_1": partial(_tab, 1),
    "tab_2": partial(_tab, 2),
    "tab_3": partial(_tab, 3),
    "quit": lambda screen: screen.app.exit(0),
}
