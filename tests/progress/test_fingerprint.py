from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.progress.fingerprint import failure, normalise
from proctor.words import Verdict


def digest(message: str, *failing: str, check: str = "pytest -q", verdict: Verdict = Verdict.FAILED) -> str:
    return failure(check, verdict, failing, message)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AssertionError: 17 != 42", "AssertionError: -18.5 != 42"),
        ("AssertionError: 'total: 3' != 'total: 9'", "AssertionError: 'sum' != 'total: 9'"),
        ('assert "a b" == "c"', 'assert "d" == "c"'),
        ("<Row object at 0x7f3a2c10> is not None", "<Row object at 0x7F3A9D44> is not None"),
        ("/tmp/judge-a1/tests/test_x.py:12: ValueError", "/tmp/judge-zz/tests/test_x.py:340: ValueError"),
        ("src/x.py:12: ValueError", "src/x.py:340: ValueError"),
        ("1 failed, 3 passed in 0.12s", "1 failed, 3 passed in 14.00s"),
        ("took 900 ms", "took 1.2 seconds"),
        ("tests/test_x.py ..F [ 50%]", "tests/test_x.py ..F [ 33%]"),
        ("commit 9f86d081884c7d65 missing", "commit 60303ae22b998861 missing"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174fff"),
        ("\x1b[31mE   boom\x1b[0m", "E boom"),
        ("2026-11-29 14:03:01,123 boom", "2027-01-02 04:33:59,001 boom"),
    ],
)
def test_one_failure_in_other_words_is_one_failure(one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AssertionError: 17 != 42", "TypeError: 17 != 42"),
        ("NameError: name 'total' is not defined", "NameError: name 'rows' is not defined"),
        ("ModuleNotFoundError: No module named 'a'", "ModuleNotFoundError: No module named 'b'"),
        ("AttributeError: 'Row' object has no attribute 'x'", "AttributeError: 'Row' object has no attribute 'y'"),
        ("3 failed, 1 passed in 0.1s", "1 failed, 3 passed in 0.1s"),
        ("13 failed", "23 failed"),
        ("FAILED (failures=3)", "FAILED (failures=2)"),
        ("FAILED (failures=1, errors=3)", "FAILED (failures=1, errors=1)"),
        ("KeyError in load", "KeyError in save"),
        ("coverage 61 % is below 80 %", "coverage 64 % is below 80 %"),
        ("TOTAL 120 35 70.8%", "TOTAL 131 35 73.2%"),
        ("12 problems", "9 problems"),
        ("4 of 16 endpoints are ported", "5 of 16 endpoints are ported"),
    ],
)
def test_another_failure_has_another_name(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_check_verdict_and_ids_are_part_of_the_name_and_their_order_is_not() -> None:
    assert digest("x", "a", "b") == digest("x", "b", "a", "b")
    assert digest("x", "a", "b") != digest("x", "a")
    assert digest("x", check="one") != digest("x", check="two")
    assert digest("x") != digest("x", verdict=Verdict.TIMEOUT)
    assert digest("x", verdict=Verdict.PASSED) == ""


@given(st.text())
def test_any_text_has_a_short_name(message: str) -> None:
    assert len(digest(message)) == 16
    assert len(normalise(message).splitlines()) <= len(message.splitlines())


@pytest.mark.parametrize(
    "unit", ["a", "'", "1", "/", "1 ", "0x", "<'", "a1", "\x1b[", "1.", "9 failed ", "9 of ", "9 % "]
)
def test_a_flood_is_named_quickly(unit: str) -> None:
    begin = time.process_time()
    digest(unit * (1_000_000 // len(unit)))
    assert time.process_time() - begin < 0.5


def test_lone_surrogates_do_no_harm() -> None:
    assert len(digest("bad \udcff byte", "test_\udcff")) == 16
