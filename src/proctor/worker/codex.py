"""Codex, spoken to through `codex app-server`: threads, turns and approvals as JSON-RPC over its stdin and stdout.

It is told to ask before every command and every patch, and to build no sandbox of its own, for it is in one.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from proctor.worker import tools
from proctor.worker.base import Ask, Note, Started, Tool, Trouble, TurnEnded, Withdrawn
from proctor.worker.codex_items import Failure, Item, Tokens, command_input, patch_input, unwrapped
from proctor.worker.dialect import Dialect, Launch, Send, Setting, Stdin, Tell
from proctor.worker.rpc import BAD_PARAMS, NO_METHOD, TOO_LARGE, UNCHANGEABLE, Id, Peer, denial, keep

PROVIDER = "proctor"
KEY = "PROCTOR_GATEWAY_TOKEN"
NOTE = 4_000
SETTINGS = f"""\
model_provider = "{PROVIDER}"
check_for_update_on_startup = false
allow_login_shell = false
web_search = "disabled"
[model_providers.{PROVIDER}]
name = "{PROVIDER}"
env_key = "{KEY}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 86400000
[shell_environment_policy]
exclude = ["{KEY}"]
[analytics]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
unified_exec_tty = false
"""
"""No retries and no time-outs of its own: the gateway waits and tries again. A login shell would set another PATH. What
is typed into a program that runs is not asked for: without terminals nothing can be typed."""
CLIENT = {"clientInfo": {"name": "proctor", "title": "proctor", "version": "1"}, "capabilities": None}
POLICY = "untrusted"
"""Asks before it acts, whatever it is. A configuration file may not say so; a thread's start may."""
COMMAND = "command"
"""The kind of request that is for a command; others are for what is typed into one, and no shell rule means them."""
REFUSALS: dict[str, dict[str, Any]] = {
    "mcpServer/elicitation/request": {"action": "decline"},
    "item/permissions/requestApproval": {"permissions": {}},
    "applyPatchApproval": {"decision": "abort"},
    "execCommandApproval": {"decision": "abort"},
}
"""What is asked for and never granted: there is nothing to be had beyond the sandbox that is there."""


class Turn(msgspec.Struct):
    id: str
    status: str = ""
    error: Failure | None = None


class TurnStarted(msgspec.Struct):
    turn: Turn


class Thread(msgspec.Struct, rename="camel"):
    id: str
    cli_version: str = ""


class ThreadStarted(msgspec.Struct, rename="camel"):
    thread: Thread
    model: str = ""
    approval_policy: Any = None


class TokenUsage(msgspec.Struct):
    last: Tokens
    total: Tokens


class Notice(msgspec.Struct, rename="camel"):
    """The fields of every notification that is looked at; each has some of them."""

    thread_id: str | None = None
    turn: Turn | None = None
    item: Item | None = None
    error: Failure | None = None
    will_retry: bool = False
    token_usage: TokenUsage | None = None
    request_id: Id | None = None
    stdin: str | None = None
    message: str | None = None
    summary: str | None = None


class Question(msgspec.Struct):
    id: str
    question: str = ""
    options: Any = None


class Request(msgspec.Struct, rename="camel"):
    """The fields of every request that can be put to the operator."""

    thread_id: str
    turn_id: str
    item_id: str
    kind: str = COMMAND
    reason: str | None = None
    command: str | None = None
    cwd: str | None = None
    network_approval_context: dict[str, Any] | None = None
    questions: list[Question] | None = None


