"""Watches `go test`: a copy of the `testing` package, laid over the real one by `-overlay`, repeats each outcome behind
a word that is another one each run, and says so when a package's tests came to their end.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO

from proctor.oracle.witness_native import FAILED, PASSED, SKIPPED, Notes, NotWatched, exit_code, holds, show

LIBRARY = "PROCTOR_GO_LIBRARY"
"""The variable that names a cache with Go's standard library built, which is only read."""

_FRAME = "PROCTOR_FRAME"
_SHOWN = 64
"""Lines of a failed test among which its message is looked for."""

_HOOKS = (
    ("testing.go", r"^func \(t \*T\) report\(\) \{$", "proctorTold(t.parent != nil, t.name, t.Failed(), t.Skipped())"),
    ("testing.go", r"^func \(m \*M\) Run\(\) \(code int\) \{$", 'defer func() { proctorSay("end", "") }()'),
    ("fuzz.go", r"^func \(f \*F\) report\(\) \{$", "proctorTold(true, f.name, f.Failed(), f.Skipped())"),
    (
        "example.go",
        r"^func \(eg \*InternalExample\) processRunResult\(.*\) \(passed bool\) \{$",
        "defer func() { proctorTold(true, eg.Name, !passed, false) }()",
    ),
)
_NOT_BUILT = re.compile(r"FAIL\t(\S+) \[(?:build|setup) failed\]")
_SAYING = f"""
var proctorFrame, proctorOut = os.Getenv("{_FRAME}"), os.Stdout

func init() {{ os.Unsetenv("{_FRAME}") }}

func proctorTold(counts bool, name string, failed, skipped bool) {{
	switch {{
	case !counts:
	case failed:
		proctorSay("{FAILED}", name)
	case skipped:
		proctorSay("{SKIPPED}", name)
	default:
		proctorSay("{PASSED}", name)
	}}
}}

func proctorSay(word, name string) {{
	if proctorFrame != "" {{
		proctorOut.WriteString("\\n" + proctorFrame + " " + word + " " + name + "\\n")
	}}
}}
"""


def run(before: Sequence[str], after: Sequence[str], folder: str, notes: Notes) -> int:
    ours = ["-json", f"-overlay={_overlay(before, folder)}"]
    if not holds(after, "-count", "--count"):
        ours.append("-count=1")
    library = os.environ.pop(LIBRARY, "")
    if library:
        _borrow(library, os.environ["GOCACHE"])
    frame = secrets.token_hex(16)
    told: list[str] = []
    with subprocess.Popen(
        [*before, *ours, *after], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {_FRAME: frame}
    ) as process:
        assert process.stdout
        assert process.stderr
        aside = threading.Thread(target=_relay, args=(process.stderr, told), daemon=True)
        aside.start()
        follow(process.stdout, frame, notes, told)
        code = exit_code(process.wait())
        aside.join(timeout=1)
        return code


def _borrow(library: str, place: str) -> None:
    """Makes a cache of Go's that holds what another one does, by links."""
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(library):
        if os.path.isdir(f"{library}/{name}") and not os.path.exists(f"{place}/{name}"):
            os.mkdir(f"{place}/{name}")
            for entry in os.listdir(f"{library}/{name}"):
                os.symlink(f"{library}/{name}/{entry}", f"{place}/{name}/{entry}")
    with open(f"{place}/trim.txt", "w", encoding="ascii") as file:
        file.write(str(int(time.time())))  # nothing is too old to be kept


def _relay(stream: IO[bytes], told: list[str]) -> None:
    """Shows what a stream says, and keeps its first lines."""
    for raw in stream:
        text = raw.decode("utf-8", "replace")
        show(text)
        if len(told) < _SHOWN:
            told.append(text)


