"""Marks change four keys of a task and not one other byte of the list."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.words import TaskStatus
from proctor.workspace.marking import Mark, with_marks

WRITTEN = """\
{"version": 1.50,
 "tasks": [
  {"id": 14, "task": "Port \\u00e9 [1] {", "spec": "specs/14.md",
   "check": {"run": ["pytest", "-q"], "timeout": "60s"},
   "status": "pending", "verified_by": null, "commit": null, "note": "careful"},

  {"id": "b", "status": "done",
   "task": "Next"}
 ]
}
"""


def test_everything_but_the_marks_stays_as_it_was_written() -> None:
    marks = [Mark(14, TaskStatus.DONE, 31, "abc"), Mark("b", TaskStatus.FAILED, note='said "no"')]
    assert (
        with_marks(WRITTEN, marks)
        == """\
{"version": 1.50,
 "tasks": [
  {"id": 14, "task": "Port \\u00e9 [1] {", "spec": "specs/14.md",
   "check": {"run": ["pytest", "-q"], "timeout": "60s"},
   "status": "done", "verified_by": 31, "commit": "abc", "note": "careful"},

  {"id": "b", "status": "failed",
   "task": "Next",
   "verified_by": null,
   "commit": null,
   "note": "said \\"no\\""}
 ]
}
"""
    )


def test_the_same_marks_change_nothing_the_second_time() -> None:
    marks = [Mark(14, TaskStatus.DONE, 31, "abc"), Mark("b", TaskStatus.BLOCKED)]
    once = with_marks(WRITTEN, marks)
    assert with_marks(once, marks) == once


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["status", "verified_by", "commit", "note", "spec", "owner"])
TASKS = st.lists(st.dictionaries(KEYS, VALUES), min_size=1, max_size=4)
MARKS = st.builds(
    Mark,
    id=st.just(0),
    status=st.sampled_from(TaskStatus),
    verified_by=st.none() | st.integers(1, 99),
    commit=st.none() | st.text(max_size=5),
    note=st.none() | st.text(max_size=5),
)


@given(TASKS, st.lists(MARKS, min_size=4, max_size=4), st.none() | st.integers(0, 4), st.booleans(), st.booleans())
def test_only_the_four_keys_of_marked_tasks_change(
    bodies: list[dict[str, Any]], drawn: list[Mark], indent: int | None, wrapped: bool, ascii_only: bool
) -> None:
    listed = [{"id": place, "task": "t", **body} for place, body in enumerate(bodies)]
    marks = {
        place: Mark(place, mark.status, mark.verified_by, mark.commit, mark.note)
        for place, mark in enumerate(drawn)
        if place % 2
    }
    value: Any = {"before": [{"id": 1}], "tasks": listed, "after": {}} if wrapped else listed
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    result = json.loads(with_marks(text, marks.values()))
    expected = [{**task, **(marks[task["id"]].owned() if task["id"] in marks else {})} for task in listed]
    assert (result["tasks"] if wrapped else result) == expected
    assert not wrapped or (result["before"], result["after"]) == ([{"id": 1}], {})
    assert [list(task)[: len(body)] for task, body in zip(expected, listed, strict=True)] == [list(t) for t in listed]
