"""The session's screen: where everything is, and which keys work now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.geometry import Size
from textual.screen import Screen

from proctor.tui.actions import ACTIONS, Need, offered
from proctor.tui.operator import LOOKING
from proctor.tui.panels import banner, drift, empty, gauges, header, strip, tasks
from proctor.tui.panels.keys import footer, matters, overlay, shown
from proctor.tui.screens.own import OWN
from proctor.tui.screens.prompt import Prompt
from proctor.tui.spans import Line, Role, line, wrap
from proctor.tui.view import holding
from proctor.tui.widgets.dock import Dock
from proctor.tui.widgets.lines import Lines, Pane, words
from proctor.tui.widgets.log import Log
from proctor.words import Dimension

if TYPE_CHECKING:
    from proctor.tui.app import ProctorApp

WIDE, HUGE = 112, 190
"""Columns from which three panels stand beside each other, and from which they say more."""
TALL = 18
"""Rows below which only what is needed now is shown."""
ROOMY = 24
"""Rows below which a prompt stands in the banner's place, too."""
ANSWERS = frozenset({"approve", "approve_as", "deny", "deny_why"})
WORDED = frozenset({"approve_as", "deny_why"})
"""Answers that are given in a prompt."""
SECONDS = 5.0
"""Seconds for which one line is said."""
FACTS = ("header", "caution", "banner", "tabs", "tasks", "drift", "empty", "strip", "footer")
"""Panels that change when the session moves."""
FIGURES = ("gauges", "folded", "header", "banner", "tasks", "empty", "strip", "footer")
"""Panels that hold figures and times: painted at a bounded rate."""
TABS = ("tab_1", "tab_2", "tab_3")
ABOUT = 7
"""Rows in which the task at work stands with all that is known of it, and what follows is marked."""
DOCKED = 14
"""Rows that may be taken from the budget's panel, while a request is docked."""
_NOTHING = {"undo": "nothing to undo", "redo": "nothing to redo", "warnings": "nothing was warned of"}
WAIT = ("undo", "redo", "resume", "run")
"""What waits until it is known what a rollback takes."""
_PALETTE_KEYS = ("enter", "do it"), ("esc", "close")


@dataclass(frozen=True, slots=True)
class Said:
    """One line that is said until a moment of the application's clock."""

    text: str
    well: bool
    until: float


