"""Why a provider gave no answer, in words for a person: what, where, and what to look at."""

from __future__ import annotations

import os
import ssl

import aiohttp

from proctor.text import safe_line

# fmt: off
_WORDS: tuple[tuple[type[Exception], str], ...] = (  # the first that fits
    (aiohttp.ClientProxyConnectionError, "the proxy {where} cannot be reached ({cause}); is HTTPS_PROXY right?"),
    (aiohttp.ClientHttpProxyError, "the proxy refused to connect ({status}); see HTTPS_PROXY and NO_PROXY"),
    (aiohttp.ClientConnectorDNSError, "the name {host} is not known; is base_url right, and the network up?"),
    (aiohttp.ClientConnectorCertificateError, "the certificate of {where} is not trusted: {cause}; is base_url right?"),
    (aiohttp.ClientSSLError, "no TLS with {where}; is base_url right, or should it begin with http:?"),
    (aiohttp.ClientConnectorError, "nothing answers at {where} ({cause}); is it up, and base_url right?"),
    (aiohttp.ConnectionTimeoutError, "no connection within {seconds:.0f} s; is it up, and base_url right?"),
    (TimeoutError, "it sent nothing for {silence:.0f} s"),
    (aiohttp.ServerDisconnectedError, "it closed the connection without an answer"),
    (aiohttp.ClientPayloadError, "its answer broke off"),
    (aiohttp.InvalidURL, "its base_url is no address"),
    (aiohttp.ClientResponseError, "what it sent is no HTTP; is base_url right?"),
    (ConnectionError, "the connection broke off"),
)
# fmt: on


def why(error: Exception, timeout: aiohttp.ClientTimeout) -> str:
    """One safe line about what a request or the reading of its answer raised; no word of the client library's, which
    may name a proxy with its password."""
    words = next((words for kind, words in _WORDS if isinstance(error, kind)), "{cause}")
    said = words.format(
        host=getattr(error, "host", ""),
        where=f"{getattr(error, 'host', '')}:{getattr(error, 'port', '')}",
        cause=_cause(getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error),
        status=getattr(error, "status", ""),
        seconds=timeout.sock_connect or 0,
        silence=timeout.sock_read or 0,
    )
    return safe_line(said, 200)


def _cause(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number).lower() if number and number > 0 else type(error).__name__
