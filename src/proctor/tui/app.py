"""The application: one session, one feed, one view. It reads through the feed and acts through the operator."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.events import Key
from textual.message import Message

from proctor.errors import ProctorError
from proctor.journal import checks
from proctor.supervisor.client import Client
from proctor.supervisor.process import state_home
from proctor.text import safe_line
from proctor.tui import terminal, themes
from proctor.tui.actions import BY_VERB
from proctor.tui.feed import Feed
from proctor.tui.operator import Operator
from proctor.tui.palette import Actions
from proctor.tui.panels.banner import summary
from proctor.tui.screens.budget import Budget
from proctor.tui.screens.prompt import Prompt
from proctor.tui.screens.reading import Reading
from proctor.tui.screens.session import SECONDS, TALL, Session
from proctor.tui.view import View
from proctor.tui.widgets.dock import Dock
from proctor.words import SessionStatus

if TYPE_CHECKING:
    from proctor.supervisor.launch import Launch
    from proctor.supervisor.toll import Toll

FIGURES = 0.25
"""Seconds between repaints of figures."""

Offline = Callable[[str, dict[str, Any]], str]
"""Does a checkpoint verb without a supervisor: verb and arguments in, one line out. Runs in a thread."""


class ProctorApp(App[int]):
    """The screen of one workspace's session. It may come, go and die without the session noticing."""

    TITLE = "proctor"
    CSS_PATH = "app.tcss"
    COMMANDS: ClassVar[set[Any]] = {Actions}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", show=False, priority=False)]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL, "-tall")]  # noqa: RUF012

    class Moved(Message):
        """The feed has something to take."""

    def __init__(
        self,
        workspace: Path,
        *,
        offline: Offline,
        start: Callable[[], None],
        diff: Callable[[], str],
        preview: Callable[[], Toll],
        started: Launch | None = None,
        theme: str | None = None,
        ascii_only: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        moment: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._clock = clock
        self.moment = moment
        """The seconds by which one line is said for a moment, and a second press counts."""
        self.workspace, self._contract = workspace, workspace / "proctor.yaml"
        self.offline, self.start, self.diff, self.preview = offline, start, diff, preview
        self.view = View(workspace, clock(), looked=False)
        self.feed = Feed(lambda: Client(workspace), self._wake)
        self.operator = Operator(self, started)
        self.session = Session()
        self.themes = themes.load_themes()
        self._keys, self._keys_problem = themes.load_keys()
        self.failure: ProctorError | None = None
        self._wanted_theme = theme
        self._titled = ""
        self.set_class(ascii_only, "-ascii")

    # --- life ---------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        for found in self.themes.found.values():
            self.register_theme(found)
        self.use_theme(self._wanted_theme or self._default_theme())
        self.set_keymap(self._keys)
        await self.push_screen(self.session)
        for problem in (*self.themes.problems, self._keys_problem):
            if problem:
                self.say(problem, well=False)
        if not self.is_headless:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit, 0)
        self._write(terminal.KEEP_TITLE)
        self.operator.watch_start()
        self.feed.start()
        self.set_interval(FIGURES, self._tick)

    def on_unmount(self) -> None:
        self.feed.stop()
        self._write(terminal.GIVE_TITLE_BACK)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What our style sheets use beyond Textual's own names; every theme of ours gives its own."""
        ours = {"dim": "#8d949e", "faint": "#565d67", "badge-text": "#15171a"}
        return {**super().get_theme_variable_defaults(), **ours}

    def _default_theme(self) -> str:
        if self.no_color:
            return themes.COLOURLESS
        return themes.SIXTEEN if self.console.color_system == "standard" else themes.DEFAULT

    def use_theme(self, name: str) -> None:
        """Change the colours; an unknown name is told and changes nothing."""
        if name in self.themes.found:
            self.theme = name
        else:
            self.theme = self._default_theme()
            self.say(f"no theme {safe_line(name, 40)!r}; there are {', '.join(sorted(self.themes.found))}", well=False)

    # --- what comes ---------------------------------------------------------------------------

    def _wake(self) -> None:
        self.post_message(self.Moved())

    @on(Moved)
    def _moved(self) -> None:
        news = self.feed.take()
        if news is None:
            return
        self.view = replace(
            self.view,
            now=self._clock(),
            state=news.state,
            alive=news.alive,
            gauges=news.gauges,
            loop=news.loop,
            worker=news.worker,
            fired=news.fired,
            promised=news.promised,
            found=news.found,
            trouble=news.trouble,
            startable=news.state is None and self._contract.exists(),
            looked=True,
        )
        self.session.log_view.add(news.entries)
        for verb, text, well in news.answers:
            self.say(text, well=well)
            if not well and verb in ("approve", "deny", "extend"):
                self.dock.reopen()
        self.operator.look()
        if news.notices and not self.app_focus:
            self.bell()
        self.show()

    def show(self) -> None:
        """Draw the view."""
        self.session.show()
        status = f"{self.view.status} · " if self.view.state or self.view.trouble else ""
        title = f"{status}{self.view.project} · proctor"
        if title != self._titled:
            self._titled = title
            self._write(terminal.title(safe_line(title, 120)))

    def fail(self, error: ProctorError) -> None:
        """Leave, and let it be said on the terminal why."""
        self.failure = error
        self.exit(1)

    def _tick(self) -> None:
        self.operator.watch_start()
        startable = self.view.state is None and self._contract.exists()
        self.view = replace(self.view, now=self._clock(), startable=startable)
        self.session.tick()
        for screen in self.screen_stack:
            if isinstance(screen, Budget | Reading | Prompt):
                screen.show()

    @property
    def dock(self) -> Dock:
        return self.session.dock

    # --- what goes ----------------------------------------------------------------------------

    def say(self, text: str, *, well: bool = True, seconds: float = SECONDS) -> None:
        """One quiet line above the keys, for a moment; an empty one takes back what was said."""
        self.session.say(safe_line(text, 300), well=well, seconds=seconds)

    def copy(self, text: str) -> None:
        """To the clipboard by the terminal's own sequence, and to a file where a terminal does not do that."""
        self.copy_to_clipboard(text)
        path = state_home() / "copied.txt"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_text(text, errors="replace")
        except OSError:
            self.say("copied")
        else:
            self.say(f"copied; also in {path}")

    def action_copy_text(self) -> None:
        """Copy what the page in front shows."""
        if isinstance(self.screen, Reading) and self.screen.text:
            self.copy(self.screen.text)

    def on_key(self, event: Key) -> None:
        """Every key that nothing took comes here, in order."""
        if isinstance(self.screen, Prompt):
            self.screen.take(event)

    def key_of(self, verb: str) -> str:
        """The key of an action, as bound now."""
        return self._keys.get(verb, BY_VERB[verb].key)

    def action_command_palette(self) -> None:
        """The palette, in words that every terminal can show."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="find an action", id="--command-palette"))

    def action_leave(self) -> None:
        self.exit(0)

    def _write(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)


def run(
    workspace: Path,
    *,
    offline: Offline,
    start: Callable[[], None],
    diff: Callable[[], str],
    preview: Callable[[], Toll],
    started: Launch | None = None,
    theme: str | None = None,
    mouse: bool = True,
) -> int:
    """Show the session of `workspace` until the operator leaves; the session goes on.

    Returns the exit code of a session that has ended, else 0. `offline` does checkpoint verbs without a supervisor,
    `start` starts one, `diff` gives the patch since the last good checkpoint, `preview` what a rollback there would
    take; all four run in threads. A supervisor that was just `started` may be on its way still; raises why it ended
    before it took over.
    """
    app = ProctorApp(
        workspace,
        offline=offline,
        start=start,
        diff=diff,
        preview=preview,
        started=started,
        theme=theme or os.environ.get("PROCTOR_THEME"),
        ascii_only=terminal.ascii_wanted(os.environ),
    )
    terminal.end_with_terminal()
    terminal.forget_keys()
    code = app.run(mouse=mouse)
    app.feed.join(timeout=2)
    if app.failure:
        raise app.failure
    starting = app.operator.starting
    sys.stdout.write(terminal.wrapped(farewell(app.view, starting=starting)) + "\n")
    return code or (0 if starting else ending(app.view))


def ending(view: View) -> int:
    """The exit code of an ended session; 0 while it goes on."""
    supervisor = view.state.supervisor if view.state else None
    return supervisor.exit_code or 0 if supervisor and supervisor.ended else 0


def farewell(view: View, *, starting: bool = False) -> str:
    """The last words on the terminal: the same status word, what it took, how to come back, and of a session that is
    done what measures its checks."""
    path = shlex.quote(str(view.workspace))
    if starting:
        return safe_line(f"{view.project}: its supervisor is still starting; `proctor attach {path}` comes back")
    if view.state is None:
        gone = view.looked and not view.trouble
        back = f"no session; `proctor run {path}` starts one" if gone else f"`proctor attach {path}` comes back"
        return safe_line(f"{view.project}: {back}")
    headline, (standing, *_) = summary(view)
    waits = "".join(f"; request #{request.id} still waits" for request in view.requests[:1])
    if len(view.requests) > 1:
        waits = f"; {len(view.requests)} requests still wait"
    back = "comes back" if view.alive else "shows it again"
    said = f"{view.project}: {headline[0].lower()}{headline[1:]} · {standing}{waits}; `proctor attach {path}` {back}"
    hint = checks.hint(view.state, path) if view.status is SessionStatus.DONE else ""
    return "\n".join(safe_line(one) for one in (said, hint) if one)