class Session(Screen[None]):
    """Reads the application's view; draws it; turns keys into acts."""

    CSS_PATH = "session.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide"), (HUGE, "-huge")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.key, f"do('{action.verb}')", action.label, show=False, id=action.verb) for action in ACTIONS
    ]

    def __init__(self) -> None:
        super().__init__()
        self.tab = 2
        self.log_view: Log = Log(id="log")
        self.dock: Dock = Dock(self.keys)
        self._order: list[Dimension] = []
        self._said: tuple[Said, ...] = ()
        self._unseen = ""
        self._laid: list[tuple[bool, Size]] = []
        drawn = {
            "header": self._header,
            "caution": self._caution,
            "banner": self._banner,
            "folded": self._folded,
            "tabs": self._tabs,
            "tasks": lambda width, _: tasks.tasks(self.proctor.view, width, detail=self._huge),
            "unseen": lambda width, _: [line((self._unseen, Role.DIM))],
            "drift": self._drift,
            "gauges": self._budget,
            "empty": self._empty,
            "strip": self._strip,
            "footer": self._footer,
        }
        self._panels = {name: Lines(draw, id=name) for name, draw in drawn.items()}
        self._tasks_pane = Pane(self._panels["tasks"], resized=self._keep_task_in_sight, id="tasks-pane")

    def compose(self) -> ComposeResult:
        panels = self._panels
        self._tasks_pane.border_title = "Tasks"
        panels["drift"].border_title = "Drift"
        panels["gauges"].border_title = "Budget"
        yield from (panels[name] for name in ("header", "caution", "banner", "folded", "tabs"))
        yield Horizontal(
            Vertical(self._tasks_pane, panels["unseen"], panels["drift"], id="left"),
            self.log_view,
            panels["gauges"],
            id="body",
        )
        yield panels["empty"]
        yield self.dock
        yield panels["strip"]
        yield panels["footer"]

    def on_mount(self) -> None:
        self.choose_tab(self.tab)
        self.watch(self._tasks_pane, "scroll_y", self._mark_unseen, init=False)
        self.screen_layout_refresh_signal.subscribe(self, self._laid_out)
        self.log_view.focus()
        self.show()

    @property
    def proctor(self) -> ProctorApp:
        return cast("ProctorApp", self.app)

    @property
    def in_front(self) -> bool:
        """Whether nothing lies over it."""
        stack = self.app.screen_stack
        return bool(stack) and stack[-1] is self

    @property
    def _prompted(self) -> bool:
        return isinstance(self.app.screen_stack[-1], Prompt) if self.app.screen_stack else False

    @property
    def _huge(self) -> bool:
        return self.size.width >= HUGE

    @property
    def _condition(self) -> banner.Banner | None:
        return banner.banner(self.proctor.view, starting=self.proctor.operator.starting)

    # --- what moves ---------------------------------------------------------------------------

    def show(self) -> None:
        """The session has moved: draw what is not a figure."""
        view = self.proctor.view
        self.set_class(view.state is None, "-empty")
        self.set_class(self._prompted, "-prompted")
        self.dock.show(view)
        self._title_log()
        for name in FACTS:
            self._panels[name].update()
        self._panels["caution"].set_class(not self._caution(WIDE, 1) or self.size.height < TALL, "-gone")
        said, panel = self._condition, self._panels["banner"]
        panel.set_class(said is None or (self._prompted and self.size.height < ROOMY), "-gone")
        for role in (Role.ATTENTION, Role.DANGER, Role.GOOD):
            panel.set_class(said is not None and said.role is role, f"-{role}")
        self.call_after_refresh(self._keep_task_in_sight)

    def tick(self) -> None:
        """A moment has gone: draw figures and times."""
        self._order = [gauge.dimension for gauge in self._gauges()]
        self._said = tuple(said for said in self._said if self.proctor.moment() < said.until)
        self.set_class(bool(self._said), "-saying")
        for name in FIGURES:
            self._panels[name].update()
        self.dock.update_title()
        self._title_log()

    def say(self, text: str, *, well: bool, seconds: float) -> None:
        """Say one line where the strip is. It takes the place of the one before, unless that told of a problem."""
        problems = tuple(said for said in self._said if not said.well and said.text != text)[-1:]
        self._said = (*problems, Said(text, well, self.proctor.moment() + seconds)) if text else problems
        self.tick()

    @property
    def said(self) -> tuple[str, ...]:
        """What is being said."""
        return tuple(said.text for said in self._said)

    def show_footer(self) -> None:
        """What is in front offers other keys."""
        self._panels["footer"].update()

    def choose_tab(self, tab: int) -> None:
        """The panel that is shown where there is room for one."""
        self.tab = tab
        for number in (1, 2, 3):
            self.set_class(tab == number, f"-tab-{number}")
        self.call_after_refresh(self.tick)

    def on_log_changed(self) -> None:
        self._title_log()
        self._panels["footer"].update()
        self._panels["tabs"].update()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    def _laid_out(self, _: object) -> None:
        """Paint all of it where a panel has come, gone, or has another size: asked where something is while a layout is
        due, Textual sees nothing move in it, paints what is new alone, and tells nobody of the size."""
        panels = *self.children, *(panel for body in self.query("#body") for panel in body.children)
        laid = [(panel.display, panel.outer_size) for panel in panels]
        if laid != self._laid:
            self._laid = laid
            self.log_view.fit()
            self.refresh()

    def on_screen_suspend(self) -> None:
        self.call_after_refresh(self.show)

    def on_screen_resume(self) -> None:
        self.dock.guard()
        self.show()

    def _log_words(self) -> tuple[str, str]:
        """What the log is about now, and whether it follows."""
        log, view = self.log_view, self.proctor.view
        title = "frozen" if view.frozen else view.step
        return title, "following" if log.following else (f"held · {log.new:,} new" if log.new else "held")

    def _title_log(self) -> None:
        title, badge = self._log_words()
        self.log_view.border_title = words(self, f"Worker · {title}" if title else "Worker")
        self.log_view.border_subtitle = words(self, badge)

    def _keep_task_in_sight(self) -> None:
        pane = self._tasks_pane
        if pane.max_scroll_y and not pane.has_focus:
            row = tasks.position(self.proctor.view, pane.content_size.width, detail=self._huge)
            above = max(0, pane.content_size.height - ABOUT) // 2
            pane.scroll_to(y=max(0, row - above), animate=False)
        self._mark_unseen()

    def _mark_unseen(self) -> None:
        """Say how much of the task list is out of sight: in the border, or where there is none below it."""
        pane, view = self._tasks_pane, self.proctor.view
        size = pane.content_size
        self._unseen = tasks.unseen(view, size.width, round(pane.scroll_y), size.height, detail=self._huge)
        pane.border_subtitle = words(self, self._unseen)
        self._panels["unseen"].set_class(not pane.max_scroll_y, "-gone")
        self._panels["unseen"].update()

    # --- keys ---------------------------------------------------------------------------------

    def keys(self) -> dict[str, str]:
        """The verbs whose keys work now: none while something lies over the session."""
        return self.offered_keys() if self.in_front else {}

    def offered_keys(self) -> dict[str, str]:
        """The verbs that can be done here and now, and how their keys are shown."""
        waiting, dock = self.proctor.view.requests, self.dock
        of_screen = {
            Need.SHOWN: dock.request is not None and not dock.minimised and not dock.answered,
            Need.WAITING: dock.request is not None and not dock.answered,
            Need.ANOTHER: bool(waiting) and (dock.minimised or len(waiting) > 1),
            Need.LOG_FOLLOWING: self.log_view.following,
            Need.LOG_HELD: not self.log_view.following,
            Need.TABS: self.size.width < WIDE,
        }
        holds = holding(self.proctor.view) | {need for need, now in of_screen.items() if now}
        operator = self.proctor.operator
        begun = WAIT if operator.going_back else ("run", "resume") if operator.starting else ()
        verbs = (a.verb for a in ACTIONS if offered(a.verb, holds) and a.verb not in begun)
        return {verb: shown(self.proctor.key_of(verb)) for verb in verbs}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key that is not offered does nothing, and may be another action's key."""
        return parameters[0] in self.keys() if action == "do" and parameters else True

    def action_do(self, verb: str) -> None:
        """One key press, one act."""
        if verb in self.keys():
            self.act(verb)

    def on_key(self, event: Key) -> None:
        """A way through the past that is not there says so, or that it waits; so do warnings that there are none. An
        answer unfolds what was folded away; every other key that is not offered does nothing."""
        for verb in sorted(ANSWERS) if self.in_front and self.dock.minimised and self.dock.request else ():
            if self.proctor.key_of(verb) in (event.key, event.character):
                event.stop()
                self._unfold(verb)
                return
        waits = dict.fromkeys(WAIT, LOOKING) if self.proctor.operator.going_back else {}
        for verb, said in {**_NOTHING, **waits}.items():
            pressed = self.proctor.key_of(verb) in (event.key, event.character)
            if pressed and self.in_front and self.proctor.view.state and verb not in self.keys():
                self.say(said, well=True, seconds=SECONDS)

    def _unfold(self, verb: str) -> None:
        """Show what waits before anything is answered. What takes words asks for them at once: they are no keys."""
        self.dock.turn()
        self.show()
        if verb in WORDED and not self.dock.answered:
            self.proctor.operator.answer(verb, asked=True)
        else:
            self.say("unfolded, and nothing is answered yet: the key again answers it", well=True, seconds=SECONDS)

    def act(self, verb: str) -> None:
        """Do what is offered."""
        if verb not in self.offered_keys():
            return
        if verb in ANSWERS:
            self.proctor.operator.answer(verb)
        elif own := OWN.get(verb):
            own(self)
        else:
            self.proctor.operator.do(verb)
        self.show()

    # --- the panels ---------------------------------------------------------------------------

    def _gauges(self) -> list[gauges.Gauge]:
        return gauges.arrange(gauges.read(self.proctor.view), self._order)

    def _header(self, width: int, _: int) -> list[Line]:
        hidden = len(self.proctor.view.requests) if self.dock.minimised or self._prompted else 0
        return [header.header(self.proctor.view, width, hidden_requests=hidden)]

    def _caution(self, width: int, _: int) -> list[Line]:
        state = self.proctor.view.state
        said = header.cautions(state) if state else []
        return [line((f" {row}", role)) for text, role in said for row in wrap(text, width - 2, 2)]

    def _banner(self, width: int, _: int) -> list[Line]:
        said = self._condition
        return banner.panel(said, width, self.keys(), banner.rows(self.size.height)) if said else []

    def _folded(self, width: int, _: int) -> list[Line]:
        return gauges.folded(self._gauges(), width, 2 if self.size.height >= TALL else 1)

    def _tabs(self, width: int, _: int) -> list[Line]:
        view = self.proctor.view
        total = len(view.state.tasks) if view.state else 0
        named = zip(TABS, (f"tasks {view.verified}/{total}", "worker", "budget"), strict=True)
        names = tuple((shown(self.proctor.key_of(verb)), name) for verb, name in named)
        told = self._log_words() if self.tab == 2 else ()
        return [header.tabs(names, self.tab, told if self.log_view.following else told[::-1], width)]

    def _empty(self, width: int, _: int) -> list[Line]:
        view = self.proctor.view
        return empty.empty(view, width, self.keys(), starting=self.proctor.operator.starting) if not view.state else []

    def _drift(self, width: int, height: int) -> list[Line]:
        """The task at work has room first; what the tasks leave empty is here."""
        view, border = self.proctor.view, 0 if self.size.width < WIDE else 2
        listed = min(len(tasks.tasks(view, width, detail=self._huge)), ABOUT)
        keys = self.offered_keys()
        rows = max(2, height - border - listed)
        return drift.panel(view, width, rows, keys.get("warnings", ""), keys.get("lights", ""))

    def _budget(self, width: int, height: int) -> list[Line]:
        return gauges.panel(self.proctor.view, self._gauges(), width, height, self.size.height - DOCKED)

    def _strip(self, width: int, _: int) -> list[Line]:
        """The strip, or what is being said: one line while something lies above it."""
        found = [
            line((f" {row}", Role.TEXT if said.well else Role.ATTENTION))
            for said in self._said
            for row in wrap(said.text, width - 2, 3)
        ]
        if found:
            return found if self.in_front else found[-1:]
        return [strip.strip(self.proctor.view, width, self.keys())]

    def _footer(self, width: int, _: int) -> list[Line]:
        if not self.in_front and (stack := self.app.screen_stack):
            return [overlay(getattr(stack[-1], "keys_shown", _PALETTE_KEYS), width)]
        stop, folded = self.proctor.operator.stop_armed, self.dock.minimised
        return [footer(self.keys(), width, armed_stop=stop, first=matters(self.proctor.view), folded=folded)]
