"""What OpenAI's two languages have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping

from proctor.doors.gateway.providers.base import Asked, Limited, Refusal
from proctor.doors.gateway.providers.limits import later


class OpenAI:
    family = "openai"
    ping: bytes | None = b": ping\n\n"

    def refusal(self, asked: Asked, message: str) -> Refusal:
        return _said(400, message, "invalid_request_error", "budget_exceeded", {"x-should-retry": "false"})

    def failure(self, asked: Asked, status: int, message: str) -> Refusal:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return _said(status, message, kind, None, {})

    def limited(self, status: int, headers: Mapping[str, str], body: bytes, now: float) -> Limited | None:
        return later(status, headers, body, now)


def _said(status: int, message: str, kind: str, code: str | None, headers: Mapping[str, str]) -> Refusal:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Refusal(status, json.dumps({"error": error}).encode(), {"content-type": "application/json", **headers})
