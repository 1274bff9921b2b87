"""Documents whose examples are tests: which ones a command has `doctest` or pytest read, and what in them counts. Pure.

Prose is the worker's to edit; the examples and what they are to give have to stay as they were. Examples in sources are
looked at in the change (`gaming/doctests.py`), since their files are the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SUFFIXES = (".txt", ".md", ".rst", ".markdown", ".rest", ".text")
_DOCTEST = re.compile(r"(?<!\S)-m[ \t]*doctest(?!\S)([^;&|\n]*)")
_GLOB = re.compile(r"""--doctest-glob['",=\s\\]+([^\s'"\\,\]]+)""")
_SOURCES = re.compile(
    r"(?<!\S)-m[ \t]*doctest[^;&|\n]*\.py\b|--doctest-modules\b|--with-doctest\b|(?<![\w.-])xdoctest\b"
)
_PYTEST = re.compile(r"(?<![\w.-])(?:pytest|py\.test)(?![\w.-])")
_USUAL = "test*.txt"
"""What pytest reads unasked."""


@dataclass(frozen=True, slots=True)
class Told:
    """The documents that commands have read: by their paths, or as patterns."""

    paths: frozenset[str]
    patterns: frozenset[str]

    def takes(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return path in self.paths or any(fnmatchcase(name, p) or fnmatchcase(path, p) for p in self.patterns)


def told(texts: Iterable[str]) -> Told:
    """What commands, or the files that hold them, have read."""
    paths: set[str] = set()
    patterns: set[str] = set()
    for text in texts:
        for words in _DOCTEST.findall(text):
            named = (word.strip("\"'").removeprefix("./") for word in words.split())
            paths |= {word for word in named if not word.startswith("-") and not word.endswith(".py")}
        patterns |= set(_GLOB.findall(text))
        patterns |= {_USUAL} if _PYTEST.search(text) else set()
    return Told(frozenset(paths), frozenset(patterns))


def runs_sources(texts: Iterable[str]) -> bool:
    """Whether commands, or the files that hold them, run the examples in sources."""
    return any(map(_SOURCES.search, texts))


def part(data: bytes) -> dict[str, Any] | None:
    """The examples of a document as `doctest` reads them; None if it cannot."""
    from doctest import DocTestParser  # which loads much that hardly any check needs

    try:
        text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
        found = DocTestParser().get_examples(text)
    except ValueError:
        return None
    return {"examples": [(one.source, one.want, one.exc_msg, one.options) for one in found]}


def is_same(before: bytes, after: bytes) -> bool:
    """Whether two documents have the same examples."""
    old, new = part(before), part(after)
    return old is not None and old == new
