"""The languages in which models are asked: one module each, and which of them a request speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.doors.gateway.providers.anthropic import Anthropic
from proctor.doors.gateway.providers.base import Asked, Provider
from proctor.doors.gateway.providers.chat import Chat
from proctor.doors.gateway.providers.gemini import Gemini
from proctor.doors.gateway.providers.responses import Responses

ALL: Final[tuple[Provider, ...]] = (Anthropic(), Responses(), Chat(), Gemini())


def of(method: str, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[Provider, Asked] | None:
    """The language of a request and what it asks; None if it is no call of a model.

    `path` is as it came, with its query; header names are in lower case, or the mapping does not mind. ValueError, one
    line for the client, where it is a call and malformed: no server is to see what was not understood here.
    """
    for provider in ALL:
        asked = provider.asked(method, path, headers, raw)
        if asked is not None:
            return provider, asked
    return None
