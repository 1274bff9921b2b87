"""Claude Code's dialect against what the real program said, and against what a hostile one could."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.worker import tools
from proctor.worker.base import Ask, Note, Resting, Result, Started, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.claude import Claude
from proctor.worker.dialect import Setting, Stdin

STREAMS = Path(__file__).parents[1] / "streams" / "claude"

# What each recorded stream means: S started, N said, T:tool called, A:tool asked (by @ a sub-agent), R+/R- its result,
# W withdrawn, X trouble, REST, E+/E- the turn's end; then the calls that its own totals hold, each of 100 tokens of
# input, 20 of output, 1,000 written to the cache and 5,000 read from it.
TABLE = {
    "01_write_pytest_text": ("S N T:write R+ T:shell R+ N E+", 3),
    "02_max_turns": ("S T:shell R+ E-", 1),
    "03_max_budget": ("S T:shell R+ T:shell E-", 2),
    "04_denied_no_prompt_tool": ("S T:shell N R- N E+", 2),
    "05_partial_messages": ("S N T:shell R+ N E+", 2),
    "10_err_429_retry_after_recovers": ("S X X N E+", 1),
    "11_err_429_forever": ("S X X X X X X X X X X X E-", 0),
    "12_err_429_no_retry": ("S X E-", 0),
    "13_err_529_recovers": ("S X X N E+", 1),
    "14_err_529_forever": ("S X X X E-", 0),
    "15_err_401": ("S X X X X X X X X X X X E-", 0),
    "16_err_403": ("S X E-", 0),
    "17_err_402": ("S X E-", 0),
    "18_err_400": ("S X E-", 0),
    "19_err_midstream_disconnect": ("S X N E+", None),
    "20_err_midtool_disconnect": ("S X N E+", 1),
    "21_err_sse_overloaded": ("S X N E+", 1),
    "22_no_credentials": ("S X E-", 0),
    "23_budget_402_then_continue": ("S T:shell R+ X E- N E+", 2),
    "30_perm_allow": ("S N T:shell A:shell R+ N E+", 2),
    "31_perm_deny": ("S T:shell A:shell R- N E+", 2),
    "32_perm_deny_interrupt": ("S T:shell A:shell R- E-", 1),
    "33_perm_allow_modified": ("S T:shell A:shell R+ N E+", 2),
    "34_perm_allow_always": ("S T:shell A:shell R+ T:shell R+ N E+", 3),
    "35_perm_interrupt_pending": ("S T:shell A:shell W R- E- N E+", 2),
    "36_perm_wait_65s": ("S T:shell A:shell R+ N E+", 2),
    "37_perm_stdin_eof": ("S T:shell A:shell R- N E+", 2),
    "38_perm_error_response": ("S T:shell A:shell R- N E+", 2),
    "39_perm_parallel_tools": ("S T:shell A:shell T:shell T:write R+ A:shell R+ A:write R+ N E+", 2),
    "40_hook_callbacks": ("S T:shell A:shell R+ N E+", 2),
    "41_control_requests": ("S N E+ X T:shell R+ N E+", 3),
    "42_interrupt_streaming": ("S N E-", None),
    "43_interrupt_bash": ("S T:shell R- E-", 1),
    "44_sigint_pending": ("S T:shell A:shell W R-", None),
    "45_sigterm_pending": ("S T:shell A:shell", None),
    "46_sigint_bash": ("S T:shell R- E-", 1),
    "47_sigterm_bash": ("S T:shell R-", None),
    "50_kill9_during_bash_a": ("S N T:shell", None),
    "50_kill9_during_bash_b_resume": ("S N E+", 1),
    "51_kill9_pending_approval_a": ("S N T:shell A:shell", None),
    "51_kill9_pending_approval_b_resume": ("S N E+", 1),
    "52_kill9_mid_stream_a": ("S", 0),
    "52_kill9_mid_stream_b_resume": ("S N E+", 1),
    "60_hook_events": ("S T:shell R+ N E+", 2),
    "61_subagent": ("S T:agent T:shell A:shell@ R+ R+ N E+", 4),
    "62_background_bash": ("S T:shell R+ N REST N E+", 3),
    "63_read_edit_fail_long": ("S T:read R+ T:write R+ T:shell R- T:shell R+ N E+", 5),
    "64_ask_user_question": ("S T:question A:question R+ N E+", 2),
    "65_exit_plan_mode": ("S T:exitplanmode A:exitplanmode R+ N E+", 2),
    "66_compact": ("S N E+ E+ N E+", 3),
    "67_replay_user_messages": ("S N E+ N E+", 2),
    "70_bwrap_unshare_all": ("S T:write R+ T:shell R+ N E+", 3),
}


class Heard:
    """A dialect that has begun, what it told and what it said."""

    def __init__(self, brief: str = "do it") -> None:
        self.told: list[Any] = []
        self.sent: list[bytes] = []
        self.dialect = Claude()
        self.launch = self.dialect.launch(Setting(brief, "m", "http://gateway", "token", "/workspace", "Be brief."))
        self.dialect.begin(self.sent.append, self.told.append)

    def hear(self, data: object) -> None:
        self.dialect.heard("stdout", data if isinstance(data, bytes) else json.dumps(data).encode())

    def said(self) -> list[Any]:
        return [json.loads(line) for line in self.sent]

    def ask(self, name: str, given: dict[str, Any], request: str = "r1") -> None:
        asked = {"subtype": "can_use_tool", "tool_name": name, "input": given}
        self.hear({"type": "control_request", "request_id": request, "request": asked})

    def answered(self) -> Any:
        return self.said()[-1]["response"]["response"]


def recorded(name: str) -> Iterator[tuple[str, bytes, Any]]:
    """The lines of a stream: direction, as it was, as data."""
    for line in (STREAMS / f"{name}.jsonl").read_bytes().splitlines():
        data = json.loads(line)
        if "dir" in data:
            yield data["dir"], json.dumps(data["msg"]).encode(), data["msg"]
        else:
            yield "out", line, data


def played(name: str) -> Heard:
    heard = Heard()
    for direction, line, _ in recorded(name):
        if direction == "out":
            heard.hear(line)
    return heard


def brief(event: object) -> str:
    match event:
        case Tool():
            return f"T:{event.name}"
        case Ask():
            return f"A:{event.tool}{'@' * bool(event.agent)}"
        case Result() | TurnEnded():
            return f"{'R' if isinstance(event, Result) else 'E'}{'-+'[event.ok]}"
    return {Started: "S", Note: "N", Withdrawn: "W", Trouble: "X", Resting: "REST"}[type(event)]


def test_every_recorded_stream_is_in_the_table() -> None:
    assert {path.stem for path in STREAMS.glob("*.jsonl")} == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_recorded_stream_means_what_was_done(name: str) -> None:
    expected, calls = TABLE[name]
    told = played(name).told
    assert " ".join(brief(event) for event in told if not isinstance(event, Usage)) == expected
    if calls is not None:
        total: Counter[str] = Counter()
        for event in told:
            if isinstance(event, Usage):
                total.update(i=event.input, o=event.output, r=event.cache_read, w=event.cache_write)
        each = {"i": 100, "o": 20, "r": 5000, "w": 1000}
        output = {"o": 10} if name == "42_interrupt_streaming" else {}
        assert +total == +Counter({kind: calls * n for kind, n in each.items()} | output)


@pytest.mark.parametrize("name", ["30_perm_allow", "31_perm_deny", "33_perm_allow_modified", "61_subagent"])
def test_an_answer_is_what_the_real_program_was_answered(name: str) -> None:
    heard = Heard()
    answered = 0
    for direction, line, data in recorded(name):
        if direction == "out":
            heard.hear(line)
        elif data["type"] == "control_response":
            (ask,) = [event for event in heard.told if isinstance(event, Ask)]
            answer = data["response"]["response"]
            allow = answer["behavior"] == "allow"
            heard.dialect.answer(ask.id, allow, answer.get("message", ""), answer.get("updatedInput"))
            assert heard.said()[-1] == data
            answered += 1
    assert answered == 1


def test_it_is_started_quiet_without_settings_and_told_the_brief_once() -> None:
    heard = Heard("/clear\nall of it")
    argv, environment = heard.launch.argv, heard.launch.environment
    assert argv[argv.index("--setting-sources") + 1] == ""
    assert {"--strict-mcp-config", "--verbose"} < set(argv)
    assert argv[argv.index("--append-system-prompt") + 1] == "Be brief."
    assert argv[argv.index("--model") + 1] == "m"
    assert (environment["ANTHROPIC_BASE_URL"], environment["ANTHROPIC_API_KEY"]) == ("http://gateway", "token")
    assert environment["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert (heard.launch.stdin, heard.launch.home) == (Stdin.OPEN, True)
    initialize, user = heard.said()
    assert initialize["request"]["subtype"] == "initialize"
    assert user["message"]["content"] == " /clear\nall of it"  # else it would be a command of the program's own


def test_each_session_has_an_id_of_its_own() -> None:
    ids = {launch.argv[launch.argv.index("--session-id") + 1] for launch in (Heard().launch, Heard().launch)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("tool", "decision"),
    [("Bash", "ask"), ("Read", "ask"), ("Agent", "ask"), ("AskUserQuestion", None), ("TodoWrite", None)],
)
def test_every_call_that_does_something_is_put_to_the_rules(tool: str, decision: str | None) -> None:
    heard = Heard()
    asked = {"subtype": "hook_callback", "callback_id": "judged", "input": {"tool_name": tool, "tool_input": {}}}
    heard.hear({"type": "control_request", "request_id": "h1", "request": asked})
    assert heard.told == []
    assert heard.answered().get("hookSpecificOutput", {}).get("permissionDecision") == decision


def test_a_denial_gives_its_reason_and_an_answer_counts_once() -> None:
    heard = Heard()
    heard.ask("Bash", {"command": "ls"})
    heard.dialect.answer("r1", False, "not now")
    heard.dialect.answer("r1", True, "")
    heard.dialect.answer("unknown", True, "")
    assert heard.answered() == {"behavior": "deny", "message": "not now"}
    assert len(heard.sent) == 3


def test_what_is_granted_goes_under_the_agents_own_keys_and_whole() -> None:
    heard = Heard()
    text = "x" * 50_000
    heard.ask("Write", {"file_path": "/workspace/a", "content": text})
    ask = heard.told[-1]
    assert (ask.tool, ask.input["path"]) == ("write", "/workspace/a")
    assert len(ask.input["content"]) < len(text)
    heard.dialect.answer(ask.id, True, "", {**ask.input, "path": "/workspace/b"})
    assert heard.answered()["updatedInput"] == {"file_path": "/workspace/b", "content": text}


def test_a_question_is_answered_by_the_operators_words_or_choice() -> None:
    given = {"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}
    heard = Heard()
    heard.ask("AskUserQuestion", given)
    heard.dialect.answer("r1", True, "neither")
    assert heard.answered()["updatedInput"] == given | {"answers": {"Which?": "neither"}}
    heard.ask("AskUserQuestion", given, "r2")
    heard.dialect.answer("r2", True, "", given | {"answers": {"Which?": "a"}})
    assert heard.answered()["updatedInput"]["answers"] == {"Which?": "a"}


def test_of_two_questions_with_one_id_neither_is_granted() -> None:
    heard = Heard()
    heard.ask("Bash", {"command": "ls"})
    heard.ask("Bash", {"command": "rm -rf /"})
    first = heard.told[0]
    assert [event.input["command"] for event in heard.told[:1]] == ["ls"]
    assert heard.told[1:] == [Withdrawn(first.id)]
    heard.dialect.answer(first.id, True, "")
    assert heard.answered()["behavior"] == "deny"


def test_a_question_that_cannot_be_read_is_denied_and_not_left_waiting() -> None:
    heard = Heard()
    for rest in ('{"subtype":"can_use_tool","inp', '{"n":1e999}}'):
        heard.dialect.heard("stdout", f'{{"type":"control_request","request_id":"r-7","request":{rest}'.encode())
        assert heard.answered()["behavior"] == "deny"
    assert heard.told == []


def test_an_unknown_request_is_refused_and_an_interrupt_asked_for() -> None:
    heard = Heard()
    heard.hear({"type": "control_request", "request_id": "m1", "request": {"subtype": "mcp_message"}})
    assert heard.said()[-1]["response"]["subtype"] == "error"
    heard.dialect.interrupt()
    assert heard.said()[-1]["request"] == {"subtype": "interrupt"}


def test_an_error_ends_the_turn_whatever_its_subtype_says_and_whatever_runs_on() -> None:
    heard = Heard()
    heard.hear({"type": "system", "subtype": "task_started", "task_id": "t"})
    heard.hear({"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 402 all spent"})
    assert heard.told == [TurnEnded(False, "API Error: 402 all spent")]


def test_a_turn_rests_until_all_it_left_running_has_ended() -> None:
    heard = Heard()
    result = {"type": "result", "is_error": False, "terminal_reason": "completed"}
    for task in ("a", "b"):
        heard.hear({"type": "system", "subtype": "task_started", "task_id": task})
    heard.hear(result)
    heard.hear({"type": "system", "subtype": "task_updated", "task_id": "a", "patch": {"status": "killed"}})
    heard.hear(result)
    heard.hear({"type": "system", "subtype": "task_notification", "task_id": "b"})
    heard.hear(result)
    assert heard.told == [Resting(2), Resting(1), TurnEnded(True)]


@pytest.mark.parametrize(
    "line",
    [
        b"", b"Error: something", b"{", b"[1]", b"null", b'{"type": 7}', b'{"type": "later", "x": {}}',
        b'{"type": "user"}',
        b'{"type": "assistant", "message": {"content": [1, {"type": "tool_use", "name": 5, "input": []}]}}',
        b'{"type": "control_request", "request_id": 5, "request": []}', b'{"a": ' + b"[" * 200_000,
        b'{"type": "system", "subtype": "init", "model": "\xff"}',
    ],
)  # fmt: skip
def test_what_is_not_understood_is_only_in_the_raw_stream(line: bytes) -> None:
    heard = Heard()
    heard.hear(line)
    assert all(isinstance(event, Tool) for event in heard.told)


def test_a_megabyte_line_is_an_event_like_another() -> None:
    heard = Heard()
    block = {"type": "tool_result", "tool_use_id": "t", "content": "y" * 2_000_000}
    heard.hear({"type": "user", "message": {"content": [block]}})
    assert heard.told == [tools.result("t", True, "y" * 2_000_000)]


# fmt: off
KEYS = st.sampled_from([
    "type", "subtype", "message", "content", "id", "usage", "input_tokens", "tool_use_id", "name", "input", "request",
    "request_id", "response", "error", "patch", "questions", "tasks", "task_id", "status", "modelUsage", "result",
    "errors", "is_error", "m", "text",
])
# fmt: on
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
TYPES = ["system", "assistant", "user", "control_request", "control_cancel_request", "control_response", "result"]


@given(st.sampled_from(TYPES), st.sampled_from(["init", "can_use_tool", "hook_callback", "error", "x"]), st.data())
def test_no_shape_of_a_known_line_raises(kind: str, subtype: str, data: st.DataObject) -> None:
    heard = Heard()
    line = data.draw(st.dictionaries(KEYS, VALUES, max_size=8)) | {"type": kind}
    heard.hear(line | {"subtype": subtype})
    heard.hear(line | {"request": {"subtype": subtype, "input": data.draw(VALUES), "tool_name": data.draw(VALUES)}})
    for event in [*heard.told]:
        if isinstance(event, Ask):
            heard.dialect.answer(event.id, True, "yes", event.input)
