"""Watches `cargo test`: every test binary, and rustdoc, is started by this module, as the target's runner.

It first asks for the list of tests, then reads their outcomes from a pipe into which Rust's harness logs; that can only
grow.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

from proctor.oracle.witness_native import FAILED, PASSED, SKIPPED, Notes, exit_code, holds, read, shown

_FOLDER = "PROCTOR_WITNESS"
_RECORDS = "records"

_COMPILE = re.compile(r"error: could not compile `([^`]+)`")
_RESULT = re.compile(r"^test result: ok\. (\d+) passed; 0 failed;", re.MULTILINE)
_LOGGED = {"ok": PASSED, "failed": FAILED, "ignored": SKIPPED}
_LOG_LIMIT = 16 << 20
_DOC_LINE = re.compile(r" \(line (\d+)\)")


def run(before: Sequence[str], after: Sequence[str], folder: str, notes: Notes) -> int:
    me = [sys.executable, "-I", "-S", os.path.abspath(sys.argv[0])]
    runner = json.dumps([*me, "binary"])
    ours = ["--config", f"target.'cfg(all())'.runner={runner}"]
    if not holds(after, "--no-fail-fast", "--no-run"):
        ours.append("--no-fail-fast")
    environment = os.environ | {_FOLDER: folder, "RUSTDOC": os.path.splitext(me[-1])[0]}
    said = bytearray()
    with subprocess.Popen([*before, *ours, *after], stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr
        read(process, {process.stderr.fileno(): shown(said)})
        code = exit_code(process.wait())
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
        code = exit_code(subprocess.run(argv, check=False).returncode)
        _record(folder, [(group, FAILED, f"exit code {code}")] if code else [])
        return code
    code, log, said = _logged(argv, lambda pipe: ["--logfile", pipe])
    rows = outcomes(group, _names(listed), log, said)
    ran = sum(outcome == PASSED for _, outcome, _ in rows)
    if code == 0 and not holds(argv, "--format") and [*map(int, _RESULT.findall(said))][-1:] != [ran]:
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
    names = stable(_names(_listing([*argv, "--test-args", "--list"])))
    code, log, said = _logged(argv, lambda pipe: ["--test-args", f"--logfile {pipe}"])
    _record(folder, outcomes(f"{os.environ.get('CARGO_PKG_NAME', '')}/doc", names, log, said))
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


def stable(names: Iterable[str]) -> dict[str, str]:
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


def outcomes(group: str, planned: dict[str, str], log: str, said: str) -> list[tuple[str, str, str]]:
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
    for name, stable_name in planned.items():
        outcome = found.get(name, FAILED)
        why = "" if outcome != FAILED else panic(said, name) if name in found else "did not run"
        rows.append((f"{group}::{stable_name}", outcome, why))
    return rows


def panic(said: str, name: str) -> str:
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
        read(process, {reading: logged, process.stdout.fileno(): shown(said)})
        code = exit_code(process.wait())
    os.close(reading)
    return code, log.decode("utf-8", "replace"), said.decode("utf-8", "replace")
