"""What lies over the session to be read: its own key closes it, another page's key leads there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.screen import ModalScreen

from proctor.tui.actions import BY_VERB

if TYPE_CHECKING:
    from proctor.tui.app import ProctorApp

PAGES = ("inspect", "diff", "warnings", "lights", "checks", "budget", "help")
"""The actions that open a page."""


class Over(ModalScreen[None]):
    """A page; `verb` is the action that opened it."""

    CSS_PATH = "overlay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", show=False)]

    def __init__(self, verb: str = "") -> None:
        super().__init__()
        self.verb = verb

    @property
    def proctor(self) -> ProctorApp:
        return cast("ProctorApp", self.app)

    def on_key(self, event: Key) -> None:
        session = self.proctor.session
        for verb in (self.verb, *session.offered_keys()):
            if verb in PAGES and self.proctor.key_of(verb) in (event.key, event.character):
                event.stop()
                self.dismiss()
                if verb != self.verb:
                    self.app.call_later(session.act, verb)
                return

    @property
    def others(self) -> tuple[tuple[str, str], ...]:
        """The keys of the other pages that there are now."""
        keys = self.proctor.session.offered_keys()
        return tuple((keys[verb], BY_VERB[verb].label) for verb in PAGES if verb in keys and verb != self.verb)
