"""Claude Code, spoken to by lines of JSON both ways: one user message, its questions, its results.

It reads no settings of the workspace or the home, and every call of a tool that does something is put to the rules: a
hook routes also those that it would have allowed itself. Figures and exit codes of its own are no evidence.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from proctor.worker import tools
from proctor.worker.base import (
    MAX_FIGURE,
    Ask,
    Note,
    Resting,
    Started,
    Tool,
    Trouble,
    TurnEnded,
    Usage,
    Withdrawn,
)
from proctor.worker.command import as_argument, plainly
from proctor.worker.decoding import Unreadable, decoded
from proctor.worker.dialect import Dialect, Launch, Send, Setting, Stdin, Tell
from proctor.worker.rpc import TOO_LARGE

OPTIONS = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio", "--setting-sources", "", "--strict-mcp-config"),
)
# fmt: off
UNFIT = (
    "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree", "ExitWorktree", "ListAgents",
    "PushNotification", "RemoteTrigger", "ScheduleWakeup", "SendMessage",
)
"""Tools for what an iteration is not: they plan for later, leave the workspace, or talk to others."""
# fmt: on
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "API_TIMEOUT_MS": "86400000",
    "DISABLE_AUTOUPDATER": "1",
    "TERM": "dumb",
}
"""No retries and no time-outs of its own: the gateway waits and tries again."""
HOOK = "judged"
HOOKS = {"PreToolUse": [{"matcher": None, "hookCallbackIds": [HOOK], "timeout": 86400, "onFailure": "block"}]}
REQUEST = re.compile(rb'\{"type":"control_request","request_id":"([\w-]{1,100})"')
DIAGNOSTIC = "[ede_diagnostic]"
"""What begins an error that only its makers understand."""
NOTE = 4_000
MOST_SEEN = 1_000
"""Ids of messages, of tasks and of models that are remembered."""

Data = dict[str, Any]


class Claude(Dialect):
    """A session of one prompt. A denial's reason goes to the model as the tool's result."""

    suspends = True

    def __init__(self, command: tuple[str, ...] = ()) -> None:
        self._command = command or ("claude",)
        self._prompt = ""
        self._started = False
        self._handlers: dict[str, Callable[[Data], None]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._results,
            "control_request": self._asked,
            "control_cancel_request": self._withdrawn,
            "control_response": self._replied,
            "result": self._ended,
        }
        self._open: dict[str, tuple[str, Data]] = {}
        self._tasks: set[str] = set()
        self._seen: dict[str, None] = {}
        self._counted: Counter[tuple[str, str]] = Counter()

    def launch(self, setting: Setting) -> Launch:
        self._prompt = setting.brief
        more = ["--session-id", str(uuid.uuid4()), "--disallowedTools", ",".join(UNFIT)]
        if setting.model:
            more += ["--model", setting.model]
        if setting.instructions:
            more += ["--append-system-prompt", as_argument(setting.instructions)]
        told = {"ANTHROPIC_BASE_URL": setting.base, "ANTHROPIC_API_KEY": setting.token}
        return Launch(
            (*self._command, *OPTIONS, *more),
            environment={**QUIET, **told},
            home=True,
            stdin=Stdin.OPEN,
            programs=self._command[:1],
        )

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        self._request("initialize", hooks=HOOKS)
        self._say({"type": "user", "message": {"role": "user", "content": plainly(self._prompt)}})

    def heard(self, source: str, line: bytes) -> None:
        if source != "stdout" or not line.startswith(b"{"):
            return
        try:
            data = decoded(line)
        except Unreadable:
            if asked := REQUEST.match(line, 0, NOTE):  # it would wait for ever
                self._reply(asked[1].decode(), {"behavior": "deny", "message": TOO_LARGE})
            return
        handler = self._handlers.get(_text(data, "type"))
        if handler is not None:
            handler(data)

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        if asked not in self._open:
            return
        request, given = self._open.pop(asked)
        if not allow:
            return self._reply(request, {"behavior": "deny", "message": reason or "Denied by the operator."})
        granted = given if changed is None else tools.regiven(given, changed)
        if reason and "answers" not in granted and isinstance(questions := granted.get("questions"), list):
            granted = granted | {"answers": {_text(q, "question"): reason for q in questions if isinstance(q, dict)}}
        return self._reply(request, {"behavior": "allow", "updatedInput": granted})

    def interrupt(self) -> None:
        self._request("interrupt")

    # --- what is said ---------------------------------------------------------------------------

    def _say(self, message: Data) -> None:
        self.send(msgspec.json.encode(message) + b"\n")

    def _request(self, subtype: str, **more: Any) -> None:
        request = {"subtype": subtype, **more}
        self._say({"type": "control_request", "request_id": f"proctor-{subtype}", "request": request})

    def _reply(self, request: str, response: Data) -> None:
        reply = {"subtype": "success", "request_id": request, "response": response}
        self._say({"type": "control_response", "response": reply})

    # --- what is heard --------------------------------------------------------------------------

    def _system(self, data: Data) -> None:
        match data.get("subtype"):
            case "init" if not self._started:
                self._started = True
                version, model, session = (_text(data, key) for key in ("claude_code_version", "model", "session_id"))
                self.tell(Started(version[:NOTE], model[:NOTE], session[:NOTE]))
            case "api_retry":
                what = data.get("error_status") or "its answer broke off"
                self.tell(Trouble(f"asks the model again: {str(what)[: tools.MOST_NAME]}"))
            case "permission_denied":
                said = f"denied by itself: {_text(data, 'tool_name')}: {_text(data, 'message')}"
                self.tell(Note(said[:NOTE]))
            case "task_started" if len(self._tasks) < MOST_SEEN:
                self._tasks.add(_text(data, "task_id"))
            case "task_notification":
                self._tasks.discard(_text(data, "task_id"))
            case "task_updated" if _text(_data(data, "patch"), "status") not in ("", "pending", "running"):
                self._tasks.discard(_text(data, "task_id"))

    def _assistant(self, data: Data) -> None:
        message = _data(data, "message")
        if data.get("error"):
            text = " ".join(_text(block, "text") for block in _blocks(data))
            return self.tell(Trouble(text[:NOTE] or str(data["error"])[:NOTE]))
        self._count(message)
        for block in _blocks(data):
            match block.get("type"):
                case "text" if text := _text(block, "text").strip():
                    self.tell(Note(text[:NOTE]))
                case "tool_use" | "server_tool_use":
                    name, given = tools.canonical(_text(block, "name")), _data(block, "input")
                    self.tell(Tool(name, tools.canonical_input(given), _text(block, "id")))
        return None

    def _results(self, data: Data) -> None:
        for block in _blocks(data):
            if block.get("type") == "tool_result":
                content = block.get("content")
                if isinstance(content, list):
                    content = "\n".join(_text(part, "text") for part in content if isinstance(part, dict))
                said = content if isinstance(content, str) else ""
                self.tell(tools.result(_text(block, "tool_use_id"), block.get("is_error") is not True, said))

    def _withdrawn(self, data: Data) -> None:
        asked = _text(data, "request_id")[: tools.MOST_NAME]
        if self._open.pop(asked, None):
            self.tell(Withdrawn(asked))

    def _replied(self, data: Data) -> None:
        reply = _data(data, "response")
        if reply.get("subtype") == "error":
            self.tell(Trouble(_text(reply, "error")[:NOTE] or "a request of ours was refused"))

    def _asked(self, data: Data) -> None:
        request, asked = _text(data, "request_id"), _data(data, "request")
        match asked.get("subtype"):
            case "can_use_tool":
                self._question(request, asked)
            case "hook_callback":
                call = _data(asked, "input")
                judged = tools.canonical(_text(call, "tool_name")) in tools.CANONICAL - {"question"}
                decision = {"hookEventName": "PreToolUse", "permissionDecision": "ask"}
                self._reply(request, {"hookSpecificOutput": decision} if judged else {})
            case _:
                error = {"subtype": "error", "request_id": request, "error": "not known here"}
                self._say({"type": "control_response", "response": error})

    def _question(self, request: str, asked: Data) -> None:
        key, given = request[: tools.MOST_NAME], _data(asked, "input")
        if key in self._open:  # no answer could tell the two apart
            for one in (self._open.pop(key)[0], request):
                self._reply(one, {"behavior": "deny", "message": "Another question has the same id."})
            return self.tell(Withdrawn(key))
        self._open[key] = request, given
        tool, shown = tools.canonical(_text(asked, "tool_name")), tools.canonical_input(given)
        agent = _text(asked, "agent_id")[: tools.MOST_NAME]
        self.tell(Ask(key, tool, shown, _text(asked, "description")[:NOTE], agent))
        return None

    def _ended(self, data: Data) -> None:
        self._settle(_data(data, "modelUsage"))
        reason = _text(data, "terminal_reason")
        ok = data.get("is_error") is False and reason in ("", "completed")
        if ok and self._tasks:
            return self.tell(Resting(len(self._tasks)))
        errors = data.get("errors")
        plain = [str(error) for error in errors if DIAGNOSTIC not in str(error)] if isinstance(errors, list) else []
        said = _text(data, "result") or "; ".join(plain) or reason or "it failed without a word"
        return self.tell(TurnEnded(ok, "" if ok else said[:NOTE]))

    # --- its own figures ------------------------------------------------------------------------

    def _count(self, message: Data) -> None:
        """What one answer was asked with, once for all its lines; what it generated is known at the end."""
        key, model, usage = _text(message, "id"), _text(message, "model"), _data(message, "usage")
        if not key or key in self._seen or not usage:
            return
        self._seen[key] = None
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        self._tell_usage(model, [_figure(usage, name) for name in names])

    def _settle(self, models: Data) -> None:
        """What its totals hold beyond what was told answer by answer."""
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        for model, total in models.items():
            if isinstance(total, dict):
                counted = (self._counted[model, field] for field in Usage.__slots__[1:])
                rest = [max(0, _figure(total, name) - told) for name, told in zip(names, counted, strict=True)]
                self._tell_usage(model, rest)

    def _tell_usage(self, model: str, figures: list[int]) -> None:
        if any(figures) and len(self._counted) < MOST_SEEN:
            self._counted.update({(model, field): n for field, n in zip(Usage.__slots__[1:], figures, strict=True)})
            self.tell(Usage(model[: tools.MOST_NAME] or None, *figures))


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _data(data: Data, key: str) -> Data:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _figure(data: Data, key: str) -> int:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_FIGURE else 0


def _blocks(data: Data) -> list[Data]:
    content = _data(data, "message").get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
