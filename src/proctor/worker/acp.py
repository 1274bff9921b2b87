"""Any agent of the Agent Client Protocol: one session, one prompt, its questions and its updates.

What is said and heard has the shapes of the protocol's own library. Its connection is not used: that is a set of tasks
that log what they do not understand, and a dialect is neither asynchronous nor lets a worker write into a log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import acp.schema as wire
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel

from proctor.worker import acp_agents, tools
from proctor.worker.base import MAX_FIGURE, Ask, Note, Started, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.dialect import Dialect, Launch, Send, Setting, Tell
from proctor.worker.rpc import BAD_PARAMS, NO_METHOD, TOO_LARGE, UNCHANGEABLE, Id, Peer, denial, keep

TOOLS = {
    "execute": "shell",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "read": "read",
    "search": "search",
    "fetch": "fetch",
}
SHOWN = {"shell": "command", "search": "query", "fetch": "query"}
"""What the title of a call stands for where its input is not told."""
NAMES = {**tools.NAMES, "agent": "agent", "invoke_agent": "agent"}
NOTE = 4_000
ALLOW, REJECT = ("allow_once",), ("reject_once", "reject_always")
"""Kinds of options that an answer may choose. One that allows for good is never chosen: the rules are proctor's."""


@dataclass(slots=True)
class Call:
    """What is known of a tool call so far: it comes in pieces."""

    id: str
    kind: str = ""
    title: str = ""
    name: str = ""
    raw: dict[str, Any] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    diffs: list[wire.FileEditToolCallContent] = field(default_factory=list)
    told: bool = False

    def learn(self, update: wire.ToolCall | wire.ToolCallUpdate) -> None:
        self.kind = update.kind or self.kind
        self.title = update.title or self.title
        self.name = self.name or _named(update)
        if isinstance(update.raw_input, dict):
            self.raw = self.raw | update.raw_input
        if update.locations:
            self.places = [location.path for location in update.locations]
        for content in update.content or ():
            if isinstance(content, wire.FileEditToolCallContent):
                self.diffs = [diff for diff in self.diffs if diff.path != content.path] + [content]

    def asking(self, update: wire.ToolCallUpdate) -> Call:
        """What is asked for, which may be another thing than the call itself."""
        call = replace(self)
        call.learn(update)
        return call

    @property
    def tool(self) -> str:
        """Its title is the model's words in some agents: it passes for no name that rules know."""
        return TOOLS.get(self.kind) or (
            tools.canonical(self.name, NAMES) if self.name else tools.canonical(self.title, {})
        )

    def input(self) -> dict[str, Any]:
        """What it is given under canonical keys. Of several files it names all, so that none is judged by the first."""
        given = tools.canonical_input(self.raw) or ({SHOWN[self.tool]: self.title} if self.tool in SHOWN else {})
        if self.tool in ("read", "write"):
            paths = sorted({*self.places, *(diff.path for diff in self.diffs)})
            if "path" not in given and len(paths) == 1:
                given["path"] = paths[0]
            elif paths and paths != [given.get("path")]:
                given["paths"] = paths
        if self.diffs and "diff" not in given:
            given["diff"] = "\n".join(f"{d.path}\n{changed(d.old_text or '', d.new_text)}" for d in self.diffs)
        return given


