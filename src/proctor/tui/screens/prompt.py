"""A prompt at the foot of the screen: one line to type; enter gives it, escape takes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input

from proctor.tui.spans import Line, Role, line, shorten
from proctor.tui.widgets.lines import Lines, words


class Field(Input):
    """Takes keys in the order in which they come, and none after the line was given until that is `answered`. In
    Textual's own, letters overtake the keys that have an action where many come at once: those bubble up to the app
    first."""

    def __init__(self, value: str, *, select_on_focus: bool) -> None:
        super().__init__(value, id="prompt-input", select_on_focus=select_on_focus)
        self._given = self._gone = False
        self._later: list[Key] = []

    async def on_key(self, event: Key) -> None:
        if self._given:
            event.stop()
            event.prevent_default()
            self._later.append(event)
            self._hand_on()
            return
        self._given = event.key == "enter"
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.stop()
            event.prevent_default()
            await self.run_action(binding.action)

    def answered(self, *, well: bool) -> None:
        """The line that was given was taken, or is edited on. What was pressed since is for what is in front then."""
        self._given, self._gone = well, well
        self._hand_on()

    def _hand_on(self) -> None:
        if self._given and not self._gone:
            return
        later, self._later = self._later, []
        for key in later:
            (self.app if self._gone else self).post_message(Key(key.key, key.character))

    def takes(self, event: Key) -> bool:
        """Whether a key that comes here goes no further."""
        return event.is_printable or event.key in self._bindings.key_to_bindings


class Prompt(ModalScreen[str | None]):
    """Asks for one line. `check` says in a sentence what is wrong with a text, or nothing.

    A `hint` that is a function is called whenever the session moves.

    A `value` to begin with is edited; with `replace` it is an offer, selected, so that typing takes its place.
    """

    CSS_PATH = "overlay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", show=False)]

    def __init__(
        self,
        title: str,
        hint: str | Callable[[], str],
        value: str = "",
        check: Callable[[str], str] | None = None,
        verb: str = "send",
        *,
        replace: bool = False,
    ) -> None:
        super().__init__()
        self._title, self._verb = title, verb
        self._hint = hint if callable(hint) else lambda: hint
        self._check = check or (lambda text: "" if text.strip() else "it is empty")
        self._problem = ""
        self._field = Field(value, select_on_focus=replace)

    def compose(self) -> ComposeResult:
        with Vertical(id="prompt") as box:
            box.border_title = words(self, self._title)
            yield Lines(self._about, id="prompt-hint")
            yield self._field
            yield Lines(self._below, id="prompt-problem")

    def on_mount(self) -> None:
        self._field.focus()

    def take(self, event: Key) -> None:
        """Type what was pressed behind the key that opened this, and went by before there was a line to type into."""
        if self._field.takes(event):
            event.prevent_default()
            self._field.post_message(Key(event.key, event.character))

    def show(self) -> None:
        """The session has moved, perhaps before there is anything on this screen."""
        for hint in self.query("#prompt-hint").results(Lines):
            hint.update()

    def on_input_changed(self, _: Input.Changed) -> None:
        self._say("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        problem = self._check(event.value)
        if problem:
            self._say(problem)
        else:
            self.dismiss(event.value.strip())
        self._field.answered(well=not problem)

    def _say(self, problem: str) -> None:
        self._problem = problem
        self.query_one("#prompt-problem", Lines).update()

    def _about(self, width: int, _: int) -> list[Line]:
        return [line((shorten(self._hint(), width), Role.DIM))]

    def _below(self, width: int, _: int) -> list[Line]:
        return [line((self._problem, Role.ATTENTION))]

    @property
    def keys_shown(self) -> tuple[tuple[str, str], ...]:
        """The keys that work while this is in front."""
        return ("enter", self._verb), ("esc", "cancel")
