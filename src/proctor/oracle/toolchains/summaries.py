"""What test runners say at their end of what they ran, where none was watched. Pure.

Anybody can print such a line, so it proves no pass. That no test passed is believed: a command that ends with exit code
0 after it has tested nothing would else be a pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Passed = Callable[[re.Match[str]], int]

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST = 400
"""Characters of a line that is looked at; no summary is longer."""


def _first(found: re.Match[str]) -> int:
    return int(found[1])


def _none(found: re.Match[str]) -> int:
    return 0


def _some(found: re.Match[str]) -> int:
    return 1


def _without_left_out(found: re.Match[str]) -> int:
    return int(found[1]) - int(found[2])


_N = r"(\d{1,9})"
_SUMMARIES: tuple[tuple[str, Passed], ...] = (
    (rf"=* ?(?:\d+ \w+, )*{_N} passed\b.* in [\d.]+s.*", _first),  # pytest
    (r"=* ?(?:no tests ran|(?:\d+ (?:skipped|deselected|xfailed|warnings?)(?:, )?)+) in [\d.]+s.*", _none),
    (r"OK|OK \((?!.*skipped=).*\)", _some),  # unittest, of which the count stands a line before
    (r"NO TESTS RAN.*|Ran 0 tests in .*", _none),
    (rf"(?:#|ℹ) pass {_N}", _first),  # node --test
    (rf" *{_N} passing\b.*", _first),  # mocha
    (rf" *Tests:? .*?\b{_N} passed\b.*", _first),  # jest, vitest
    (r" *Tests:? +(?:\d+ (?:skipped|todo)(?:, | \| | ))+(?:\d+ total|\(\d+\)).*|No tests? (?:files? )?found.*", _none),
    (r"ok +\t?\S+\t(?:\(cached\)|[\d.]+s)(?!.*\[no tests to run\]).*", _some),  # go
    (r"ok .*\[no tests to run\]|\?? *\t?\S+\t\[no test files\]", _none),
    (rf"test result: ok\. {_N} passed;.*", _first),  # cargo, of which only the end may be here
    (r"test \S.* \.\.\. ok", _some),
    (rf"\[?\w*\]? *Tests run: {_N}, Failures: 0, Errors: 0, Skipped: {_N}.*", _without_left_out),  # maven
    (rf"{_N} examples?, 0 failures(?:, {_N} pending)?", lambda found: int(found[1]) - int(found[2] or 0)),  # rspec
    (r"No tests were found!*|No tests executed!|Result: NOTESTS", _none),  # ctest, phpunit, prove
    (rf"100% tests passed, 0 tests failed out of {_N}", _first),  # ctest
    (rf"OK \({_N} tests?, \d+ assertions?\)", _first),  # phpunit
    (
        rf"{_N} (?:tests?|runs|doctests?, \d+ tests?)(?:, \d+ assertions)?, 0 failures(?:, 0 errors)?"
        rf"(?:, {_N} (?:skipped|skips|excluded))?.*",
        lambda found: int(found[1]) - int(found[2] or 0),
    ),  # ExUnit, bats, minitest
    (rf" *(?:Passed|Skipped)! +- Failed: +0, Passed: +{_N},.*", _first),  # dotnet
    (r"No test (?:is available in|matches the given testcase filter).*|All tests skipped\.|No tests ran\.", _none),
    (rf".*\bExecuted {_N} tests?, with 0 failures.*", _first),  # swift
    (rf"ok \| {_N} passed .*\| 0 failed.*| {_N} pass", lambda found: int(found[1] or found[2])),  # deno, bun
    (rf"\[ FAIL 0 \| WARN \d+ \| SKIP \d+ \| PASS {_N} \].*", _first),  # testthat
    (rf"{_N} success(?:es)? / 0 failures / 0 errors.*", _first),  # busted
    (rf"Ok: {{8,}}{_N} *", _first),  # meson
    (rf"Files=\d+, Tests={_N},.*", _first),  # prove
)
_KNOWN = tuple((re.compile(pattern), passed) for pattern, passed in _SUMMARIES)
_RAN = re.compile(r"Ran (\d{1,9}) tests? in .*")
_LEFT_OUT = re.compile(r"OK \(.*?skipped=(\d{1,9}).*\)")


def nothing_passed(output: bytes) -> str:
    """The last line that tells that no test passed, where the output has one and none that tells of a pass; or ""."""
    said = ""
    for line, passed in _summaries(output):
        if passed > 0:
            return ""
        said = line
    return said


def _summaries(output: bytes) -> Iterator[tuple[str, int]]:
    ran = 0
    for raw in output.decode("utf-8", "replace").splitlines():
        line = _COLOUR.sub("", raw[:_LONGEST]).rstrip()
        if count := _RAN.fullmatch(line):
            ran = int(count[1])
        if left_out := _LEFT_OUT.fullmatch(line):
            yield line, ran - int(left_out[1])
        elif line == "OK" and not ran:
            continue  # anything may say so
        else:
            for pattern, passed in _KNOWN:
                if found := pattern.fullmatch(line):
                    yield line, passed(found)
                    break
