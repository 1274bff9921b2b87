"""Watches `go test` and `cargo test` from beside them: the code under test is a process of its own there.

Started in front of the check's command it runs it, follows what the test binaries say, and tells the judge what
really ran, in the form and over the line of `witness.py`. What a test prints is never believed:

- Go: a copy of the `testing` package, laid over the real one by `-overlay`, repeats each outcome behind a word that
  is another one each run, and says so when a package's tests came to their end.
- Cargo: every test binary, and rustdoc, is started by this script, as the target's runner. It first asks for the list
  of tests, then reads their outcomes from a pipe into which Rust's harness logs; that can only grow.

Runs in proctor's own interpreter with the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import select
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import IO

SECRET_LENGTH = 64
FIELD, RECORD = "\x1f", "\x1e"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
GO, CARGO = "go", "cargo"

LIBRARY = "PROCTOR_GO_LIBRARY"
"""The variable that names a cache with Go's standard library built, which is only read."""

_EXCERPT = 500
_SHOWN = 64
"""Lines of a failed Go test among which its message is looked for."""
_NOT_DUMPABLE = (4, 0)
_FOLDER = "PROCTOR_WITNESS"
_FRAME = "PROCTOR_FRAME"
_RECORDS = "records"


class NotWatched(Exception):
    """This tool is not as it is known, so that nothing it would say could be believed."""


class Notes:
    """One outcome for each test id; a failure is never taken back."""

    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, str]] = {}

    def add(self, name: str, outcome: str, message: str = "") -> None:
        if self.outcomes.get(name, ("", ""))[0] != FAILED:
            self.outcomes[name] = outcome, message.strip()[:_EXCERPT] if outcome == FAILED else ""

    def report(self, secret: str) -> bytes:
        clean = re.compile("[\x00-\x08\x0b-\x1f]").sub
        rows = [FIELD.join(clean("?", f) for f in (o, name, why)) for name, (o, why) in self.outcomes.items()]
        return (secret + RECORD.join(rows) + RECORD + secret).encode("utf-8", "backslashreplace")


def main(how: str, at: int, argv: Sequence[str]) -> int:
    """Runs a command whose word `at` is the tool's `test`, and tells the judge; its exit code."""
    ctypes.CDLL(None).prctl(*_NOT_DUMPABLE)  # the memory and the files of this process are nobody's from here on
    line = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    secret = ""
    if stat.S_ISREG(os.fstat(line).st_mode):  # else nobody asks
        secret = os.pread(line, SECRET_LENGTH, 0).decode("ascii", "replace")
        os.ftruncate(line, 0)
    notes = Notes()
    with tempfile.TemporaryDirectory(prefix=".", ignore_cleanup_errors=True) as folder:
        try:
            code = (_go if how == GO else _cargo)(argv[: at + 1], argv[at + 1 :], folder, notes)
        except NotWatched as error:
            print(error, flush=True)
            return 126
        except FileNotFoundError as error:
            print(error, flush=True)
            return 127
    report = notes.report(secret) if secret else b""
    done = 0
    while done < len(report):
        done += os.pwrite(line, report[done:], done)
    return code


def _exit_code(code: int) -> int:
    return 128 - code if code < 0 else code


def _holds(words: Iterable[str], *options: str) -> bool:
    return any(word.partition("=")[0] in options for word in words)


# --- go ---------------------------------------------------------------------------------------------

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
_GO_BUILD = re.compile(r"FAIL\t(\S+) \[(?:build|setup) failed\]")
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


def _go(before: Sequence[str], after: Sequence[str], folder: str, notes: Notes) -> int:
    ours = ["-json", f"-overlay={_overlay(before, folder)}"]
    if not _holds(after, "-count", "--count"):
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
        _follow_go(process.stdout, frame, notes, told)
        code = _exit_code(process.wait())
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
        _show(text)
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


def _follow_go(stream: IO[bytes], frame: str, notes: Notes, aside: Sequence[str]) -> None:
    """Reads the events of `go test -json`, shows their text, and notes what is said behind the frame.

    A package whose tests could not be built, or ended before their end, fails by its own name.
    """
    said: dict[tuple[str, str], list[str]] = {}
    ended: set[str] = set()
    failed: set[str] = set()
    fell: dict[str, list[str]] = {}
    for raw in stream:
        try:
            event = json.loads(raw)
            action, package = str(event["Action"]), str(event.get("Package", ""))
        except (ValueError, KeyError, TypeError, RecursionError):
            text = raw.decode("utf-8", "replace")
            _show(text)
            if found := _GO_BUILD.match(text):
                notes.add(found[1], FAILED, _go_message(aside) or text)
            continue
        text, test = str(event.get("Output", "")), str(event.get("Test", ""))
        lines = said.setdefault((package, test), [])
        if action in ("output", "build-output"):
            word, _, name = text.partition(frame + " ")[2].strip().partition(" ")
            if word == "end":
                ended.add(package)
            elif word:
                failed |= {package} if word == FAILED else set()
                notes.add(f"{package}::{name}", word, _go_message(said.get((package, name), ())))
            else:
                _show(text)
                if len(lines) < _SHOWN:
                    lines.append(text)
        elif action == "fail" and test:
            fell.setdefault(package, []).append(test)
        elif not test and package not in failed:
            for name in fell.get(package, ()) if action == "fail" else ():  # a panic is not told by `testing`
                notes.add(f"{package}::{name}", FAILED, _go_message(said.get((package, name), ())))
            if action == "fail" and package not in fell:
                notes.add(package, FAILED, _go_message([*said.get(("", ""), ()), *aside, *lines]))
            elif action == "pass" and package not in ended:
                notes.add(package, FAILED, "ended before its tests did")


