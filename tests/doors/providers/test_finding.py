from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.doors.gateway import providers
from proctor.doors.gateway.providers import Asked, body
from proctor.words import Api

BODIES: dict[Api, dict[str, Any]] = {
    Api.MESSAGES: {"model": "m", "max_tokens": 10, "messages": []},
    Api.COUNT_TOKENS: {"model": "m", "messages": []},
    Api.RESPONSES: {"model": "m", "input": "hi"},
    Api.CHAT: {"model": "m", "messages": []},
    Api.GEMINI: {"contents": []},
}


def ask(path: str, written: Any, method: str = "POST", **headers: str) -> Asked | None:
    raw = written if isinstance(written, bytes) else json.dumps(written).encode()
    found = providers.of(method, path, {name.replace("_", "-"): value for name, value in headers.items()}, raw)
    return found[1] if found else None


def asked(path: str, written: Any, **headers: str) -> Asked:
    found = ask(path, written, **headers)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "api", "model"),
    [
        ("/v1/messages", Api.MESSAGES, "m"),
        ("/v1/messages?beta=true", Api.MESSAGES, "m"),
        ("/s/worker7/v1/messages?beta=true", Api.MESSAGES, "m"),
        ("/messages", Api.MESSAGES, "m"),
        ("/v1/messages/count_tokens?beta=true", Api.COUNT_TOKENS, "m"),
        ("/v1/responses", Api.RESPONSES, "m"),
        ("/responses", Api.RESPONSES, "m"),
        ("/backend-api/codex/responses", Api.RESPONSES, "m"),
        ("/v1/responses/input_tokens", Api.COUNT_TOKENS, "m"),
        ("/v1/chat/completions", Api.CHAT, "m"),
        ("/chat/completions", Api.CHAT, "m"),
        ("/api/v1/chat/completions", Api.CHAT, "m"),
        ("/openai/deployments/D-1/chat/completions?api-version=2026-01-01", Api.CHAT, "D-1"),
        ("/v1beta/models/gemini-2.5-pro:generateContent", Api.GEMINI, "gemini-2.5-pro"),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", Api.GEMINI, "gemini-2.5-pro"),
        ("/v1beta/models/gemini-2.5-pro:countTokens", Api.COUNT_TOKENS, "gemini-2.5-pro"),
        ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", Api.GEMINI, "g"),
    ],
)
def test_each_language_is_known_by_its_path_whatever_stands_before_it(path: str, api: Api, model: str) -> None:
    written = BODIES[Api.GEMINI] if ":" in path else BODIES[api]
    found = asked(path, written)
    assert (found.api, found.model, found.path) == (api, model, path)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/%6dessages",
        "/v1/%256dessages",
        "/v1//messages",
        "/v1/./messages",
        "/v1/models/../messages",
        "/v1/messages/",
        "/v1/messages;a=b",
        "/V1/Messages",
        "\\v1\\messages",
        "/v1/messages#x",
        "/v1/messages%20",
    ],
)
def test_no_other_spelling_of_a_path_gets_a_call_past_the_meter(path: str) -> None:
    assert asked(path, BODIES[Api.MESSAGES]).api is Api.MESSAGES


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("GET", "/v1/models"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/threads/t/messages"),
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/completions"),
        ("POST", "/v1beta/models/g:embedContent"),
        ("POST", "/v1beta/models/:generateContent"),
        ("HEAD", "/"),
        ("POST", ""),
        ("POST", "/" + "x/" * 4_000),
    ],
)
def test_what_is_no_call_of_a_model_is_none_of_theirs(method: str, path: str) -> None:
    assert ask(path, b"not read at all", method) is None


