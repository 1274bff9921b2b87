"""Codex, spoken to through `codex app-server`: threads, turns and approvals as JSON-RPC over its stdin and stdout.

It is told to ask before every command and every patch, and to build no sandbox of its own, for it is in one. Where
nobody asks, `codex exec` is enough. What differs between the two is how they spell the same items.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import msgspec

from proctor.worker.base import Ask, Note, Result, Started, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.dialect import Dialect, Launch, Send, Setting, Stdin, Tell
from proctor.worker.rpc import NO_METHOD, Id, Peer

PROVIDER = "proctor"
KEY = "PROCTOR_GATEWAY_TOKEN"
SHELLS = ("sh", "bash", "zsh", "dash")
HEAD = 2_000
"""Characters of a tool's output that are kept beside the raw stream."""
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
"""
"""No retries and no time-outs of its own: the gateway waits and tries again. Login shells would reset PATH."""


class Change(msgspec.Struct):
    path: str
    diff: str = ""
    kind: Any = None

    def places(self) -> list[str]:
        moved = self.kind.get("move_path") if isinstance(self.kind, dict) else None
        return [self.path, *([moved] if isinstance(moved, str) else [])]


class Item(msgspec.Struct, rename="camel"):
    """One thing in a thread, as the server spells it."""

    type: str
    id: str = ""
    status: str | None = None
    text: str | None = None
    message: str | None = None
    command: str | None = None
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    changes: list[Change] = []
    server: str | None = None
    tool: str | None = None
    arguments: Any = None
    prompt: str | None = None
    query: str | None = None
    path: str | None = None

    def call(self) -> Tool | None:
        """The tool call that it is, if it is one."""
        match self.type.replace("_", "").lower():
            case "commandexecution":
                return Tool("shell", command_input(self.command, self.cwd), self.id)
            case "filechange":
                return Tool("write", patch_input(self.changes), self.id)
            case "mcptoolcall" | "dynamictoolcall":
                given = self.arguments if isinstance(self.arguments, dict) else {}
                return Tool(_word(".".join(filter(None, (self.server, self.tool)))), given, self.id)
            case "collabagenttoolcall" | "collabtoolcall":
                return Tool("agent", {"prompt": self.prompt or ""}, self.id)
            case "websearch":
                return Tool("fetch", {"query": self.query or ""}, self.id)
            case "imageview":
                return Tool("read", {"path": self.path or ""}, self.id)
        return None

    def result(self) -> Result:
        ok = self.status == "completed" and not self.exit_code
        return Result(self.id, ok, (self.aggregated_output or "")[:HEAD])


class ExecItem(Item, rename=None):
    """The same, as `codex exec` spells it."""


def command_input(command: str | None, cwd: str | None) -> dict[str, Any]:
    return {"command": unwrapped(command or ""), **({"cwd": cwd} if cwd else {})}


def patch_input(changes: list[Change]) -> dict[str, Any]:
    """Of one file its path; of several all of them, so that none is judged by the first."""
    paths = list(dict.fromkeys(place for change in changes for place in change.places()))
    named: dict[str, Any] = {"path": paths[0]} if len(paths) == 1 else {"paths": paths}
    return named | {"diff": "\n".join(f"{change.path}\n{change.diff}" for change in changes)}


def unwrapped(command: str) -> str:
    """What a shell is given to run, out of `/bin/bash -lc '…'`; anything else as it is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    return command


def _word(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name.lower())[:100] or "tool"


class Tokens(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    def usage(self, model: str | None) -> Usage:
        """Its input holds what was cached; ours does not."""
        fresh = self.input_tokens - self.cached_input_tokens - self.cache_write_input_tokens
        return Usage(model, max(fresh, 0), self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens)


class ExecTokens(Tokens, rename=None):
    pass


class Failure(msgspec.Struct, rename="camel"):
    message: str
    additional_details: str | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.message, self.additional_details)))


class Turn(msgspec.Struct):
    id: str
    status: str = ""
    error: Failure | None = None


class Thread(msgspec.Struct, rename="camel"):
    id: str
    cli_version: str = ""


class ThreadStarted(msgspec.Struct, rename="camel"):
    thread: Thread
    model: str = ""
    approval_policy: Any = None


class TurnStarted(msgspec.Struct):
    turn: Turn


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
    message: str | None = None
    summary: str | None = None


class Question(msgspec.Struct):
    id: str
    question: str = ""


