"""One changed file as a value: what kind of file it is, which lines are new, and the hunk around a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from proctor.words import Gaming, TamperKind, Weight

HUNK = 1_200
"""Characters of a hunk that are kept."""
CONTEXT = 2
"""Lines that are shown before and after what differs."""
BLOCK = 8
"""Differing lines in a row that are shown whole; of more those around a finding."""
_LINE = 400
_LONG = 3_000
"""Differing lines from which on they are compared as bags: what moved is not told apart then."""
_ALIKE = 100_000
"""The same for pairs of lines that are alike: so many of them take longer to tell apart than they are worth."""
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures", "e2e"})
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_tests?|conftest|tests|testing|test_?utils?|testutils?)\.py|.*[.-](?:test|spec|cy)\.[cm]?[jt]sx?|.*_test\.(?:go|rs)|tests?\.rs"
)


_MARK = "#[cfg(test)]"
_ITEM = re.compile(r"\s*[^\s#]")


class Language(StrEnum):
    """What a file is read as; the rules that hold for it hang on this."""

    PYTHON = "python"
    SCRIPT = "script"
    GO = "go"
    RUST = "rust"
    SHELL = "shell"
    MAKE = "make"
    CI = "ci"
    PACKAGE = "package"
    OTHER = "other"


_SUFFIXES = {
    ".py": Language.PYTHON, ".pyi": Language.OTHER, ".go": Language.GO, ".rs": Language.RUST, ".mk": Language.MAKE,
    ".sh": Language.SHELL, ".bash": Language.SHELL, ".zsh": Language.SHELL, ".bats": Language.SHELL,
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), Language.SCRIPT),
}  # fmt: skip
_NAMES = {
    **dict.fromkeys(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"), Language.MAKE),
    "package.json": Language.PACKAGE,
    **dict.fromkeys(("tox.ini", "Taskfile.yml", "Taskfile.yaml"), Language.CI),
}
_CI = re.compile(
    r"(?:.*/)?(?:\.github/(?:workflows|actions)/.*|\.gitlab-ci.*|\.circleci/.*|azure-pipelines.*|"
    r"bitbucket-pipelines.*|\.travis)\.ya?ml"
)


@dataclass(frozen=True)
class Change:
    """A file's text before and after; None where there was, or is, no such file."""

    path: str
    before: str | None
    after: str | None

    @cached_property
    def language(self) -> Language:
        return language_of(self.path, self.after or self.before or "")

    @cached_property
    def is_test(self) -> bool:
        return is_test(self.path)

    @cached_property
    def is_collected(self) -> bool:
        """Whether a runner takes the file for tests; others in tests' folders are data and programs."""
        *folders, name = PurePosixPath(self.path).parts
        return bool(_TEST_NAME.fullmatch(name)) or (self.language is Language.RUST and folders[-1:] == ["tests"])

    @cached_property
    def old(self) -> list[str]:
        return (self.before or "").splitlines()

    @cached_property
    def new(self) -> list[str]:
        return (self.after or "").splitlines()

    @cached_property
    def added(self) -> list[tuple[int, str]]:
        """The new lines, each with its number in the new file, from 1."""
        return self._differing[0]

    @cached_property
    def news(self) -> frozenset[int]:
        """The numbers of the new lines."""
        return frozenset(number for number, _ in self.added)

    @cached_property
    def removed(self) -> list[tuple[int, str]]:
        """The lines that are gone, each with its number in the old file."""
        return self._differing[1]

    @cached_property
    def _differing(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        old, new = self.old, self.new
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        end = 0
        while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
            end += 1
        before, after = old[start : len(old) - end], new[start : len(new) - end]
        if max(len(before), len(after)) > _LONG or _alike(before, after) > _ALIKE:
            return _beyond(after, before, start), _beyond(before, after, start)
        added: list[tuple[int, str]] = []
        removed: list[tuple[int, str]] = []
        for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                removed += [(start + n + 1, before[n]) for n in range(i, j)]
                added += [(start + n + 1, after[n]) for n in range(k, m)]
        return added, removed

    @cached_property
    def _rows(self) -> list[tuple[str, int, int]]:
        """The file as a diff in its order: a sign for each line, and its number before and after."""
        added, removed = (frozenset(number for number, _ in lines) for lines in (self.added, self.removed))
        rows: list[tuple[str, int, int]] = []
        old = new = 1
        while old <= len(self.old) or new <= len(self.new):
            sign = "-" if old in removed else "+" if new in added or old > len(self.old) else " "
            if sign == " " and new > len(self.new):  # compared as bags, what moved has no place of its own
                sign = "-"
            rows.append((sign, old, new))
            old += sign != "+"
            new += sign != "-"
        return rows

    @property
    def first(self) -> int:
        """The first line that is new, or else gone; 0 where none is."""
        return next(iter(self.added or self.removed), (0, ""))[0]

    def line(self, line: int, gone: bool = False) -> str:
        """One line, without what is around it."""
        lines = self.old if gone else self.new
        return lines[line - 1].strip()[:_LINE] if 0 < line <= len(lines) else ""

    def hunk(self, line: int, gone: bool = False) -> str:
        """What differs around a line, and a little of what does not, in the order of a diff; by the old file's lines
        if nothing is left of it."""
        rows, own, other = self._rows, 1 if gone else 2, "+" if gone else "-"
        at = next((at for at, row in enumerate(rows) if row[own] == line and row[0] != other), None)
        if at is None:
            return ""
        near = range(max(0, at - CONTEXT), min(len(rows), at + CONTEXT + 1))
        first = last = min((n for n in near if rows[n][0] != " "), key=lambda n: abs(n - at), default=at)
        while first and rows[first][0] != " " and rows[first - 1][0] != " ":
            first -= 1
        while last + 1 < len(rows) and rows[last][0] != " " and rows[last + 1][0] != " ":
            last += 1
        if last - first > BLOCK:
            first, last = max(first, min(at, last) - BLOCK // 2), min(last, max(at, first) + BLOCK // 2)
        shown = rows[max(0, first - CONTEXT) : last + CONTEXT + 1]
        is_old = {"-": True, "+": False, " ": gone}
        lines = ((sign, self.old[old - 1] if is_old[sign] else self.new[new - 1]) for sign, old, new in shown)
        return "\n".join(f"{sign}{text[:_LINE]}" for sign, text in lines)[:HUNK]


@dataclass(frozen=True, slots=True)
class Found:
    """One finding. `line` is of the new file, of the old one where nothing is left of it."""

    kind: Gaming
    weight: Weight
    path: str
    line: int
    why: str
    text: str = ""
    hunk: str = ""
    words: tuple[str, ...] = ()
    """Of literals those that must have stood nowhere before."""
    test: str | None = None
    """Where an expected value is another one: the test, which must have been there when the session began; "" where the
    file is one thing."""


def found(change: Change, kind: Gaming, weight: Weight, line: int, why: str, *, gone: bool = False) -> Found:
    """A finding with the lines that show it."""
    return Found(kind, weight, change.path, line, why, change.line(line, gone), change.hunk(line, gone))


def language_of(path: str, text: str) -> Language:
    """By the name; a file without a suffix by its first line."""
    pure = PurePosixPath(path)
    if _CI.fullmatch(path):
        return Language.CI
    known = _NAMES.get(pure.name) or _SUFFIXES.get(pure.suffix)
    if known is None and not pure.suffix and text.startswith("#!"):
        first = text.partition("\n")[0]
        known = Language.PYTHON if "python" in first else Language.SHELL if "sh" in first else None
    return known or Language.OTHER


def is_test(path: str) -> bool:
    """Whether a file is there for tests: by its name or the folder that it lies in."""
    pure = PurePosixPath(path)
    return bool(_TEST_NAME.fullmatch(pure.name)) or not _TEST_FOLDERS.isdisjoint(pure.parts[:-1])


@lru_cache(maxsize=64)
def tests_in(text: str, language: Language) -> frozenset[int]:
    """The lines, from 1, of a source in Rust that belong to its tests: `#[cfg(test)]` and what stands below it."""
    inside = set[int]()
    lines = text.splitlines() if language is Language.RUST and _MARK in text else []
    for at, line in enumerate(lines):
        if not line.lstrip().startswith(_MARK) or at + 1 in inside:
            continue
        depth = line[: len(line) - len(line.lstrip())]
        below = range(at, len(lines))
        first = next((n for n in below if lines[n].strip().rpartition("]")[2] or _ITEM.match(lines[n])), at)
        closing = (n for n in range(first, len(lines)) if lines[n].startswith(depth + "}"))
        end = first if lines[first].rstrip().endswith((";", "}")) else next(closing, len(lines))
        inside |= set(range(at + 1, end + 2))
    return frozenset(inside)


def parts(text: str, language: Language) -> tuple[str, str]:
    """A source without the tests in it, and those alone."""
    inside = tests_in(text, language)
    if not inside:
        return text, ""
    both: tuple[list[str], list[str]] = [], []
    for number, line in enumerate(text.splitlines(), 1):
        both[number in inside].append(line)
    return "\n".join(both[0]), "\n".join(both[1])


def squeezed(text: str) -> str:
    """A line without what makes no difference to its sense."""
    return " ".join(text.split())


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """How many pairs of an old and a new line are alike."""
    there = Counter(before)
    return sum(count * there[line] for line, count in Counter(after).items())


def _beyond(lines: list[str], others: Iterable[str], start: int) -> list[tuple[int, str]]:
    spare = Counter(others)
    beyond = []
    for number, line in enumerate(lines, start + 1):
        if spare[line] > 0:
            spare[line] -= 1
        else:
            beyond.append((number, line))
    return beyond


_TELLING = (
    *(Gaming.EXIT, Gaming.EQUAL, Gaming.MASKED, Gaming.SKIP, Gaming.ASSERTION, Gaming.SNIFFING, Gaming.LITERAL),
    *TamperKind,
    Gaming.UNREAD,
)
"""Kinds of findings, those that say most by themselves first."""


def spread(kinds: Sequence[str]) -> list[int]:
    """In which order to tell findings of these kinds: one of each kind first, the most telling kinds before the others,
    then the rest as it stands. What is cut off after that hides no kind."""
    first = {kind: at for at, kind in reversed(list(enumerate(kinds)))}
    order = {str(kind): at for at, kind in enumerate(_TELLING)}
    lead = [first[kind] for kind in sorted(first, key=lambda kind: order.get(kind, len(order)))]
    return lead + sorted(set(range(len(kinds))) - set(lead))
