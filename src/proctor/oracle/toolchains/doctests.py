"""Documents whose examples are tests: which ones a command has `doctest` or pytest read, and what in them counts. Pure.

Prose is the worker's to edit; the examples and what they are to give have to stay as they were. Examples in sources are
looked at in the change (`gaming/doctests.py`), since their files are the work.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from proctor.oracle.toolchains import starts
from proctor.oracle.toolchains.makes import is_match

SUFFIXES = (".txt", ".md", ".rst", ".markdown", ".rest", ".text")
_DOCTEST = re.compile(r"""(?<![\w-])-m['", \t]*doctest(?![\w.])([^;&|\n\])]*)""")
_ONE_AFTER_ANOTHER = re.compile(
    r"\bfor[ \t]+(\w+)[ \t]+in[ \t]+([^;\n]+)|^[ \t]*(\w+)[ \t]*[:?+]*=([^\n]*)", re.MULTILINE
)
"""What a variable stands for, in a loop or as it is set."""
_FILES = re.compile(r"""\b(?:testfile|DocFile(?:Suite|Test))\(\s*["']([^"'\n]+)["']""")
_OPTION = re.compile(r"""(?<!\S)['"]?(?:-o[ \t'",]*\w+|-[\w-]*)|[\d&]?>+[ \t]*\S+""")
_VARIABLE = re.compile(r"\$+[({]*(\w+)[)}]*")
_BREAK = re.compile(r"""[\s,'"]+""")
_MOST_VALUES = 50
_NO_SOURCES = re.compile(r"\.(?:txt|md|rst|markdown|rest|text)\b")
_GLOB = re.compile(r"""--doctest-glob['",=\s\\]+([^\s'"\\,\]]+)""")
_SOURCES = re.compile(
    r"(?<!\S)-m[ \t]*doctest[^;&|\n]*\.py\b|--doctest-modules\b|--with-doctest\b|(?<![\w.-])xdoctest\b"
)
_PYTEST = re.compile(r"(?<![\w.-])(?:pytest|py\.test)(?![\w.-])([^;&|\n]*)")
_USUAL = "test*.txt"
"""What pytest reads unasked."""


@dataclass(frozen=True, slots=True)
class Told:
    """The documents that commands have read: by their paths, as patterns of pytest, or as those of a shell. `open`: by
    what only a run could tell."""

    paths: frozenset[str]
    patterns: frozenset[str]
    globs: frozenset[str]
    open: bool

    def takes(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return (
            path in self.paths
            or any(fnmatchcase(name, p) or fnmatchcase(path, p) for p in self.patterns)
            or any(fnmatchcase(path, glob) and ("**" in glob or is_match(path, glob)) for glob in self.globs)
        )


def told(texts: Iterable[tuple[str, str]]) -> Told:
    """What commands have read: each text with the path of the file that holds it, or "" for a check's own words."""
    paths: set[str] = set()
    patterns: set[str] = set()
    is_open = False
    for place, written in texts:
        text = written.replace("\\\n", " ")
        named = set(_FILES.findall(text))
        values: dict[str, set[str]] = {}
        for looped, several, name, value in _ONE_AFTER_ANOTHER.findall(text):
            known = values.setdefault(looped or name, set())
            known.add((several or value) if len(known) < _MOST_VALUES else "$")
        for found in _DOCTEST.finditer(text):
            words, is_known = _words(found[1], values)
            named |= words
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
            is_open |= not is_known and (".py" not in line or bool(_NO_SOURCES.search(line)))
        for rest in dict.fromkeys(_PYTEST.findall(text)):
            named |= {word for word in _words(rest, values)[0] if word.endswith((".txt", ".rst"))}
            patterns.add(_USUAL)
        patterns |= set(_GLOB.findall(text))
        if named:
            paths |= {path for path in _led(place, text, named) if not path.endswith(".py")}
    globs = {path for path in paths if not {"*", "?", "["}.isdisjoint(path)}
    return Told(frozenset(paths - globs), frozenset(patterns), frozenset(globs), is_open)


def _words(rest: str, values: Mapping[str, set[str]]) -> tuple[set[str], bool]:
    """The files that follow a command's name, with what variables stand for, and whether these are all."""
    put = _VARIABLE.sub(lambda found: " ".join(values.get(found[1], [found[0]])), _OPTION.sub(" ", rest))
    words = {word for word in _BREAK.split(put) if word.strip("\\+")}
    unknown = {word for word in words if re.search(r"[$`{}()]", word)}
    return words - unknown, bool(words) and not unknown


def _led(place: str, text: str, named: Iterable[str]) -> Iterator[str]:
    """Where names lead from the top, from the text's own folder, and from where its commands go."""
    folder = posixpath.dirname(place)
    went = starts.of_text(place, text)
    bases = {"", folder, *(posixpath.join(top, gone) for top in ("", folder) for gone in went.gone)}
    for name in named:
        yield from (posixpath.normpath(posixpath.join(base, name)) for base in bases)
        if went.open:
            yield f"**/{name}"


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
