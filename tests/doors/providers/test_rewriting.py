from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.doors.gateway import providers
from proctor.doors.gateway.providers import body

ODD = b'\n {"a" : [1.50, {"model":"inner"}, "\\u00e9\\"}{"],  "model"\t:  "m" ,"max_tokens":4096 , "z":1e3}\r\n'


def rewritten(path: str, raw: bytes, model: str | None = None, most: int | None = None) -> tuple[str | None, bytes]:
    found = providers.of("POST", path, {}, raw)
    assert found is not None
    return found[0].rewritten(found[1], model, most)


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("/v1/messages", ODD),
        ("/v1/responses", b'{"model":"m","stream":true}'),
        ("/v1/chat/completions", ODD),
        ("/v1/chat/completions", b'{"stream_options" : {"include_usage":true },"model":"m","stream":true}'),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", b'{ "contents" : [] }'),
    ],
)
def test_where_nothing_changes_the_body_is_the_same_bytes(path: str, raw: bytes) -> None:
    assert rewritten(path, raw) == (None, raw)
    found = providers.of("POST", path, {}, raw)
    assert found is not None
    same = found[0].rewritten(found[1], found[1].model, found[1].most_output)
    assert same == (None, raw)


def test_only_what_changes_changes() -> None:
    expected = ODD.replace(b'"m" ,', b'"small" ,').replace(b"4096", b"1024")
    assert rewritten("/v1/messages", ODD, "small", 1_024) == (None, expected)


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ({}, {"stream_options": {"include_usage": True}}),
        ({"stream_options": None}, {"stream_options": {"include_usage": True}}),
        ({"stream_options": {}}, {"stream_options": {"include_usage": True}}),
        ({"stream_options": {"include_usage": False}}, {"stream_options": {"include_usage": True}}),
        (
            {"stream_options": {"include_obfuscation": False}},
            {"stream_options": {"include_usage": True, "include_obfuscation": False}},
        ),
    ],
)
def test_a_chat_stream_is_made_to_report_its_usage(written: Any, changed: Any) -> None:
    asks = {"model": "m", "stream": True, "messages": []}
    _, raw = rewritten("/v1/chat/completions", json.dumps(asks | written).encode())
    assert json.loads(raw) == asks | changed


def test_an_answer_at_once_reports_its_usage_anyway() -> None:
    raw = b'{"model":"m","stream":false}'
    assert rewritten("/v1/chat/completions", raw) == (None, raw)


@pytest.mark.parametrize(
    ("path", "written", "most", "changed"),
    [
        ("/v1/responses", {"max_output_tokens": 9_000}, 2_000, {"max_output_tokens": 2_000}),
        ("/v1/responses", {}, 2_000, {"max_output_tokens": 2_000}),
        ("/v1/chat/completions", {"max_tokens": 9_000}, 2_000, {"max_tokens": 2_000}),
        ("/v1/chat/completions", {"max_completion_tokens": 9_000}, 2_000, {"max_completion_tokens": 2_000}),
        ("/v1/chat/completions", {"max_tokens": 9_000, "n": 4}, 2_000, {"max_tokens": 500, "n": 4}),
        ("/v1/chat/completions", {"max_tokens": -1}, 2_000, {"max_tokens": 2_000}),
        ("/v1/chat/completions", {}, 2_000, {"max_tokens": 2_000}),
        ("/v1/messages", {"max_tokens": 9_000}, 2_000, {"max_tokens": 2_000}),
    ],
)
def test_the_limit_is_lowered_in_the_field_that_the_client_used(
    path: str, written: Any, most: int, changed: Any
) -> None:
    _, raw = rewritten(path, json.dumps({"model": "m"} | written).encode(), None, most)
    assert json.loads(raw) == {"model": "m"} | changed


@pytest.mark.parametrize(("model", "field"), [("gpt-5.5", "max_completion_tokens"), ("o3", "max_completion_tokens"),
                                              ("gpt-4o", "max_tokens"), ("qwen3-coder", "max_tokens"),
                                              ("openai/gpt-5", "max_completion_tokens")])  # fmt: skip
def test_where_a_chat_names_no_limit_the_model_decides_its_field(model: str, field: str) -> None:
    _, raw = rewritten("/v1/chat/completions", json.dumps({"model": model}).encode(), None, 5_000)
    assert json.loads(raw) == {"model": model, field: 5_000}


