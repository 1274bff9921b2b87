"""What the report of a test runner and its exit code prove. Pure.

A command that starts no runner that is known is judged by its exit code and the contract's `expect`; one that says that
no test passed is no pass.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from proctor.oracle import witness
from proctor.oracle.toolchains import summaries
from proctor.oracle.toolchains.commands import Kind
from proctor.testids import holds
from proctor.text import safe_line
from proctor.units import counted
from proctor.words import Verdict

ID_LIMIT = 300
GONE = "test disappeared"
_NO_MODULE = b"No module named pytest"
_USAGE_ERROR = 4
_NOT_STARTED = {126: "not executable", 127: "command not found"}
_RECIPE = re.compile(rb"^g?make(?:\[\d+\])?: \*\*\* \[[^\n]*\] Error 127\r?$", re.MULTILINE)
_NO_PROGRAM = re.compile(
    rb"^(?:g?make(?:\[\d+\])?|[^\s:]*sh(?:: (?:line )?\d+)?): [^\s/:]+: "
    rb"(?:No such file or directory|(?:command )?not found)\r?$",
    re.MULTILINE,
)
"""A program that is looked for on PATH; one that is named by its folder may be the work itself."""

_ERROR_LINE = re.compile(
    r"^\s*(?:[\w.]*(?:Error|Exception|Failure)\b|panic|fatal|FAIL|error\b|not ok\b|\[[\d:/.]+:FATAL\b)", re.IGNORECASE
)


class Outcome(StrEnum):
    """How one test ended. An error is a failure; an expected failure is no pass."""

    PASSED = witness.PASSED
    FAILED = witness.FAILED
    SKIPPED = witness.SKIPPED


class Report(msgspec.Struct, frozen=True):
    """What the witness saw: outcomes by test id, messages of failures, and the framework's functions that changed."""

    tests: dict[str, Outcome]
    failures: dict[str, str] = {}
    unsealed: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[str, ...]:
        return tuple(name for name, outcome in self.tests.items() if outcome is Outcome.FAILED)


def read_report(data: bytes, secret: str) -> Report | None:
    """The witness's report; None when it did not come to its end, came twice or does not know the secret."""
    frame, end = secret.encode(), witness.RECORD.encode() + secret.encode()
    if not (data.startswith(frame) and data.endswith(end) and data.count(frame) == 2):
        return None
    report = Report({}, {})
    unsealed = []
    for record in filter(None, data[len(frame) : -len(end)].decode("utf-8", "replace").split(witness.RECORD)):
        outcome, _, rest = record.partition(witness.FIELD)
        name, _, message = rest.partition(witness.FIELD)
        name = _id(name)
        if outcome == witness.UNSEALED:
            unsealed.append(name)
        elif outcome not in set(Outcome):
            return None
        elif report.tests.get(name) is not Outcome.FAILED:
            report.tests[name] = Outcome(outcome)
            report.failures.update({name: message} if message else {})
    return msgspec.structs.replace(report, unsealed=tuple(unsealed))


def weigh(kind: Kind | None, code: int, report: Report | None, output: bytes) -> tuple[Verdict, str]:
    """What an ended check proves, and why in one line. `output` is the end of what it wrote."""
    if kind is None:
        if why := _NOT_STARTED.get(code):
            return Verdict.INFRA, f"{why} (exit code {code})"
        if code and _RECIPE.search(output) and (missing := _NO_PROGRAM.search(output)):
            said = safe_line(missing[0], ID_LIMIT)
            return Verdict.INFRA, f"command not found (exit code 127 of a recipe): {said}"
        if code == 0 and (said := summaries.nothing_passed(output)):
            return Verdict.FAILED, f"no test passed: {safe_line(said, ID_LIMIT)}"
        return (Verdict.PASSED if code == 0 else Verdict.FAILED), f"exit code {code}"
    if report is None:
        if kind is Kind.PYTEST and (code == _USAGE_ERROR or _NO_MODULE in output):
            return Verdict.INFRA, f"pytest could not start (exit code {code})"
        if not kind.is_python and code in _NOT_STARTED:
            return Verdict.INFRA, f"{kind} could not start (exit code {code})"
        return Verdict.FAILED, f"exit code {code} before {kind} came to its end"
    passed, failed, skipped = (sum(o is kind_of for o in report.tests.values()) for kind_of in Outcome)
    if report.unsealed:
        return Verdict.FAILED, f"{report.unsealed[0]} of the test framework was replaced while tests ran"
    if failed:
        return Verdict.FAILED, f"{failed} of {counted(len(report.tests), 'test')} failed"
    if not report.tests:
        return Verdict.FAILED, "no test ran" + ("" if kind.is_python or not code else f" (exit code {code})")
    if not passed:
        return Verdict.FAILED, "the one test was skipped" if skipped == 1 else f"all {skipped:,} tests were skipped"
    if code != 0:
        return Verdict.FAILED, f"exit code {code} although no test failed"
    return Verdict.PASSED, f"{counted(passed, 'test')} passed" + (f", {skipped} skipped" if skipped else "")


def compare(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> dict[str, str]:
    """The test ids that break the promise of a check, and how: each that ran before must exist and pass after.

    A module or class that could not even be loaded before stands for the tests it holds now.
    """
    broken = {}
    for name, outcome in before.items():
        now = after.get(name)
        if outcome is Outcome.SKIPPED or now is Outcome.PASSED:
            continue
        if now is not None:
            broken[name] = "test " + now
        elif outcome is Outcome.PASSED or not any(holds(name, other) for other in after):
            broken[name] = GONE
    return broken


def last_words(output: bytes) -> str:
    """The line of an unknown command's output that most likely names its failure."""
    lines = [line for line in map(safe_line, output.splitlines()[-200:]) if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.search(line)]
    return (errors or lines or [""])[-1].strip()


def _id(name: str) -> str:
    """A test's name made safe to show; a long one keeps its identity through a hash."""
    if len(name) > ID_LIMIT:
        name = name[: ID_LIMIT - 16] + "~" + hashlib.sha256(name.encode()).hexdigest()[:15]
    return safe_line(name, ID_LIMIT)
