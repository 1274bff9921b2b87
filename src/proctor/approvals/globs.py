"""Patterns over text of which a part may be unknown: what surely matches, and what could."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HOLE = "\0"
"""Stands for any text, also none: what only a running shell knows. No argument of a program can hold it."""
MOST = 1 << 15
"""Characters of a text that are looked at; what follows is as good as unknown."""

MOST_MASKS = 4_096
"""Characters that a pattern remembers."""

_TOKEN = re.compile(r"(?P<star>\*+)|(?P<any>\?)|\[(?P<set>!?\]?[^\]]*)\]|(?P<one>.)", re.DOTALL)


def words(text: str) -> frozenset[str]:
    """A set of words, written in a row."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Glob:
    """A pattern with `*`, `?` and `[…]`, case and all; `x *` also matches `x` alone.

    Bits stand for places in the pattern and all are moved at once, so that no pattern and no text takes more than one
    step a character.
    """

    text: str
    _tokens: tuple[re.Match[str], ...] = field(init=False, repr=False, compare=False)
    _stars: int = field(init=False, repr=False, compare=False)
    _ends: int = field(init=False, repr=False, compare=False)
    _masks: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Where in the pattern a character fits."""

    def __post_init__(self) -> None:
        tokens = tuple(_TOKEN.finditer(self.text))
        stars = sum(1 << place for place, token in enumerate(tokens) if token["star"])
        ends = 1 << len(tokens)
        if self.text.endswith(" *"):
            ends |= 1 << len(tokens) - 2
        object.__setattr__(self, "_tokens", tokens)
        object.__setattr__(self, "_stars", stars)
        object.__setattr__(self, "_ends", ends)

    @property
    def fixed(self) -> int:
        """How many whole words come before the first wildcard."""
        head = re.split(r"[*?\[]", self.text, maxsplit=1)
        return len(head[0].split()) if len(head) == 1 else len(f"{head[0]}|".split()) - 1

    def matches(self, text: str) -> bool:
        """Whether it matches whatever the unknown parts are."""
        return len(text) <= MOST and self._run(text, unknown=False, anywhere=False)

    def could(self, text: str) -> bool:
        """Whether some text in the place of the unknown parts would match."""
        return self._run(_head(text), unknown=True, anywhere=False)

    def among(self, text: str) -> bool:
        """Whether it surely matches from some word of the text on, or from the name in it: `/bin/rm x` has `rm x`."""
        return self._run(text[:MOST], unknown=False, anywhere=True)

    def within(self, text: str) -> bool:
        """Whether it could match so."""
        return self._run(text[:MOST], unknown=True, anywhere=True)

    def _run(self, text: str, unknown: bool, anywhere: bool) -> bool:
        places = self._open(1)
        before = " "
        for char in text:
            if anywhere and before in " /":
                places |= self._open(1)
            before = char
            if char == HOLE and unknown:
                places = places and (1 << len(self._tokens) + 1) - (places & -places)
                continue
            places = self._open(((places & self._fitting(char)) << 1) | (places & self._stars))
            if not places and not anywhere:
                return False
        return bool(places & self._ends)

    def _fitting(self, char: str) -> int:
        mask = self._masks.get(char)
        if mask is None:
            mask = sum(1 << place for place, token in enumerate(self._tokens) if _fits(token, char))
            if len(self._masks) < MOST_MASKS:
                self._masks[char] = mask
        return mask

    def _open(self, places: int) -> int:
        return places | ((places & self._stars) << 1)


def _head(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + HOLE


def _fits(token: re.Match[str], char: str) -> bool:
    if char == HOLE or token["star"]:
        return False
    if token["set"] is None:
        return bool(token["any"]) or token["one"] == char
    wanted = not token["set"].startswith("!")
    return _member(token["set"].removeprefix("!"), char) == wanted


def _member(members: str, char: str) -> bool:
    place = 0
    while place < len(members):
        if members[place + 1 : place + 2] == "-" and place + 2 < len(members):
            if members[place] <= char <= members[place + 2]:
                return True
            place += 3
        else:
            if members[place] == char:
                return True
            place += 1
    return False
