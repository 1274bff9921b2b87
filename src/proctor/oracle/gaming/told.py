"""What a worker was told of a value: whether it is named, and whether it is the one wanted or the one to go. Pure.

Both are named wherever a change is asked for, and wherever a fault is reported ("gives 6 and should give 5"): only the
words beside them tell which is which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_PARTS = re.compile(r"[^\W_]+(?:\.\d+)?")
_SENTENCE = re.compile(r"[.;!?]\s|\n\s*(?:\n|[-*+]\s|\d+[.)]\s)")
_MOST = 64 << 10
"""Characters of what was told that are read for the words beside a value."""
_WISH = r"\b(?:should|shall|must|ought|expect(?:ed|s)?|want(?:ed|s)?|needs?|ha(?:s|ve)\s+to|(?:is|are)\s+to|make|let)\b"
_WORD = r"(?!(?:not?|never|but|instead|rather|longer)\b)[^\W\d]++(?:\([^()\n]{0,60}\))?"
_GAP = rf"(?:[^\w\n]{{0,3}}{_WORD}){{0,4}}[^\w\n]{{0,4}}"
"""A few words, or calls, on the way to a value: none of which turns the sense, and none of which is a number."""
_WANTED = rf"{_WISH}{_GAP}"
_NO_MORE = rf"(?:\bno\s+(?:longer|more)\b|{_WISH}\s+(?:not|never)\b|\b(?:must|should)n['’]t\b){_GAP}"
_REFUSED = rf"{_NO_MORE}|(?<!do\s)(?<!is\s)(?<!does\s)(?<!did\s)(?:\bnot\b|\binstead\s+of\b|\brather\s+than\b){_GAP}"


def is_told(was: str, now: str, told: str) -> bool:
    """Whether all that is new in a value was told."""
    new = beyond(now, was)
    return all(stands(part, told) for part in new) if new else bool(now.strip()) and now in told


def is_the_old_one_wanted(was: str, now: str, told: str) -> bool | None:
    """Whether of two values that were told the old one is to stay; None where the words do not say."""
    old, new = _names(was, now), _names(now, was)
    if _is_said(_REFUSED, new, told):
        return True
    keeps, takes = _is_said(_WANTED, old, told), _is_said(_WANTED, new, told)
    if keeps != takes:
        return keeps
    return False if _is_said(_NO_MORE, old, told) else None


def is_wanted(was: str, now: str, of: Collection[str], told: str) -> bool:
    """Whether a sentence that names something of a test wants the one value, or not the other but this. So a value is
    told that stands in any text by chance."""
    return any(
        _is_said(_WANTED, [now], sentence) or (stands(now, sentence) and _is_said(_NO_MORE, [was], sentence))
        for sentence in _SENTENCE.split(told[:_MOST])
        if any(stands(name, sentence) for name in of)
    )


def beyond(text: str, other: str) -> set[str]:
    """The words and numbers of a text that another one has not."""
    return {*_PARTS.findall(text)} - {*_PARTS.findall(other)}


def stands(part: str, text: str) -> bool:
    """Whether a word or number stands in a text by itself."""
    return re.search(_as_said(part), text) is not None


def _names(value: str, other: str) -> Iterable[str]:
    return beyond(value, other) or {value}


def _is_said(words: str, parts: Iterable[str], told: str) -> bool:
    """Whether a part of a value stands behind such words."""
    return any(re.search(rf"(?:{words}){_as_said(part)}", told[:_MOST], re.IGNORECASE) for part in parts)


def _as_said(part: str) -> str:
    return rf"(?<![\w.]){re.escape(part)}(?!\w|\.\d)"
