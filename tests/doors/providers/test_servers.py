"""Servers that speak a language a little differently, badly, or to do harm."""

from __future__ import annotations

import json
import time
import tracemalloc
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proctor.budget.dimensions import Usage
from proctor.doors.gateway import providers
from proctor.doors.gateway.providers import reading as rules
from proctor.doors.gateway.providers import sse
from proctor.doors.gateway.providers.base import Reading

PATHS = (
    "/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:streamGenerateContent",
    "/v1/messages/count_tokens",
)  # fmt: skip
MESSAGES, RESPONSES, CHAT, GEMINI, _ = PATHS


def read(path: str, *pieces: bytes) -> Reading:
    found = providers.of("POST", path, {}, b'{"model":"m"}')
    assert found is not None
    one = found[0].reading(found[1])
    for piece in pieces:
        one.feed(piece)
    one.end()
    one.end()
    return one


def events(*written: Any) -> bytes:
    return b"".join(
        b"data: " + (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n\n" for one in written
    )


# Differently.


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10}, Usage(input=100, output=10)),
        # Cached tokens within the input, as OpenAI has it, DeepSeek, Moonshot, and OpenRouter with what was written.
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40},
         Usage(input=40, output=10, cache_read=60)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 60},
         Usage(input=40, output=10, cache_read=60)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
          "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}},
         Usage(input=10, output=10, cache_read=60, cache_write=30)),
        # Beside it, as the total shows, or because there are more of them than of the input.
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 170,
          "prompt_tokens_details": {"cached_tokens": 60}},
         Usage(input=100, output=10, cache_read=60)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "cache_read_input_tokens": 900,
          "cache_creation_input_tokens": 50},
         Usage(input=100, output=10, cache_read=900, cache_write=50)),
        # Reasoning within the output, as OpenAI has it, and beside it, as xAI has it.
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
          "completion_tokens_details": {"reasoning_tokens": 40}}, Usage(input=100, output=50, reasoning=40)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150,
          "completion_tokens_details": {"reasoning_tokens": 40}}, Usage(input=100, output=50, reasoning=40)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 210,
          "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 40}},
         Usage(input=100, output=50, cache_read=60, reasoning=40)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150,
          "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 40}},
         Usage(input=40, output=50, cache_read=60, reasoning=40)),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623},
         Usage(input=20, output=603, reasoning=405)),
        ({"completion_tokens": 198, "total_tokens": 218}, Usage(input=20, output=198)),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 3}, Usage(input=20, output=198)),
        ({"prompt_tokens": 100.0, "completion_tokens": 0}, Usage(input=100)),
        ({"prompt_tokens": 100}, Usage(input=100)),
    ],
)  # fmt: skip
def test_a_chat_reports_its_cache_and_its_reasoning_within_or_beside_and_both_are_right(
    usage: dict[str, Any], expected: Usage
) -> None:
    assert read(CHAT, events({"choices": [], "usage": usage}, b"[DONE]")).usage == expected


