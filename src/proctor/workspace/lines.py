"""The lines on which the keys and items of a JSON text stand: a parser gives values and forgets where they were."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

Place = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+')
_DEEPEST = 8
"""Steps of a place; what lies deeper has the line of what holds it."""


def places(text: str) -> Iterator[tuple[Place, int]]:
    """Each key and each item of a text that is JSON, in its order, with its line; a key given twice comes twice."""
    line, is_key = 1, False
    path: list[str | int] = []
    for part in _TOKEN.findall(text):
        if part == "\n":
            line += 1
        elif part in ("}", "]"):
            path.pop()
            is_key = False
        elif part == ",":
            step = path[-1]
            is_key = not isinstance(step, int)
            path[-1] = step if not isinstance(step, int) else step + 1
        elif is_key:
            path[-1], is_key = json.loads(part), False
            if len(path) <= _DEEPEST:
                yield tuple(path), line
        elif part != ":":
            if path and isinstance(path[-1], int) and len(path) <= _DEEPEST:
                yield tuple(path), line
            if part in ("{", "["):
                is_key = part == "{"
                path.append("" if is_key else 0)


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line of what stands at a place, or of the nearest thing around it."""
    found: dict[Place, int] = {}
    for one, line in places(text):
        found.setdefault(one, line)
    near = (tuple(place[:depth]) for depth in range(len(place), 0, -1))
    return next((found[one] for one in near if one in found), 1)


def twice(text: str) -> tuple[Place, int] | None:
    """The first key that is given for the second time in one object, and its line."""
    seen: set[Place] = set()
    for place, line in places(text):
        if place in seen:
            return place, line
        seen.add(place)
    return None


def line_of_token(text: str, word: str) -> int:
    """The line of the first word, number or text that is written just so; 0 where there is none."""
    found = next((one.start() for one in _TOKEN.finditer(text) if one[0] == word), None)
    return 0 if found is None else text.count("\n", 0, found) + 1


def line_of_half(text: str) -> int:
    """The line of the first text that holds half of a character pair; 0 where there is none."""
    for one in _TOKEN.finditer(text):
        if one[0].startswith('"') and "\\u" in one[0]:
            try:
                json.loads(one[0]).encode()
            except UnicodeEncodeError:
                return text.count("\n", 0, one.start()) + 1
    return 0
