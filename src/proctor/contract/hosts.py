"""The hosts that `sandbox.hosts` may name, and the one form of a host's name that is compared.

Only forms that every resolver and every parser of URLs reads alike are names; whatever could be read as another
host by somebody else is none.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DEFAULT_PORTS: Final = frozenset((80, 443))

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z._-]+)(?::([1-9][0-9]{0,4}))?", re.ASCII | re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_LONGEST = 253


def authority(text: str) -> tuple[str, int | None]:
    """`host` or `host:port` as (host, port): a name in lower case without its last dot, or an address in the usual form
    and without brackets. ValueError for anything else: users, zones, escapes, letters that are not ASCII, addresses
    in other notations."""
    match = _AUTHORITY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no `host` or `host:port`")
    port = int(match[2]) if match[2] else None
    if port is not None and port > 65535:
        raise ValueError(f"{text!r}: there is no such port")
    return _host(match[1].lower()), port


def _host(text: str) -> str:
    if text.startswith("["):
        return str(ipaddress.IPv6Address(text[1:-1]))
    name = text.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(text))
    if len(name) > _LONGEST or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text!r} is no name of a host")
    return name


def is_address(host: str) -> bool:
    """Whether a host, in the form of `authority`, is an address rather than a name."""
    return ":" in host or host.rpartition(".")[2].isdigit()


@dataclass(frozen=True, slots=True)
class Grant:
    """An entry of `sandbox.hosts`. With `below` it covers what is below the name and not the name itself."""

    host: str
    ports: frozenset[int] = DEFAULT_PORTS
    below: bool = False

    def covers(self, host: str, port: int) -> bool:
        return port in self.ports and (host.endswith(f".{self.host}") if self.below else host == self.host)


def grant(text: str) -> Grant:
    """Reads `name`, `name:port`, `*.name` or `*.name:port`; ValueError says what is wrong with it."""
    if not text.isascii():
        raise ValueError(f"{text!r}: write the name as DNS has it, with `xn--`")
    below = text.startswith("*.")
    host, port = authority(text.removeprefix("*."))
    if below and is_address(host):
        raise ValueError(f"{text!r}: nothing is below an address")
    return Grant(host, DEFAULT_PORTS if port is None else frozenset((port,)), below)


def granted(entries: Iterable[str], host: str, port: int) -> bool:
    """Whether one of the entries covers a host in the form of `authority`; ValueError if any of them is no entry."""
    grants = [grant(entry) for entry in entries]
    return any(one.covers(host, port) for one in grants)
