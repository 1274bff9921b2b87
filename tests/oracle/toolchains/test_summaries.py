"""What runners say at their end, where none is watched: believed where it tells that nothing passed, needless else."""

from __future__ import annotations

import time

import pytest

from proctor.oracle.runners import weigh
from proctor.oracle.toolchains.summaries import nothing_passed
from proctor.words import Verdict

NOTHING = [
    "1 skipped in 0.01s",
    "no tests ran in 0.02s",
    "===== 2 skipped, 1 warning in 0.10s =====",
    "\x1b[33m2 skipped\x1b[0m in 0.01s",
    "Ran 3 tests in 0.001s\n\nOK (skipped=3)",
    "Ran 0 tests in 0.000s\n\nOK",
    "# tests 1\n# pass 0\n# fail 0\n# skipped 1",
    "ℹ tests 1\nℹ pass 0",
    "  0 passing (2ms)\n  3 pending",
    "Tests:       3 skipped, 3 total",
    "      Tests  3 skipped (3)",
    "No tests found, exiting with code 0",
    "ok  \texample.com/a\t0.002s [no tests to run]",
    "?   \texample.com/a\t[no test files]",
    "test result: ok. 0 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 2",
    "3 examples, 0 failures, 3 pending",
    "No tests were found!!!",
    "3 tests, 0 failures, 3 skipped",
    "2 runs, 0 assertions, 0 failures, 0 errors, 2 skips",
    "Skipped! - Failed:     0, Passed:     0, Skipped:     3, Total:     3",
    "No test is available in /w/a.dll. Make sure that test discoverer",
    "ok | 0 passed | 0 failed | 2 ignored (1ms)",
    " 0 pass\n 0 fail",
    "[ FAIL 0 | WARN 0 | SKIP 2 | PASS 0 ]",
    "0 successes / 0 failures / 0 errors / 2 pending : 0.0 seconds",
    "Ok:                 0   ",
    "All 1 subtests passed \nFiles=1, Tests=0,  0 wallclock secs",
]
SOMETHING = [
    "",
    "OK",
    "alpha: 3 skipped in all",
    "===== 1 passed, 2 skipped in 0.10s =====",
    "2 skipped in 0.1s\n3 passed in 0.1s",
    "Ran 3 tests in 0.001s\n\nOK (skipped=1)",
    "Ran 3 tests in 0.001s\n\nOK",
    "# pass 1",
    "  4 passing (2ms)",
    "Tests:       1 skipped, 2 passed, 3 total",
    "      Tests  2 passed | 1 skipped (3)",
    "ok  \texample.com/a\t0.002s\n?   \tb\t[no test files]",
    "ok  \texample.com/a\t(cached)",
    "test result: ok. 5 passed; 0 failed; 0 ignored\ntest result: ok. 0 passed; 0 failed; 0 ignored",
    "test a::b ... ok\ntest result: ok. 0 passed; 0 failed; 0 ignored",
    "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0",
    "3 examples, 0 failures",
    "100% tests passed, 0 tests failed out of 2",
    "OK (3 tests, 5 assertions)",
    "3 tests, 0 failures, 1 skipped",
    "2 doctests, 3 tests, 0 failures",
    "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2",
    "Executed 2 tests, with 0 failures (0 unexpected) in 0.001 seconds",
    "Files=2, Tests=5,  1 wallclock secs\nResult: PASS",
]


@pytest.mark.parametrize("output", NOTHING)
def test_g4_a_wrapped_runner_of_which_no_test_passed_is_no_pass(output: str) -> None:
    verdict, why = weigh(None, 0, None, output.encode())
    assert verdict is Verdict.FAILED
    assert why.startswith("no test passed: ")


@pytest.mark.parametrize("output", SOMETHING)
def test_where_a_test_passed_or_none_is_spoken_of_the_exit_code_decides(output: str) -> None:
    assert weigh(None, 0, None, output.encode()) == (Verdict.PASSED, "exit code 0")


@pytest.mark.parametrize(
    "unit", ["1 skipped, ", "ok \t", "Tests: 1 skipped, ", "=", "\x1b[", "OK (skipped=1 ", "test \n"]
)
def test_a_flood_is_read_quickly(unit: str) -> None:
    begin = time.process_time()
    nothing_passed((unit * (65_536 // len(unit))).encode())
    assert time.process_time() - begin < 0.5