class Request(msgspec.Struct, rename="camel"):
    """The fields of every request that can be put to the operator."""

    thread_id: str
    item_id: str
    reason: str | None = None
    command: str | None = None
    cwd: str | None = None
    network_approval_context: dict[str, Any] | None = None
    questions: list[Question] = []


REFUSALS: dict[str, dict[str, Any]] = {
    "mcpServer/elicitation/request": {"action": "decline"},
    "item/permissions/requestApproval": {"permissions": {}},
    "applyPatchApproval": {"decision": "abort"},
    "execCommandApproval": {"decision": "abort"},
}
"""What is asked for and never granted: there is nothing to be had beyond the sandbox that is there."""


class Codex(Dialect):
    """A thread of one turn, the brief. A reason for a denial goes to the model as the operator's words."""

    suspends = True

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command or ("codex",)

    def launch(self, setting: Setting) -> Launch:
        self._setting = setting
        return launch(self._command, ("app-server",), setting, Stdin.OPEN)

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        self._peer = Peer(send, self._asked, self._noticed)
        self._thread = self._turn = self._model = ""
        self._items: dict[str, Item] = {}
        self._open: dict[str, tuple[Id, list[Question]]] = {}
        self._total = Tokens()
        client = {"clientInfo": {"name": "proctor", "title": "proctor", "version": "1"}, "capabilities": None}
        self._peer.ask("initialize", client, self._initialized, self._failed)

    def heard(self, source: str, line: bytes) -> None:
        if source == "stdout":
            self._peer.heard(line)

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        if asked not in self._open:
            return
        request, questions = self._open.pop(asked)
        if questions:
            return self._peer.reply(request, {"answers": _answers(questions, reason, changed)})
        if not allow and reason:
            # Before the denial itself: what is said afterwards could come after the model was asked again.
            told = {"threadId": self._thread, "expectedTurnId": self._turn, "input": text(f"Denied: {reason}")}
            self._peer.ask("turn/steer", told, lambda _: None, self._unheard)
        self._peer.reply(request, {"decision": "accept" if allow else "decline"})

    def interrupt(self) -> None:
        if self._turn:
            where = {"threadId": self._thread, "turnId": self._turn}
            self._peer.ask("turn/interrupt", where, lambda _: None, lambda _: None)

    def _initialized(self, _: Any) -> None:
        self._peer.notify("initialized")
        start = {"cwd": self._setting.workspace, "approvalPolicy": "untrusted", "sandbox": "danger-full-access"}
        model = {"model": self._setting.model} if self._setting.model else {}
        self._peer.ask("thread/start", start | model, self._thread_started, self._failed)

    def _thread_started(self, result: Any) -> None:
        started = msgspec.convert(result, ThreadStarted)
        if started.approval_policy != "untrusted":
            return self._failed("this codex would not ask before it acts")
        self._thread, self._model = started.thread.id, started.model
        self.tell(Started(started.thread.cli_version, started.model, started.thread.id))
        turn = {"threadId": self._thread, "input": text(self._setting.brief)}
        self._peer.ask("turn/start", turn, self._turn_started, self._failed)

    def _turn_started(self, result: Any) -> None:
        self._turn = msgspec.convert(result, TurnStarted).turn.id

    def _failed(self, why: str) -> None:
        self.tell(Trouble(why, fatal=True))
        self.tell(TurnEnded(False, why))

    def _unheard(self, why: str) -> None:
        self.tell(Note(f"the reason for the denial did not reach the model: {why}"))

    def _asked(self, request: Id, method: str, params: Any) -> None:
        if method in REFUSALS:
            return self._peer.reply(request, REFUSALS[method])
        asked = msgspec.convert(params, Request)
        questions: list[Question] = []
        match method:
            case "item/commandExecution/requestApproval":
                tool, given = "shell", command_input(asked.command, asked.cwd)
                if asked.network_approval_context is not None:
                    tool, given = "host", asked.network_approval_context
            case "item/fileChange/requestApproval":
                item = self._items.get(asked.item_id)
                tool, given = "write", patch_input(item.changes if item else [])
            case "item/tool/requestUserInput":
                questions = asked.questions
                tool, given = "question", {"questions": params["questions"]}
            case _:
                return self._peer.refuse(request, NO_METHOD, "not known here")
        self._open[str(request)] = request, questions
        agent = "" if asked.thread_id == self._thread else asked.thread_id
        self.tell(Ask(str(request), tool, given, asked.reason or "", agent, changeable=bool(questions)))

    def _noticed(self, method: str, params: Any) -> None:
        notice = msgspec.convert(params, Notice)
        match method:
            case "item/started" if notice.item:
                self._began(notice.item)
            case "item/completed" if notice.item:
                self._ended(notice.item)
            case "thread/tokenUsage/updated" if notice.token_usage:
                if notice.token_usage.total != self._total:
                    self._total = notice.token_usage.total
                    self.tell(notice.token_usage.last.usage(self._model or None))
            case "serverRequest/resolved" if self._open.pop(str(notice.request_id), None):
                self.tell(Withdrawn(str(notice.request_id)))
            case "error" if notice.error:
                self.tell(Trouble(str(notice.error), fatal=not notice.will_retry))
            case "warning" | "configWarning" | "guardianWarning" if said := notice.message or notice.summary:
                self.tell(Trouble(said))
            case "turn/completed" if notice.turn and notice.thread_id == self._thread:
                why = str(notice.turn.error) if notice.turn.error else notice.turn.status
                ok = notice.turn.status == "completed"
                self.tell(TurnEnded(ok, "" if ok else why))

    def _began(self, item: Item) -> None:
        if call := item.call():
            self._items[item.id] = item
            self.tell(call)

    def _ended(self, item: Item) -> None:
        if item.id not in self._items:
            self._began(item)
        if self._items.pop(item.id, None):
            self.tell(item.result())
        elif item.type == "agentMessage" and item.text:
            self.tell(Note(item.text))


