"""Starts a server inside a sandbox, waits for its port, fetches one page of it, and says what came, or what a browser
makes of it.

It runs inside, started by path, with the standard library alone. What it says goes into descriptor 0, a file without a
name: one line of JSON (`status`, `location`, `why`, `found`), then the page's bytes, or those of the browser's document
less what nobody sees of it. A server that forged this could as well have served the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from typing import IO, Any, NoReturn
from urllib.parse import urlsplit

_PAUSE = 0.02
_SOON = (502, 503, 504)
"""Answers of a server that is not ready yet."""
_LOOPBACK = ("127.0.0.1", "::1")
TRIAL = 10.0
"""Seconds at most in which a browser that showed nothing of a page has to show `PLAIN`."""
PLAIN = "data:text/html,<p>plain"
"""A page that any browser shows."""
_WORDS = 1 << 16
"""Bytes of a browser's complaints that are looked into."""
_SETTLED = 5000
"""Milliseconds of a page's own clock, which runs ahead while it waits for nothing but time."""
_UNSEEN = re.compile(rb"<!--.*?-->|<(script|style|noscript)[\s>].*?</\1>", re.DOTALL)
"""Of a document: what a page does not show, although a script's source may hold the very words."""


class Late(Exception):
    """The time is over."""


class Unanswered(Exception):
    """There is no page, and will be none. `found`: what it takes could be started."""

    def __init__(self, why: str, found: bool = True) -> None:
        super().__init__(why)
        self.found = found


def main() -> None:
    """`run`, `url`, `within` (seconds), `most` (bytes), `status`, `browser` as JSON in the first argument."""
    asked = json.loads(sys.argv[1])
    browser = asked["browser"]
    out = os.dup(0)
    visit = Visit(asked["url"], asked["most"])
    said: dict[str, Any] = {"found": True, "why": ""}
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, asked["within"])
    try:
        visit.pay(asked["run"])
        if browser and visit.status == asked["status"]:
            visit.show(browser)
    except Late:
        said["why"] = "" if visit.status in _SOON and not browser else f"{visit.waits} in {asked['within']:g} s"
    except Unanswered as error:
        said.update(found=error.found, why=str(error))
    signal.setitimer(signal.ITIMER_REAL, 0)
    if said["why"] and said["found"] and visit.shown and (why := _lacking(browser, min(asked["within"], TRIAL))):
        said.update(found=False, why=why)
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
        self.shown = False
        self._url = url
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

    def show(self, browser: str) -> None:
        """Let a browser make a document of the page, which is the body then. Unanswered where it makes none; Late."""
        self.shown, self.body = True, b""
        self.waits = f"{browser} comes to no end with the page"
        document = _document(browser, self._url, self._most)
        self.body = document if len(document) > self._most else _UNSEEN.sub(b"", document)

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


def browse(browser: str, profile: str, url: str) -> tuple[str, ...]:
    """What has a browser of the Chromium family write a page's document, once its scripts have run, to its output.

    Without its own sandbox, for which it would need what the one around it forbids.
    """
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}")
    return (browser, *flags, f"--virtual-time-budget={_SETTLED}", "--dump-dom", url)


def _document(browser: str, url: str, most: int, errors: IO[bytes] | None = None) -> bytes:
    """The document, or its first `most` bytes and one more. The browser's processes are ended. Unanswered; Late."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, tempfile.TemporaryFile() as out:
        argv = browse(browser, profile, url)
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, process_group=0)
        except OSError as error:
            why = f"{browser} cannot be started: {(error.strerror or '').lower()}; install it, or name one by its path"
            raise Unanswered(why, found=False) from error
        try:
            code = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        document = out.read(most + 1)
    if code or not document:
        raise Unanswered(f"{browser} ended with {_said(code)} and made no document of the page")
    return document


def _lacking(browser: str, seconds: float) -> str:
    """Why a browser shows nothing whatever the page; empty where it shows a plain one, so that the page it was."""
    why = ""
    with tempfile.TemporaryFile() as errors:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            _document(browser, PLAIN, 1, errors)
        except Late:
            why = f"it comes to no end in {seconds:g} s"
        except Unanswered as error:
            errors.seek(0)
            said = errors.read(_WORDS).decode(errors="replace").split("\n")
            lines = [line for line in said if line.strip()] or [str(error)]
            why = next((line for line in lines if ":FATAL:" in line), lines[-1])
        signal.setitimer(signal.ITIMER_REAL, 0)
    return why and f"{browser} cannot even show a plain page: {why}; name one that runs in the sandbox"


def _said(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _late(*_: object) -> NoReturn:
    raise Late


if __name__ == "__main__":
    main()