class Acp(Dialect):
    """A session with one agent. It grants no other input than the one asked for. A denial cannot say why: the reasons
    are the next prompt, once the turn has ended. A turn that is broken off for them may leave a memory with holes."""

    suspends = True

    def __init__(self, agent: str = "", command: tuple[str, ...] = ()) -> None:
        """`agent` names one that is known, else `command` is the whole of what is started."""
        self._agent, self._command = agent, command

    def launch(self, setting: Setting) -> Launch:
        self._setting = setting
        return acp_agents.launch(self._agent, self._command, setting)

    def begin(self, send: Send, tell: Tell) -> None:
        super().begin(send, tell)
        refused = lambda why: self._reasons.append(denial("", why))  # noqa: E731
        self._peer = Peer(send, self._asked, self._noticed, {"jsonrpc": "2.0"}, refused)
        self._session = self._version = self._text = ""
        self._calls: dict[str, Call] = {}
        self._open: dict[str, tuple[Id, Call, list[wire.PermissionOption]]] = {}
        self._reasons: list[str] = []
        self._interrupted = False
        hello = wire.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=wire.ClientCapabilities(fs=wire.FileSystemCapabilities(), terminal=False),
            client_info=wire.Implementation(name="proctor", title="proctor", version="1"),
        )
        self._peer.ask(AGENT_METHODS["initialize"], _plain(hello), self._initialized, self._failed)

    def heard(self, source: str, line: bytes) -> None:
        if source == "stdout":
            self._peer.heard(line)

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        if asked not in self._open:
            return
        request, call, options = self._open.pop(asked)
        if allow and changed not in (None, call.input()):
            allow, reason = False, UNCHANGEABLE
        chosen = next((o.option_id for kind in (ALLOW if allow else REJECT) for o in options if o.kind == kind), None)
        if chosen is None:
            if allow:
                self.tell(Trouble("the agent offers no way to allow this once: it is denied"))
            return self._outcome(request, wire.DeniedOutcome(outcome="cancelled"))
        if not allow and reason:
            self._reasons.append(denial(call.title, reason))
        self._outcome(request, wire.AllowedOutcome(outcome="selected", option_id=chosen))

    def interrupt(self) -> None:
        if self._session:
            self._interrupted = True
            cancel = wire.CancelNotification(session_id=self._session)
            self._peer.notify(AGENT_METHODS["session_cancel"], _plain(cancel))
            for request, _, _ in self._open.values():
                self._outcome(request, wire.DeniedOutcome(outcome="cancelled"))
            self._open.clear()

    def _outcome(self, request: Id, outcome: wire.AllowedOutcome | wire.DeniedOutcome) -> None:
        self._peer.reply(request, _plain(wire.RequestPermissionResponse(outcome=outcome)))

    def _initialized(self, result: Any) -> None:
        agent = wire.InitializeResponse.model_validate(result)
        if agent.protocol_version != PROTOCOL_VERSION:
            return self._failed(f"the agent speaks version {agent.protocol_version} of its protocol")
        self._version = agent.agent_info.version if agent.agent_info else ""
        new = wire.NewSessionRequest(cwd=self._setting.workspace, mcp_servers=[])
        self._peer.ask(AGENT_METHODS["session_new"], _plain(new), self._session_started, self._failed)

    def _session_started(self, result: Any) -> None:
        session = wire.NewSessionResponse.model_validate(result)
        self._session = session.session_id
        self.tell(Started(self._version, self._setting.model or "", self._session))
        modes = session.modes
        if modes and modes.current_mode_id != "default" and any(m.id == "default" for m in modes.available_modes):
            # The one that asks; agents may begin in one that decides for itself.
            mode = wire.SetSessionModeRequest(session_id=self._session, mode_id="default")
            self._peer.ask(AGENT_METHODS["session_set_mode"], _plain(mode), lambda _: self._begin(), self._failed)
        else:
            self._begin()

    def _begin(self) -> None:
        self._prompt(self._setting.brief)

    def _prompt(self, words: str) -> None:
        self._reasons = []
        block = wire.TextContentBlock(type="text", text=words)
        prompt = wire.PromptRequest(session_id=self._session, prompt=[block])
        self._peer.ask(AGENT_METHODS["session_prompt"], _plain(prompt), self._prompted, self._failed)

    def _prompted(self, result: Any) -> None:
        turn = wire.PromptResponse.model_validate(result)
        self._speak()
        if turn.usage:
            self.tell(usage(turn.usage, self._setting.model))
        if self._reasons and not self._interrupted:
            return self._prompt("\n".join(self._reasons))
        ok = turn.stop_reason == "end_turn"
        self.tell(TurnEnded(ok, "" if ok else turn.stop_reason))

    def _failed(self, why: str) -> None:
        self._speak()
        self.tell(Trouble(why[:NOTE], fatal=True))
        self.tell(TurnEnded(False, why[:NOTE]))

    def _asked(self, request: Id, method: str, params: Any) -> None:
        if method != CLIENT_METHODS["session_request_permission"]:
            return self._peer.refuse(request, NO_METHOD, "not known here")
        asked = wire.RequestPermissionRequest.model_validate(params)
        self._speak()
        known = self._calls.get(asked.tool_call.tool_call_id)
        call = known.asking(asked.tool_call) if known else self._learn(asked.tool_call)
        self._tell_once(known or call, call)
        key = str(request)[: tools.MOST_NAME]
        if key in self._open:  # no answer could tell the two apart
            for one in (self._open.pop(key)[0], request):
                self._peer.refuse(one, BAD_PARAMS, "another question has the same id")
            return self.tell(Withdrawn(key))
        self._open[key] = request, call, asked.options
        given = call.input()
        if tools.is_too_large(given):
            return self.answer(key, False, TOO_LARGE)
        agent = "" if asked.session_id == self._session else asked.session_id[: tools.MOST_NAME]
        return self.tell(Ask(key, call.tool, given, said(asked.tool_call)[:NOTE], agent, changeable=False))

    def _noticed(self, method: str, params: Any) -> None:
        if method == "$/cancel_request" and isinstance(params, dict):
            withdrawn = str(params.get("requestId"))
            if self._open.pop(withdrawn, None):
                self.tell(Withdrawn(withdrawn))
        elif method == CLIENT_METHODS["session_update"]:
            self._updated(wire.SessionNotification.model_validate(params).update)

    def _updated(self, update: BaseModel) -> None:
        match update:
            case wire.AgentMessageChunk():
                self._text = f"{self._text}{_text(update.content)}"[:NOTE]
                spent = (update.field_meta or {}).get("usage")
                if spent is not None:
                    self.tell(usage(wire.Usage.model_validate(spent), self._setting.model))
            case wire.ToolCallStart() | wire.ToolCallProgress():
                self._speak()
                call = self._learn(update)
                if update.status in ("in_progress", "completed", "failed"):
                    self._tell_once(call, call)
                if update.status in ("completed", "failed"):
                    self._calls.pop(call.id, None)
                    self.tell(tools.result(call.id, update.status == "completed", said(update)))

    def _learn(self, update: wire.ToolCall | wire.ToolCallUpdate) -> Call:
        call = self._calls.get(update.tool_call_id)
        if call is None:
            call = Call(update.tool_call_id)
            keep(self._calls, call.id, call)
        call.learn(update)
        return call

    def _tell_once(self, call: Call, shown: Call) -> None:
        if not call.told:
            call.told = True
            self.tell(Tool(shown.tool, shown.input(), call.id))

    def _speak(self) -> None:
        """Tell what the agent has said, its pieces together."""
        if text := self._text.strip():
            self.tell(Note(text))
        self._text = ""