def _overlay(before: Sequence[str], folder: str) -> str:
    """Makes the file that has go build our copy of `testing`; NotWatched where this Go's is not as it is known."""
    asked = subprocess.run([*before[:-1], "env", "GOROOT"], capture_output=True, text=True, check=False)
    root = os.path.join(asked.stdout.strip(), "src", "testing")
    texts: dict[str, str] = {}
    for name, place, line in _HOOKS:
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = texts.get(name) or file.read()
        except OSError as error:
            raise NotWatched(f"go test cannot be watched: {error}") from error
        texts[name], found = re.subn(place, lambda hit, line=line: f"{hit[0]}\n\t{line}", text, flags=re.MULTILINE)  # type: ignore[misc]
        if found != 1:
            raise NotWatched(f"go test cannot be watched: {root}/{name} is not as it is known")
    texts["testing.go"] += _SAYING
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    overlay = os.path.join(folder, "overlay.json")
    with open(overlay, "w", encoding="utf-8") as file:
        json.dump({"Replace": {os.path.join(root, name): os.path.join(folder, name) for name in texts}}, file)
    return overlay


def follow(stream: IO[bytes], frame: str, notes: Notes, aside: Sequence[str]) -> None:
    """Reads the events of `go test -json`, shows their text, and notes what is said behind the frame."""
    events = _Events(frame, notes, aside)
    for raw in stream:
        try:
            event = json.loads(raw)
            action, package = str(event["Action"]), str(event.get("Package", ""))
        except (ValueError, KeyError, TypeError, RecursionError):
            events.plain(raw.decode("utf-8", "replace"))
            continue
        test = str(event.get("Test", ""))
        if action in ("output", "build-output"):
            events.said(package, test, str(event.get("Output", "")))
        elif action == "fail" and test:
            events.fell.setdefault(package, []).append(test)
        elif not test:
            events.over(package, action)


class _Events:
    """What was heard of each package. One whose tests could not be built, or ended before their end, fails by its own
    name."""

    def __init__(self, frame: str, notes: Notes, aside: Sequence[str]) -> None:
        self.fell: dict[str, list[str]] = {}
        self._frame = frame + " "
        self._notes = notes
        self._aside = aside
        self._lines: dict[tuple[str, str], list[str]] = {}
        self._ended: set[str] = set()
        self._failed: set[str] = set()

    def plain(self, text: str) -> None:
        """A line of Go's own that is no event."""
        show(text)
        if found := _NOT_BUILT.match(text):
            self._notes.add(found[1], FAILED, _message(self._aside) or text)

    def said(self, package: str, test: str, text: str) -> None:
        word, _, name = text.partition(self._frame)[2].strip().partition(" ")
        if word == "end":
            self._ended.add(package)
        elif word:
            self._note(package, name, word)
        else:
            show(text)
            lines = self._lines.setdefault((package, test), [])
            if len(lines) < _SHOWN:
                lines.append(text)

    def over(self, package: str, action: str) -> None:
        for name in self.fell.get(package, ()) if action == "fail" else ():  # a panic is not told by `testing`
            self._note(package, name, FAILED)
        if package in self._failed:
            return
        if action == "fail":
            lines = (*self._lines.get(("", ""), ()), *self._aside, *self._lines.get((package, ""), ()))
            self._notes.add(package, FAILED, _message(lines))
        elif action == "pass" and package not in self._ended:
            self._notes.add(package, FAILED, "ended before its tests did")

    def _note(self, package: str, name: str, outcome: str) -> None:
        self._failed |= {package} if outcome == FAILED else set()
        self._notes.add(f"{package}::{name}", outcome, _message(self._lines.get((package, name), ())))


def _message(lines: Sequence[str]) -> str:
    marks = ("=== ", "--- ", "FAIL", "PASS", "exit status", "ok ")
    told = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(marks)]
    pointed = [line for line in told if re.match(r"\S+\.go:\d+:|panic: ", line)]
    return re.sub(r"^\S+\.go:\d+:(?:\d+:)? ?", "", (pointed or told or [""])[0])
