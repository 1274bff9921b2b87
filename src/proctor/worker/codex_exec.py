"""`codex exec --json`, for where nobody asks: it never does, and cannot be spoken to."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.worker.base import Note, Result, Started, Tool, Trouble, TurnEnded
from proctor.worker.codex import NOTE, launch
from proctor.worker.codex_items import Failure, Item, Tokens, respelled
from proctor.worker.dialect import Dialect, Launch, Send, Setting, Stdin, Tell
from proctor.worker.rpc import keep

OPTIONS = ("exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-")


class Event(msgspec.Struct):
    """The fields of every line; each has some of them."""

    type: str
    thread_id: str = ""
    item: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    message: str | None = None
    error: Failure | None = None


class CodexExec(Dialect):
    """One thread of one turn. What it says of tokens is the sum of the turn, and nothing where that failed."""

    asks = False

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command

    def launch(self, setting: Setting) -> Launch:
        self._model = setting.model
        return launch(self._command, OPTIONS, setting, Stdin.BRIEF)

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        self._running: dict[str, None] = {}

    def heard(self, source: str, line: bytes) -> None:
        if source != "stdout":
            return
        try:
            self._happened(msgspec.json.decode(line, type=Event))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        """Nothing was asked."""

    def interrupt(self) -> None:
        """It listens to nobody."""

    def _happened(self, event: Event) -> None:
        match event.type:
            case "thread.started":
                self.tell(Started(model=self._model or "", conversation=event.thread_id))
            case "item.started" | "item.completed" if event.item:
                self._item(msgspec.convert(respelled(event.item), Item), event.type == "item.completed")
            case "error" if event.message:
                self.tell(Trouble(event.message[:NOTE]))
            case "turn.completed":
                if event.usage:
                    self.tell(msgspec.convert(respelled(event.usage), Tokens).usage(self._model))
                self.tell(TurnEnded(True))
            case "turn.failed":
                why = str(event.error or "it failed without a word")[:NOTE]
                self.tell(Trouble(why, fatal=True))
                self.tell(TurnEnded(False, why))

    def _item(self, item: Item, ended: bool) -> None:
        if call := item.call():
            self._called(call, item.result() if ended else None)
        elif item.type == "agent_message" and item.text:
            self.tell(Note(item.text[:NOTE]))
        elif item.type == "error" and item.message:
            self.tell(Trouble(item.message[:NOTE]))

    def _called(self, call: Tool, result: Result | None) -> None:
        """Some calls are heard of only when they have ended."""
        if call.id not in self._running:
            keep(self._running, call.id, None)
            self.tell(call)
        if result:
            self._running.pop(call.id, None)
            self.tell(result)
