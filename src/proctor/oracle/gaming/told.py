"""What a worker was told of a value: whether it is named, and whether it is the one wanted or the one to go. Pure.

Both are named wherever a change is asked for, and wherever a fault is reported ("gives 6 and should give 5"): only the
words beside them tell which is which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

_PARTS = re.compile(r"[^\W_]+(?:\.\d+)?")
_PARAGRAPH = re.compile(r"\n\s*(?:\n|[-*+]\s|\d+[.)]\s)")
_SENTENCE = re.compile(r"[.;!?]\s")
_MOST = 64 << 10
"""Characters of what was told that are read for the words beside a value."""

_LONGEST = 2_000
"""Characters of a sentence that are read at once."""

_OLD, _NEW = "\U0001d7d8", "\U0001d7d9"
"""What stands in a sentence for the old value and for the new one: digits that nobody writes."""
_EXCHANGED = str.maketrans(_OLD + _NEW, _NEW + _OLD)

_WISH = r"\b(?:should|shall|must|ought|needs?|ha(?:s|ve)\s+to|(?:is|are)\s+to|make|let)\b"
_EXPECTS = r"\b(?:expect(?:ed|s)?|want(?:ed|s)?)\b"
_CHANGE = (
    r"\b(?:change|move|set|turn|switch|replace|rename|update|adjust|correct|raise|increase|lower|reduce|go(?:es)?)\b"
)
_TO = r"\b(?:to|by|with|into)\b"
_ARROW = "(?:->|=>|→)"
_TELL = r"^\W*(?:return|give|use|print|say|show|raise|write)\b"
_FAULT = r"\b(?:bugs?|faults?|defects?|incorrect(?:ly)?|(?<!test\sis\s)(?<!tests\sare\s)wrong(?:ly)?)\b"
_TURN = r"not?|never|but|instead|rather|longer|why|as|because|since|works?|runs?|within|on\s+port"
_WORD = rf"(?!(?:{_TURN})\b)[^\W\d]++(?:\([^()\n]{{0,60}}\))?"
_GAP = rf"(?:[^\w\n,:]{{0,3}}{_WORD}){{0,5}}[^\w\n,:]{{0,4}}"
"""A few words, or calls, on the way to a value: none of which turns the sense, begins another clause or is a number."""
_NO_MORE = rf"(?:\bno\s+(?:longer|more)\b|(?:{_WISH}|{_EXPECTS})\s+(?:not|never)\b|\b(?:must|should)n['’]t\b){_GAP}"
_NOT = r"(?<!do\s)(?<!is\s)(?<!does\s)(?<!did\s)\bnot\b"
_REFUSED = re.compile(
    rf"(?:{_NO_MORE}|(?:{_NOT}|^\W*do(?:\s+not|n['’]t)|\bnever\b|\binstead\s+of\b|\brather\s+than\b){_GAP}){_NEW}"
    rf"|{_NEW}\W{{1,3}}(?:does|must|should|shall|may|can)(?:\s+(?:not|never)|n['’]t)\b",
    re.I,
)
_REPORT = re.compile(
    rf"{_FAULT}|\b(?:complain\w*|fail(?:s|ed|ing|ures?)?|broken?|breaks|regress\w*|(?:mend|fix|repair)(?!\s+(?:the\s+)?tests?))\b",
    re.I,
)
"""What says of a paragraph that it may be the report of a fault: what is so "now" may be what is wrong."""


class _Sign(NamedTuple):
    """Words that say of the new value that it is wanted; of the old one, where the two are exchanged."""

    words: re.Pattern[str]
    is_plain: bool = True
    """Whether they say it in the report of a fault as well."""


def _sign(*words: str, is_plain: bool = True) -> _Sign:
    return _Sign(re.compile("|".join(words), re.I), is_plain)


_SIGNS = (
    _sign(
        rf"{_CHANGE}{_GAP}{_OLD}\W{{1,3}}{_TO}{_GAP}{_NEW}",
        rf"{_NOT}\W{{1,3}}{_OLD}\W{{1,3}}but\b{_GAP}{_NEW}",
    ),
    _sign(
        rf"{_WISH}{_GAP}{_NEW}",
        rf"{_CHANGE}{_GAP}{_TO}\W{{1,3}}{_NEW}",
        rf"{_NEW}\W{{1,3}}is\s+(?:right|correct)\b",
    ),
    _sign(
        rf"{_OLD}{_GAP}(?:,\s*(?:which|that|this))?(?:\s*\b(?:is|was|looks)|['’]s)\s+(?:an?\s+|the\s+)?{_FAULT}",
        rf"(?:{_FAULT}:?|\bfails\s+with\b){_GAP}{_OLD}",
    ),
    _sign(rf"\bcurrently\b{_GAP}{_OLD}"),
    _sign(rf"{_OLD}\W{{0,4}}(?:{_ARROW}|\bnew\b|\bnow\b)\W{{0,4}}{_NEW}", is_plain=False),
    _sign(rf"{_EXPECTS}{_GAP}(?::\W{{0,3}})?{_NEW}"),
    _sign(
        rf"{_NO_MORE}{_OLD}",
        rf"\b(?:(?<!right\s)now(?:\s+on[,:])?|becomes|(?<!has\s)become){_GAP}{_NEW}",
        rf"\)\W{{0,3}}(?:==|{_ARROW})\W{{0,3}}{_NEW}",
        is_plain=False,
    ),
    _sign(rf"{_TELL}{_GAP}{_NEW}", rf"^\W*\w+(?<!s)\s+with\b{_GAP}{_NEW}(?!.*{_OLD})"),
)
"""The strongest first: what the words beside a value say where they say it of one of the two alone."""


def is_told(was: str, now: str, told: str) -> bool:
    """Whether all that is new in a value was told."""
    new = beyond(now, was)
    return all(stands(part, told) for part in new) if new else bool(now.strip()) and now in told


def is_wanted(was: str, now: str, told: str, of: Collection[str] | None = None) -> bool | None:
    """Whether of two values the new one is wanted, and not refused or the old one to stay; None where the words do not
    say. With `of`, by those sentences alone that name something of a test: so a value is told that stands in any text
    by chance."""
    said = list(_sentences(was, now, told[:_MOST], of))
    if any(_REFUSED.search(sentence) for sentence, _ in said):
        return False
    for sign in _SIGNS:
        sentences = [sentence for sentence, is_report in said if sign.is_plain or not is_report]
        takes = any(sign.words.search(one) for one in sentences)
        if takes != any(sign.words.search(one.translate(_EXCHANGED)) for one in sentences):
            return takes
    return None


def are_told_together(was: str, now: str, told: str, of: Collection[str]) -> bool:
    """Whether a sentence that names something of a test names both values."""
    return any(_OLD in one and _NEW in one for one, _ in _sentences(was, now, told[:_MOST], of))


def beyond(text: str, other: str) -> set[str]:
    """The words and numbers of a text that another one has not."""
    return {*_PARTS.findall(text)} - {*_PARTS.findall(other)}


def stands(part: str, text: str) -> bool:
    """Whether a word or number stands in a text by itself."""
    return re.search(_as_said(part), text) is not None


def _sentences(was: str, now: str, told: str, of: Collection[str] | None) -> Iterator[tuple[str, bool]]:
    """The sentences that name one of two values, with marks in their place, and whether a fault is reported there."""
    marks = {name.lower(): mark for mark, names in ((_OLD, _names(was, now, told)), (_NEW, _names(now, was, told)))
             for name in names if name.strip()}  # fmt: skip
    if not marks:
        return
    values = re.compile("|".join(map(_as_said, sorted(marks, key=len, reverse=True))), re.I)
    for sentence, is_report in _split(told):
        if of is None or any(stands(name, sentence) for name in of):
            marked = values.sub(lambda match: marks[match[0].lower()], sentence)
            if _OLD in marked or _NEW in marked:
                yield marked, is_report


@lru_cache(maxsize=4)
def _split(told: str) -> tuple[tuple[str, bool], ...]:
    """The sentences, each on one line, and whether a fault is reported in their paragraph."""
    paragraphs = ((one, _REPORT.search(one) is not None) for one in _PARAGRAPH.split(told))
    return tuple(
        (line[start : start + _LONGEST], is_report)
        for paragraph, is_report in paragraphs
        for line in (" ".join(sentence.split()) for sentence in _SENTENCE.split(paragraph))
        for start in range(0, len(line), _LONGEST)
    )


def _names(value: str, other: str, told: str) -> Iterable[str]:
    """What names a value: all of it where it was told so, else the parts that are not of the other one."""
    return {value} if stands(value, told) else beyond(value, other) or {value}


def _as_said(part: str) -> str:
    return rf"(?<![\w.]){re.escape(part)}(?!\w|\.\d)"
