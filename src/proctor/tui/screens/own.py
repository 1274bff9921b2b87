"""The screen's own acts: what a key changes on the screen alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from proctor.tui.panels.checks import page as measured
from proctor.tui.panels.drift import light_line, lights_page, page, page_line
from proctor.tui.panels.help import pages
from proctor.tui.panels.request import subject, whole
from proctor.tui.screens.budget import Budget
from proctor.tui.screens.reading import Reading, patch_line
from proctor.tui.spans import Line

if TYPE_CHECKING:
    from proctor.tui.screens.session import Session


def show_help(screen: Session) -> None:
    """What every key does here and now, without a way back that is known to take nothing."""

    def now() -> list[Line]:
        view = screen.proctor.view
        keys = {verb: key for verb, key in screen.offered_keys().items() if verb != "rollback" or not view.back_there}
        return pages(keys, _room(screen), goes_on=view.alive)

    _follow(screen, "Help", "help", now)


def inspect(screen: Session) -> None:
    """The whole request, line by line, with every argument."""
    request = screen.dock.request
    if request is not None:
        raw = whole(screen.proctor.view, request)
        screen.app.push_screen(Reading(f"Request #{request.id}", raw, verb="inspect", fold=True))


def diff(screen: Session) -> None:
    """The patch since the last good checkpoint (where that is nothing, since the start), as soon as it is known, unless
    something else was opened meanwhile."""

    def show(patch: str) -> None:
        if not screen.in_front:
            return
        raw = patch.split("\n") if patch.strip() else ["Nothing has changed."]
        screen.app.push_screen(Reading("What changed", raw, patch_line, verb="diff"))

    screen.proctor.operator.show_diff(show)


def warnings(screen: Session) -> None:
    """Every warning with its reason and all of its paths."""
    _follow(screen, "Look at these", "warnings", lambda: page(screen.proctor.view, _room(screen)), page_line)


def checks(screen: Session) -> None:
    """How much the checks catch, and what nothing verifies."""
    _follow(screen, "What the checks catch", "checks", lambda: measured(screen.proctor.view, _room(screen)))


def lights(screen: Session) -> None:
    """The seven lights of drift, and why each is as it is."""
    _follow(screen, "Plateau and drift", "lights", lambda: lights_page(screen.proctor.view, _room(screen)), light_line)


def _room(screen: Session) -> int:
    """Cells of a row of a page as wide as the screen is now."""
    return screen.size.width - 8


def _follow(
    screen: Session,
    title: str,
    verb: str,
    now: Callable[[], Sequence[str] | Sequence[Line]],
    drawn: Callable[[str], Line] | None = None,
) -> None:
    """A page that moves with the session and with the size of the screen while it is open."""
    screen.app.push_screen(Reading(title, now(), drawn, verb=verb, now=now))


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
    "minimise": lambda screen: screen.dock.turn() if screen.dock.minimised else screen.dock.minimise(),
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
