"""Tests as tokens and statements, whatever their layout: what the look at expected values compares."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from proctor.oracle.gaming.change import Change, Language
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.syntax import functions, parsed
from proctor.oracle.gaming.tokens import Token, closing, lexed

LANGUAGES = (Language.PYTHON, Language.SCRIPT, Language.GO, Language.RUST)


@dataclass(frozen=True, eq=False)
class Statement:
    """Tokens that are read together: a line, or some that belong together."""

    tokens: tuple[Token, ...]

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The same for statements that say the same."""
        return tuple(token.text for token in self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.is_word)

    @cached_property
    def text(self) -> str:
        said = ""
        for token in self.tokens[:400]:
            wide = said[-1:].isalnum() or said[-1:] in ("_", '"', "'")
            said += f" {token.raw}" if wide and (token.is_word or token.value) else token.raw
        return said[:2_000]

    @cached_property
    def values(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.value)


@dataclass(frozen=True, eq=False)
class Region:
    """A test, or with no name what a file has beside its tests."""

    name: str
    language: Language
    line: int
    tokens: tuple[Token, ...]
    example: bool = False
    """Whether it stands in documentation, where most are words to a reader and only some are run."""

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(_statements(self.tokens, self.language))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.is_word)

    @cached_property
    def skeleton(self) -> tuple[str, ...]:
        """What is left without literals."""
        return tuple("" if token.value else token.text for token in self.tokens)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2] if self.language is Language.PYTHON else self.name


@lru_cache(maxsize=64)
def regions(text: str, language: Language, inside_only: bool = False) -> tuple[Region, ...]:
    """The tests of a file, then what is beside them; with `inside_only` what is below `#[cfg(test)]` alone."""
    tokens = lexed(text, language)
    found, rest, at = list[Region](), list[Token](), 0
    for name, start, end in _spans(text, tokens, language):
        if start >= at:
            rest += tokens[at:start]
            found.append(Region(name, language, tokens[start].line, tokens[start:end]))
            at = end
    rest += tokens[at:]
    if inside_only:
        marks = [n for n, token in enumerate(rest) if n > 1 and token.text == "test" and rest[n - 2].text == "cfg"]
        rest = rest[marks[-1] :] if marks else []
    return (*found, Region("", language, 1, tuple(rest)))


def tests_of(change: Change, text: str | None) -> tuple[Region, ...]:
    """The tests of a changed file, as it was or is, and what is beside them."""
    if text is None:
        return ()
    if change.language is Language.RUST and not change.is_test:
        return regions(text, change.language, True) if "#[cfg(test)]" in text or "#[test]" in text else ()
    return regions(usual(text, change.language), change.language) if change.is_collected or change.is_test else ()


# --- tests ----------------------------------------------------------------------------------------


def _spans(text: str, tokens: Sequence[Token], language: Language) -> Iterator[tuple[str, int, int]]:
    """The tests of a file by name, each with its first token and the one after its last."""
    match language:
        case Language.PYTHON:
            return _python(text, tokens)
        case Language.SCRIPT:
            return _script(tokens)
        case Language.GO:
            return _go(tokens)
    return _rust(tokens)


def _python(text: str, tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    tree = parsed(text)
    lines = [token.line for token in tokens]
    tests = [one for one in functions(tree) if one[1].name.startswith("test")] if tree else []
    for name, node in sorted(tests, key=lambda one: one[1].lineno):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        start, end = bisect_right(lines, first - 1), bisect_right(lines, node.end_lineno or first)
        if start < end:
            yield name, start, end


_HEADS = frozenset({"it", "test", "specify", "fit", "xit", "xtest"})


def _script(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    at = 0
    while at < len(tokens):
        start = at
        at += 1
        if tokens[start].text not in _HEADS or not _is_first(tokens, start):
            continue
        while at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].is_word:
            at += 2
        group = at
        while at < len(tokens) and (tokens[at].text == "(" or (at == group and tokens[at].raw[:1] == "`")):
            group, at = at, (closing(tokens, at) if tokens[at].text == "(" else at + 1)
        title = tokens[group + 1] if group + 1 < len(tokens) else None
        if at > group and title is not None and title.text.startswith("s:"):
            yield title.text[2:], start, at


def _is_first(tokens: Sequence[Token], at: int) -> bool:
    """Whether a statement begins at a place."""
    if at == 0 or tokens[at - 1].text in ("{", "}", ";", ")"):
        return True
    return tokens[at - 1].line < tokens[at].line and tokens[at - 1].text not in (".", "=", ",", "(")


def _body(tokens: Sequence[Token], at: int) -> int:
    """The end of the function whose name stands at a place."""
    opening = next((n for n in range(at, min(len(tokens), at + 200)) if tokens[n].text == "{"), len(tokens) - 1)
    return closing(tokens, opening)


def _go(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    for at in range(len(tokens) - 1):
        if tokens[at].text == "func" and re.match(r"(?:Test|Example|Fuzz)(?![a-z])", tokens[at + 1].text):
            yield tokens[at + 1].text, at, _body(tokens, at + 1)


def _rust(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    for at in range(len(tokens) - 1):
        if tokens[at].text != "fn" or not tokens[at + 1].is_word:
            continue
        start = next(
            (n + 1 for n in range(at - 1, max(-1, at - 400), -1) if tokens[n].text in ("{", "}", ";")), max(0, at - 400)
        )
        if any(token.text in ("test", "rstest", "test_case", "case") for token in tokens[start:at]):
            yield tokens[at + 1].text, start, _body(tokens, at + 1)


# --- statements -----------------------------------------------------------------------------------

_GOES_ON = frozenset({".", "&&", "||", "+", "?", ":", "=", "==", "!=", "===", "=>", ",", "and", "or"})


def _statements(tokens: Sequence[Token], language: Language) -> Iterator[Statement]:
    depths, here = [0], list[Token]()
    for token in tokens:
        text = "" if token.value else token.text
        ended = bool(here) and token.line > here[-1].line and depths[-1] == 0
        if ended and not (text in _GOES_ON or (language is not Language.PYTHON and here[-1].text in _GOES_ON)):
            yield Statement(tuple(here))
            here = []
        if language is not Language.PYTHON and text in ("{", "}", ";"):
            if here:
                yield Statement(tuple(here))
            here = []
            if text == "{":
                depths.append(0)
            elif text == "}" and len(depths) > 1:
                depths.pop()
            continue
        if text in ("(", "[") or (text == "{" and language is Language.PYTHON):
            depths[-1] += 1
        elif text in (")", "]") or (text == "}" and language is Language.PYTHON):
            depths[-1] = max(0, depths[-1] - 1)
        here.append(token)
    if here:
        yield Statement(tuple(here))
