"""What the gateway says in each language's own words: the bodies that were seen to make each client stop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.doors.gateway import providers
from proctor.doors.gateway.providers.base import Asked, Provider

TOLD = 'Budget of this worker is used up (100 %): "$1.00".'
OPENAI = {"error": {"message": TOLD, "type": "invalid_request_error", "param": None, "code": "budget_exceeded"}}


def call(path: str, stream: bool) -> tuple[Provider, Asked]:
    found = providers.of("POST", path, {}, json.dumps({"model": "m", "stream": stream}).encode())
    assert found is not None
    return found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/v1/responses", 400, OPENAI),
        ("/v1/chat/completions", 400, OPENAI),
        ("/v1/messages", 402, {"type": "error", "error": {"type": "billing_error", "message": TOLD}}),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            400,
            {"error": {"code": 400, "message": TOLD, "status": "INVALID_ARGUMENT"}},
        ),
    ],
)
def test_a_refusal_makes_the_client_stop_at_once_and_show_why(path: str, status: int, body: Any, stream: bool) -> None:
    provider, asked = call(path, stream)
    said = provider.refusal(asked, TOLD)
    assert (said.status, json.loads(said.body)) == (status, body)
    assert said.headers["content-type"].startswith("application/json")
    assert "retry-after" not in {name.lower() for name in said.headers}
    assert provider.limited(said.status, said.headers, said.body, 0.0) is None


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize(
    "path", ["/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1beta/models/m:countTokens"]
)
def test_a_failure_is_an_error_of_that_language(path: str, status: int) -> None:
    provider, asked = call(path, False)
    said = provider.failure(asked, status, TOLD)
    assert said.status == status
    body = json.loads(said.body)
    assert body["error"]["message"] == TOLD
    assert {"/v1/messages": "type", "/v1beta/models/m:countTokens": "status"}.get(path, "type") in body["error"]
    reading = provider.reading(asked)
    reading.feed(said.body)
    reading.end()
    assert TOLD in reading.error


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions", "/v1/messages"])
def test_a_ping_between_events_adds_nothing_to_an_answer(path: str) -> None:
    provider, asked = call(path, True)
    assert provider.ping is not None
    reading = provider.reading(asked)
    reading.feed(provider.ping * 3)
    reading.end()
    assert (reading.usage, reading.complete, reading.error, reading.generated()) == (None, False, "", b"")


def test_each_language_says_which_upstreams_speak_it() -> None:
    families = {path: call(path, False)[0].family for path in ("/v1/messages", "/v1/responses", "/chat/completions")}
    assert list(families.values()) == ["anthropic", "openai", "openai"]
    assert call("/v1beta/models/m:generateContent", False)[0].family == "gemini"
