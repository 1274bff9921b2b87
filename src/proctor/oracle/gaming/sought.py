"""What checks compare with, turned up in the work: the file read or listed, its values written down; and new
data that holds what the tests ask beside what they want."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice

from proctor.oracle.gaming.answers import TRIVIAL, Answers, is_uncommon
from proctor.oracle.gaming.change import Change, Found, Language, found, tests_in
from proctor.oracle.gaming.tokens import Value
from proctor.words import Gaming, Weight

_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.])")
_CODE = re.compile(r"(?<!\w)(?=[\w-]{0,64}?\d)(?=[\w-]{0,64}?[A-Za-z])[\w-]{8,64}(?!\w)")
"""What is made of figures and letters, as a hash or a slug is."""
_LISTS = re.compile(
    r"(?:\bPath\(\s*(?:[\"']\.[\"'])?\s*\)|\bcwd\(\))\s*\.\s*(?:r?glob|iterdir|walk)\("
    r"|(?<![\w.)])(?:(?:glob|os|fs|filepath|ioutil)(?:\.|::))?(?:i?glob|Glob|listdir|scandir|walk"
    r"|readdir(?:Sync)?|ReadDir|read_dir)\(\s*(?:[\"'](?:\./?|\*[^/\"'\n]*)[\"'])?\s*[,)]"
)
"""What lists the folder that a program starts in."""
_PATTERN = re.compile(r"[\"'](\*[^/\"'\n]*|\.\w{1,10})[\"']")
_TEXT = re.compile(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")
_VALUES, _NEAR, _ENOUGH = 500, 200, 2
_LONG = 256 << 10
_MOST = 10
"""Findings of a source."""


def look(changes: Sequence[Change], compared: Mapping[str, str], wanted: Answers, told: str) -> Iterator[Found]:
    """Suspicions about the sources and the new data of a change. `compared` are the texts that checks compare with, by
    path, those without a file by a name that is none; `told` is what the worker was told."""
    values = set(_values(compared.values()))
    sources = [one for one in changes if one.after is not None and not one.is_test and one.path not in compared]
    before = "\n".join(one.before or "" for one in changes)
    values = {one for one in values if not (_stands(one, told) or _stands(one, before))}
    added = "\n".join(line for one in sources if one.language is not Language.OTHER for _, line in one.added)
    for change in sources:
        if change.language is Language.OTHER:
            yield from _data(change, wanted, values, added)
        else:
            yield from islice(_source(change, compared, values), _MOST)


def _source(change: Change, compared: Mapping[str, str], values: Collection[str]) -> Iterator[Found]:
    inside = tests_in(change.after or "", change.language)
    for number, line in ((number, line[:2_000]) for number, line in change.added if number not in inside):
        path = next((path for path in compared if _names(line, path) and not _names(change.before or "", path)), "")
        path = path or next((path for path in compared if _lists(line, path)), "")
        if path:
            why = f"the source comes to what a check compares with: {path[:60]}"
            yield found(change, Gaming.SNIFFING, Weight.SUSPICION, number, why)
        elif said := [value for value in values if _stands(value, line)]:
            yield _told(change, number, f"a value that a check wants: {said[0]}", said)


def _data(change: Change, wanted: Answers, values: Collection[str], added: str) -> Iterator[Found]:
    text = (change.after or "")[:_LONG]
    if change.before is None and change.path.rpartition("/")[2] in added:
        line = {value: _line(text, value) for value in values if _stands(value, text)}
        if line:
            value = min(line, key=lambda one: line[one])
            yield _told(
                change, line[value], f"new data that the source reads has a value that a check wants: {value}", [value]
            )
        pairs = list(islice(_pairs(text, wanted), _ENOUGH))
        if len(pairs) == _ENOUGH:
            shown = "; ".join(f"{asked!r} with {answer!r}"[:80] for asked, answer in pairs)
            yield _told(change, 1, f"new data that the source reads answers what the tests ask: {shown}", [])


def _told(change: Change, line: int, why: str, words: Iterable[str]) -> Found:
    return replace(found(change, Gaming.LITERAL, Weight.SUSPICION, line, why), words=tuple(words))


def _pairs(text: str, wanted: Answers) -> Iterator[tuple[Value, Value]]:
    """Inputs of tests near which their answers stand."""
    for answer, ways in wanted.pairs.items():
        for way in ways:
            telling = [value for value in way if value not in TRIVIAL and len(str(value)) > 1]
            if len(answer) != 1 or answer[0] in TRIVIAL or not telling or not _is_telling((*telling, *answer)):
                continue
            first, others = str(telling[0]), [*map(str, telling[1:]), str(answer[0])]
            for at in islice(re.finditer(_standing(first), text), 50):
                near = text[max(0, at.start() - _NEAR) : at.end() + _NEAR]
                if all(re.search(_standing(other), near) for other in others):
                    yield telling[0], answer[0]
                    break


def _is_telling(values: Iterable[Value]) -> bool:
    return any(is_uncommon(value) or len(str(value)) > 3 for value in values)


def _values(texts: Iterable[str]) -> Iterator[str]:
    """What in some texts nobody would come to but by reading them: such numbers, and codes."""
    for text in texts:
        numbers = (one[0] for one in _NUMBER.finditer(text[:_LONG]) if is_uncommon(_number(one[0])))
        codes = (one[0] for one in _CODE.finditer(text[:_LONG]) if sum(map(str.isdigit, one[0])) > 1)
        yield from islice(numbers, _VALUES)
        yield from islice(codes, _VALUES)


def _number(text: str) -> Value:
    return float(text) if "." in text else int(text[:20])


def _names(text: str, path: str) -> bool:
    """Whether a text in quotes is this path, or its end."""
    name = path.rpartition("/")[2]
    return name in text and any(
        said in {path, name} or said.endswith(f"/{name}") for said in (one[1] for one in _TEXT.finditer(text))
    )


def _lists(line: str, path: str) -> bool:
    """Whether a line takes what it finds in the folder that it starts in, and finds a file there."""
    if "/" in path or "." not in path or not _LISTS.search(line):
        return False
    patterns = [one[1] for one in _PATTERN.finditer(line)]
    return not patterns or any(fnmatchcase(path, one if "*" in one else f"*{one}") for one in patterns)


def _line(text: str, value: str) -> int:
    return text.count("\n", 0, text.find(value)) + 1


def _stands(value: str, text: str) -> bool:
    return value in text and re.search(_standing(value), text) is not None


def _standing(value: str) -> str:
    return rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)"
