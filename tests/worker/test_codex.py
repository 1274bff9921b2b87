"""Codex's dialects against what the real program said, and against what a hostile one could."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.worker import tools
from proctor.worker.base import Ask, Note, Tool, Trouble, TurnEnded, Usage, Withdrawn
from proctor.worker.codex import REFUSALS, Codex
from proctor.worker.codex_exec import CodexExec
from proctor.worker.codex_items import unwrapped
from proctor.worker.dialect import Stdin
from proctor.worker.rpc import MOST_KEPT
from proctor.worker.tools import MOST_INPUT
from worker.streams import SETTING, STREAMS, Played, brief, played, tokens

# What each recorded stream of the app-server means (see `brief`), and the tokens in it.
SERVER = {
    "appserver_accept": ("S T:shell A:shell R+ N E+", (400, 55, 1800, 0)),
    "appserver_cancel": ("S T:shell A:shell W R- E-", (200, 50, 800, 0)),
    "appserver_code": ("S T:shell A:shell R+ N E+", (300, 10, 1000, 0)),
    "appserver_codewait": ("S T:shell A:shell R+ N E+", (400, 15, 1000, 0)),
    "appserver_decline": ("S T:shell A:shell R- N E+", (400, 55, 1800, 0)),
    "appserver_err_400": ("S X! E-", (0, 0, 0, 0)),
    "appserver_err_401": ("S X! E-", (0, 0, 0, 0)),
    "appserver_err_401_retry": ("S X X X X X X! E-", (0, 0, 0, 0)),
    "appserver_err_429_quota": ("S X! E-", (0, 0, 0, 0)),
    "appserver_err_500": ("S X! E-", (0, 0, 0, 0)),
    "appserver_escalate": ("S T:shell A:shell R+ N E+", (400, 55, 1800, 0)),
    "appserver_interrupt": ("S T:shell A:shell E- W", (200, 50, 800, 0)),
    "appserver_k9": ("N", (200, 5, 1000, 0)),  # another thread's end is not ours
    "appserver_onreq_full": ("S T:shell R+ N E+", (400, 55, 1800, 0)),
    "appserver_onreq_ro": ("S T:shell R+ N E+", (400, 55, 1800, 0)),
    "appserver_parallel": ("S T:shell A:shell T:shell A:shell R- R+ N E+", (300, 10, 1000, 0)),
    "appserver_patch": ("S T:write A:write R+ N E+", (1200, 55, 1000, 0)),
    "appserver_patchdecl": ("S T:write A:write R- N E+", (1200, 55, 1000, 0)),
    "appserver_rpcerr": ("S T:shell A:shell W R- N E+", (400, 55, 1800, 0)),
    "appserver_session": ("S T:shell A:shell W R+ T:shell R+ T:shell A:shell R+ N E+", (800, 155, 3400, 0)),
    "appserver_untrusted_safe": (
        "S T:shell A:shell R+ T:shell A:shell R- T:shell A:shell R- T:shell A:shell R+ T:shell A:shell R+ "
        "T:shell A:shell R+ N E+",
        (1400, 305, 5800, 0),
    ),
    "appserver_untrusted_ws_patch": ("S T:write A:write R+ N E+", (300, 10, 1000, 0)),
    "appserver_wait65": ("S T:shell A:shell R+ N E+", (400, 55, 1800, 0)),
}
EXEC = {
    "exec_background": ("S T:shell N E+", (500, 80, 2000, 0)),
    "exec_code_mode": ("S T:shell R+ T:shell R- N E+", (500, 110, 2200, 0)),
    "exec_escalation_refused": ("S N E+", (500, 80, 2000, 0)),
    "exec_full": ("S N T:shell R+ T:write R+ T:shell R- T:shell R+ T:write R+ T:shell R+ N E+", (1100, 280, 6600, 0)),
    "exec_local_shell": ("S E+", (900, 10, 0, 0)),
    "exec_missing_key": ("S X X! E-", (0, 0, 0, 0)),
    "exec_sandbox_read_only": ("S T:shell R+ N E+", (500, 80, 2000, 0)),
    "exec_sigint": ("S N T:shell", (0, 0, 0, 0)),
    "exec_sigterm": ("S N T:shell", (0, 0, 0, 0)),
    "exec_unknown_model": ("S X N E+", (300, 30, 1200, 0)),
    "exec_unknown_tool": ("S N E+", (1200, 40, 1200, 0)),
    "resume_1": ("S T:shell R+ N E+", (1200, 60, 900, 0)),
    "resume_2": ("S N E+", (1500, 70, 1900, 0)),
    "resume_3_killed": ("S T:shell", (0, 0, 0, 0)),
    "resume_4": ("S N E+", (2000, 80, 2900, 0)),
    "resume_bad_id": ("", (0, 0, 0, 0)),
    "budget_refused_midrun_400": ("S T:shell R+ X X! E-", (0, 0, 0, 0)),
    "err_cut_usage": ("S N X X! E-", (0, 0, 0, 0)),
    "err_cut_usage_tool": ("S T:shell R+ X X! E-", (0, 0, 0, 0)),
    "err_cut_usage_tool_default_retries": (f"S {'T:shell R+ X ' * 6}X! E-", (0, 0, 0, 0)),
    "err_incomplete_cf": ("S N X X! E-", (0, 0, 0, 0)),
    "err_incomplete_len": ("S N X X! E-", (0, 0, 0, 0)),
}
"""Of `codex exec`. Any other is a call that failed for good, tried once or six times."""


def begun() -> Played:
    """A dialect in the middle of its turn."""
    play = Played(Codex()).begin()
    play.hear({"id": play.asked("initialize")["id"], "result": {}})
    started = {"thread": {"id": "t"}, "model": "m", "approvalPolicy": "untrusted"}
    play.hear({"id": play.asked("thread/start")["id"], "result": started})
    play.hear({"id": play.asked("turn/start")["id"], "result": {"turn": {"id": "u"}}})
    play.told.clear()
    play.sent.clear()
    return play


def about(**more: Any) -> dict[str, Any]:
    return {"threadId": "t", "turnId": "u", "itemId": "i", **more}


def ask(play: Played, request: Any, command: str, **more: Any) -> None:
    params = about(command=f"/bin/bash -lc {command!r}", cwd="/workspace", **more)
    play.hear({"id": request, "method": "item/commandExecution/requestApproval", "params": params})


def test_every_recorded_stream_is_played() -> None:
    recorded = {path.stem for path in (STREAMS / "codex").glob("*.jsonl")}
    assert {name for name in recorded if name.startswith("appserver_")} == set(SERVER)
    assert {name for name in recorded if not name.startswith(("appserver_", "err_", "budget_"))} <= set(EXEC)


@pytest.mark.parametrize("name", SERVER)
def test_a_recorded_stream_of_the_server_means_what_was_done(name: str) -> None:
    play = played(Codex(), f"codex/{name}", {"thread/start": {"approvalPolicy": "untrusted"}})
    assert (brief(play.told), tokens(play.told)) == SERVER[name]
    assert [message for message in play.sent if "method" not in message] == play.replies
    if name != "appserver_k9":  # which goes on with a thread that is there
        assert play.requested()[:3] == ["initialize", "thread/start", "turn/start"]
        assert play.asked("turn/start")["params"]["input"] == [{"type": "text", "text": "go", "text_elements": []}]


def test_a_server_that_would_not_ask_is_not_told_the_brief() -> None:
    play = played(Codex(), "codex/appserver_onreq_full")
    assert play.requested() == ["initialize", "thread/start"]
    assert play.told[:2] == [
        Trouble("this codex would not ask before it acts", fatal=True),
        TurnEnded(False, "this codex would not ask before it acts"),
    ]


@pytest.mark.parametrize("path", sorted((STREAMS / "codex").glob("[!a]*.jsonl")), ids=lambda path: path.stem)
def test_a_recorded_stream_of_exec_means_what_was_done(path: Any) -> None:
    play = Played(CodexExec()).begin()
    for line in path.read_bytes().splitlines():
        play.hear(line)
    if path.stem in EXEC:
        assert (brief(play.told), tokens(play.told)) == EXEC[path.stem]
    else:
        work = "T:shell R+ " * path.stem.startswith("budget")
        assert brief(play.told) in (f"S {work}X X! E-", f"S {work}X X X X X X X! E-")
    assert play.sent == []


def test_it_is_started_with_the_gateway_alone_and_without_retries() -> None:
    launch = Codex(("/opt/codex",)).launch(SETTING)
    assert launch.argv[0] == "/opt/codex"
    assert launch.argv[-1] == "app-server"
    assert 'model_providers.proctor.base_url="http://127.0.0.1:8377/v1"' in launch.argv
    assert 'model="m"' in launch.argv
    settings = tomllib.loads(launch.files[".codex/config.toml"])
    provider = settings["model_providers"][settings["model_provider"]]
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (0, 0)
    assert launch.environment == {provider["env_key"]: "token"}
    assert settings["shell_environment_policy"]["exclude"] == [provider["env_key"]]
    assert not any("8377" in text for text in launch.files.values())
    assert (launch.stdin, launch.home, launch.programs) == (Stdin.OPEN, True, ("/opt/codex",))


def test_exec_takes_its_brief_from_stdin_and_asks_nothing() -> None:
    dialect = CodexExec()
    launch = dialect.launch(SETTING)
    assert (launch.argv[0], launch.argv[-1], launch.stdin) == ("codex", "-", Stdin.BRIEF)
    assert not dialect.asks


def test_a_denials_reason_is_said_before_the_denial() -> None:
    play = begun()
    ask(play, 7, "rm x")
    assert play.told == [Ask("7", "shell", {"command": "rm x", "cwd": "/workspace"}, changeable=False)]
    play.dialect.answer("7", False, "keep it")
    play.dialect.answer("7", True, "")
    play.dialect.answer("8", True, "")
    steer, denial = play.sent
    assert steer["method"] == "turn/steer"
    assert (steer["params"]["threadId"], steer["params"]["expectedTurnId"]) == ("t", "u")
    assert steer["params"]["input"][0]["text"] == "Denied: rm x: keep it"
    assert denial == {"id": 7, "result": {"decision": "decline"}}
    play.hear({"id": steer["id"], "error": {"code": -32600, "message": "no active turn"}})
    assert play.told[1:] == [Note("the reason for the denial did not reach the model: no active turn")]


def test_what_cannot_be_changed_is_denied_where_another_input_is_granted() -> None:
    play = begun()
    ask(play, 1, "rm -rf x")
    ask(play, 2, "ls")
    play.dialect.answer("1", True, "", {"command": "rm x", "cwd": "/workspace"})
    play.dialect.answer("2", True, "", {"command": "ls", "cwd": "/workspace"})
    assert [one["result"]["decision"] for one in play.sent if "result" in one] == ["decline", "accept"]


def test_a_patch_names_all_its_files() -> None:
    play = begun()
    one = {"path": "/workspace/a", "kind": {"type": "add"}, "diff": "x\n"}
    two = {"path": "/workspace/b", "kind": {"type": "update", "move_path": "/workspace/c"}, "diff": "@@"}
    for number, changes in enumerate(([one], [one, two])):
        item = {"type": "fileChange", "id": str(number), "changes": changes, "status": "inProgress"}
        play.hear({"method": "item/started", "params": {"item": item, "threadId": "t", "turnId": "u"}})
        params = about(itemId=str(number), reason=None)
        play.hear({"id": number, "method": "item/fileChange/requestApproval", "params": params})
    first, second = play.of(Ask)
    assert (first.tool, first.input["path"]) == ("write", "/workspace/a")
    assert second.input["paths"] == ["/workspace/a", "/workspace/b", "/workspace/c"]
    assert "path" not in second.input


def test_a_patch_that_was_not_shown_is_asked_about_all_the_same() -> None:
    play = begun()
    play.hear({"id": 1, "method": "item/fileChange/requestApproval", "params": about()})
    assert play.told == [Ask("1", "write", {"paths": [], "diff": ""}, changeable=False)]


def test_a_sub_agents_question_is_marked_and_its_turn_is_not_ours() -> None:
    play = begun()
    ask(play, 1, "ls", threadId="sub", turnId="v", reason="to look")
    ended = {"threadId": "sub", "turn": {"id": "v", "status": "completed"}}
    play.hear({"method": "turn/completed", "params": ended})
    (asked,) = play.told
    assert (asked.agent, asked.why) == ("sub", "to look")
    play.dialect.answer("1", False, "no")
    assert play.asked("turn/steer")["params"]["threadId"] == "sub"


def test_a_host_is_asked_for_by_its_name() -> None:
    play = begun()
    ask(play, 1, "curl x", networkApprovalContext={"host": "example.org", "protocol": "https"})
    assert (play.told[0].tool, play.told[0].input["host"]) == ("host", "example.org")


@pytest.mark.parametrize("method", [*REFUSALS, "item/tool/call", "attestation/generate", "later/invented"])
def test_what_nobody_can_grant_is_refused_at_once(method: str) -> None:
    play = begun()
    play.hear({"id": 3, "method": method, "params": about()})
    assert play.told == []
    (reply,) = play.sent
    assert reply == {"id": 3, "result": REFUSALS[method]} if method in REFUSALS else reply["error"]["code"]


def test_a_question_is_answered_by_choice_or_words() -> None:
    play = begun()
    questions = [{"id": "q", "header": "H", "question": "Which?", "options": [{"label": "a", "description": "d"}]}]
    for request in (1, 2, 3):
        params = about(questions=questions, isBlocking=True)
        play.hear({"id": request, "method": "item/tool/requestUserInput", "params": params})
    assert (play.told[0].tool, play.told[0].changeable) == ("question", True)
    play.dialect.answer("1", True, "", {"answers": {"Which?": "a"}})
    play.dialect.answer("2", True, "neither")
    play.dialect.answer("3", False, "")
    assert [one["result"]["answers"]["q"]["answers"] for one in play.sent] == [["a"], ["neither"], []]


def test_of_two_questions_with_one_id_neither_is_granted() -> None:
    play = begun()
    ask(play, 1, "ls")
    ask(play, "1", "rm -rf /")
    assert play.told[1:] == [Withdrawn("1")]
    assert [(one["id"], "error" in one) for one in play.sent] == [(1, True), ("1", True)]
    play.dialect.answer("1", True, "")
    assert len(play.sent) == 2


def test_what_is_asked_for_a_programs_stdin_is_no_command() -> None:
    play = begun()
    params = about(command="ls", kind="writeStdin")
    play.hear({"id": 1, "method": "item/commandExecution/requestApproval", "params": params})
    assert [event.tool for event in play.of(Ask)] == ["writestdin"]


def test_what_is_too_large_to_be_judged_is_refused_unasked() -> None:
    play = begun()
    ask(play, 1, "echo " + "x" * MOST_INPUT)
    assert not play.told
    assert [one.get("method", "error") for one in play.sent] == ["turn/steer", "error"]


def test_a_question_that_is_settled_elsewhere_is_withdrawn() -> None:
    play = begun()
    ask(play, 1, "ls")
    for _ in range(2):
        play.hear({"method": "serverRequest/resolved", "params": {"threadId": "t", "requestId": 1}})
    assert play.told[1:] == [Withdrawn("1")]


def test_what_is_typed_into_a_running_program_is_a_call() -> None:
    play = begun()
    params = about(processId="9", stdin="print(1)\n")
    play.hear({"method": "item/commandExecution/terminalInteraction", "params": params})
    assert play.told == [Tool("shell", {"stdin": "print(1)\n"})]


def test_an_interrupt_names_the_turn() -> None:
    play = begun()
    play.dialect.interrupt()
    assert (play.sent[0]["method"], play.sent[0]["params"]) == ("turn/interrupt", {"threadId": "t", "turnId": "u"})
    early = Played(Codex()).begin()
    early.dialect.interrupt()
    assert early.requested() == ["initialize"]


def test_a_start_that_fails_ends_the_turn() -> None:
    play = Played(Codex()).begin()
    play.hear({"id": play.asked("initialize")["id"], "error": {"code": -32600, "message": "bad configuration"}})
    assert play.told == [Trouble("bad configuration", fatal=True), TurnEnded(False, "bad configuration")]


def test_calls_that_never_end_take_no_more_memory() -> None:
    play = begun()
    for number in range(MOST_KEPT + 50):
        item = {"type": "commandExecution", "id": str(number), "command": "ls"}
        play.hear({"method": "item/started", "params": {"item": item}})
    assert isinstance(play.dialect, Codex)
    assert len(play.dialect._items) == MOST_KEPT


def test_a_megabyte_line_is_an_event_like_another() -> None:
    play = begun()
    item = {"type": "commandExecution", "id": "c", "command": "ls", "status": "completed", "exitCode": 0}
    play.hear({"method": "item/completed", "params": {"item": {**item, "aggregatedOutput": "y" * 3_000_000}}})
    assert play.told == [Tool("shell", {"command": "ls"}, "c"), tools.result("c", True, "y" * 3_000_000)]


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("/bin/bash -lc 'touch a && echo b'", "touch a && echo b"),
        ("bash -c ls", "ls"),
        ("/bin/sh -c 'echo '\"'\"'x'\"'\"", "echo 'x'"),
        ("/bin/bash -lc 'ls' extra", "/bin/bash -lc 'ls' extra"),
        ("python -c 'print(1)'", "python -c 'print(1)'"),
        ("bash -lc 'unclosed", "bash -lc 'unclosed"),
        (f"bash -c '{'x' * 99_999}'", f"bash -c '{'x' * 99_999}'"),
        ("", ""),
        ("/usr/bin/bash -c ls", "ls"),
        ("./bash -c ls", "./bash -c ls"),
        ("/tmp/x/bin/bash -lc ls", "/tmp/x/bin/bash -lc ls"),
    ],
)
def test_a_command_is_judged_without_the_shell_around_it(command: str, inner: str) -> None:
    assert unwrapped(command) == inner


# fmt: off
JUNK = [
    b"", b"Error: something", b"{", b"[1]", b"null", b'{"method": 7}', b'{"id": 1}', b'{"id": true, "result": 1}',
    b'{"id": [1], "method": "item/fileChange/requestApproval"}', b'{"method": "item/started", "params": {"item": 5}}',
    b'{"method": "later", "params": {"x": {}}}', b'{"a": ' + b"[" * 200_000, b'{"method": "error", "params": "\xff"}',
    b'{"type": 5}', b'{"type": "item.completed", "item": {"type": []}}', b'{"type": "turn.completed", "usage": {}}',
]
# fmt: on


@pytest.mark.parametrize("line", JUNK, ids=range(len(JUNK)))
def test_what_is_not_understood_is_only_in_the_raw_stream(line: bytes) -> None:
    for play in (begun(), Played(CodexExec()).begin()):
        play.hear(line)
        play.dialect.heard("stderr", line)
        assert [event for event in play.told if not isinstance(event, Usage | TurnEnded)] == []
        assert tokens(play.told) == (0, 0, 0, 0)


# fmt: off
KEYS = st.sampled_from([
    "threadId", "turnId", "itemId", "turn", "item", "error", "message", "status", "id", "type", "command", "changes",
    "path", "kind", "diff", "questions", "tokenUsage", "last", "total", "inputTokens", "requestId", "thread", "usage",
])
# fmt: on
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
METHODS = st.sampled_from(
    [
        "item/started", "item/completed", "turn/completed", "thread/tokenUsage/updated", "error",
        "item/tool/requestUserInput", "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval", "serverRequest/resolved",
    ]
)  # fmt: skip


@given(METHODS, VALUES, VALUES, st.booleans())
def test_no_shape_of_a_known_message_raises(method: str, params: Any, request: Any, whole: bool) -> None:
    play = begun()
    params = {**about(), **params} if whole and isinstance(params, dict) else params
    play.hear({"method": method, "params": params})
    play.hear({"id": request, "method": method, "params": params})
    play.hear({"id": 3, "result": params})
    other = Played(CodexExec()).begin()
    other.hear({"type": "item.completed", "item": params, "usage": params, "error": params})
    for event in [*play.of(Ask)]:
        play.dialect.answer(event.id, True, "yes", event.input)
    json.dumps(play.sent)