class Codex(Dialect):
    """A thread of one turn, the brief. A denial's reason goes to the model as the operator's words beside it."""

    suspends = True

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command

    def launch(self, setting: Setting) -> Launch:
        self._setting = setting
        return launch(self._command, ("app-server",), setting, Stdin.OPEN)

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        self._peer = Peer(send, self._asked, self._noticed)
        self._thread = self._turn = self._model = ""
        self._items: dict[str, Item] = {}
        self._open: dict[str, tuple[Id, Request, dict[str, Any]]] = {}
        self._total = Tokens()
        self._peer.ask("initialize", CLIENT, self._initialized, self._failed)

    def heard(self, source: str, line: bytes) -> None:
        if source == "stdout":
            self._peer.heard(line)

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        if asked not in self._open:
            return
        request, about, given = self._open.pop(asked)
        if about.questions is not None:
            return self._peer.reply(request, {"answers": answers(about.questions, reason, changed)})
        if allow and changed not in (None, given):
            allow, reason = False, UNCHANGEABLE
        if reason and not allow:
            # Before the denial itself: what is said afterwards could come after the model was asked again.
            self._steer(about, reason)
        return self._peer.reply(request, {"decision": "accept" if allow else "decline"})

    def interrupt(self) -> None:
        if self._turn:
            where = {"threadId": self._thread, "turnId": self._turn}
            self._peer.ask("turn/interrupt", where, lambda _: None, lambda _: None)

    # --- what is said ---------------------------------------------------------------------------

    def _initialized(self, _: Any) -> None:
        self._peer.notify("initialized")
        start = {"cwd": self._setting.workspace, "approvalPolicy": POLICY, "sandbox": "danger-full-access"}
        model = {"model": self._setting.model} if self._setting.model else {}
        self._peer.ask("thread/start", start | model, self._thread_started, self._failed)

    def _thread_started(self, result: Any) -> None:
        started = msgspec.convert(result, ThreadStarted)
        if started.approval_policy != POLICY:
            return self._failed("this codex would not ask before it acts")
        self._thread, self._model = started.thread.id, started.model
        self.tell(Started(started.thread.cli_version, started.model, started.thread.id))
        turn = {"threadId": self._thread, "input": spoken(self._setting.brief)}
        return self._peer.ask("turn/start", turn, self._turn_started, self._failed)

    def _turn_started(self, result: Any) -> None:
        self._turn = msgspec.convert(result, TurnStarted).turn.id

    def _steer(self, about: Request, reason: str) -> None:
        words = spoken(denial(unwrapped(about.command or ""), reason))
        said = {"threadId": about.thread_id, "expectedTurnId": about.turn_id, "input": words}
        self._peer.ask("turn/steer", said, lambda _: None, self._unheard)

    def _failed(self, why: str) -> None:
        self.tell(Trouble(why[:NOTE], fatal=True))
        self.tell(TurnEnded(False, why[:NOTE]))

    def _unheard(self, why: str) -> None:
        self.tell(Note(f"the reason for the denial did not reach the model: {why}"[:NOTE]))

    # --- what is heard --------------------------------------------------------------------------

    def _asked(self, request: Id, method: str, params: Any) -> None:
        if method in REFUSALS:
            return self._peer.reply(request, REFUSALS[method])
        asked = msgspec.convert(params, Request)
        match method:
            case "item/commandExecution/requestApproval":
                tool = "shell" if asked.kind == COMMAND else tools.canonical(asked.kind, {})
                given = command_input(asked.command, asked.cwd)
                if asked.network_approval_context is not None:
                    tool, given = "host", asked.network_approval_context
            case "item/fileChange/requestApproval":
                item = self._items.get(asked.item_id)
                tool, given = "write", patch_input(item.changes if item else [])
            case "item/tool/requestUserInput":
                tool, given = "question", {"questions": msgspec.to_builtins(asked.questions or [])}
            case _:
                return self._peer.refuse(request, NO_METHOD, "not known here")
        if tools.is_too_large(given):
            self._steer(asked, TOO_LARGE)
            return self._peer.refuse(request, BAD_PARAMS, TOO_LARGE)
        key = str(request)[: tools.MOST_NAME]
        if key in self._open:  # no answer could tell the two apart
            for one in (self._open.pop(key)[0], request):
                self._peer.refuse(one, BAD_PARAMS, "another question has the same id")
            return self.tell(Withdrawn(key))
        self._open[key] = request, asked, given
        agent = "" if asked.thread_id == self._thread else asked.thread_id[: tools.MOST_NAME]
        why = (asked.reason or "")[:NOTE]
        return self.tell(Ask(key, tool, given, why, agent, changeable=asked.questions is not None))

    def _noticed(self, method: str, params: Any) -> None:
        notice = msgspec.convert(params, Notice)
        match method:
            case "item/started" if notice.item:
                self._began(notice.item)
            case "item/completed" if notice.item:
                self._ended(notice.item)
            case "item/commandExecution/terminalInteraction" if notice.stdin:
                self.tell(Tool("shell", {"stdin": notice.stdin[: tools.MOST_TEXT]}))  # it does not ask for this
            case "thread/tokenUsage/updated" if notice.token_usage:
                if notice.token_usage.total != self._total:  # it may be told again
                    self._total = notice.token_usage.total
                    self.tell(notice.token_usage.last.usage(self._model or None))
            case "serverRequest/resolved" if self._open.pop(str(notice.request_id), None):
                self.tell(Withdrawn(str(notice.request_id)))
            case "error" if notice.error:
                self.tell(Trouble(str(notice.error)[:NOTE], fatal=not notice.will_retry))
            case "warning" | "configWarning" | "guardianWarning" if said := notice.message or notice.summary:
                self.tell(Note(said[:NOTE]))
            case "turn/completed" if notice.turn and notice.thread_id == self._thread:
                ok = notice.turn.status == "completed"
                why = str(notice.turn.error or notice.turn.status)[:NOTE]
                self.tell(TurnEnded(ok, "" if ok else why))

    def _began(self, item: Item) -> None:
        if call := item.call():
            keep(self._items, item.id, item)
            self.tell(call)

    def _ended(self, item: Item) -> None:
        if item.id not in self._items:
            self._began(item)
        if self._items.pop(item.id, None):
            self.tell(item.result())
        elif item.type == "agentMessage" and item.text:
            self.tell(Note(item.text[:NOTE]))


def launch(command: tuple[str, ...], words: tuple[str, ...], setting: Setting, stdin: Stdin) -> Launch:
    """Codex with the gateway for a provider. Its home holds the settings, whatever the contract's command is."""
    command = command or ("codex",)
    chosen = {f"model_providers.{PROVIDER}.base_url": f"{setting.base}/v1"}
    if setting.model:
        chosen["model"] = setting.model
    options = [word for key, value in chosen.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    return Launch(
        (*command, *options, *words),
        environment={KEY: setting.token},
        files={".codex/config.toml": SETTINGS},
        home=True,
        stdin=stdin,
        programs=command[:1],
    )


def spoken(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words, "text_elements": []}]


def answers(questions: list[Question], reason: str, changed: dict[str, Any] | None) -> dict[str, Any]:
    """The operator's choice for each question, else the operator's words, else nothing."""
    given = (changed or {}).get("answers")
    chosen = given if isinstance(given, dict) else {}
    words = {q.id: chosen.get(q.id, chosen.get(q.question, reason)) for q in questions}
    return {asked: {"answers": [said] if isinstance(said, str) and said else []} for asked, said in words.items()}
