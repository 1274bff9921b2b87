"""The log keeps every line, and marks the claims that no verdict proves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.words import TaskStatus
from proctor.workspace.log import Entry, annotated, appended, merged
from proctor.workspace.marking import Mark

AT = datetime(2026, 11, 29, 14, 3, tzinfo=UTC)
MARKS = [Mark(13, TaskStatus.DONE), Mark(14, TaskStatus.FAILED), Mark("b-2", TaskStatus.PENDING)]


def test_an_entry_is_a_dated_headline_and_up_to_three_lines() -> None:
    entry = Entry(AT, "task 14 passed", done="Port \x1b[1mrefunds", next="task 15")
    assert str(entry) == "## 2026-11-29 14:03 task 14 passed\n\n- done: Port refunds\n- next: task 15\n"


def test_an_entry_is_appended_once_below_what_is_there() -> None:
    entry = Entry(AT, "task 14 passed")
    log = appended("# Log", entry)
    assert log == "# Log\n\n## 2026-11-29 14:03 task 14 passed\n"
    assert appended(log, entry) == log
    assert appended("", entry) == str(entry)


def test_lines_that_were_removed_come_back_before_the_new_ones() -> None:
    assert merged("a\nb\nc\n", "a\nX\nc\nworker") == ("a\nb\nc\nX\nworker\n", 1)
    assert merged("a\nb\n", "") == ("a\nb\n", 2)
    assert merged("a\nb\n", "a\r\nb \r\n") == ("a\r\nb \r\n", 0)
    assert merged("a\nb\n", "a\nb\nworker") == ("a\nb\nworker", 0)


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcde"), max_size=8))
def test_no_line_of_either_side_is_ever_lost(kept: list[str], current: list[str]) -> None:
    text, lacking = merged("\n".join(kept), "\n".join(current))
    for letter in "abcde":
        assert text.splitlines().count(letter) >= max(kept.count(letter), current.count(letter))
    assert merged("\n".join(kept), text) == (text, 0)
    assert lacking == sum(max(kept.count(x) - current.count(x), 0) for x in "abcd")


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("Task 14 is done.", "> proctor: task 14 is failed: not verified"),
        ("## 2026-11-29 14:03 task 14 passed", "> proctor: task 14 is failed: not verified"),
        ("finished task #b-2, task 13", "> proctor: task b-2 is pending: not verified"),
        ("All tasks completed!", "> proctor: 2 of 3 tasks are not verified"),
        ("task 13 passed", None),
        ("task 14 is not done yet", None),
        ("task 14: looked at refunds", None),
        ("next: task 14 to be done", None),
        ("task 99 done", None),
        ("I am done reading", None),
    ],
)
def test_a_new_claim_that_no_verdict_proves_gets_a_line_below_it(line: str, note: str | None) -> None:
    log = annotated("# Log\n", f"# Log\n{line}\nmore\n", MARKS)
    assert log == f"# Log\n{line}\n" + (f"{note}\n" if note else "") + "more\n"
    assert annotated("# Log\n", log, MARKS) == log


def test_lines_already_in_the_log_are_left_alone() -> None:
    assert annotated("task 14 done\n", "task 14 done\n", MARKS) == "task 14 done\n"


def test_a_finished_session_contradicts_no_claim_of_having_finished() -> None:
    assert annotated("", "all tasks done\n", [Mark(1, TaskStatus.DONE)]) == "all tasks done\n"
