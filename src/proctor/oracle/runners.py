"""What a check's argv starts, and what its test runner's report and exit code prove. Pure.

`unittest` and `pytest` are watched by `witness.py`, however they are launched. Any other command is judged by its
exit code and the contract's `expect`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from proctor.oracle import witness
from proctor.text import safe_line
from proctor.words import Verdict

ID_LIMIT = 300
_NO_MODULE = b"No module named pytest"
_USAGE_ERROR = 4
_NOT_STARTED = {126: "not executable", 127: "command not found"}

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:t|d)?")
_INTERPRETERS = re.compile(_PYTHON.pattern + r"|bash|sh|dash|zsh|fish|node|deno|bun|ruby|perl|php|Rscript|lua")
_WRAPPERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye", "env", "nice", "timeout", "xvfb-run"})
_NODE_RUNNERS = frozenset({"jest", "vitest", "mocha", "ava"})
_PYTEST = frozenset({"pytest", "py.test"})
_FINDS = """\
import importlib.util, sys
try:
    found = importlib.util.find_spec(sys.argv[1])
except ImportError:
    found = None
sys.exit(None if found else f"{sys.executable} has no module {sys.argv[1]}")
"""
_ERROR_LINE = re.compile(
    r"^\s*(?:[\w.]*(?:Error|Exception|Failure)\b|panic|fatal|FAIL|error\b|not ok\b)", re.IGNORECASE
)


class Kind(StrEnum):
    UNITTEST = "unittest"
    PYTEST = "pytest"


class Outcome(StrEnum):
    """How one test ended. An error is a failure; an expected failure is no pass."""

    PASSED = witness.PASSED
    FAILED = witness.FAILED
    SKIPPED = witness.SKIPPED


@dataclass(frozen=True, slots=True)
class Runner:
    """A recognised test runner; its name begins at word `at` of the argv and takes `words` of them."""

    kind: Kind
    at: int
    words: int


class Report(msgspec.Struct, frozen=True):
    """What the witness saw: outcomes by test id, messages of failures, and the framework's functions that changed."""

    tests: dict[str, Outcome]
    failures: dict[str, str] = {}
    unsealed: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[str, ...]:
        return tuple(name for name, outcome in self.tests.items() if outcome is Outcome.FAILED)


def recognise(argv: Sequence[str]) -> Runner | None:
    """The unittest or pytest that an argv starts, directly or through a launcher; None for anything else."""
    for at, word in enumerate(argv):
        if _name(word) in _PYTEST and _launches(argv[:at]):
            return Runner(Kind.PYTEST, at, 1)
        if word == "-m" and at and at + 1 < len(argv) and _launches(argv[:at]):
            module = argv[at + 1]
            if module in _PYTEST:
                return Runner(Kind.PYTEST, at, 2)
            if module == "unittest":
                return Runner(Kind.UNITTEST, at, 2)
    return None


def watched(argv: Sequence[str], runner: Runner, folder: str, plugin: str) -> tuple[str, ...]:
    """The argv that runs the same tests under the witness, `folder/plugin.py`; pytest also needs it on PYTHONPATH."""
    before, name, after = (
        argv[: runner.at],
        argv[runner.at : runner.at + runner.words],
        argv[runner.at + runner.words :],
    )
    if runner.kind is Kind.UNITTEST:
        return (*before, f"{folder}/{plugin}.py", *after)
    return (*before, *name, "-p", plugin, *after)


def trial(argv: Sequence[str]) -> tuple[str, ...]:
    """An argv that ends at once, with 0 if what this one starts is there: the program, or the interpreter's module.

    What launchers such as `uv run` would start is not asked for: some of them install first.
    """
    at = argv.index("-m") if "-m" in argv[:-1] else 0
    if at and _PYTHON.fullmatch(_name(argv[0])) and not _without_options(argv[1:at]) and "-c" not in argv[:at]:
        return (*argv[:at], "-c", _FINDS, argv[at + 1])
    if _name(argv[0]) in _PYTEST:
        return (argv[0], "--version")
    return ("sh", "-c", 'command -v -- "$1" || { echo "$1 was not found"; exit 1; }', "sh", argv[0])


def named_paths(argv: Sequence[str]) -> Iterator[str]:
    """Paths that may be the check's own script, or the tests and settings its runner is told of.

    A file that some other command is told of, such as a linter's, may as well be the work itself.
    """
    if argv and "/" in argv[0]:
        yield argv[0]
    interpreter = next((at for at, word in enumerate(argv) if _INTERPRETERS.fullmatch(_name(word))), None)
    if interpreter is not None:
        words = _without_options(argv[interpreter + 1 :])
        if words and "-m" not in argv and "-c" not in argv:
            yield words[0]
    runner = recognise(argv)
    node = next((at + 1 for at, word in enumerate(argv) if _name(word) in _NODE_RUNNERS), len(argv))
    for word in argv[runner.at + runner.words if runner else node :]:
        path = word.partition("=")[2] if word.startswith("-") else word.partition("::")[0]
        yield path
        if runner and runner.kind is Kind.UNITTEST and "/" not in path:
            parts = path.split(".")
            yield from ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))


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
        return (Verdict.PASSED if code == 0 else Verdict.FAILED), f"exit code {code}"
    if report is None:
        if kind is Kind.PYTEST and (code == _USAGE_ERROR or _NO_MODULE in output):
            return Verdict.INFRA, f"pytest could not start (exit code {code})"
        return Verdict.FAILED, f"exit code {code} before {kind} came to its end"
    passed, failed, skipped = (sum(o is kind_of for o in report.tests.values()) for kind_of in Outcome)
    if report.unsealed:
        return Verdict.FAILED, f"{report.unsealed[0]} of the test framework was replaced while tests ran"
    if failed:
        return Verdict.FAILED, f"{failed} of {len(report.tests)} tests failed"
    if not report.tests:
        return Verdict.FAILED, "no test ran"
    if not passed:
        return Verdict.FAILED, f"all {skipped} tests were skipped"
    if code != 0:
        return Verdict.FAILED, f"exit code {code} although no test failed"
    return Verdict.PASSED, f"{passed} tests passed" + (f", {skipped} skipped" if skipped else "")


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
        elif outcome is Outcome.PASSED or not any(_holds(name, other) for other in after):
            broken[name] = "test disappeared"
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


def _holds(group: str, name: str) -> bool:
    return name.startswith((group + "::", group + "/")) or f".{group}." in f".{name}."


def _launches(words: Sequence[str]) -> bool:
    """Whether these words start what follows them: nothing, an interpreter with options, or a known launcher."""
    if not words or _name(words[0]) in _WRAPPERS:
        return True
    if _name(words[0]) == "coverage":
        return "run" in words[1:2]
    return bool(_PYTHON.fullmatch(_name(words[0]))) and not _without_options(words[1:]) and "-c" not in words


def _without_options(words: Sequence[str]) -> list[str]:
    """The words that are no option of an interpreter, nor the value of one."""
    values = {at + 1 for at, word in enumerate(words) if word in ("-W", "-X")}
    return [word for at, word in enumerate(words) if not word.startswith("-") and at not in values]


def _name(word: str) -> str:
    return PurePosixPath(word).name
