"""Answers as providers send them, cut at every byte. Shapes and figures are written out here."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from proctor.budget.dimensions import Usage
from proctor.doors.gateway import providers
from proctor.doors.gateway.providers.base import Reading

MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
GEMINI, GEMINI_STREAM = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent"
DONE = "[DONE]"


def reading(path: str, body: Any = None) -> Reading:
    found = providers.of("POST", path, {}, json.dumps({"model": "m"} | (body or {})).encode())
    assert found is not None
    return found[0].reading(found[1])


def stream(*events: Any, end: str = "\n") -> bytes:
    """Events as they stand on the wire, with their type on a line of its own where they have one."""
    lines = []
    for event in events:
        if isinstance(event, dict) and "type" in event:
            lines.append(f"event: {event['type']}")
        lines += [f"data: {event if isinstance(event, str) else json.dumps(event)}", ""]
    return "".join(line + end for line in lines).encode()


def read(path: str, raw: bytes, step: int = 0, body: Any = None) -> Reading:
    one = reading(path, body)
    step = step or max(1, len(raw))
    for at in range(0, len(raw), step):
        one.feed(raw[at : at + step])
    one.end()
    return one


def known(one: Reading) -> tuple[Any, ...]:
    return one.usage, one.final, one.complete, one.message, one.model, one.named, one.error, one.generated()


MESSAGE = stream(
    {
        "type": "message_start",
        "message": {
            "id": "msg_01",
            "model": "claude-sonnet-4-5-20250929",
            "content": [],
            "usage": {
                "input_tokens": 100,
                "cache_creation_input_tokens": 3_000,
                "cache_read_input_tokens": 20_000,
                "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000},
                "output_tokens": 1,
                "service_tier": "standard",
            },
        },
    },
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm\u00e9\U0001f600."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2VhbGVk"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use", "name": "web_search"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "Bash"}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "t2", "name": "Edit"}},
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 85}},
    {"type": "message_stop"},
)
RESPONSE = stream(
    {
        "type": "response.created",
        "response": {"id": "resp_1", "model": "gpt-5.5", "status": "in_progress", "usage": None},
    },
    {"type": "response.in_progress", "response": {"id": "resp_1", "tools": [{"x": "y" * 5_000}], "usage": None}},
    {"type": "response.output_item.added", "item": {"type": "function_call", "name": "exec_command", "id": "fc_1"}},
    {"type": "response.function_call_arguments.delta", "sequence_number": 3, "item_id": "fc_1", "delta": '{"a":1}'},
    {"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "c1", "name": "exec_command"}},
    {"type": "response.output_item.done", "item": {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch"}},
    {"type": "response.output_item.done", "item": {"type": "local_shell_call", "call_id": "c3"}},
    {"type": "response.output_item.done", "item": {"type": "web_search_call", "id": "ws_1"}},
    {"type": "response.output_item.done", "item": {"type": "mcp_call", "id": "mcp_1", "name": "theirs"}},
    {"type": "response.output_text.delta", "delta": "Gr\u00fc\u00dfe"},
    {
        "type": "response.completed",
        "response": {
            "id": "resp_1",
            "model": "gpt-5.5-2026-01-01",
            "status": "completed",
            "service_tier": "default",
            "usage": {
                "input_tokens": 5_350,
                "input_tokens_details": {"cached_tokens": 4_600, "cache_write_tokens": 250},
                "output_tokens": 200,
                "output_tokens_details": {"reasoning_tokens": 20},
                "total_tokens": 5_550,
            },
        },
    },
)


def chunk(*choices: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "gpt-4o-2024-08-06",
        "choices": list(choices),
    } | more


def choice(finish: str | None = None, index: int = 0, **delta: Any) -> dict[str, Any]:
    return {"index": index, "delta": delta, "finish_reason": finish}


def call(index: int, name: str | None = None, mark: str | None = None, arguments: str = "") -> dict[str, Any]:
    return {"index": index, "id": mark, "function": {"name": name, "arguments": arguments}}


COMPLETION = stream(
    chunk(choice(role="assistant", content=""), usage=None),
    chunk(choice(content="Gr\u00fc\u00dfe"), usage=None),
    chunk(choice(tool_calls=[call(0, "read", "call_a", "")]), usage=None),
    chunk(choice(tool_calls=[call(0, arguments='{"a":1}')]), usage=None),
    chunk(choice(tool_calls=[call(1, "bash", "call_b", "{}")]), usage=None),
    chunk(choice("tool_calls"), usage=None),
    chunk(
        usage={
            "prompt_tokens": 1_200,
            "completion_tokens": 80,
            "total_tokens": 1_280,
            "prompt_tokens_details": {"cached_tokens": 1_024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 30},
        }
    ),
    DONE,
)


def part(*parts: Any, finish: str | None = None, usage: Any = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0} | (
        {"finishReason": finish} if finish else {}
    )
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-pro", "responseId": "r-1"}


CONTENT = [
    part({"text": "Hm\u00e9.", "thought": True}, usage={"promptTokenCount": 5_400, "totalTokenCount": 5_400}),
    part(
        {"functionCall": {"name": "run_shell_command", "args": {"command": "ls"}}}, {"functionCall": {"name": "read"}}
    ),
    part({"executableCode": {"code": "1"}}, {"functionCall": {"partialArgs": [], "willContinue": False}}),
    part(
        {"text": "Done"},
        finish="STOP",
        usage={
            "promptTokenCount": 5_400,
            "cachedContentTokenCount": 4_600,
            "candidatesTokenCount": 170,
            "thoughtsTokenCount": 20,
            "toolUsePromptTokenCount": 7,
            "totalTokenCount": 5_597,
        },
    ),
]


def tight(raw: bytes) -> bytes:
    """The same without a space between two tokens, as some servers write."""
    lines = raw.split(b"\n")
    for at, line in enumerate(lines):
        if line.startswith(b"data: {"):
            lines[at] = b"data:" + json.dumps(json.loads(line[6:]), separators=(",", ":"), ensure_ascii=False).encode()
    return b"\n".join(lines)


STREAMS = {
    "messages": (MESSAGES, MESSAGE),
    "responses": (RESPONSES, RESPONSE),
    "chat": (CHAT, COMPLETION),
    "gemini as events": (GEMINI_STREAM + "?alt=sse", stream(*CONTENT)),
    "gemini as a list": (GEMINI_STREAM, json.dumps(CONTENT, indent=1, ensure_ascii=False).encode()),
}
EXPECTED: dict[str, tuple[Usage, str, str, list[str]]] = {
    "messages": (
        Usage(input=100, output=85, cache_read=20_000, cache_write=1_000, cache_write_1h=2_000),
        "msg_01", "claude-sonnet-4-5-20250929", ["Bash", "Edit"],
    ),
    "responses": (
        Usage(input=500, output=200, cache_read=4_600, cache_write=250, reasoning=20),
        "resp_1", "gpt-5.5-2026-01-01", ["exec_command", "apply_patch", "local_shell"],
    ),
    "chat": (
        Usage(input=176, output=80, cache_read=1_024, reasoning=30),
        "chatcmpl-1", "gpt-4o-2024-08-06", ["read", "bash"],
    ),
    "gemini as events": (
        Usage(input=807, output=190, cache_read=4_600, reasoning=20),
        "r-1", "gemini-2.5-pro", ["run_shell_command", "read"],
    ),
}  # fmt: skip
EXPECTED["gemini as a list"] = EXPECTED["gemini as events"]
for _kind in ("messages", "responses", "chat"):
    STREAMS[_kind + ", tight"] = STREAMS[_kind][0], tight(STREAMS[_kind][1])
    EXPECTED[_kind + ", tight"] = EXPECTED[_kind]
GENERATED = {
    "messages": 'Hm\u00e9\U0001f600.{"a":1}',
    "responses": '{"a":1}Gr\u00fc\u00dfe',
    "chat": 'Gr\u00fc\u00dfe{"a":1}{}',
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("step", [0, 1, 7])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_says_all_that_counts_wherever_its_chunks_are_cut(kind: str, step: int, end: bytes) -> None:
    path, raw = STREAMS[kind]
    one = read(path, raw.replace(b"\n", end), step)
    usage, message, model, named = EXPECTED[kind]
    assert (one.usage, one.message, one.model, one.named) == (usage, message, model, named)
    assert (one.final, one.complete, one.error) == (True, True, "")
    if kind[:4] != "gemi":
        assert sorted(one.generated().decode()) == sorted(GENERATED[kind.partition(",")[0]])


@pytest.mark.parametrize("kind", ["messages", "responses", "chat", "gemini as events"])
def test_the_end_of_a_stream_is_known_before_the_connection_ends_and_not_before_it_is_there(kind: str) -> None:
    path, raw = STREAMS[kind]
    one = reading(path)
    last = raw.rstrip(b"\n").rindex(b"\n\n") + 2
    one.feed(raw[:last])
    assert not one.complete
    one.feed(raw[last:])
    assert (one.complete, one.final) == (True, True)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_that_breaks_off_anywhere_is_never_complete_and_never_counts_more(kind: str) -> None:
    path, raw = STREAMS[kind]
    usage, _, _, named = EXPECTED[kind]
    # A chat has said all of its text where it says why it stopped: some servers say nothing more.
    whole = raw.rindex(b'"tool_calls"') - 16 if kind[:4] == "chat" else len(raw.rstrip(b"\n ]}")) - 1
    for cut in range(0, whole, 13):
        one = read(path, raw[:cut])
        assert not one.complete
        assert one.named == named[: len(one.named)]
        if one.usage is not None:
            assert one.usage.prefix <= usage.prefix
            assert one.usage.output <= usage.output


def test_a_cut_message_knows_its_input_and_what_can_be_seen_of_its_output() -> None:
    one = read(MESSAGES, MESSAGE[: MESSAGE.index(b'"1}"')])
    assert one.usage == Usage(input=100, output=1, cache_read=20_000, cache_write=1_000, cache_write_1h=2_000)
    assert (one.final, one.complete, one.named) == (False, False, [])
    assert one.generated().decode() == 'Hm\u00e9\U0001f600.{"a":'


ANSWERS: list[tuple[str, Any, Usage | None, list[str]]] = [
    (
        MESSAGES,
        {
            "id": "i", "type": "message", "model": "mm",
            "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "name": "Bash", "input": {"a": 1}}],
            "usage": {
                "input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3,
            },
        },
        Usage(input=7, output=9, cache_read=5, cache_write=3), ["Bash"],
    ),
    (
        RESPONSES,
        {
            "id": "i", "model": "mm", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "reasoning"}, {"type": "function_call", "name": "f", "call_id": "c"}],
            "usage": {"input_tokens": 7, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 2}},
        },
        Usage(input=5, output=9, cache_read=2), ["f"],
    ),
    (
        CHAT,
        {
            "id": "i", "model": "mm",
            "choices": [
                {"index": 0, "message": {"content": None, "tool_calls": [call(0, "a", "1"), call(1, "b", "2")]}},
                {"index": 1, "message": {"content": "x", "function_call": {"name": "c", "arguments": "{}"}}},
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 9, "prompt_tokens_details": None},
        },
        Usage(input=7, output=9), ["a", "b", "c"],
    ),
    (
        GEMINI,
        {
            "responseId": "i", "modelVersion": "mm",
            "candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 9, "thoughtsTokenCount": 4},
        },
        Usage(input=7, output=13, reasoning=4), ["f"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "answer", "usage", "named"), ANSWERS)
@pytest.mark.parametrize("step", [0, 1])
def test_an_answer_at_once_says_the_same(path: str, answer: Any, usage: Usage, named: list[str], step: int) -> None:
    one = read(path, b" \n" + json.dumps(answer, indent=1).encode() + b"\n", step)
    assert (one.usage, one.named, one.message, one.model) == (usage, named, "i", "mm")
    assert (one.final, one.complete, one.error) == (True, True, "")


@pytest.mark.parametrize(("path", "answer", "usage", "named"), ANSWERS)
def test_an_answer_at_once_that_breaks_off_or_reports_nothing_is_left_to_an_estimate(
    path: str, answer: Any, usage: Usage, named: list[str]
) -> None:
    cut = read(path, json.dumps(answer).encode()[:-1])
    assert (cut.usage, cut.complete, cut.final) == (None, False, False)
    assert cut.generated()
    silent = read(path, json.dumps({**answer, "usage": None, "usageMetadata": None}).encode())
    assert (silent.usage, silent.complete, silent.final) == (None, True, False)
    assert (silent.named, bool(silent.generated())) == (named, True)


@pytest.mark.parametrize(
    "begin", [b"[", b'{"content":[', b'{"type":"x","content":['], ids=["list", "document", "stream"]
)
def test_an_answer_of_nothing_but_values_takes_no_minutes(begin: bytes, request: pytest.FixtureRequest) -> None:
    raw = begin + b"{}," * 1_500_000
    begun = time.process_time()
    one = read(MESSAGES, b"data: " + raw + b"\n\n" if "stream" in request.node.name else raw)
    assert (one.complete, one.usage) == (False, None)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("count", [1, 2])
def test_an_answer_ends_with_the_last_of_its_candidates(count: int) -> None:
    def said(index: int, tokens: int, **more: Any) -> dict[str, Any]:
        candidate = {"index": index, "content": {"parts": [{"text": "x"}]}, **more}
        return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": tokens}}

    one = reading(GEMINI_STREAM, {"generationConfig": {"candidateCount": 2}})
    one.feed(stream(said(0, 1), said(0, 3, finishReason="STOP")))
    assert not one.complete
    if count == 2:
        one.feed(stream(said(1, 9), said(1, 900, finishReason="STOP")))
        assert one.complete
    one.end()
    assert (one.complete, one.final, one.usage) == (True, True, Usage(input=5, output=3 if count == 1 else 900))


@pytest.mark.parametrize(
    ("path", "answer"),
    [(MESSAGES + "/count_tokens", {"input_tokens": 2_095}), (RESPONSES + "/input_tokens", {"input_tokens": 11}),
     ("/v1beta/models/m:countTokens", {"totalTokens": 31})],
)  # fmt: skip
def test_counting_tokens_costs_none(path: str, answer: Any) -> None:
    one = read(path, json.dumps(answer).encode())
    assert (one.usage, one.final, one.complete) == (Usage(), True, True)


@pytest.mark.parametrize(
    ("path", "events", "said"),
    [
        (MESSAGES, [{"type": "error", "error": {"type": "overloaded_error", "message": "No"}}], "overloaded_error: No"),
        (RESPONSES, [{"type": "error", "code": "server_error", "message": "sorry"}], "server_error: sorry"),
        (RESPONSES, [{"type": "error", "error": {"type": "t", "message": "sorry"}}], "t: sorry"),
        (
            RESPONSES,
            [{"type": "response.failed", "response": {"status": "failed", "usage": None,
                                                      "error": {"code": "rate_limit_exceeded", "message": "slow"}}}],
            "rate_limit_exceeded: slow",
        ),
        (CHAT, [{"error": {"message": "Provider disconnected", "code": 502}}, DONE], "Provider disconnected"),
        (CHAT, [{"error": "plain words"}], "plain words"),
        (GEMINI_STREAM, [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "no"}}], "UNAVAILABLE: no"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_that_began_well_is_no_end_of_an_answer(path: str, events: Any, said: str) -> None:
    one = read(path, stream(*events))
    assert (one.error, one.complete) == (said, False)


def test_a_failed_response_that_reports_its_usage_is_counted() -> None:
    response = {"status": "failed", "error": {"code": "server_error"}, "usage": {"input_tokens": 5, "output_tokens": 2}}
    one = read(RESPONSES, stream({"type": "response.failed", "response": response}))
    assert (one.usage, one.final, one.complete) == (Usage(input=5, output=2), True, False)


def test_words_about_errors_and_limits_in_an_answer_are_no_error() -> None:
    text = 'error: 429 rate_limit_error {"type":"error"} data: [DONE] \n\nevent: error\n\n'
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    for path, events in (
        (MESSAGES, [delta]),
        (RESPONSES, [{"type": "response.output_text.delta", "delta": text}]),
        (CHAT, [chunk(choice(content=text))]),
        (GEMINI_STREAM, [part({"text": text})]),
    ):
        one = read(path, stream(*events))
        assert (one.error, one.complete, one.generated().decode()) == ("", False, text)
