"""The end of a conversation tells which tools were called last and what they came to, in every language."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.doors.gateway.providers.exchange import MOST, Exchange, exchanged
from proctor.words import Api

LS = {"command": "ls"}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "old", "name": "bash", "input": LS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "old", "content": "x"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "and now"},
            {"type": "tool_use", "id": "a", "name": "bash", "input": LS},
            {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "p"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no"}], "is_error": True},
            {"type": "tool_result", "tool_use_id": "a", "content": "f.py"},
            {"type": "text", "text": "go on"},
        ],
    },
]
CHAT: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "bash", "arguments": json.dumps(LS)}}, {"function": {}}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "error: none"},
    {"role": "user", "content": "hurry"},
]
INPUT: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "old", "name": "bash", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "old", "output": "x"},
    {"type": "message", "role": "assistant", "content": []},
    {"type": "function_call", "call_id": "a", "name": "bash", "arguments": json.dumps(LS)},
    {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "a", "output": "f.py"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": "done"},
]
CONTENTS: list[dict[str, Any]] = [
    {"role": "model", "parts": [{"text": "so"}, {"functionCall": {"name": "shell", "args": LS}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "f.py"}}}]},
]


@pytest.mark.parametrize(
    ("api", "body", "expected"),
    [
        (
            Api.MESSAGES,
            {"messages": MESSAGES},
            (Exchange("a", "bash", LS, "f.py"), Exchange("b", "read", {"path": "p"}, "no", ok=False)),
        ),
        (Api.CHAT, {"messages": CHAT}, (Exchange("a", "bash", LS, "error: none"),)),
        (
            Api.RESPONSES,
            {"input": INPUT},
            (Exchange("a", "bash", LS, "f.py"), Exchange("b", "apply_patch", {"input": "*** Begin"}, "done")),
        ),
        (Api.GEMINI, {"contents": CONTENTS}, (Exchange("2.0", "shell", LS, '{"output": "f.py"}'),)),
        (Api.COUNT_TOKENS, {"messages": MESSAGES}, ()),
        (Api.MESSAGES, {"messages": MESSAGES[:1]}, ()),
        (Api.RESPONSES, {"input": "hello"}, ()),
        (Api.RESPONSES, {"previous_response_id": "r", "input": INPUT[5:]}, ()),
    ],
)
def test_the_last_calls_and_their_results_are_read(api: Api, body: dict[str, Any], expected: tuple[Exchange]) -> None:
    assert exchanged(api, body) == expected


def test_a_result_that_is_not_all_text_is_not_known() -> None:
    said = json.loads(json.dumps(MESSAGES[3:]))
    said[1]["content"][1]["content"] = [{"type": "image", "source": {}}]
    assert [one.output for one in exchanged(Api.MESSAGES, {"messages": said})] == [None, "no"]


def test_a_flood_of_calls_in_one_answer_is_cut() -> None:
    parts = [{"type": "tool_use", "id": f"{n}", "name": "x", "input": {}} for n in range(3 * MOST)]
    results = [{"type": "tool_result", "tool_use_id": f"{n}", "content": ""} for n in range(3 * MOST)]
    said = [{"role": "assistant", "content": parts}, {"role": "user", "content": results}]
    assert len(exchanged(Api.MESSAGES, {"messages": said})) == MOST


WORDS = st.sampled_from(
    ["messages", "input", "contents", "role", "assistant", "model", "content", "tool_calls", "function", "id", "output",
     "call_id", "tool_call_id", "tool_use_id", "type", "tool_use", "tool_result", "parts", "functionCall", "arguments"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.sampled_from(Api), st.dictionaries(WORDS, VALUES, max_size=4))
def test_nothing_that_a_client_sends_raises(api: Api, body: dict[str, Any]) -> None:
    assert all(isinstance(one, Exchange) for one in exchanged(api, body))
