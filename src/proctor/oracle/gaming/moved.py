"""Tests in other languages than Python that are gone from their place: whether another one asks now what they asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from proctor.oracle.gaming.asked import Asked
from proctor.oracle.gaming.change import Change, Language, parts
from proctor.oracle.gaming.regions import Region, tests_of
from proctor.oracle.gaming.tokens import Token

LANGUAGES = (Language.SCRIPT, Language.GO, Language.RUST)
_DEFINED = re.compile(
    r"\b(?:func|fn|function|class|struct|enum|trait|type|const|let|var)\s+(?:\([^()\n]{0,80}\)\s*)?(\w+)"
    r"|\bexports\.(\w+)\s*="
)


class Moved:
    """What the tests of a change ask that they did not ask where they stand, and what its sources have no more."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._gains: list[tuple[Language, frozenset[str], frozenset[str]]] = []
        had, has = set[str](), set[str]()
        for change in changes:
            if change.language not in LANGUAGES:
                continue
            old, new = (_named(tests_of(change, text)) for text in (change.before, change.after))
            for name, region in new.items():
                gained = Counter(_values(region)) - Counter(_values(old[name]) if name in old else ())
                words = region.words if name else frozenset()
                self._gains.append((change.language, frozenset(gained), words))
            if not change.is_test:
                had |= set(_defined(parts(change.before or "", change.language)[0]))
                has |= set(_defined(parts(change.after or "", change.language)[0]))
        self._gone = had - has

    def is_asked(self, old: Region, new: Region | None = None) -> bool:
        """Whether what a test asked, and does not ask any more, is asked elsewhere, or is about what is gone."""
        was = Asked(old, (), True)
        lost = was.beyond(Asked(new, (), True)) if new else was.values
        return bool(old.words & self._gone) or (bool(lost) and self._holds(old.language, lost, was, old.words))

    def _holds(self, language: Language, lost: Iterable[Token], was: Asked, words: frozenset[str]) -> bool:
        about = frozenset().union(*(was.subject(token) for token in lost)) & words
        known = (
            held for of, held, said in self._gains if of is language and not (said and about and said.isdisjoint(about))
        )
        return {token.text for token in lost} <= frozenset().union(*known)


def _named(tests: Iterable[Region]) -> dict[str, Region]:
    return {one.name: one for one in tests}


def _values(region: Region) -> Iterator[str]:
    return (token.text for token in region.tokens if token.value)


def _defined(text: str) -> Iterator[str]:
    """What a source gives names."""
    return (match[1] or match[2] for match in _DEFINED.finditer(text))