def usage(tokens: wire.Usage, model: str | None) -> Usage:
    """The total tells whether an agent counts what was cached as input too; here it is not."""
    read, written = tokens.cached_read_tokens or 0, tokens.cached_write_tokens or 0
    within = read + written if tokens.total_tokens == tokens.input_tokens + tokens.output_tokens else 0
    figures = max(tokens.input_tokens - within, 0), tokens.output_tokens, read, written
    return Usage(model, *(min(figure, MAX_FIGURE) for figure in figures))


def said(update: wire.ToolCall | wire.ToolCallUpdate) -> str:
    """What stands beside a call: a reason while it is asked for, its output once it has ended."""
    blocks = [content.content for content in update.content or () if isinstance(content, wire.ContentToolCallContent)]
    return "\n".join(filter(None, map(_text, blocks)))


def changed(old: str, new: str) -> str:
    """The lines that go and those that come, without what is the same before and after them."""
    before, after = old.splitlines(), new.splitlines()
    start = _same(zip(before, after, strict=False))
    end = _same(zip(reversed(before[start:]), reversed(after[start:]), strict=False))
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    return "\n".join([*(f"-{line}" for line in gone), *(f"+{line}" for line in come)])[: tools.MOST_TEXT]


def _same(pairs: Iterable[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _named(update: wire.ToolCall | wire.ToolCallUpdate) -> str:
    """The tool's own name, from agents that give it beside what they show."""
    name = (update.field_meta or {}).get("toolName")
    return name if isinstance(name, str) else ""


def _text(block: BaseModel) -> str:
    return block.text if isinstance(block, wire.TextContentBlock) else ""


def _plain(message: BaseModel) -> dict[str, Any]:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)