def _go_message(lines: Sequence[str]) -> str:
    marks = ("=== ", "--- ", "FAIL", "PASS", "exit status", "ok ")
    told = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(marks)]
    pointed = [line for line in told if re.match(r"\S+\.go:\d+:|panic: ", line)]
    return re.sub(r"^\S+\.go:\d+:(?:\d+:)? ?", "", (pointed or told or [""])[0])


def _show(text: str) -> None:
    if text.strip():
        sys.stdout.write(text)
        sys.stdout.flush()


# --- cargo ------------------------------------------------------------------------------------------

_COMPILE = re.compile(r"error: could not compile `([^`]+)`")
_RESULT = re.compile(r"^test result: ok\. (\d+) passed; 0 failed;", re.MULTILINE)
_LOGGED = {"ok": PASSED, "failed": FAILED, "ignored": SKIPPED}
_KEPT = 1 << 20
"""Bytes of a test binary's output among which its failures are looked for."""
_LOG_LIMIT = 16 << 20
_LEFT = 32
"""How often a pipe is read once the harness has ended, of which at most a pipe's fill can be its own."""
_DOC_LINE = re.compile(r" \(line (\d+)\)")


def _cargo(before: Sequence[str], after: Sequence[str], folder: str, notes: Notes) -> int:
    me = [sys.executable, "-I", "-S", os.path.abspath(__file__)]
    runner = json.dumps([*me, "binary"])
    ours = ["--config", f"target.'cfg(all())'.runner={runner}"]
    if not _holds(after, "--no-fail-fast", "--no-run"):
        ours.append("--no-fail-fast")
    environment = os.environ | {_FOLDER: folder, "RUSTDOC": os.path.splitext(me[-1])[0]}
    said = bytearray()
    with subprocess.Popen([*before, *ours, *after], stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr
        _read(process, {process.stderr.fileno(): _shown(said)})
        code = _exit_code(process.wait())
    for line in said.decode("utf-8", "replace").splitlines():
        if found := _COMPILE.search(line):
            notes.add(found[1], FAILED, line)
    records = os.path.join(folder, _RECORDS)
    if os.path.exists(records):
        with open(records, encoding="utf-8") as file:
            for name, outcome, message in (row for line in file for row in json.loads(line)):
                notes.add(name, outcome, message)
    return code


def binary(argv: Sequence[str]) -> int:
    """Runs one test binary, as cargo's runner; its exit code.

    One that is not made with Rust's harness can fail, but what it ran nobody knows: it passes for nothing.
    """
    folder = os.environ.pop(_FOLDER, "")
    os.environ.pop("RUSTDOC", None)
    stem = os.path.basename(argv[0]).rpartition("-")[0] or os.path.basename(argv[0])
    group = f"{os.environ.get('CARGO_PKG_NAME', '')}/{stem}"
    listed = _listing([*(word for word in argv if word not in ("-q", "--quiet")), "--list"])
    if not re.search(r"^\d+ tests?, \d+ benchmarks?$", listed, re.MULTILINE):
        code = _exit_code(subprocess.run(argv, check=False).returncode)
        _record(folder, [(group, FAILED, f"exit code {code}")] if code else [])
        return code
    code, log, said = _logged(argv, lambda pipe: ["--logfile", pipe])
    rows = _outcomes(group, _names(listed), log, said)
    ran = sum(outcome == PASSED for _, outcome, _ in rows)
    if code == 0 and not _holds(argv, "--format") and [*map(int, _RESULT.findall(said))][-1:] != [ran]:
        rows = [(name, FAILED, "the harness ended before its tests did") for name, _, _ in rows]
    _record(folder, rows)
    return code


def docs(argv: Sequence[str]) -> int:
    """Stands in for rustdoc; where it runs documentation tests, watches it."""
    folder = os.environ.pop(_FOLDER, "")
    os.environ.pop("RUSTDOC", None)
    argv = ["rustdoc", *argv]
    if "--test" not in argv:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell
    argv = _without_tool(argv)
    names = _stable(_names(_listing([*argv, "--test-args", "--list"])))
    code, log, said = _logged(argv, lambda pipe: ["--test-args", f"--logfile {pipe}"])
    _record(folder, _outcomes(f"{os.environ.get('CARGO_PKG_NAME', '')}/doc", names, log, said))
    return code


def _without_tool(argv: Sequence[str]) -> list[str]:
    """rustdoc's arguments without cargo's runner: what a documentation test is, is no test binary."""
    kept, words = [], iter(argv)
    for word in words:
        if word in ("--test-runtool", "--test-runtool-arg"):
            next(words, None)
        elif not word.startswith("--test-runtool"):
            kept.append(word)
    return kept


def _stable(names: Iterable[str]) -> dict[str, str]:
    """Names of documentation tests, and what they are without their lines, which every edit above them moves."""
    counts: dict[str, int] = {}
    found = {}
    for name in sorted(names, key=lambda name: [int(n) for n in _DOC_LINE.findall(name)]):
        short = _DOC_LINE.sub("", name)
        counts[short] = counts.get(short, 0) + 1
        found[name] = short if counts[short] == 1 else f"{short} #{counts[short]}"
    return found


def _listing(argv: Sequence[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False).stdout


def _names(listing: str) -> dict[str, str]:
    names = (line[: -len(": test")] for line in listing.splitlines() if line.endswith(": test"))
    return {name: name for name in names}


def _outcomes(group: str, planned: dict[str, str], log: str, said: str) -> list[tuple[str, str, str]]:
    """The outcome of each test that was planned, as the harness logged it: `ok NAME`, `failed: WHY NAME`.

    One that was not logged did not run; one that was logged twice was not logged by the harness alone.
    """
    found: dict[str, str] = {}
    entry = ""
    for line in log.splitlines():
        entry = f"{entry}\n{line}" if entry else line
        word, _, rest = entry.partition(" ")
        name = rest if rest in planned else max((n for n in planned if entry.endswith(f" {n}")), key=len, default="")
        outcome = _LOGGED.get(word.rstrip(":,"))
        if name and outcome:
            found[name] = FAILED if name in found else outcome
        if name or outcome != FAILED:
            entry = ""
    rows = []
    for name, shown in planned.items():
        outcome = found.get(name, FAILED)
        why = "" if outcome != FAILED else _panic(said, name) if name in found else "did not run"
        rows.append((f"{group}::{shown}", outcome, why))
    return rows


def _panic(said: str, name: str) -> str:
    """What a failed test said: of the block in which the harness repeats it, or where it panicked."""
    block = said.partition(f"---- {name} stdout ----\n")[2] or said.partition(f"thread '{name}'")[2]
    block = re.split(r"^---- .* ----$|^failures:$", block, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    at = next((at + 1 for at, line in enumerate(lines) if "panicked at " in line and line.endswith(":")), 0)
    ends = ("note: ", "stack backtrace:", "test ")
    end = next((end for end, line in enumerate(lines) if end >= at and line.startswith(ends)), len(lines))
    return " ".join(lines[at : min(end, at + 4)]) or "failed"


def _record(folder: str, rows: Sequence[tuple[str, str, str]]) -> None:
    if folder:
        with open(os.path.join(folder, _RECORDS), "a", encoding="utf-8") as file:
            file.write(json.dumps(rows) + "\n")


def _logged(argv: Sequence[str], more: Callable[[str], list[str]]) -> tuple[int, str, str]:
    """Runs a harness that logs into a pipe of ours: its exit code, the log, and the end of its output."""
    reading, writing = os.pipe()
    log, said = bytearray(), bytearray()

    def logged(chunk: bytes) -> None:
        if len(log) < _LOG_LIMIT:
            log.extend(chunk)

    with subprocess.Popen([*argv, *more(f"/dev/fd/{writing}")], stdout=subprocess.PIPE, pass_fds=[writing]) as process:
        os.close(writing)
        assert process.stdout
        _read(process, {reading: logged, process.stdout.fileno(): _shown(said)})
        code = _exit_code(process.wait())
    os.close(reading)
    return code, log.decode("utf-8", "replace"), said.decode("utf-8", "replace")


def _shown(kept: bytearray) -> Callable[[bytes], None]:
    """Takes what a process says: shows it, and keeps the end of it."""

    def show(chunk: bytes) -> None:
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
        kept.extend(chunk)
        del kept[:-_KEPT]

    return show


def _read(process: subprocess.Popen[bytes], takes: dict[int, Callable[[bytes], None]]) -> None:
    """Reads what comes through pipes until a process ends; whoever else holds them then is not waited for."""
    end = os.pidfd_open(process.pid)
    left = _LEFT
    while takes and left:
        ready = select.select([*takes, end], [], [])[0]
        if end in ready:
            left = left - 1 if len(ready) > 1 else 0
        for fd in (fd for fd in ready if fd != end):
            if chunk := os.read(fd, 1 << 16):
                takes[fd](chunk)
            else:
                del takes[fd]
    os.close(end)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["binary", *words]:
            sys.exit(binary(words))
        case ["docs", *words]:
            sys.exit(docs(words))
        case [how, at, *words]:
            sys.exit(main(how, int(at), words))
