"""The session's screen: where everything is, and which keys work now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen

from proctor.tui.actions import ACTIONS, Need, offered
from proctor.tui.panels import banner, empty, gauges, header, strip, tasks
from proctor.tui.panels.help import pages
from proctor.tui.panels.keys import footer, overlay, shown
from proctor.tui.panels.request import subject
from proctor.tui.screens.budget import Budget
from proctor.tui.screens.reading import Reading, patch_line
from proctor.tui.spans import Line, Role, fit, line, spread, wrap
from proctor.tui.view import holding
from proctor.tui.widgets.dock import Dock
from proctor.tui.widgets.lines import Lines, words
from proctor.tui.widgets.log import Log
from proctor.words import Dimension

if TYPE_CHECKING:
    from proctor.tui.app import ProctorApp

WIDE = 100
"""Columns from which the three panels stand beside each other."""
ANSWERS = frozenset({"approve", "approve_as", "deny", "deny_why"})


class Session(Screen[None]):
    """Reads the application's view; draws it; turns keys into acts."""

    CSS_PATH = "session.tcss"
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-narrow"), (WIDE, "-wide"), (160, "-huge")]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (18, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.key, f"do('{action.verb}')", action.label, show=False, id=action.verb) for action in ACTIONS
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tab = 2
        self._order: list[Dimension] = []

    @property
    def proctor(self) -> ProctorApp:
        return cast("ProctorApp", self.app)

    @property
    def _in_front(self) -> bool:
        return self.app.screen is self

    # --- what there is ------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Lines(self._header, id="header")
        yield Lines(self._caution, id="caution")
        yield Lines(self._banner, id="banner")
        yield Lines(self._folded, id="folded")
        yield Lines(self._tabs, id="tabs")
        with Horizontal(id="body"):
            with Vertical(id="left"):
                with VerticalScroll(id="tasks-pane") as pane:
                    pane.border_title = "Tasks"
                    yield Lines(self._tasks, id="tasks")
                drift = Lines(self._signs, id="signs")
                drift.border_title = "Drift"
                yield drift
            yield Log(id="log")
            budget = Lines(self._gauges, id="gauges")
            budget.border_title = "Budget"
            yield budget
        yield Lines(self._empty, id="empty")
        yield Dock(self.keys)
        yield Lines(self._strip, id="strip")
        yield Lines(self._footer, id="footer")

    def on_mount(self) -> None:
        self._show_tab()
        self.log_view.focus()
        self.show()

    @property
    def log_view(self) -> Log:
        return self.query_one(Log)

    @property
    def dock(self) -> Dock:
        return self.query_one(Dock)

    # --- what moves ---------------------------------------------------------------------------

    def show(self) -> None:
        """The session has moved: draw what is not a figure."""
        view = self.proctor.view
        self.set_class(view.state is None, "-empty")
        self.dock.show(view)
        self._title_log()
        for name in ("header", "caution", "banner", "tabs", "tasks", "signs", "empty", "strip", "footer"):
            self.query_one(f"#{name}", Lines).update()
        self.query_one("#caution").set_class(not self._caution(80, 1) or self.size.height < 18, "-gone")
        shown = banner.banner(view)
        widget = self.query_one("#banner")
        widget.set_class(shown is None, "-gone")
        for role in (Role.ATTENTION, Role.DANGER, Role.GOOD):
            widget.set_class(shown is not None and shown.role is role, f"-{role}")
        self.call_after_refresh(self._keep_task_in_sight)

    def tick(self) -> None:
        """A quarter of a second has gone: figures and times."""
        self._order = [gauge.dimension for gauge in gauges.arrange(gauges.read(self.proctor.view), self._order)]
        for name in ("gauges", "folded", "header", "tasks", "strip", "footer", "banner"):
            self.query_one(f"#{name}", Lines).update()
        self.dock.update_title()
        self._title_log()

    def on_log_changed(self) -> None:
        self._title_log()
        self.query_one("#footer", Lines).update()
        self.query_one("#tabs", Lines).update()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    def _log_words(self) -> tuple[str, str]:
        """What the log is about now, and whether it follows."""
        log, view = self.log_view, self.proctor.view
        title = " · ".join(word for word in (view.step, "frozen" if view.frozen else "") if word)
        return title, "following" if log.following else (f"held · {log.new:,} new" if log.new else "held")

    def _title_log(self) -> None:
        title, badge = self._log_words()
        self.log_view.border_title = words(self, f"Worker · {title}" if title else "Worker")
        self.log_view.border_subtitle = words(self, badge)

    def _keep_task_in_sight(self) -> None:
        pane = self.query_one("#tasks-pane", VerticalScroll)
        row = tasks.position(self.proctor.view, pane.content_size.width, detail=self.has_class("-huge"))
        if pane.max_scroll_y and not pane.has_focus:
            pane.scroll_to(y=max(0, row - pane.size.height // 2), animate=False)

    # --- keys ---------------------------------------------------------------------------------

    def keys(self) -> dict[str, str]:
        """The verbs whose keys work now: none while something lies over the session."""
        return self.offered_keys() if self._in_front else {}

    def offered_keys(self) -> dict[str, str]:
        """The verbs that can be done here and now, and how their keys are shown."""
        holds = holding(self.proctor.view)
        waiting, dock = self.proctor.view.requests, self.dock
        of_screen = {
            Need.SHOWN: dock.request is not None and not dock.minimised and not dock.answered,
            Need.ANOTHER: bool(waiting) and (dock.minimised or len(waiting) > 1),
            Need.LOG_FOLLOWING: self.log_view.following,
            Need.LOG_HELD: not self.log_view.following,
            Need.TABS: not self.has_class("-wide") and not self.has_class("-huge"),
        }
        holds |= {need for need, holding_now in of_screen.items() if holding_now}
        return {a.verb: shown(self.proctor.key_of(a.verb)) for a in ACTIONS if offered(a.verb, holds)}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key that is not offered does nothing, and may be another action's key."""
        return parameters[0] in self.keys() if action == "do" and parameters else True

    def action_do(self, verb: str) -> None:
        """One key press, one act."""
        if verb in self.keys():
            self.act(verb)

    def act(self, verb: str) -> None:
        """Do what is offered."""
        if verb not in self.offered_keys():
            return
        if verb in ANSWERS:
            self.proctor.operator.answer(verb)
        elif own := getattr(self, f"_do_{verb}", None):
            own()
        else:
            self.proctor.operator.do(verb)
        self.show()

    def on_screen_suspend(self) -> None:
        self.call_after_refresh(self.show)

    def on_screen_resume(self) -> None:
        self.show()

    def show_footer(self) -> None:
        """What is in front offers other keys."""
        self.query_one("#footer", Lines).update()

    def _do_help(self) -> None:
        self.app.push_screen(Reading("Help", pages(self.offered_keys(), self.size.width - 8), key="question_mark"))

    def _do_palette(self) -> None:
        self.app.action_command_palette()

    def _do_next(self) -> None:
        self.dock.turn()

    def _do_minimise(self) -> None:
        self.dock.minimised = True

    def _do_inspect(self) -> None:
        if self.dock.request is not None:
            opened = self.dock.request.opened
            _, text = subject(self.dock.request)
            raw = [*text.split("\n"), "", *(f"{name}: {value}" for name, value in opened.input.items())]
            self.app.push_screen(Reading(f"Request #{self.dock.request.id}", raw, key="i"))

    def _do_diff(self) -> None:
        def show(patch: str) -> None:
            raw = patch.split("\n") if patch.strip() else ["Nothing has changed since the last good checkpoint."]
            self.app.push_screen(Reading("Since the last good checkpoint", raw, patch_line, key="v"))

        self.proctor.operator.show_diff(show)

    def _do_budget(self) -> None:
        self.app.push_screen(Budget())

    def _do_hold(self) -> None:
        self.log_view.hold(False)

    def _do_follow(self) -> None:
        self.log_view.hold(True)

    def _do_copy(self) -> None:
        request = self.dock.request
        visible = request is not None and not self.dock.minimised
        self.proctor.copy(subject(request)[1] if visible and request else self.log_view.text())

    def _do_quit(self) -> None:
        self.app.exit(0)

    def _do_tab_1(self) -> None:
        self._choose_tab(1)

    def _do_tab_2(self) -> None:
        self._choose_tab(2)

    def _do_tab_3(self) -> None:
        self._choose_tab(3)

    def _choose_tab(self, tab: int) -> None:
        self._tab = tab
        self._show_tab()

    def _show_tab(self) -> None:
        for number in (1, 2, 3):
            self.set_class(self._tab == number, f"-tab-{number}")
        self.call_after_refresh(self.tick)

    # --- the panels ---------------------------------------------------------------------------

    def _header(self, width: int, _: int) -> list[Line]:
        hidden = len(self.proctor.view.requests) if self.dock.minimised else 0
        return [header.header(self.proctor.view, width, hidden_requests=hidden)]

    def _caution(self, width: int, _: int) -> list[Line]:
        state = self.proctor.view.state
        said = header.CAUTIONS.get(state.sandbox) if state else None
        return [line((f" {row}", Role.ATTENTION)) for row in wrap(said, width - 2, 2)] if said else []

    def _banner(self, width: int, _: int) -> list[Line]:
        shown = banner.banner(self.proctor.view)
        return banner.panel(shown, width, self.keys()) if shown else []

    def _folded(self, width: int, _: int) -> list[Line]:
        ordered = gauges.arrange(gauges.read(self.proctor.view), self._order)
        return gauges.folded(self.proctor.view, ordered, width, 2 if self.size.height >= 20 else 1)

    def _tabs(self, width: int, _: int) -> list[Line]:
        view = self.proctor.view
        total = len(view.state.tasks) if view.state else 0
        names = ((1, f"tasks {view.verified}/{total}"), (2, "worker"), (3, "budget"))
        fields = [
            (0 if number == self._tab else number, line((f" {number} ", Role.FAINT), (f"{name} ", Role.DIM)))
            if number != self._tab
            else (0, line((f" {number} {name} ", Role.PLAIN_BADGE)))
            for number, name in names
        ]
        title, badge = self._log_words()
        left = fit(fields, width, 1)
        right = line((f"{title}   {badge} ", Role.DIM)) if self._tab == 2 else ()
        return [spread(left, right if len(title + badge) + 8 + sum(len(t) for t, _ in left) <= width else (), width)]

    def _tasks(self, width: int, _: int) -> list[Line]:
        return tasks.tasks(self.proctor.view, width, detail=self.has_class("-huge"))

    def _signs(self, width: int, _: int) -> list[Line]:
        return tasks.signs(self.proctor.view, width)

    def _gauges(self, width: int, height: int) -> list[Line]:
        ordered = gauges.arrange(gauges.read(self.proctor.view), self._order)
        return gauges.panel(self.proctor.view, ordered, width, height)

    def _empty(self, width: int, _: int) -> list[Line]:
        return empty.empty(self.proctor.view, width, self.keys()) if self.proctor.view.state is None else []

    def _strip(self, width: int, _: int) -> list[Line]:
        return [strip.strip(self.proctor.view, width, self.keys())]

    def _footer(self, width: int, _: int) -> list[Line]:
        if not self._in_front:
            return [overlay(getattr(self.app.screen, "keys_shown", (("enter", "do it"), ("esc", "close"))), width)]
        return [footer(self.keys(), width, armed_stop=self.proctor.operator.stop_armed)]