def test_usage_may_come_on_every_chunk_and_the_last_one_counts() -> None:
    def chunk(n: int, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": finish}
        return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": n}}

    running = read(CHAT, events(chunk(1), chunk(2)))
    assert (running.usage, running.final, running.complete) == (Usage(9, 2), False, False)
    ended = read(CHAT, events(chunk(1), chunk(2), chunk(3, "stop")))
    assert (ended.usage, ended.final, ended.complete) == (Usage(9, 3), True, True)


@pytest.mark.parametrize(
    "last",
    [
        {"choices": None, "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 3}},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 3}}},
        {"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 9, "completion_tokens": 3}}]},
    ],
)
def test_the_last_chunk_of_a_chat_may_look_otherwise(last: Any) -> None:
    first = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}
    one = read(CHAT, events(first, last, b"[DONE]"))
    assert (one.usage, one.final, one.complete) == (Usage(9, 3), True, True)


def calls(*written: tuple[int, str | None, str | None]) -> list[str]:
    chunks = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": at, "id": mark, "function": {"name": name}}]}}]}
        for at, mark, name in written
    ]
    return read(
        CHAT, events(*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, b"[DONE]")
    ).named


def test_calls_of_tools_are_counted_once_however_a_server_numbers_them() -> None:
    assert calls((0, "a", "f"), (0, None, None), (1, "b", "g")) == ["f", "g"]
    assert calls((0, "a", "f"), (0, "a", "f"), (0, "a", "f")) == ["f"]
    assert calls((0, "a", "f"), (0, "b", "f")) == ["f", "f"]
    assert calls((0, "a", None), (0, None, "f")) == ["f"]
    assert calls((0, None, "f"), (0, None, None)) == ["f"]


def test_two_choices_end_each_by_itself() -> None:
    def chunk(index: int, finish: str | None, tool: str) -> dict[str, Any]:
        call = {"index": 0, "id": tool, "function": {"name": tool}}
        return {"choices": [{"index": index, "delta": {"tool_calls": [call]}, "finish_reason": finish}]}

    one = read(CHAT, events(chunk(0, None, "f"), chunk(1, None, "g"), chunk(1, "stop", "g")))
    assert (one.named, one.complete) == (["g"], False)


def test_comments_pings_names_and_ids_of_events_are_passed_over() -> None:
    raw = b'\xef\xbb\xbf: hi\nretry: 5\nid: 7\nevent: x\ndata:{"choices":[],\ndata: "usage":{"prompt_tokens":1}}\n\n'
    one = read(CHAT, raw, b":\n\n\n", b"data\n\ndata: [DONE]\n\n")
    assert (one.usage, one.complete) == (Usage(1), True)


def test_messages_may_report_their_input_at_the_end_or_twice() -> None:
    start = {"type": "message_start", "message": {"id": "i", "usage": {"input_tokens": 0, "output_tokens": 0}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    late = read(
        MESSAGES, events(start, end | {"usage": {"input_tokens": 50, "output_tokens": 9}}, {"type": "message_stop"})
    )
    assert (late.usage, late.final) == (Usage(50, 9), True)
    start["message"]["usage"]["input_tokens"] = 50  # type: ignore[index]
    zero = read(MESSAGES, events(start, end | {"usage": {"input_tokens": 0, "output_tokens": 9}}))
    assert (zero.usage, zero.complete) == (Usage(50, 9), False)
    silent = read(MESSAGES, events(start, end, {"type": "message_stop"}))
    assert (silent.usage, silent.final, silent.complete) == (Usage(50, 0), False, True)


def test_what_a_message_spent_on_compaction_is_in_none_of_its_sums_and_counted() -> None:
    usage = {
        "input_tokens": 23_000,
        "output_tokens": 1_000,
        "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
        ],
    }
    one = read(MESSAGES, json.dumps({"type": "message", "id": "i", "content": [], "usage": usage}).encode())
    assert one.usage == Usage(203_000, 4_500)


def test_an_event_is_known_by_its_type_wherever_it_stands_and_by_nothing_else() -> None:
    delta = b'{"index":0,"delta":{"text":"seen"},"type":"content_block_delta"}'
    assert read(MESSAGES, events(delta)).generated() == b"seen"
    assert read(RESPONSES, events(b'{"delta":"seen","type":"response.output_text.delta"}')).generated() == b"seen"
    block = {"type": "tool_use", "name": "content_block_delta"}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    assert read(MESSAGES, events(start, {"type": "content_block_stop", "index": 0})).named == ["content_block_delta"]
    item = {"name": "response.x.delta", "type": "function_call"}
    assert read(RESPONSES, events({"type": "response.output_item.done", "item": item})).named == ["response.x.delta"]


def test_a_blocked_prompt_is_a_whole_answer() -> None:
    one = read(GEMINI, events({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}))
    assert (one.usage, one.final, one.complete) == (Usage(4), True, True)


def test_a_server_may_stream_to_who_did_not_ask_for_it_and_the_other_way_round() -> None:
    whole = b'{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}'
    assert read(CHAT, whole).usage == read(CHAT, b"data: " + whole + b"\n\n").usage == Usage(1, 2)


@pytest.mark.parametrize(
    ("path", "answer", "tier"),
    [
        (MESSAGES, {"type": "message", "content": [], "usage": {"input_tokens": 1, "speed": "fast"}}, "fast"),
        (RESPONSES, {"status": "completed", "service_tier": "priority"}, "priority"),
        (RESPONSES, {"status": "completed", "service_tier": "default"}, ""),
        (CHAT, {"choices": [], "service_tier": "flex"}, "flex"),
        (GEMINI, {"usageMetadata": {"serviceTier": "PRIORITY"}}, "priority"),
    ],
)
def test_an_answer_says_which_service_it_was(path: str, answer: Any, tier: str) -> None:
    assert read(path, json.dumps(answer).encode()).tier == tier


# Badly, or to do harm.

NONSENSE = [-1, 1.5, 10**12, 10**40, "12", True, [5], {"n": 5}, float("1e300")]


@pytest.mark.parametrize("amount", NONSENSE)
@pytest.mark.parametrize("field", ["input", "output"])
def test_a_number_that_can_be_none_of_tokens_makes_the_whole_report_none(amount: Any, field: str) -> None:
    good = {"input": 5, "output": 6} | {field: amount}
    given, made = good["input"], good["output"]
    for path, answer in (
        (MESSAGES, {"content": [], "usage": {"input_tokens": given, "output_tokens": made}}),
        (RESPONSES, {"status": "completed", "usage": {"input_tokens": given, "output_tokens": made}}),
        (CHAT, {"choices": [], "usage": {"prompt_tokens": given, "completion_tokens": made}}),
        (GEMINI, {"usageMetadata": {"promptTokenCount": given, "candidatesTokenCount": made}}),
    ):
        one = read(path, json.dumps(answer).encode())
        assert (one.usage, one.final) == (None, False), path


@pytest.mark.parametrize("amount", NONSENSE)
def test_nonsense_in_a_detail_counts_as_nothing(amount: Any) -> None:
    details = {"cached_tokens": amount, "reasoning_tokens": amount}
    usage = {"input_tokens": 5, "output_tokens": 6, "input_tokens_details": details, "output_tokens_details": details}
    one = read(RESPONSES, json.dumps({"status": "completed", "usage": usage | {"total_tokens": amount}}).encode())
    assert one.usage == Usage(5, 6)
    cache = {"cache_read_input_tokens": amount, "cache_creation": {"ephemeral_1h_input_tokens": amount}}
    assert read(MESSAGES, json.dumps({"content": [], "usage": usage | cache}).encode()).usage == Usage(5, 6)


KEYS = (
    "type message id model usage input_tokens output_tokens cache_creation iterations content content_block index "
    "delta stop_reason error response item status choices finish_reason tool_calls function name arguments "
    "prompt_tokens completion_tokens total_tokens prompt_tokens_details cached_tokens x_groq candidates parts "
    "functionCall finishReason usageMetadata promptTokenCount promptFeedback output call_id code"
)
KINDS = (
    "message_start content_block_start content_block_stop content_block_delta message_delta message_stop error "
    "tool_use response.completed response.failed response.output_item.done response.x.delta function_call compaction "
    "completed"
)
keys = st.sampled_from(KEYS.split())
words = st.sampled_from(KINDS.split()) | st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just(10**30) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""What moves a cursor, hides or reorders; a character that this Python's tables do not know does none of it."""


def sane(one: Reading) -> bool:
    usage = one.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cache_write_1h) if usage else ()
    texts = (one.message, one.model, one.error, one.tier, *one.named)
    return (
        all(type(count) is int and 0 <= count <= 4 * rules.MOST_TOKENS for count in counts)
        and (usage is None or 0 <= usage.reasoning <= usage.output)
        and not (one.final and usage is None)
        and not (one.complete and one.error)
        and all(isinstance(text, str) and UNSAFE.isdisjoint(map(unicodedata.category, text)) for text in texts)
        and isinstance(one.generated(), bytes)
    )


@settings(max_examples=40)
@given(st.lists(values, max_size=6), st.integers(1, 40))
@example([{"type": "message_start", "message": {"usage": {"input_tokens": 10**30}}}], 3)
@example([{"choices": [{"index": -5, "delta": {"tool_calls": [{"index": 10**30}]}, "finish_reason": []}]}], 3)
def test_no_answer_at_all_makes_a_reading_raise_or_count_nonsense(sent: list[Any], step: int) -> None:
    for path in PATHS:
        for raw in (events(*sent), json.dumps(sent).encode(), json.dumps(sent[0] if sent else 0).encode()):
            assert sane(read(path, *(raw[at : at + step] for at in range(0, len(raw), step))))


@given(
    st.lists(
        st.binary(max_size=30) | st.sampled_from([b"data: {", b"\r", b"\n", b"\r\n", b"[{", b"}", b'"']), max_size=12
    )
)
def test_no_bytes_at_all_make_a_reading_raise(pieces: list[bytes]) -> None:
    for path in PATHS:
        assert sane(read(path, *pieces))


@pytest.mark.parametrize("odd", ['"\\ud83d"', "NaN", "1e999", "123456789012345678901234567890"])
def test_what_one_reader_of_json_does_not_take_does_not_hide_the_figures_beside_it(odd: str) -> None:
    for path, answer in (
        (MESSAGES, '{"type":"message","content":[{"text":ODD}],"usage":{"input_tokens":1,"output_tokens":2}}'),
        (RESPONSES, '{"status":"completed","output":[ODD],"usage":{"input_tokens":1,"output_tokens":2}}'),
        (CHAT, '{"choices":[{"message":{"content":ODD}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}'),
        (GEMINI, '{"candidates":[ODD],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}'),
    ):
        assert read(path, answer.replace("ODD", odd).encode()).usage == Usage(1, 2)
    streamed = '{"type":"response.completed","response":{"output":ODD,"usage":{"input_tokens":1,"output_tokens":2}}}'
    assert read(RESPONSES, b"data: " + streamed.replace("ODD", odd).encode() + b"\n\n").usage == Usage(1, 2)


@pytest.mark.parametrize(
    "raw", [b'{"a":' * 50_000, b"[" * 50_000, b"data: " + b"[" * 50_000 + b"\n\n", b'data: {"type":\n\n']
)
def test_a_tower_of_brackets_is_only_unreadable(raw: bytes) -> None:
    for path in PATHS:
        assert read(path, raw).usage is None


def test_hostile_names_are_made_harmless_and_their_number_is_bounded() -> None:
    item = {
        "type": "response.output_item.done",
        "item": {"type": "function_call", "name": "\x1b[31m\u202erm\n" + "x" * 900},
    }
    one = read(RESPONSES, events(*[item] * 5_000))
    assert all(name.isprintable() and len(name) <= 200 for name in one.named)
    assert len(one.named) <= 4_096


def test_a_line_of_megabytes_is_read_and_in_linear_time() -> None:
    usage = {
        "type": "response.completed",
        "response": {"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2}},
    }
    raw = events({"type": "response.output_item.done", "item": {"type": "message", "text": "x" * 8_000_000}}, usage)
    began = time.thread_time()
    one = read(RESPONSES, *(raw[at : at + 1_000] for at in range(0, len(raw), 1_000)))
    assert (one.usage, one.complete) == (Usage(1, 2), True)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("piece", [b"x" * (1 << 20), b"data: " + b"x" * (1 << 20) + b"\n", b"{" + b"x" * (1 << 20)])
def test_a_stream_without_an_end_does_not_fill_the_memory(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST", 1 << 22)
    monkeypatch.setattr(rules, "LONGEST", 1 << 22)
    found = providers.of("POST", CHAT, {}, b'{"model":"m"}')
    assert found is not None
    one = found[0].reading(found[1])
    tracemalloc.start()
    for _ in range(40):
        one.feed(bytes(bytearray(piece)))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 12 << 20


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES, CHAT, GEMINI])
def test_what_was_generated_is_kept_up_to_a_bound_and_no_more(path: str) -> None:
    text = "x" * 10_000
    written: dict[str, Any] = {
        MESSAGES: {"type": "content_block_delta", "delta": {"text": text}},
        RESPONSES: {"type": "response.output_text.delta", "delta": text},
        CHAT: {"choices": [{"delta": {"content": text}}]},
        GEMINI: {"candidates": [{"content": {"parts": [{"text": text}]}}]},
    }[path]
    one = read(path, events(*[written] * 400))
    assert 1 << 20 < len(one.generated()) < (1 << 20) + 20_000