class ExecEvent(msgspec.Struct):
    type: str
    thread_id: str = ""
    item: ExecItem | None = None
    usage: ExecTokens | None = None
    message: str | None = None
    error: Failure | None = None


class CodexExec(Dialect):
    """`codex exec --json`, for contracts that allow everything: it never asks, and cannot be spoken to."""

    asks = False

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command or ("codex",)

    def launch(self, setting: Setting) -> Launch:
        options = ("exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-")
        self._model = setting.model
        return launch(self._command, options, setting, Stdin.BRIEF)

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        self._running: set[str] = set()

    def heard(self, source: str, line: bytes) -> None:
        if source != "stdout":
            return
        try:
            event = msgspec.json.decode(line, type=ExecEvent)
        except (msgspec.MsgspecError, RecursionError):
            return
        match event.type:
            case "thread.started":
                self.tell(Started(model=self._model or "", conversation=event.thread_id))
            case "item.started" if event.item and (call := event.item.call()):
                self._running.add(event.item.id)
                self.tell(call)
            case "item.completed" if event.item:
                self._ended(event.item)
            case "error" if event.message:
                self.tell(Trouble(event.message))
            case "turn.completed":
                if event.usage:
                    self.tell(event.usage.usage(self._model))
                self.tell(TurnEnded(True))
            case "turn.failed":
                why = str(event.error) if event.error else "failed without a word"
                self.tell(Trouble(why, fatal=True))
                self.tell(TurnEnded(False, why))

    def _ended(self, item: ExecItem) -> None:
        if call := item.call():
            if item.id not in self._running:
                self.tell(call)
            self._running.discard(item.id)
            self.tell(item.result())
        elif item.type == "agent_message" and item.text:
            self.tell(Note(item.text))
        elif item.type == "error" and item.message:
            self.tell(Trouble(item.message))

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        """Nothing was asked."""

    def interrupt(self) -> None:
        """It listens to nobody."""


def launch(command: tuple[str, ...], words: tuple[str, ...], setting: Setting, stdin: Stdin) -> Launch:
    chosen = {f"model_providers.{PROVIDER}.base_url": f"{setting.base}/v1"}
    if setting.model:
        chosen["model"] = setting.model
    options = [word for key, value in chosen.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    return Launch(
        (*command, *options, *words),
        environment={KEY: setting.token},
        files={".codex/config.toml": SETTINGS},
        stdin=stdin,
        programs=command[:1],
    )


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words, "text_elements": []}]


def _answers(questions: list[Question], reason: str, changed: dict[str, Any] | None) -> dict[str, Any]:
    """The operator's choice for each question, else the operator's words, else none."""
    given = (changed or {}).get("answers")
    chosen = given if isinstance(given, dict) else {}
    words = {q.id: chosen.get(q.id, chosen.get(q.question, reason)) for q in questions}
    return {asked: {"answers": [said] if isinstance(said, str) and said else []} for asked, said in words.items()}
