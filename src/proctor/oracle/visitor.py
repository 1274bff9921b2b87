"""Starts a server inside a sandbox, waits for its port, fetches one page of it, and says what came.

It runs inside, started by path, with the standard library alone. What it says goes into descriptor 0, a file without a
name: one line of JSON (`status`, `location`, `why`, `found`), then the page's bytes. A server that forged this could as
well have served the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from typing import Any, NoReturn
from urllib.parse import urlsplit

_PAUSE = 0.02
_SOON = (502, 503, 504)
"""Answers of a server that is not ready yet."""
_LOOPBACK = ("127.0.0.1", "::1")


class Late(Exception):
    """The time is over."""


class Unanswered(Exception):
    """There is no page, and will be none. `found`: the server could be started."""

    def __init__(self, why: str, found: bool = True) -> None:
        super().__init__(why)
        self.found = found


def main() -> None:
    """`run`, `url`, `within` (seconds) and `most` (bytes) as JSON in the first argument."""
    asked = json.loads(sys.argv[1])
    out = os.dup(0)
    visit = Visit(asked["url"], asked["most"])
    said: dict[str, Any] = {"found": True, "why": ""}
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, asked["within"])
    try:
        visit.pay(asked["run"])
    except Late:
        said["why"] = "" if visit.status in _SOON else f"{visit.waits} in {asked['within']:g} s"
    except Unanswered as error:
        said.update(found=error.found, why=str(error))
    signal.setitimer(signal.ITIMER_REAL, 0)
    with open(out, "wb") as file:
        file.write(
            json.dumps({**said, "status": visit.status, "location": visit.location}).encode() + b"\n" + visit.body
        )


class Visit:
    """One page of one server: what came last, and what is waited for."""

    def __init__(self, url: str, most: int) -> None:
        self.status = 0
        self.location = ""
        self.body = b""
        self._parts = urlsplit(url)
        self._most = most
        self._place = f"{self._parts.hostname}:{self._parts.port or 80}"
        self.waits = f"nothing listens on {self._place}"

    def pay(self, argv: list[str]) -> None:
        """Start the server and get its page. Unanswered where there is none; Late when the time is over."""
        try:
            server = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise Unanswered(f"{argv[0]} cannot be started: {(error.strerror or '').lower()}", found=False) from error
        while True:
            line = self._connected()
            if line is not None:
                self.waits = f"{self._place} gives no whole answer"
                with line:
                    self._fetch(line)
                if self.status and self.status not in _SOON:
                    return
            if (code := server.poll()) is not None:
                raise Unanswered(f"the server ended with {_said(code)} before {self._place} answered")
            time.sleep(_PAUSE)

    def _connected(self) -> socket.socket | None:
        host = self._parts.hostname or ""
        for address in _LOOPBACK if host == "localhost" else (host,):
            with contextlib.suppress(OSError):
                return socket.create_connection((address, self._parts.port or 80))
        return None

    def _fetch(self, line: socket.socket) -> None:
        """One question and its answer; nothing is kept of one that a server breaks off, as some do while they start."""
        self.status, self.body = 0, b""
        connection = HTTPConnection(self._place)
        connection.sock = line
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        try:
            connection.request("GET", target, headers={"Connection": "close"})
            answer = connection.getresponse()
            body = answer.read(self._most + 1)
        except ConnectionError:
            return
        except (HTTPException, OSError, ValueError) as error:
            raise Unanswered(f"{self._place} gives no answer of HTTP: {type(error).__name__}") from error
        if answer.length and len(body) <= self._most:
            raise Unanswered(f"{self._place} broke its answer off")
        self.status, self.location, self.body = answer.status, answer.headers.get("Location") or "", body


def _said(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _late(*_: object) -> NoReturn:
    raise Late


if __name__ == "__main__":
    main()
