"""Which provider a request goes to, and what of it goes there: the address, the headers, the key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

from multidict import CIMultiDict
from yarl import URL

from proctor.doors.gateway.port import Upstream

# fmt: off
HOP_BY_HOP: Final = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "http2-settings", "expect",
))
"""Headers of one connection, not of the message (RFC 9110, 7.6.1)."""
# fmt: on
KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
OWN_HEADER: Final = {"anthropic": "x-api-key", "openai": "authorization", "gemini": "x-goog-api-key"}
"""The header in which each family wants its key."""
OAUTH_BETA: Final = "oauth-2025-04-20"
"""What Anthropic wants to read in `anthropic-beta` where a login's token pays."""
_VERSION = re.compile(r"/v\d\w*$")
_PLAIN = re.compile(r"/[!-~]*")


def choose(upstreams: Iterable[Upstream], family: str) -> Upstream | None:
    """The first that speaks the language."""
    return next((one for one in upstreams if not one.speaks or family in one.speaks), None)


def family_of(path: str, headers: Mapping[str, str]) -> str:
    """Whose a request probably is that is no model call."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return "anthropic"
    return "gemini" if "x-goog-api-key" in headers or path.startswith("/v1beta") else "openai"


def improper(method: str, path: str, headers: Mapping[str, str]) -> str:
    """Why a request is none that a gateway passes on; empty if it is one."""
    if method == "CONNECT" or not _PLAIN.fullmatch(path):
        return "only plain requests for a path are passed on"
    if "upgrade" in headers:
        return "only plain HTTP is spoken here: no WebSocket, no h2c"
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        return "a body comes by its length or in chunks"
    if "#" in path or "\\" in path:
        return "a path with # or \\ is not passed on"
    return ""


def address(upstream: Upstream, path: str) -> URL:
    """Where a request goes. A version that `base_url` ends with is not doubled: clients add it too."""
    base = upstream.base_url.rstrip("/")
    version = _VERSION.search(base)
    if version and path.startswith(f"{version[0]}/"):
        path = path[len(version[0]) :]
    path, _, query = path.partition("?")
    own = {*upstream.query, "key"} if upstream.key is not None else {*upstream.query}
    parts = [part for part in query.split("&") if part and part.partition("=")[0] not in own]
    if upstream.query:
        parts.append(urlencode(upstream.query))
    return URL(base + path + ("?" + "&".join(parts) if parts else ""), encoded=True)


def end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers that belong to the message, without those that the connection names as its own."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    dropped = HOP_BY_HOP | named
    return CIMultiDict((name, text) for name, text in headers.items() if name.lower() not in dropped)


def asking(headers: Mapping[str, str], upstream: Upstream, family: str) -> CIMultiDict[str]:
    """The headers of a request as the provider gets them: with the key, and with no wish for compression, which would
    hide from the gateway what it counts."""
    sent = end_to_end(headers)
    for name in ("host", "content-length", *KEY_HEADERS):
        sent.popall(name, None)
    sent["Accept-Encoding"] = "identity"
    if upstream.key is not None:
        name = upstream.auth.lower() or ("authorization" if upstream.subscription else OWN_HEADER[family])
        sent[name] = f"Bearer {upstream.key}" if name == "authorization" else upstream.key
        if upstream.subscription and family == "anthropic":
            betas = [beta.strip() for given in sent.popall("anthropic-beta", []) for beta in given.split(",")]
            sent["anthropic-beta"] = ",".join(dict.fromkeys([*filter(None, betas), OAUTH_BETA]))
    for name, text in upstream.headers.items():
        sent[name] = text
    return sent
