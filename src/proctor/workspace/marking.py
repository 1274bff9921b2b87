"""Writing statuses into the text of a task list: the harness's four keys change, every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proctor.journal.events import TaskId
from proctor.words import TaskStatus

OWNED = ("status", "verified_by", "commit", "note")
"""The keys of a task that are the harness's."""

_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Mark:
    """What the journal says of a task. `verified_by` is a journal row; a `note` of None leaves the file's."""

    id: TaskId
    status: TaskStatus
    verified_by: int | None = None
    commit: str | None = None
    note: str | None = None

    def owned(self) -> dict[str, Any]:
        """The values of the owned keys, as the file holds them."""
        values = {"status": str(self.status), "verified_by": self.verified_by, "commit": self.commit}
        return values if self.note is None else {**values, "note": self.note}


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: its key, the span of its value, and the text between it and the member before."""

    key: str
    start: int
    end: int
    gap: str


def with_marks(text: str, marks: Iterable[Mark]) -> str:
    """The text of a valid task list with the marks in place; tasks without a mark stay as they are."""
    by_id = {str(mark.id): mark for mark in marks}
    pieces: list[str] = []
    done = 0
    for task in _tasks(text):
        members = {member.key: member for member in _members(text, task)}
        mark = by_id.get(str(_decode(text, members["id"].start)[0])) if "id" in members else None
        for start, end, new in sorted(_edits(text, members, mark)) if mark else ():
            pieces += text[done:start], new
            done = end
    return "".join(pieces) + text[done:]


def _edits(text: str, members: dict[str, _Member], mark: Mark) -> Iterator[tuple[int, int, str]]:
    """The replacements (start, end, text) that put a mark into a task; missing keys go to its end."""
    last = list(members.values())[-1]
    missing = ""
    for key, value in mark.owned().items():
        new = json.dumps(value)
        if key not in members:
            missing += f"{last.gap}{json.dumps(key)}: {new}"
        elif _decode(text, members[key].start)[0] != value:
            yield members[key].start, members[key].end, new
    if missing:
        yield last.end, last.end, missing


def _tasks(text: str) -> Iterator[int]:
    """Where each task object starts."""
    at = _skip(text, 0)
    if text[at] == "{":
        at = next(member.start for member in _members(text, at) if member.key == "tasks")
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _skip(text, _decode(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at


def _members(text: str, at: int) -> Iterator[_Member]:
    """The members of the object that starts at `at`."""
    end, at = at + 1, _skip(text, at + 1)
    gap = ", "
    while text[at] != "}":
        key, after = _decode(text, at)
        start = _skip(text, _skip(text, after) + 1)
        if text[end - 1] != "{":
            gap = text[end:at]
        _, end = _decode(text, start)
        yield _Member(key, start, end, gap)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
