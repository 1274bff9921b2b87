"""Data that tests read, as rows of named values: which of them are others, whatever the layout."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Change, Language, language_of

_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".toml", ".txt", ".xml"})
_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "testdata", "e2e"})
_SETTINGS = re.compile(
    r"\..*|(?:package|package-lock|tsconfig.*|jsconfig|biome|deno|turbo|components)\.json|(?:pyproject|Cargo|uv|pytest)\.toml"
    r"|.*(?:config|settings|compose|requirements|constraints|robots|license|readme|CMakeLists|openapi|swagger|schema)[^/]*",
    re.IGNORECASE,
)
_FIELD = re.compile(r"""("[^"\n]*+"|'[^'\n]*+'|[^\s\[\]{}(),:;=<>|"'#]++)\s*+([:=])?""")
_MOST, _AMONG = 20, 400
"""Rows that are gone, and new ones, that are held against each other."""

Item = tuple[str, str]
"""A value, and the name that it has in its row; "" for none."""


@dataclass(frozen=True, slots=True)
class Row:
    """Values that stand together, below the names of what they stand in."""

    place: tuple[str, ...]
    items: tuple[Item, ...]

    def without(self, other: Row) -> Counter[Item]:
        return Counter(self.items) - Counter(other.items)


def is_kind(path: str) -> bool:
    """Whether a file may hold data, and is none of settings."""
    pure = PurePosixPath(path)
    plain = pure.suffix in _SUFFIXES and language_of(path, "") is Language.OTHER
    return plain and not _SETTINGS.fullmatch(pure.name)


def is_data(path: str) -> bool:
    """Whether a file lies among tests and holds data for them."""
    return is_kind(path) and not _FOLDERS.isdisjoint(PurePosixPath(path).parts[:-1])


def changed(change: Change) -> Iterator[tuple[str, str]]:
    """The values of rows that were there and are others now, each with what stands in their place; "" where all rows
    are gone. More rows, more values in a row, other names and another order change nothing."""
    before, after = (Counter(rows(change.path, text or "")) for text in (change.before, change.after))
    gone, come = list((before - after).elements())[:_MOST], list((after - before).elements())[:_AMONG]
    if before and not after:
        yield " ".join(value for _, value in gone[0].items), ""
    for was in gone:
        of_place = [row for row in come if row.place == was.place]
        now = min(of_place, key=lambda row: was.without(row).total(), default=None)
        if now is None:
            continue
        come.remove(now)
        lost, fresh = was.without(now), now.without(was)
        values, others = (Counter(value for _, value in some.elements()) for some in (lost, fresh))
        is_renamed = not values - others and not {name for name, _ in lost} & {name for name, _ in fresh}
        if lost and not is_renamed:
            yield " ".join(values.elements()), " ".join(others.elements())


def rows(path: str, text: str) -> Iterator[Row]:
    """The rows of a file: as its format has them, else its lines."""
    try:
        match PurePosixPath(path).suffix:
            case ".json":
                yield from _tree(json.loads(text, parse_int=str, parse_float=str))
            case ".jsonl" | ".ndjson":
                for line in filter(str.strip, text.splitlines()):
                    yield from _tree(json.loads(line, parse_int=str, parse_float=str))
            case ".toml":
                yield from _tree(tomllib.loads(text, parse_float=str))
            case ".csv" | ".tsv" as suffix:
                for cells in csv.reader(text.splitlines(), delimiter="\t" if suffix == ".tsv" else ","):
                    yield Row((), tuple(("", cell.strip()) for cell in cells))
            case _:
                yield from _lines(text)
    except (ValueError, RecursionError, csv.Error):
        yield from _lines(text)


def _tree(whole: object) -> Iterator[Row]:
    waiting: list[tuple[tuple[str, ...], object]] = [((), whole)]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, dict):
            parts = [(str(key), value) for key, value in node.items()]
        else:
            parts = [("", value) for value in (node if isinstance(node, list) else [node])]
        waiting += [((*place, key) if key else place, value) for key, value in parts if isinstance(value, dict | list)]
        items = tuple((key, str(value)) for key, value in parts if not isinstance(value, dict | list))
        if items:
            yield Row(place, items)


def _lines(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        name, items = "", list[Item]()
        for match in _FIELD.finditer(line.partition(" #")[0][:2_000]):
            word = match[1].strip("\"'")
            if match[2]:
                name = word
            elif word != "-":
                items.append((name, word))
                name = ""
        if items:
            yield Row((), tuple(items))