@pytest.mark.parametrize(
    ("thinking", "most", "left"),
    [
        ({"type": "enabled", "budget_tokens": 31_999}, 8_000, {"type": "enabled", "budget_tokens": 4_000}),
        ({"type": "enabled", "budget_tokens": 31_999}, 1_500, {"type": "enabled", "budget_tokens": 1_024}),
        ({"type": "enabled", "budget_tokens": 31_999}, 1_024, {"type": "disabled"}),
        ({"type": "enabled", "budget_tokens": 2_000}, 8_000, {"type": "enabled", "budget_tokens": 2_000}),
        ({"type": "adaptive"}, 2_000, {"type": "adaptive"}),
        ({"type": "disabled"}, 2_000, {"type": "disabled"}),
    ],
)
def test_a_lower_limit_leaves_the_thinking_of_messages_valid(thinking: Any, most: int, left: Any) -> None:
    raw = json.dumps({"model": "m", "max_tokens": 32_000, "thinking": thinking}).encode()
    assert json.loads(rewritten("/v1/messages", raw, None, most)[1])["thinking"] == left


def test_gemini_has_its_model_in_the_path_and_its_limit_two_levels_down() -> None:
    raw = b'{"contents":[], "generationConfig" : {"temperature":0.10,"maxOutputTokens": 65536}}'
    path, changed = rewritten("/x/v1beta/models/big:streamGenerateContent?alt=sse&key=k", raw, "small", 2_000)
    assert path == "/x/v1beta/models/small:streamGenerateContent?alt=sse&key=k"
    assert changed == raw.replace(b"65536", b"2000")
    assert json.loads(rewritten("/v1beta/models/m:generateContent", b"{}", None, 5)[1]) == {
        "generationConfig": {"maxOutputTokens": 5}
    }
    older = b'{"generation_config":{"candidate_count":2,"max_output_tokens":9000}}'
    assert rewritten("/v1beta/models/m:generateContent", older, None, 4_000)[1] == older.replace(b"9000", b"2000")


def test_azure_has_its_model_in_the_path_and_it_is_quoted_there() -> None:
    raw = b'{"model":"big","messages":[]}'
    path = "/openai/deployments/big/chat/completions?api-version=1"
    assert rewritten(path, raw, "small one/x") == (path.replace("/big/", "/small%20one%2Fx/"), raw)


def test_counting_tokens_has_no_limit_to_lower() -> None:
    raw = b'{"model":"m","messages":[]}'
    assert rewritten("/v1/messages/count_tokens", raw, None, 5) == (None, raw)


words = st.text(st.sampled_from('model{}[]",:\\ \n\u00e9\U0001f600'), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=50)
@given(st.dictionaries(words | st.just("model"), values, max_size=5), words, st.sampled_from([None, 2]), st.booleans())
def test_a_value_can_be_put_into_any_body(
    value: dict[str, Any], new: str, indent: int | None, ascii_only: bool
) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert json.loads(body.put(raw, ("model",), new)) == value | {"model": new}
    deep = body.put(raw, ("model", "a"), new)
    inner = value.get("model")
    assert json.loads(deep) == value | {"model": (inner if isinstance(inner, dict) else {}) | {"a": new}}


@settings(max_examples=25)
@given(st.lists(values, max_size=5), st.lists(values, max_size=5))
def test_what_is_counted_of_a_longer_conversation_begins_with_the_shorter(first: list[Any], second: list[Any]) -> None:
    shorter = body.counted(first)
    assert body.counted(first + second)[: len(shorter)] == shorter


def test_what_is_no_text_is_not_counted_as_text() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}}
    sealed = {"type": "reasoning", "encrypted_content": "B" * 100_000, "summary": []}
    url = {"image_url": {"url": "data:image/png;base64," + "C" * 100_000}}
    found = providers.of(
        "POST", "/v1/responses", {}, json.dumps({"model": "m", "input": [image, sealed, url]}).encode()
    )
    assert found is not None
    counted = "".join(found[0].prompt(found[1]))
    assert len(counted) < 5_000
    assert "AAAA" not in counted


def test_attachments_without_end_take_no_memory_without_end() -> None:
    parts = [{"data": ""}, "data:;base64,"] * 50_000
    assert sum(map(len, body.counted([{"input": parts}]))) < 3_000_000


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (
            "/v1/messages",
            {"model": "m", "system": [{"text": "one"}], "tools": [{"name": "two"}], "messages": ["three"]},
        ),
        ("/v1/responses", {"model": "m", "instructions": "one", "tools": [{"name": "two"}], "input": "three"}),
        ("/v1/chat/completions", {"model": "m", "messages": [{"content": "one three"}], "tools": [{"name": "two"}]}),
        (
            "/v1beta/models/m:generateContent",
            {"systemInstruction": {"parts": [{"text": "one"}]}, "tools": [{"a": "two"}], "contents": ["three"]},
        ),
    ],
)
def test_all_that_a_model_reads_is_counted(path: str, written: Any) -> None:
    found = providers.of("POST", path, {}, json.dumps(written).encode())
    assert found is not None
    counted = " ".join(found[0].prompt(found[1]))
    assert all(word in counted for word in ("one", "two", "three"))
