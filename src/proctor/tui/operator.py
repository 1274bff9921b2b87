"""What the operator's keys do: an order where a supervisor is up, else what was given to the screen for that.

Nothing here waits: orders go through the feed, and what takes time runs in a thread whose one line comes back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proctor import units
from proctor.budget.extension import suggested
from proctor.errors import ProctorError
from proctor.journal.state import RequestState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.panels import request as requests
from proctor.tui.panels.banner import again
from proctor.tui.screens.prompt import Prompt
from proctor.tui.screens.reading import Reading
from proctor.tui.widgets.dock import AGAIN
from proctor.tui.wording import not_raised
from proctor.words import Dimension, RequestKind

if TYPE_CHECKING:
    from proctor.supervisor.launch import Launch
    from proctor.supervisor.toll import Toll
    from proctor.tui.app import ProctorApp

SOON = 0.15
"""Seconds that something may take without being mentioned."""
WHY = 15.0
"""Seconds for which it is said why nothing came of a key."""
LONG = 60.0
"""Seconds that it is mentioned at most, if it does not end before."""
STARTING = "starting …"
LOOKING = "going back: looking for edits of yours …"
_ORDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "pause": ("pause", {}),
    "park": ("park", {}),
    "fresh": ("fresh", {}),
    "checkpoint": ("checkpoint", {}),
    "undo": ("undo", {"redo": False}),
    "redo": ("undo", {"redo": True}),
}
_OFFLINE = frozenset({"checkpoint", "rollback", "undo"})
"""What can be done without a supervisor, by taking the lock."""
_DOING = {"checkpoint": "keeping the workspace …", "rollback": "going back …", "undo": "undoing …"}


class Operator:
    """The acts of one screen."""

    def __init__(self, app: ProctorApp, started: Launch | None = None) -> None:
        self._app = app
        self._started = started
        self._busy: set[str] = {"run"} if started else set()
        self._stop_until = 0.0
        self._begun: tuple[int, int] | None = None
        """The iteration that a start from here began after, and the process of the supervisor before it."""
        self._others: dict[str, Callable[[], None]] = {
            "run": self._run,
            "rollback": self._roll_back,
            "resume": self._resume,
            "stop": self._stop,
            "note": self._note,
            "extend": self._extend,
        }

    @property
    def stop_armed(self) -> bool:
        """Whether one more press stops the session."""
        return self._app.moment() < self._stop_until

    @property
    def starting(self) -> bool:
        """Whether a supervisor is being started from here."""
        return "run" in self._busy

    @property
    def going_back(self) -> bool:
        """Whether it is looked what a rollback from here would take: no other way through the past, and no worker,
        begins meanwhile."""
        return "rollback" in self._busy

    def do(self, verb: str) -> None:
        """An act on the session."""
        if verb in _ORDERS:
            self._place(*_ORDERS[verb])
        else:
            self._others[verb]()

    # --- the session --------------------------------------------------------------------------

    def _place(self, verb: str, arguments: dict[str, Any]) -> None:
        if not self._app.view.alive and verb in _OFFLINE:
            self._in_thread(verb, lambda: self._app.offline(verb, arguments), doing=_DOING[verb])
        else:
            self._app.feed.order(verb, **arguments)

    def _roll_back(self) -> None:
        """At once; but where edits of the operator would go along, he sees them first."""

        def answered(arguments: dict[str, bool] | None) -> None:
            if arguments is not None:
                self._place("rollback", dict(arguments))

        def found(toll: Toll) -> None:
            from proctor.tui.screens.toll import Preview

            if toll.takes_edits and not self._app.session.in_front:
                self._app.say("not gone back: edits of yours would go along; the key again shows them", well=False)
            elif toll.takes_edits:
                self._app.push_screen(Preview(toll), answered)
            else:
                answered({})

        self._in_thread("rollback", self._app.preview, found, doing=LOOKING)

    def _resume(self) -> None:
        if self._app.view.alive:
            self._app.feed.order("resume", **({"reset_plateau": True} if self._app.view.plateau else {}))
        else:
            self._run()

    def _run(self) -> None:
        state = self._app.view.state
        if state is not None:
            self._begun = state.iteration, state.supervisor.pid if state.supervisor else 0

        def started() -> str:
            self._app.start()
            return ""

        self._in_thread("run", started, doing=STARTING)

    def watch_start(self) -> None:
        """See whether the supervisor that was started with this screen is up; the screen ends where that has ended."""
        if self._started is None:
            return
        try:
            if not self._started.is_up():
                self._app.say(STARTING, seconds=LONG)
                return
        except ProctorError as error:
            self._app.fail(error)
        self._started = None
        self._busy.discard("run")
        self._app.say("")

    def look(self) -> None:
        """What was to go on and has ended before a worker ran says why, once a start can be asked for again."""
        state = self._app.view.state
        if self._begun is None or self.starting or state is None or state.supervisor is None:
            return
        iteration, before = self._begun
        ended = state.supervisor.ended and state.supervisor.pid != before
        if not ended and state.iteration == iteration:
            return
        self._begun = None
        if state.iteration == iteration and (said := again(self._app.view, self._app.session.offered_keys())):
            self._app.say(said, well=False, seconds=WHY)

    def _stop(self) -> None:
        if self.stop_armed:
            self._stop_until = 0.0
            self._app.feed.order("stop")
        else:
            self._stop_until = self._app.moment() + AGAIN
            self._app.set_timer(AGAIN + 0.05, self._app.show)

    def _note(self) -> None:
        hint = "One line; it goes into the worker's next brief."
        self._ask(Prompt("Note", hint), lambda text: self._app.feed.order("note", text=text))

    def _extend(self) -> None:
        if (dimension := self._app.view.ceiling) is not None:
            self.ask_extension(dimension)

    def ask_extension(self, dimension: Dimension, request: int | None = None) -> None:
        """Ask by how much, with a sensible amount to begin with."""
        view = self._app.view
        limit = view.state.limit(dimension) if view.state else None
        if limit is None:
            return
        figure = view.figures.get(dimension)
        offer = fmt.amount(dimension, suggested(dimension, figure.used if figure else 0, limit))

        def hint() -> str:
            now = self._app.view
            figure = now.figures.get(dimension)
            used = f"{fmt.amount(dimension, figure.used)} used of " if figure else ""
            return f"{used}{fmt.limit(dimension, now.state.limit(dimension) or 0 if now.state else 0)}. Raise it by:"

        def wrong(text: str) -> str:
            try:
                return not_raised(dimension, units.parse_amount(dimension, text), limit, figure.used if figure else 0)
            except ValueError as error:
                return str(error)

        def given(text: str) -> None:
            self._extend_by(dimension, units.parse_amount(dimension, text), request)

        title = f"Extend {fmt.LABEL[dimension]}"
        self._ask(Prompt(title, hint, offer, wrong, verb="extend", replace=True), given)

    def _extend_by(self, dimension: Dimension, amount: int, request: int | None) -> None:
        named = {} if request is None else {"request": request}
        self._app.feed.order("extend", dimension=str(dimension), by=amount, **named)
        if request is not None:
            self._app.dock.mark(request, f"extended by {fmt.amount(dimension, amount)} …")

    # --- requests -----------------------------------------------------------------------------

    def answer(self, verb: str, *, asked: bool = False) -> None:
        """One of the four answers, to the one request that this key press claims; one that is `asked` for in a prompt
        may come as soon as the request is there."""
        dock = self._app.dock
        claimed = dock.request.id if asked and dock.request else dock.claim()
        request = self._app.view.state.request(claimed) if claimed is not None and self._app.view.state else None
        if request is None:
            if dock.request is not None and not dock.minimised and not dock.answered:
                self._app.say("not answered: it had only just appeared; the key again answers it")
            return
        match verb, request.opened.request:
            case "approve", RequestKind.EXTENSION if offer := requests.suggestion(self._app.view, request):
                self._extend_by(*offer, request.id)
            case "approve_as", RequestKind.EXTENSION if request.opened.dimension is not None:
                self.ask_extension(request.opened.dimension, request.id)
            case "approve", _:
                self._send("approve", request.id)
            case "approve_as", RequestKind.TOOL if argument := requests.editable(request):
                self._ask_changed(request, *argument)
            case "deny", _:
                if not requests.drops(request) or self._app.dock.twice():
                    self._send("deny", request.id)
            case _:
                self._ask_reason(request, "approve" if verb == "approve_as" else "deny")

    def _ask_changed(self, request: RequestState, name: str, text: str) -> None:
        hint = f"What {safe_line(request.opened.tool, 24)} is to do instead."

        def given(changed: str) -> None:
            self._send("approve", request.id, input={**request.opened.input, name: changed})

        self._ask(Prompt(f"Allow #{request.id} changed", hint, text, verb="allow"), given)

    def _ask_reason(self, request: RequestState, verb: str) -> None:
        answers = requests.answers(request)
        word = answers.approve if verb == "approve" else answers.deny
        asked, text = requests.subject(request)
        hint = f"{safe_line(asked, 24)}  {safe_line(text, 400)}".strip()
        title = f"#{request.id}: {word}, because"
        self._ask(Prompt(title, hint, verb=word), lambda reason: self._send(verb, request.id, reason=reason))

    def _send(self, verb: str, request: int, **arguments: Any) -> None:
        self._app.feed.order(verb, id=request, **arguments)
        state = self._app.view.state
        asked = state.request(request) if state else None
        said = {"approve": "allowed", "deny": "denied"}[verb]
        if verb == "deny" and asked is not None and requests.drops(asked):
            said = f"dropping task {safe_line(str(asked.opened.task), 12)}"
        self._app.dock.mark(request, f"{said} …")

    # --- in the background --------------------------------------------------------------------

    def show_diff(self, show: Callable[[str], None]) -> None:
        """Compute the diff in a thread and show it."""
        self._in_thread("diff", self._app.diff, show, doing="comparing …")

    def _in_thread(
        self, name: str, work: Callable[[], Any], then: Callable[[Any], None] | None = None, *, doing: str
    ) -> None:
        if name in self._busy:
            self._app.say(doing, seconds=LONG)
            return
        self._busy.add(name)
        self._app.set_timer(SOON, lambda: self._app.say(doing, seconds=LONG) if name in self._busy else None)

        def run() -> None:
            try:
                text, well = work(), True
            except (ProctorError, OSError) as error:
                text, well = str(error), False
            except Exception as error:
                text, well = f"{name} failed: {type(error).__name__}: {error}", False
            with contextlib.suppress(RuntimeError):  # the screen was left meanwhile
                self._app.call_from_thread(done, text, well)

        def done(text: Any, well: bool) -> None:
            self._busy.discard(name)
            self._app.say("")
            self._app.session.show()
            self.look()
            if well and then is not None:
                then(text)
            elif "\n" in text.strip():
                said = text.strip().split("\n")
                self._app.push_screen(Reading(f"{name.capitalize()}: it did not work", said, fold=True))
            elif text:
                self._app.say(text, well=well)

        self._app.run_worker(run, thread=True, group=name, exit_on_error=False)

    def _ask(self, prompt: Prompt, given: Callable[[str], None]) -> None:
        def closed(text: str | None) -> None:
            if text is not None:
                given(text)

        self._app.push_screen(prompt, closed)
        self._app.session.show()  # other keys work now, also where the session was not in front
