from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.doors.gateway.providers.limits import LONGEST_WAIT, later

NOW = datetime(2026, 11, 30, 3, 17, tzinfo=UTC).timestamp()


def wait(status: int, body: Any = None, **headers: str) -> float | str | None:
    """Seconds, `unknown` where it is not said how many, None where the answer does not mean "later"."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = later(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw, NOW)
    if found is None:
        return None
    assert found.why.startswith(str(status))
    assert found.why.isprintable()
    return "unknown" if found.seconds is None else round(found.seconds, 3)


def error(**fields: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"message": "m", **fields}}


def google(*details: Any, message: str = "m") -> dict[str, Any]:
    return {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": list(details)}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.074824224s"}


def quota(name: str, value: str | None = None) -> dict[str, Any]:
    violation = {"quotaId": name} | ({} if value is None else {"quotaValue": value})
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


@pytest.mark.parametrize(
    ("status", "body", "seconds"),
    [
        (429, None, "unknown"),
        (429, b"<html>slow down</html>", "unknown"),
        (429, error(type="rate_limit_error"), "unknown"),
        (529, error(type="overloaded_error"), "unknown"),
        (500, error(type="overloaded_error"), "unknown"),
        (503, error(code="server_is_overloaded"), "unknown"),
        (503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}, "unknown"),
        (429, error(type="tokens", message="Limit 30000. Please try again in 1m2.5s. Visit x"), 62.5),
        (429, error(type="requests", message="Rate limit reached; try again in 120ms."), 0.12),
        (429, google(RETRY), 34.075),
        (429, [google(RETRY)], 34.075),
        (429, google(RETRY, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "5")), 34.075),
        (429, google(quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "50"), RETRY), 4 * 3600 + 43 * 60.0),
        (429, error(type="usage_limit_reached", resets_in_seconds=7_200), 7_200.0),
        (429, error(type="usage_limit_reached", resets_at=NOW + 90), 90.0),
        (429, error(type="usage_limit_reached", resets_at=NOW + 90, resets_in_seconds=80), 80.0),
        (429, error(type="usage_limit_reached", resets_at=None), "unknown"),
    ],
)
def test_a_limit_is_known_by_its_status_and_its_own_fields(status: int, body: Any, seconds: float | str) -> None:
    assert wait(status, body) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": "Mon, 30 Nov 2026 03:18:30 GMT"}, 90.0),
        ({"retry_after": "Monday, 30-Nov-26 03:18:30 GMT"}, 90.0),
        ({"retry_after": "Mon, 30 Nov 2026 03:00:00 GMT"}, 0.0),
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5),
        ({"anthropic_ratelimit_requests_reset": "2026-11-30T03:17:42Z"}, 42.0),
        (
            {
                "anthropic_ratelimit_requests_remaining": "40",
                "anthropic_ratelimit_requests_reset": "2026-11-30T03:27:00Z",
                "anthropic_ratelimit_input_tokens_remaining": "0",
                "anthropic_ratelimit_input_tokens_reset": "2026-11-30T03:17:20Z",
            },
            20.0,
        ),
        (
            {
                "anthropic_ratelimit_unified_5h_reset": str(int(NOW) + 5_000),
                "anthropic_ratelimit_unified_5h_status": "rejected",
                "anthropic_ratelimit_unified_7d_reset": str(int(NOW) + 500_000),
                "anthropic_ratelimit_unified_7d_status": "allowed",
            },
            5_000.0,
        ),
        ({"x_ratelimit_reset_requests": "120ms", "x_ratelimit_reset_tokens": "6m0s"}, 360.0),
        (
            {
                "x_ratelimit_reset_requests": "1h0m1s",
                "x_ratelimit_remaining_requests": "9",
                "x_ratelimit_reset_tokens": "2s",
                "x_ratelimit_remaining_tokens": "0",
            },
            2.0,
        ),
        ({"x_ratelimit_reset": str(int(NOW * 1_000) + 7_000)}, 7.0),
        ({"ratelimit_reset": "12"}, 12.0),
        ({"retry_after": "soon"}, "unknown"),
        ({"retry_after": "-5"}, 0.0),
        ({"retry_after": "99999999999999"}, "unknown"),
        ({"retry_after": "nan"}, "unknown"),
        ({"retry_after": "inf"}, "unknown"),
        ({"x_should_retry": "true"}, "unknown"),
        ({"x_should_retry": "false", "retry_after": "5"}, 5.0),
        ({"x_should_retry": "false"}, None),
    ],
)
def test_a_limits_end_is_read_from_any_of_the_headers_that_say_it(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert wait(429, error(type="rate_limit_error"), **headers) == seconds


def test_a_header_of_any_case_is_read() -> None:
    found = later(429, {"X-RateLimit-Reset-Tokens": "3s"}, b"", NOW)
    assert found is not None
    assert found.seconds == 3.0


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error(type="insufficient_quota", code="insufficient_quota")),
        (429, error(code="billing_hard_limit_reached")),
        (429, error(type="usage_not_included")),
        (429, google(quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0"), RETRY)),
        (402, error(type="billing_error")),
        (400, error(type="invalid_request_error", message="Your credit balance is too low")),
        (401, error(type="authentication_error")),
        (403, error(type="rate_limit_error")),
        (500, error(type="api_error", message="rate limit, try again in 5s")),
        (502, b"overloaded"),
        (503, None),
    ],
)
def test_what_waiting_does_not_mend_is_a_failure(status: int, body: Any) -> None:
    assert wait(status, body) is None


@pytest.mark.parametrize("status", [200, 201, 204, 301, 400, 404, 408, 422])
def test_a_text_that_talks_about_limits_is_none(status: int) -> None:
    body = error(type="rate_limit_error", message="429 rate limit, overloaded, try again in 5s", resets_in_seconds=9)
    assert wait(status, body, retry_after="30", x_ratelimit_reset_tokens="6m0s") is None


def test_a_server_that_is_away_and_says_for_how_long_is_waited_for() -> None:
    assert wait(503, None, retry_after="3600") == 3_600.0
    assert wait(502, None, retry_after="3600") is None


def test_a_limit_says_why_in_one_harmless_line() -> None:
    body = error(type="rate_limit_error", message="\x1b]0;owned\x07too\nmany\u202e" + "x" * 9_000)
    found = later(429, {}, json.dumps(body).encode(), NOW)
    assert found is not None
    assert found.why.startswith("429 rate_limit_error: ")
    assert found.why.isprintable()
    assert len(found.why) < 500


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "type", "code", "message", "details", "violations", "retryDelay", "resets_at", "quotaId"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
names = st.sampled_from(
    ["retry-after", "retry-after-ms", "x-ratelimit-reset", "anthropic-ratelimit-reset", "x-should-retry"]
)


@settings(max_examples=50)
@given(st.sampled_from([429, 529, 503, 500]), st.dictionaries(names, st.text(max_size=30)), anything)
def test_no_server_makes_it_raise_or_wait_for_ever(status: int, headers: dict[str, str], body: Any) -> None:
    for raw in (json.dumps(body).encode(), b"[" * 9_000, b"\xff"):
        found = later(status, headers, raw, NOW)
        assert found is None or found.seconds is None or 0 <= found.seconds <= LONGEST_WAIT
