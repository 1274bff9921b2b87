"""What package managers say where a check, which has no network, needs what was not fetched before it. Pure.

Such a check says nothing of the work: no test ran, and none could. A failure to build says something else: what is to
be built may be the work.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

_END = 25
"""Lines at the end of an output among which these words stand where nothing ran after them."""
_LONGEST = 400
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


class Unfetched(NamedTuple):
    """What is missing, what brings it, and whether the project asks for it already, which no work would change."""

    name: str
    fix: str
    asked: bool = True


_N = rb"[`'\"]?([\w@./:+^~<>=*-]{0,150}?)[`'\"]?"
_ROWS = tuple(
    (re.compile(pattern), fix)
    for pattern, fix in (
        (rb"npm (?:ERR!|error) code (?:ENOTCACHED|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ENETUNREACH)", "run npm ci"),
        (rb"npm (?:ERR!|error) npx canceled due to missing packages.*", "run npm ci"),
        (rb" ?ERR_PNPM_(?:NO_OFFLINE_\w+|META_FETCH_FAIL).*", "run pnpm install"),
        (rb".*?YN0001: .*(?:Network access|getaddrinfo|RequestError).*", "run yarn install"),
        (rb"error: no matching package named " + _N + rb" found", "run cargo fetch"),
        (rb"error: failed to (?:download|get|load source for dependency) " + _N + rb"(?: .*)?", "run cargo fetch"),
        (rb"error: (?:override )?toolchain " + _N + rb" .*is not installed.*", "run rustup toolchain install"),
        (rb"error: could not download (?:nonexistent )?file.*", "run rustup toolchain install"),
        (rb"error: could not create temp file \S*rustup/tmp/.*", "run rustup toolchain install"),
        (rb"go: (?:go\.mod|.*: module \S+|\S+) requires go >= (\S+) \(running go.*", "install a newer Go"),
        (rb"go: download (\S+) for .*: toolchain not available.*", "install a newer Go"),
        (rb"ERROR: No matching distribution found for " + _N, "run pip install"),
        (rb"ERROR: Could not find a version that satisfies the requirement " + _N + rb" .*", "run pip install"),
        (rb"(?:error:|  .{0,4}) ?(?:Failed to fetch: |Because the network was disabled|.*was not found in the cache).*",
         "run uv sync"),
        (rb"Could not find (?:gem )?" + _N + rb"(?: .*)? in (?:any of the sources|locally installed gems).*",
         "run bundle install"),
        (rb".*Failed opening required '\S*?(vendor/autoload\.php)'.*", "run composer install"),
        (rb"  the dependency is not available, run \"mix deps\.get\"", "run mix deps.get"),
        (rb"\[ERROR\] .*(?:Could not resolve dependencies|Could not transfer artifact|Non-resolvable|Cannot access \S+ "
         rb".*in offline mode).*", "run mvn dependency:go-offline"),
        (rb".*java\.net\.UnknownHostException: .*", "run gradle dependencies"),
        (rb"\s*> (?:Could not (?:GET|HEAD|resolve) .*|No cached version of .* available for offline mode\.)",
         "run gradle dependencies"),
        (rb".*error NU1301: .*", "run dotnet restore"),
        (rb"Got socket error trying to find package (\S+) .*", "run dart pub get"),
    )
)  # fmt: skip
_OFFLINE = re.compile(rb"offline mode|--offline was specified|spurious network error|failed to query replaced source")
"""Without which cargo misses what should stand in the workspace."""

_GO = (
    (re.compile(rb"(?:\S+\.go:\d+:\d+: )?no required module provides package (\S+?);.*"), False),
    (re.compile(rb"(?:\S+\.go:\d+:\d+: )?cannot find module providing package (\S+?)(?::.*)?"), False),
    (re.compile(rb"(?:\S+\.go:\d+:\d+: )?missing go\.sum entry for module providing package (\S+).*"), True),
    (re.compile(rb".*(module lookup disabled by GOPROXY=off).*"), True),
    (re.compile(rb".*dial tcp: (lookup \S+).*"), True),
)
_NO_SETUP = re.compile(rb"^FAIL\t\S+ \[setup failed\]", re.MULTILINE)


def unfetched(output: bytes, own: Collection[str] = (), ran: bool = False) -> Unfetched | None:
    """What a failed command's output says was not fetched; None where it says nothing of it, or ran on after it.

    `own` are the names of the workspace's Go modules, whose packages are the work itself. Where a runner `ran`, only
    what Go could not set up counts, which stands among its tests as one that failed.
    """
    no_setup = _NO_SETUP.search(output)
    if ran and not no_setup:
        return None
    lines = [_COLOUR.sub(b"", line[:_LONGEST]).rstrip() for line in output.splitlines()]
    if found := next(_of_go(lines if no_setup else lines[-_END:], own), None):
        return found
    offline = _OFFLINE.search(output)
    for line in lines[-_END:]:
        for pattern, fix in _ROWS:
            if (match := pattern.fullmatch(line)) and (offline or fix != "run cargo fetch"):
                return Unfetched(_text(match[1]) if pattern.groups else "", fix)
    return None


def _of_go(lines: list[bytes], own: Collection[str]) -> Iterator[Unfetched]:
    for line in lines:
        for pattern, asked in _GO:
            if found := pattern.fullmatch(line):
                name = _text(found[1])
                if not any(f"{name}/".startswith(f"{module}/") for module in own):
                    yield Unfetched(name, "run go mod download" if asked else "run go mod tidy", asked)


def _text(name: bytes | None) -> str:
    return (name or b"").decode(errors="replace")
