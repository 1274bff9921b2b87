"""The functions of a file of tests in another language than Python, told line by line: its tests and its helpers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from proctor.oracle.gaming.change import Change, Language, tests_in
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.patterns import COMMENT, HEAD, R

_WORD = r"[\w$]{1,60}"
_HEADS = {
    Language.SCRIPT: re.compile(
        rf"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*({_WORD})\s*\("
        rf"|^\s*(?:export\s+)?(?:(?:const|let|var)\s+|(?:module\.)?exports\.)({_WORD})\s*=\s*"
        rf"(?:async\s*)?(?:function\b|\([^()]{{0,200}}\)\s*(?::[^=]{{1,60}})?=>|{_WORD}\s*=>)"
    ),
    Language.GO: re.compile(rf"^func\s+(?:\([^()]{{1,100}}\)\s*)?({_WORD})\s*[(\[]"),
    Language.RUST: re.compile(
        rf"^\s*(?:pub(?:\([^()]{{1,40}}\))?\s+)?(?:async\s+)?fn\s+({_WORD})\s*[(<]|^\s*macro_rules!\s*({_WORD})"
    ),
}
_CALL = re.compile(r"\w!?\s*\(")
_MARKS = re.compile(r"#\[(?:\w+::)?test\b|#\[rstest|#\[test_case")


def titled(change: Change, lines: list[str]) -> dict[str, tuple[int, str]]:
    """The tests of a file by title: where each begins, and its text up to the next."""
    marked = change.language is not R

    def begins(line: str) -> tuple[str, str] | None:
        nonlocal marked
        marked = marked or bool(_MARKS.search(line))
        if not (match := HEAD[change.language].match(line)):
            return None
        name, marked = str(match[2]) if marked else "", change.language is not R
        return name, line

    return blocks(enumerate(outermost(lines) if change.language is R else lines, 1), begins)


def outermost(lines: Iterable[str]) -> Iterator[str]:
    """Lines of Rust without the heads of functions that stand in functions: these are part of the outer ones."""
    depth = -1
    for line in lines:
        inner = len(line) - len(line.lstrip())
        if depth >= 0 and inner > depth and HEAD[R].match(line[:1_000]):
            yield line[:inner]
            continue
        if HEAD[R].match(line[:1_000]) and not line.rstrip().endswith(("}", ";")):
            depth = inner
        elif inner <= depth and line[inner : inner + 1] == "}":
            depth = -1
        yield line


def blocks(
    lines: Iterable[tuple[int, str]], begins: Callable[[str], tuple[str, str] | None]
) -> dict[str, tuple[int, str]]:
    """Parts of a file by name: where each begins, and its text up to the next, comments left out. `begins` says of a
    line that begins one the name, "" if it is not asked for, and what counts of the line."""
    known: dict[str, tuple[int, str]] = {}
    name, start, body = "", 0, list[str]()
    for number, whole in lines:
        line = whole[:1_000]
        if (head := begins(line)) is not None:
            if name:
                known.setdefault(name, (start, "\n".join(body)))
            (name, line), start, body = head, number, []
        if not COMMENT.match(line):
            body.append(line)
    if name:
        known.setdefault(name, (start, "\n".join(body)))
    return known


def helpers(change: Change, text: str | None) -> dict[str, tuple[int, str]]:
    """The functions of a test file that are no tests: where each begins, and what it says below its name."""

    def begins(line: str) -> tuple[str, str] | None:
        if change.language is not Language.RUST and HEAD[change.language].match(line):
            return "", line
        match = _HEADS[change.language].match(line)
        return (next(filter(None, match.groups())), line[match.end() :]) if match else None

    lines = usual(text or "", change.language).splitlines()
    lines = list(outermost(lines)) if change.language is Language.RUST else lines
    inside = tests_in(text or "", change.language)
    return blocks(((n, line) for n, line in enumerate(lines, 1) if not inside or change.is_test or n in inside), begins)


def leaves_early(body: str, checks: re.Pattern[str]) -> bool:
    """Whether a test returns, on no condition, before the first thing that can fail."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    for above, line in pairwise(lines):
        if checks.search(line):
            return False
        if re.fullmatch(r"return;?", line) and (above is lines[0] or not re.search(r"[{:]$", above)):
            return True
    return False


def empty(change: Change, text: str | None) -> re.Pattern[str]:
    """Calls of a text's own helpers that call nothing, whatever they are called like."""
    names = [name for name, (_, body) in helpers(change, text).items() if not _CALL.search(body)]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names))) or '(?!)'})!?\s*\(")
