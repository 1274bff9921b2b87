"""The progress log's text: entries of the harness, lines of workers, and where the two disagree. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from proctor.text import safe_line
from proctor.words import TaskStatus
from proctor.workspace.marking import Mark

_DONE = re.compile(r"\b(?:done|completed?|finished|pass(?:ed|es)|verified)\b|[✅✔]", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|no|cannot|todo|next)\b|n't\b|^> proctor: ", re.IGNORECASE)
_TASK = re.compile(r"\btask\s{1,3}#?([\w.-]+)", re.IGNORECASE)
_CONFLICT = re.compile(r"[\s>*_`-]{0,8}conflict[\s*_`]{0,4}:(?=\s*\w)(.{1,2000})", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|every) (?:the )?(?:[0-9]+ )?tasks?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the log: its time in the zone it carries, a headline such as `task 14 passed`, three lines."""

    at: datetime
    headline: str
    done: str = ""
    found: str = ""
    next: str = ""

    def __str__(self) -> str:
        lines = {"done": self.done, "found": self.found, "next": self.next}
        body = "".join(f"- {key}: {safe_line(text)}\n" for key, text in lines.items() if text)
        return f"## {self.at:%Y-%m-%d %H:%M} {safe_line(self.headline)}\n" + (f"\n{body}" if body else "")


def appended(text: str, entry: Entry) -> str:
    """The log with the entry at its end; unchanged if it is there already, as after a crash."""
    if str(entry) in text:
        return text
    return _ended(text) + ("\n" if text else "") + str(entry)


def merged(kept: str, current: str) -> tuple[str, int]:
    """The current text, or where it lacks lines of the kept one: the kept text, then what is new in the current.

    Also the number of lines that it lacked.
    """
    missing = Counter(map(str.rstrip, _lines(kept)))
    new = [line for line in _lines(current) if not _take(missing, line)]
    lacking = sum(count for line, count in missing.items() if line)
    return (_ended(kept) + "".join(f"{line}\n" for line in new), lacking) if lacking else (current, 0)


def annotated(kept: str, current: str, marks: Iterable[Mark]) -> str:
    """The current text, with a line after each new claim that something is done which no verdict proves."""
    by_id = {str(mark.id): mark for mark in marks}
    known = Counter(map(str.rstrip, _lines(kept)))
    lines = _lines(current)
    result: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        result.append(line)
        note = "" if _take(known, line) else _contradiction(line, by_id)
        if note and following != note:
            result.append(note)
    return "".join(f"{line}\n" for line in result)


def conflicts(kept: str, current: str) -> tuple[str, ...]:
    """What follows `conflict:` on lines of the current text that the kept one lacks."""
    known = Counter(map(str.rstrip, _lines(kept)))
    new = (line for line in _lines(current) if not _take(known, line))
    return tuple(match[1].strip() for line in new if (match := _CONFLICT.match(line)))


def _contradiction(line: str, marks: dict[str, Mark]) -> str:
    if not _DONE.search(line) or _NOT.search(line):
        return ""
    named = (marks.get(name.rstrip(".-")) for name in _TASK.findall(line))
    unproved = [mark for mark in named if mark and mark.status is not TaskStatus.DONE]
    if unproved:
        return "> proctor: " + ", ".join(f"task {mark.id} is {mark.status}" for mark in unproved) + ": not verified"
    left = sum(mark.status is not TaskStatus.DONE for mark in marks.values())
    return f"> proctor: {left} of {len(marks)} tasks are not verified" if left and _ALL.search(line) else ""


def _take(lines: Counter[str], line: str) -> bool:
    """Strike one such line off, if there is one."""
    line = line.rstrip()
    if lines[line] <= 0:
        return False
    lines[line] -= 1
    return True


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
