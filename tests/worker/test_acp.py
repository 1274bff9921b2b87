"""The dialect of the Agent Client Protocol against what real agents said, and against what a hostile one could."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.worker.acp import Acp, changed
from proctor.worker.base import Ask, Note, Result, Started, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.rpc import MOST_KEPT
from proctor.worker.tools import MOST_INPUT
from worker.streams import STREAMS, Played, brief, played, tokens

# What each recorded stream means (see `brief`), and the tokens in it.
TABLE = {
    "acp/01_claude_adapter049_allow": ("S N T:write A:write R+ T:shell A:shell R+ N E+", (300, 60, 15000, 3000)),
    "acp/02_claude_adapter101_allow": ("S N N T:write R+ T:shell R+", (0, 0, 0, 0)),
    "acp/03_claude_adapter101_cli328_allow": ("S N T:write R+ T:shell R+", (0, 0, 0, 0)),
    "acp/10_opencode_acp_allow": ("S N T:write A:write R+ T:shell A:shell R+ N E+", (100, 20, 5000, 1000)),
    "acp/20_deny_claude": ("S N T:shell A:shell R- N E+", (200, 40, 10000, 2000)),
    "acp/21_cancel_pending_claude": ("S T:shell A:shell R- E-", (100, 20, 5000, 1000)),
    "acp/22_wait65_claude": ("S T:shell A:shell R+ N E+", (200, 40, 10000, 2000)),
    "acp/23_err402_claude": ("S N X! E-", (0, 0, 0, 0)),
    "acp/24_err529_claude": ("S N E+", (100, 20, 5000, 1000)),
    "acp/25_err401_claude": ("S N X! E-", (0, 0, 0, 0)),
    "acp/26_before_load_claude": ("S N E+", (100, 20, 5000, 1000)),
    "acp/27_session_load_claude": ("", (0, 0, 0, 0)),
    "acp/30_deny_opencode": ("S N T:shell A:shell R- E+", (100, 20, 5000, 1000)),
    "acp/31_cancel_pending_opencode": ("S T:shell A:shell R- E-", (0, 0, 0, 0)),
    "acp/32_wait65_opencode": ("S T:shell A:shell R+ N E+", (100, 20, 5000, 1000)),
    "acp/33_err402_opencode": ("S X! E-", (0, 0, 0, 0)),
    "acp/34_err529_opencode": ("S N E+", (100, 20, 5000, 1000)),
    "acp/35_err401_opencode": ("S X! E-", (0, 0, 0, 0)),
    "acp/36_before_load_opencode": ("S N E+", (100, 20, 5000, 1000)),
    "acp/37_session_load_opencode": ("", (0, 0, 0, 0)),
    "acp/40_opencode_acp_bwrap": ("S T:shell A:shell R+ N E+", (100, 20, 5000, 1000)),
    "gemini/acp_accept": ("S N T:shell A:shell R+ N E+", (0, 0, 0, 0)),
    "gemini/acp_cancel": ("S T:shell A:shell E-", (0, 0, 0, 0)),
    "gemini/acp_eof": ("S T:shell A:shell", (0, 0, 0, 0)),
    "gemini/acp_reject": ("S T:shell A:shell N E+", (0, 0, 0, 0)),
    "gemini/acp_term": ("S T:shell A:shell", (0, 0, 0, 0)),
    "gemini/acp_wait65": ("S T:shell A:shell R+ N E+", (0, 0, 0, 0)),
    "gemini/acp_write": ("S T:write A:write R+ T:shell A:shell R+ T:shell R+ N E+", (0, 0, 0, 0)),
    "qwen/acp_accept": ("S N T:shell A:shell R+ N E+", (300, 85, 2200, 0)),
    "qwen/acp_cancel": ("S N T:shell A:shell E-", (200, 80, 1000, 0)),
    "qwen/acp_reject": ("S N T:shell A:shell N E+", (300, 85, 2200, 0)),
    "qwen/acp_wait65": ("S N T:shell A:shell R+ N E+", (300, 85, 2200, 0)),
}
ONCE, ALWAYS, REJECT = (
    {"optionId": f"id-{kind}", "kind": kind, "name": kind} for kind in ("allow_once", "allow_always", "reject_once")
)


def begun() -> Played:
    """A dialect in the middle of its turn."""
    play = Played(Acp("opencode")).begin()
    play.hear({"id": play.asked("initialize")["id"], "result": {"protocolVersion": 1}})
    play.hear({"id": play.asked("session/new")["id"], "result": {"sessionId": "s"}})
    play.told.clear()
    return play


def update(play: Played, kind: str, /, **fields: Any) -> None:
    play.hear({"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}})


def ask(play: Played, request: Any, /, *options: dict[str, Any], session: str = "s", **call: Any) -> None:
    params = {"sessionId": session, "options": options, "toolCall": {"toolCallId": "c", **call}}
    play.hear({"id": request, "method": "session/request_permission", "params": params})


def ended(play: Played, reason: str = "end_turn") -> None:
    play.hear({"id": play.asked("session/prompt")["id"], "result": {"stopReason": reason}})


def prompted(play: Played) -> list[str]:
    return [one["params"]["prompt"][0]["text"] for one in play.sent if one.get("method") == "session/prompt"]


def test_every_recorded_stream_is_played() -> None:
    found = {f"{folder}/{path.stem}" for folder in ("acp", "gemini", "qwen") for path in (STREAMS / folder).iterdir()}
    assert found == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_recorded_stream_means_what_was_done(name: str) -> None:
    play = played(Acp("opencode"), name)
    assert (brief(play.told), tokens(play.told)) == TABLE[name]
    assert all(reply in play.sent for reply in play.replies)
    assert play.requested()[:2] == ["initialize", "session/new"]
    if brief(play.told).endswith(("E+", "E-")):
        assert prompted(play) == ["go"]


def test_it_offers_the_agent_neither_files_nor_a_terminal() -> None:
    play = Played(Acp("opencode")).begin()
    offered = play.asked("initialize")["params"]
    assert offered["protocolVersion"] == 1
    assert offered["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert offered["clientCapabilities"]["terminal"] is False
    for number, method in enumerate(("fs/write_text_file", "fs/read_text_file", "terminal/create", "later/x")):
        play.hear({"id": number, "method": method, "params": {"sessionId": "s", "path": "/etc/passwd", "content": ""}})
    assert [one["error"]["code"] for one in play.sent[1:]] == [-32601] * 4


def test_an_agent_that_begins_in_a_mode_of_its_own_is_put_into_the_one_that_asks() -> None:
    play = played(Acp("opencode"), "acp/02_claude_adapter101_allow")
    assert play.requested() == ["initialize", "session/new", "session/set_mode"]
    assert play.asked("session/set_mode")["params"]["modeId"] == "default"
    play.hear({"id": play.asked("session/set_mode")["id"], "result": {}})
    assert prompted(play) == ["go"]


def test_another_version_of_the_protocol_ends_the_turn() -> None:
    play = Played(Acp("opencode")).begin()
    play.hear({"id": play.asked("initialize")["id"], "result": {"protocolVersion": 2}})
    assert play.of(TurnEnded) == [TurnEnded(False, "the agent speaks version 2 of its protocol")]
    assert play.requested() == ["initialize"]


@pytest.mark.parametrize(("allow", "chosen"), [(True, "id-allow_once"), (False, "id-reject_once")])
def test_an_answer_counts_once_and_never_for_good(allow: bool, chosen: str) -> None:
    play = begun()
    ask(play, 1, ALWAYS, ONCE, REJECT, kind="execute", title="ls", rawInput={"command": "ls"})
    play.dialect.answer("1", allow, "")
    play.dialect.answer("1", not allow, "")
    play.dialect.answer("2", True, "")
    assert play.sent[-1]["result"] == {"outcome": {"outcome": "selected", "optionId": chosen}}
    assert [one["id"] for one in play.sent if "result" in one] == [1]


@pytest.mark.parametrize("allow", [True, False])
def test_what_cannot_be_allowed_once_is_denied(allow: bool) -> None:
    play = begun()
    ask(play, 1, ALWAYS, kind="execute", title="ls")
    play.dialect.answer("1", allow, "")
    assert play.sent[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert bool(play.of(Trouble)) is allow


def test_what_cannot_be_changed_is_denied_where_another_input_is_granted() -> None:
    play = begun()
    for request, granted in enumerate(("rm x", "rm -rf x")):
        ask(play, request, ONCE, REJECT, kind="execute", rawInput={"command": "rm -rf x"})
        play.dialect.answer(str(request), True, "", {"command": granted})
    chosen = [one["result"]["outcome"]["optionId"] for one in play.sent if "result" in one]
    assert chosen == ["id-reject_once", "id-allow_once"]


def test_a_denials_reasons_are_the_next_prompt_once_the_turn_has_ended() -> None:
    play = begun()
    ask(play, 1, ONCE, REJECT, kind="execute", title="rm x")
    play.dialect.answer("1", False, "keep it")
    ask(play, 2, ONCE, REJECT, kind="execute", title="rm y")
    play.dialect.answer("2", False, "")
    ended(play)
    assert prompted(play) == ["go", "Denied: rm x: keep it"]
    assert play.of(TurnEnded) == []
    ended(play)
    assert play.of(TurnEnded) == [TurnEnded(True)]


def test_an_interrupt_settles_what_is_open_and_prompts_no_more() -> None:
    play = begun()
    ask(play, 1, ONCE, REJECT, kind="execute", title="rm x")
    play.dialect.answer("1", False, "keep it")
    ask(play, 2, ONCE, REJECT, kind="execute", title="rm y")
    play.dialect.interrupt()
    assert [one.get("method", "reply") for one in play.sent[-2:]] == ["session/cancel", "reply"]
    assert play.sent[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    ended(play, "cancelled")
    assert (prompted(play), play.of(TurnEnded)) == (["go"], [TurnEnded(False, "cancelled")])


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "max_turn_requests"])
def test_a_turn_that_ends_otherwise_did_not_end_well(reason: str) -> None:
    play = begun()
    ended(play, reason)
    assert play.told == [TurnEnded(False, reason)]


def test_a_question_the_agent_takes_back_is_withdrawn() -> None:
    play = begun()
    ask(play, 4, ONCE, kind="execute", title="ls")
    for _ in range(2):
        play.hear({"method": "$/cancel_request", "params": {"requestId": 4}})
    assert play.told[2:] == [Withdrawn("4")]


def test_of_two_questions_with_one_id_neither_is_granted() -> None:
    play = begun()
    ask(play, 1, ONCE, kind="execute", title="ls")
    ask(play, 1, ONCE, kind="execute", title="rm -rf /")
    assert [event.input["command"] for event in play.of(Ask)] == ["ls"]
    assert play.told[-1] == Withdrawn("1")
    play.dialect.answer("1", True, "")
    assert ["error" in one for one in play.sent[-2:]] == [True, True]


def test_what_is_too_large_to_be_judged_is_denied_unasked_and_said_so() -> None:
    play = begun()
    ask(play, 1, ONCE, REJECT, kind="execute", title="echo", rawInput={"command": "x" * MOST_INPUT})
    assert not play.of(Ask)
    ended(play)
    assert prompted(play)[-1] == "Denied: echo: it is too large to be judged: split it"


def test_a_sub_agents_question_is_marked() -> None:
    play = begun()
    ask(play, 1, ONCE, session="other", kind="execute", title="ls")
    assert play.of(Ask) == [Ask("1", "shell", {"command": "ls"}, "", "other", changeable=False)]


def test_a_call_is_told_once_with_what_is_known_by_then() -> None:
    play = begun()
    update(play, "tool_call", toolCallId="c", title="bash", kind="execute", status="pending", rawInput={})
    update(play, "tool_call_update", toolCallId="c", rawInput={"command": "l"})
    assert play.told == []
    update(play, "tool_call_update", toolCallId="c", status="in_progress", rawInput={"command": "ls", "cwd": "/w"})
    ask(play, 1, ONCE, kind="execute", title="ls", rawInput={"command": "ls"})
    output = [{"type": "content", "content": {"type": "text", "text": "a\nb"}}]
    update(play, "tool_call_update", toolCallId="c", status="completed", content=output)
    given = {"command": "ls", "cwd": "/w"}
    asked = Ask("1", "shell", given, changeable=False)
    assert play.told == [Tool("shell", given, "c"), asked, Result("c", True, "a\nb")]


def test_a_question_may_be_about_another_thing_than_the_call() -> None:
    play = begun()
    update(
        play,
        "tool_call",
        toolCallId="c",
        title="read",
        kind="read",
        status="in_progress",
        rawInput={"filePath": "/w/a"},
    )
    ask(play, 1, ONCE, kind="other", title="/etc", rawInput={"parentDir": "/etc"})
    ask(play, 2, ONCE, kind="read", title="read", rawInput={})
    first, second = play.of(Ask)
    assert first.tool != "read"
    assert (second.tool, second.input) == ("read", {"path": "/w/a"})


def test_an_edit_names_every_file_and_shows_what_changes() -> None:
    diffs = [{"type": "diff", "path": f"/w/{name}", "oldText": "a\nb\nc\n", "newText": "a\nB\nc\n"} for name in "xy"]
    play = begun()
    ask(play, 1, ONCE, kind="edit", title="Writing", content=diffs[:1], locations=[{"path": "/w/x"}])
    ask(play, 2, ONCE, kind="edit", title="Writing", content=diffs, rawInput={"file_path": "/w/x"})
    first, second = play.of(Ask)
    assert first.input == {"path": "/w/x", "diff": "/w/x\n-b\n+B"}
    assert (second.input["path"], second.input["paths"]) == ("/w/x", ["/w/x", "/w/y"])


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [("", "a\n", "+a"), ("a\n", "", "-a"), ("a\n", "a\n", ""), ("a\na\n", "a\n", "-a"), ("x", "y\nx", "+y")],
)
def test_a_change_is_what_goes_and_what_comes(old: str, new: str, shown: str) -> None:
    assert changed(old, new) == shown


def test_a_tool_of_its_own_keeps_its_name_and_passes_for_no_other() -> None:
    play = begun()
    update(play, "tool_call", toolCallId="1", title="My Tool!", status="in_progress")
    update(play, "tool_call", toolCallId="2", title="shell", kind="other", status="in_progress")
    update(play, "tool_call_update", toolCallId="3", status="in_progress", _meta={"toolName": "run_shell_command"})
    update(play, "tool_call_update", toolCallId="4", status="in_progress", _meta={"toolName": "agent"})
    assert [event.name for event in play.told] == ["my_tool", "own.shell", "shell", "agent"]


def test_a_title_passes_for_no_name_that_rules_know() -> None:
    play = begun()
    for at, title in enumerate(("read_file", "Bash", "task", "read")):
        ask(play, at, toolCallId=f"t{at}", kind="other", title=title, rawInput={"prompt": "x"})
    assert [asked.tool for asked in play.of(Ask)] == ["read_file", "bash", "task", "own.read"]


def test_what_it_says_in_pieces_is_one_note_and_no_longer_than_one() -> None:
    play = begun()
    for text in ("Hello", " there", "x" * 5_000):
        update(play, "agent_message_chunk", content={"type": "text", "text": text})
    update(play, "agent_thought_chunk", content={"type": "text", "text": "hm"})
    ended(play)
    (note,) = play.of(Note)
    assert note.text.startswith("Hello therexxx")
    assert len(note.text) == 4_000


def test_tokens_read_from_a_cache_are_counted_apart_however_the_agent_counts() -> None:
    play = begun()
    within = {"inputTokens": 1200, "outputTokens": 80, "totalTokens": 1280, "cachedReadTokens": 1000}
    update(play, "agent_message_chunk", content={"type": "text", "text": ""}, _meta={"usage": within})
    beside = {
        "inputTokens": 100,
        "outputTokens": 20,
        "totalTokens": 6120,
        "cachedReadTokens": 5000,
        "cachedWriteTokens": 1000,
    }
    play.hear({"id": play.asked("session/prompt")["id"], "result": {"stopReason": "end_turn", "usage": beside}})
    assert play.of(Usage) == [Usage("m", 200, 80, 1000, 0), Usage("m", 100, 20, 5000, 1000)]


def test_calls_that_never_end_take_no_more_memory() -> None:
    play = begun()
    for number in range(MOST_KEPT + 50):
        update(play, "tool_call", toolCallId=str(number), title="x", status="in_progress")
    assert isinstance(play.dialect, Acp)
    assert len(play.dialect._calls) == MOST_KEPT


def test_a_megabyte_line_is_an_event_like_another() -> None:
    play = begun()
    output = [{"type": "content", "content": {"type": "text", "text": "y" * 3_000_000}}]
    update(play, "tool_call_update", toolCallId="c", kind="read", title="r", status="failed", content=output)
    assert [(one.id, one.ok, one.output) for one in play.of(Result)] == [("c", False, "y" * 2_000)]


# fmt: off
JUNK = [
    b"", b"Error: something", b"{", b"[1]", b"null", b'{"method": 7}', b'{"id": 1}', b'{"id": 99, "result": 1}',
    b'{"id": [1], "method": "session/request_permission"}', b'{"method": "session/update", "params": {"update": 5}}',
    b'{"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "later"}}}',
    b'{"method": "$/cancel_request", "params": [4]}', b'{"a": ' + b"[" * 200_000, b'{"method": "x", "params": "\xff"}',
]
# fmt: on


@pytest.mark.parametrize("line", JUNK, ids=range(len(JUNK)))
def test_what_is_not_understood_is_only_in_the_raw_stream(line: bytes) -> None:
    play = begun()
    sent = len(play.sent)
    play.hear(line)
    play.dialect.heard("stderr", line)
    assert play.told == []
    assert len(play.sent) == sent


def test_an_answer_that_is_not_understood_ends_the_turn() -> None:
    play = Played(Acp("opencode")).begin()
    play.hear({"id": play.asked("initialize")["id"], "result": ["?"]})
    assert [type(event) for event in play.told] == [Trouble, TurnEnded]
    play = begun()
    ask(play, 1, {"optionId": 5}, title="x")
    assert play.sent[-1]["error"]["code"] == -32602


# fmt: off
KEYS = st.sampled_from([
    "sessionId", "update", "sessionUpdate", "toolCallId", "title", "kind", "status", "rawInput", "content", "type",
    "text", "path", "oldText", "newText", "locations", "options", "optionId", "toolCall", "_meta", "usage", "command",
    "stopReason", "toolName", "inputTokens", "file_path", "diff", "old_string", "new_string",
])
# fmt: on
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
KINDS = st.sampled_from(["tool_call", "tool_call_update", "agent_message_chunk", "usage_update", "plan", "x"])
FIELDS = st.dictionaries(KEYS, VALUES, max_size=8)


TOOLS = st.sampled_from(["execute", "edit", "read", "other", None])
PLACES = st.lists(st.fixed_dictionaries({"path": st.sampled_from(["/w/a", "/w/b", ""])}), max_size=3)


@given(KINDS, FIELDS, TOOLS, FIELDS, PLACES, VALUES)
def test_no_shape_of_a_known_message_raises(
    kind: str, fields: dict[str, Any], tool: str | None, raw: dict[str, Any], places: list[Any], request: Any
) -> None:
    play = begun()
    known = {"toolCallId": "c", "title": "t", "kind": tool, "status": "in_progress"}
    known |= {"rawInput": raw, "locations": places}
    update(play, kind, **{**fields, **known})
    update(play, kind, **{**known, **fields})
    params = {"sessionId": "s", "options": [ONCE], "toolCall": {**fields, **known}}
    play.hear({"id": request, "method": "session/request_permission", "params": params})
    play.hear({"id": 3, "result": fields})
    for event in [*play.of(Ask)]:
        play.dialect.answer(event.id, True, "yes", event.input)
    assert not play.of(Started)
