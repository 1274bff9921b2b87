"""Whether a provider's answer means "later", and when. One reading for all languages: a server of one kind often stands
behind another's. Only the status and fields meant for it count, never a text that talks about limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from proctor.doors.gateway.providers.base import Limited
from proctor.doors.gateway.providers.reading import parsed, record, rows, word

LONGEST_WAIT: Final = 8 * 24 * 3600.0
"""Seconds: the longest window of a plan is a week. What is further off is no wait that anybody meant."""

_SPENT: Final = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "usage_not_included", "billing_error",
     "credit_balance_too_low", "access_terminated")
)  # fmt: skip
"""What waiting does not mend."""
_BUSY: Final = frozenset(
    ("overloaded_error", "rate_limit_error", "rate_limit_exceeded", "server_is_overloaded", "slow_down", "overloaded",
     "RESOURCE_EXHAUSTED", "usage_limit_reached", "engine_overloaded_error")
)  # fmt: skip
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern}\s*)+")
_TRY_AGAIN: Final = re.compile(
    rf"(?:try again in|reset(?:s)? (?:after|in)|retry in)\s+((?:{_PART.pattern}\s*)+)", re.IGNORECASE
)
_EPOCH: Final = 10**9
_PACIFIC_MIDNIGHT: Final = 8 * 3600
"""Of Google's daily quotas, in UTC, in winter; in summer an hour late, which does no harm."""


def later(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Limited | None:
    """`now` in seconds since the epoch. Header names in lower case, or a mapping that does not mind."""
    if status not in (429, 529) and status < 500:
        return None
    error = _error(body)
    kinds = {word(error.get(name)) for name in ("type", "code", "status")}
    if kinds & _SPENT:
        return None
    violations = [one for detail in rows(error.get("details")) for one in rows(detail.get("violations"))]
    if any(word(one.get("quotaValue")) == "0" for one in violations):
        return None
    asked_to_wait = "retry-after" in headers or "retry-after-ms" in headers
    if status not in (429, 529) and not (status == 503 and asked_to_wait) and not kinds & _BUSY and not _full(error):
        return None
    seconds = _body_wait(error, violations, now)
    if seconds is None:
        seconds = _header_wait(headers, now)
    if seconds is None and "usage_limit_reached" not in kinds:
        found = _TRY_AGAIN.search(word(error.get("message"), 2_000))
        seconds = _duration(found[1]) if found else None
    if seconds is None and headers.get("x-should-retry", "").strip().lower() == "false":
        return None
    said = ": ".join(filter(None, (word(error.get("type")) or word(error.get("status")), word(error.get("message")))))
    return Limited(f"{status} {said}".strip(), _sane(seconds))


def _error(body: bytes) -> dict[str, Any]:
    """The error that a body tells of; Google may send it in a list, others without a wrapping."""
    value = parsed(body)
    if isinstance(value, list):
        value = value[0] if value else None
    found = record(value)
    error = found.get("error", found.get("detail", found))
    return record(error) or {"message": word(error) or word(found.get("message"))}


def _full(error: Mapping[str, Any]) -> bool:
    """Google's 503 for a model that has no room."""
    return error.get("status") == "UNAVAILABLE" and "overloaded" in word(error.get("message"), 2_000).lower()


def _body_wait(error: Mapping[str, Any], violations: list[dict[str, Any]], now: float) -> float | None:
    after, at = _number(error.get("resets_in_seconds")), _number(error.get("resets_at"))
    if after is not None:
        return after
    if at is not None:
        return _until(at, now)
    if any("PerDay" in word(one.get("quotaId")) for one in violations):
        return (_PACIFIC_MIDNIGHT - now) % 86400
    delays = [_duration(word(detail.get("retryDelay"))) for detail in rows(error.get("details"))]
    return max((one for one in delays if one is not None), default=None)


def _header_wait(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    if said is not None:
        moment = _moment(said, now)
        if moment is not None:
            return moment
    resets: dict[str, str] = {}
    spent: dict[str, str] = {}
    for name, value in headers.items():
        name = name.lower()  # noqa: PLW2901
        if "ratelimit" not in name or "reset" not in name:
            continue
        resets[name] = value
        left = headers.get(name.replace("reset", "remaining"), headers.get(name.replace("reset", "status")))
        if left is not None and (_number(left) == 0 or left.strip().lower() == "rejected"):
            spent[name] = value
    waits = [_moment(value, now) for value in (spent or resets).values()]
    return max((one for one in waits if one is not None), default=None)


def _moment(text: str, now: float) -> float | None:
    """Seconds from now, out of any of the ways in which headers say when."""
    text = text.strip()[:64]
    number = _number(text)
    if number is not None:
        return _until(number, now) if number >= _EPOCH else number
    wait = _duration(text)
    if wait is not None:
        return wait
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse(text)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, OverflowError, TypeError, IndexError, OSError):
            continue
    return None


def _until(at: float, now: float) -> float:
    """Seconds until a moment, given in seconds or milliseconds since the epoch."""
    return (at / 1000 if at > 100 * _EPOCH else at) - now


def _duration(text: str) -> float | None:
    """`1.5s`, `6m0s`, `120ms`; None if it is no such thing."""
    text = text.strip()
    if len(text) > 64 or not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e15 else None


def _sane(seconds: float | None) -> float | None:
    return None if seconds is None or not seconds <= LONGEST_WAIT else max(0.0, seconds)