def test_a_request_that_a_server_may_take_for_a_post_is_one() -> None:
    assert ask("/v1beta/models/g:generateContent", {}, "GET", x_http_method_override="POST") is not None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b'"model"',
        b"null",
        b"{",
        b'{"model":"m"',
        b'{"model":"m"}x',
        b'{"model":"m","n":NaN}',
        b'{"model":"m","t":Infinity}',
        b'{"model":"\xff"}',
        b'{"model":"cheap","model":"dear"}',
        b'{"model":"cheap","mod\\u0065l":"dear"}',
        b'{"model":"cheap","model" :"dear"}',
        b'{"model":"cheap","a\\\\":1,"model"\t: "dear"}',
        b'{"model":"cheap","a":{"b":[{"c":1,"c":2}]}}',
        b'{"model":"cheap","x":":","model":"dear"}',
        b'{"model":"cheap","Model":"dear"}',
        b'{"model":"cheap","STREAM":true}',
        b'{"model":7}',
        b'{"model":["m"]}',
        b'{"model":"m","stream":1}',
        b'{"model":"m","stream":"true"}',
        b'{"model":"m","max_tokens":"10"}',
        b'{"model":"m","max_tokens":10.5}',
        b'{"model":"m","max_tokens":true}',
        b'{"model":"m","max_tokens":123456789012345678901234567890}',
        b'{"model":"m","stream_options":[]}',
        b'{"model":"m","max_tokens":1,"n":1000000}',
        "\ufeff{}".encode(),
        '{"model":"m"}'.encode("utf-16"),
        b'{"a":' * 100_000,
        b'{"model":"m","a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"model":"m","a":' + b"1" * 5_000 + b"}",
    ],
)
def test_a_body_that_two_readers_could_take_for_two_things_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError) as caught:
        ask("/v1/chat/completions", raw)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/v1/messages", {"max_tokens": 5}),
        ("/v1/messages", {"model": "m", "thinking": "much"}),
        ("/v1/responses", {"model": "m", "background": True}),
        ("/v1beta/models/cheap:generateContent", {"model": "models/dear"}),
        ("/v1beta/models/m:generateContent", {"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9}}),
        ("/v1beta/models/m:generateContent", {"generationConfig": {}, "generation_config": {}}),
        ("/v1beta/models/m:generateContent", {"generationConfig": 5}),
        ("/v1/chat/completions", {"model": "cheap", "models": ["dear"]}),
        ("/v1/messages", {"model": "cheap", "fallbacks": [{"model": "dear"}]}),
        ("/v1/responses", {"model": "cheap", "models": ["dear"]}),
        ("/v1/messages/count_tokens/" + "./" * 4_090 + "../", {"model": "m"}),  # its end decides
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_metered_is_refused(path: str, written: Any) -> None:
    with pytest.raises(ValueError):
        ask(path, written)


def test_a_packed_body_is_refused_since_it_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="compressed"):
        ask("/v1/responses", b"\x28\xb5\x2f\xfd", content_encoding="zstd")
    assert ask("/v1/responses", {"model": "m"}, content_encoding="identity") is not None


@pytest.mark.parametrize(
    ("path", "written", "most"),
    [
        ("/v1/messages", {"model": "m", "max_tokens": 32_000}, 32_000),
        ("/v1/messages", {"model": "m"}, None),
        ("/v1/responses", {"model": "m", "max_output_tokens": None}, None),
        ("/v1/responses", {"model": "m", "max_output_tokens": 7}, 7),
        ("/v1/chat/completions", {"model": "m", "max_tokens": 7}, 7),
        ("/v1/chat/completions", {"model": "m", "max_tokens": 7, "max_completion_tokens": 9}, 9),
        ("/v1/chat/completions", {"model": "m", "max_tokens": 7, "n": 3}, 21),
        ("/v1/chat/completions", {"model": "m", "max_tokens": -1}, None),
        ("/v1beta/models/m:generateContent", {"generationConfig": {"maxOutputTokens": 7, "candidateCount": 2}}, 14),
        ("/v1beta/models/m:generateContent", {"generation_config": {"max_output_tokens": 8}}, 8),
        ("/v1beta/models/m:generateContent", {}, None),
    ],
)
def test_the_clients_own_limit_is_that_of_all_the_answers_it_asks_for(path: str, written: Any, most: int) -> None:
    assert asked(path, written).most_output == most


def test_a_stream_is_asked_for_in_the_body_and_by_gemini_in_the_path() -> None:
    assert asked("/v1/messages", {"model": "m", "stream": True}).stream
    assert not asked("/v1/messages", {"model": "m", "stream": None}).stream
    assert asked("/v1beta/models/m:streamGenerateContent", {}).stream
    assert not asked("/v1beta/models/m:generateContent?alt=sse", {}).stream


def test_a_sub_agent_is_named_as_its_client_names_it_and_harmlessly() -> None:
    assert asked("/v1/messages", {"model": "m"}, x_claude_code_agent_id="a1b2").agent == "a1b2"
    assert asked("/v1/responses", {"model": "m"}, x_openai_subagent="review").agent == "review"
    child = {"x_session_id": "ses_child", "x_parent_session_id": "ses_parent"}
    assert asked("/v1/chat/completions", {"model": "m"}, **child).agent == "ses_child"
    assert asked("/v1/chat/completions", {"model": "m"}, x_session_id="ses_main").agent == ""
    hostile = asked("/v1/messages", {"model": "m"}, x_claude_code_agent_id="\x1b]0;x\x07 ../" + "y" * 900).agent
    assert hostile.isprintable()
    assert len(hostile) <= 64


@pytest.mark.parametrize(
    ("path", "written", "tier"),
    [
        ("/v1/messages", {"model": "m", "speed": "fast"}, "fast"),
        ("/v1/messages", {"model": "m", "service_tier": "auto"}, ""),
        ("/v1/responses", {"model": "m", "service_tier": "priority"}, "priority"),
        ("/v1/chat/completions", {"model": "m", "service_tier": "flex"}, ""),  # cheaper: only if it says so
        ("/v1/chat/completions", {"model": "m", "service_tier": {"a": 1}}, ""),
    ],
)
def test_a_service_that_costs_more_is_named(path: str, written: Any, tier: str) -> None:
    assert asked(path, written).tier == tier


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8) | st.sampled_from([":", '":', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(["model", "stream", "n", ':"', "\\", '\\"', ""]) | st.text(max_size=3), json_values)
)
def test_a_body_is_read_as_it_was_meant_whatever_it_holds(value: dict[str, Any]) -> None:
    for ascii_only in (True, False):
        raw = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
        try:
            assert body.load(raw) == value
        except ValueError:
            assert "\\ud" in json.dumps(value)


@given(
    st.lists(st.tuples(st.text(st.sampled_from('":\\ a'), max_size=3), st.text(st.sampled_from('":\\ a'))), max_size=5)
)
def test_a_key_that_stands_twice_is_never_overlooked(pairs: list[tuple[str, str]]) -> None:
    for gap in ("", " ", "\t\r\n"):
        raw = "{" + ",".join(f"{json.dumps(key)}{gap}:{gap}{json.dumps(value)}" for key, value in pairs) + "}"
        if len({key for key, _ in pairs}) == len(pairs):
            assert body.load(raw.encode()) == dict(pairs)
        else:
            with pytest.raises(ValueError, match="twice"):
                body.load(raw.encode())
