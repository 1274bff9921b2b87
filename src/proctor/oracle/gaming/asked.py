"""What a test asks for: the literals in its assertions, its tables, and what these compare with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.patterns import CHECKS
from proctor.oracle.gaming.regions import Region, Statement
from proctor.oracle.gaming.tokens import Token, closing

_PYTHON = re.compile(
    r"^assert\b|\.(?:assert|fail)\w*\(|\b(?:raises|warns|approx|assert\w*|check\w*|expect\w*|verify\w*)\(|^if\b.*[!=]="
)
_COMPARES = {
    Language.SCRIPT: re.compile(r"[!=]==?"),
    Language.GO: re.compile(r"[!=]=|(?<![<-])[<>]=?(?!-)"),
    Language.RUST: re.compile(r"[!=]=(?!>)|should_panic"),
}
_TABLE = re.compile(r"\.each\(|\bparametrize\(|^for\b|\btest_case\(|\[case\(")
_TELLS = re.compile(r"^\s*(?:\w+\.)?(?:[tb]\.(?:Error|Fatal|Log|Skip|Run|Name)\w*|print\w*!?|console\.\w+|describe)\(")
"""What says something to a person and asks for nothing."""
_ROW = re.compile(r"^(?!(?:return|import|use|package|case|const|let|var|break|from)\b)[^()=]+$")
_BOUND = re.compile(r"^(?:if )?(?:(?:pub|static|const|let|var|mut) )*([^\W\d]\w*)(?:,\w+)*(?::[^=]+)?(?::=|=)(?![=>])")
_WANTED = re.compile(
    r"want|expect|result|output|answer|golden|correct|should|target|cases|table|tests|rows", re.IGNORECASE
)
_ASSERTING = re.compile(
    r"_*(?:assert|expect|to[A-Z]|require|approx|raises|(?:strict|deep|loose)?[eE]qual|(?:ok|len|t|self)$)"
)
_ARGUMENTS = (
    (re.compile(r"(?:debug_)?assert!|assertTrue|assertFalse|assert\.ok|assert|expect|ok"), 1),
    (re.compile(r"(?:debug_)?assert_(?:eq|ne)!|assert\w+|assert\.\w+"), 2),
)
"""Assertions with the number of arguments after which words for a person come."""
_NEGATIONS = ("not", "!")
_OPPOSITE = {
    "!=": "==", "!==": "===", "assertFalse": "assertTrue", "assertNotEqual": "assertEqual", "assertNotIn": "assertIn",
    "assertIsNotNone": "assertIsNone", "assert_ne!": "assert_eq!", "NotEqual": "Equal", "notEqual": "equal",
    "notStrictEqual": "strictEqual", "notDeepEqual": "deepEqual", "toBeFalsy": "toBeTruthy", "False": "True",
    "NotNil": "Nil", "NoError": "Error", "doesNotThrow": "throws", "is_err": "is_ok", "is_none": "is_some",
    "unwrap_err": "unwrap", "doesNotMatch": "match",
}  # fmt: skip


_PARTS: dict[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("endswith", "endsWith", "HasSuffix", "ends_with"), str.endswith),
    **dict.fromkeys(("startswith", "startsWith", "HasPrefix", "starts_with"), str.startswith),
    **dict.fromkeys(("in", "assertIn", "includes", "toContain", "Contains", "contains"), str.__contains__),
}
"""What asks for a part of a text, and how a whole one answers it."""
_WHOLE = frozenset({"==", "===", "assertEqual", "toBe", "toEqual", "equal", "strictEqual", "Equal", "assert_eq!"})


class Asked:
    """What a test asks for. Beside tests (`users` are those that use it) all of it may be asked for; of a test that was
    `bad` also what goes into what is asserted."""

    def __init__(self, region: Region, users: Sequence[Region], bad: bool) -> None:
        self._region, self._users, self._bad = region, users, bad
        self._of: dict[int, Statement] = {}
        self.values: list[Token] = []
        for statement in region.statements:
            for token in self._counted(statement):
                self._of[id(token)] = statement
                self.values.append(token)

    def beyond(self, other: Asked) -> list[Token]:
        """The values that another one has not, or not as often."""
        spare = Counter(token.text for token in other.values)
        stays = {one.key for one in other._of.values()}
        found = []
        for token in sorted(self.values, key=lambda one: self._of[id(one)].key not in stays):
            if spare[token.text] > 0:
                spare[token.text] -= 1
            else:
                found.append(token)
        return sorted(found, key=lambda one: one.line)

    def words_of(self, token: Token) -> frozenset[str]:
        """The words of the statement of a value, those that assert left out."""
        return without_asserting(self._of[id(token)].words)

    def subject(self, token: Token) -> frozenset[str]:
        """What the statement of a value is about: what it calls, else its words, else its other values."""
        return _subject(self._of[id(token)])

    def tightens(self, now: Token, old: Asked, was: Token) -> bool:
        """Whether it asks for a whole text where an old test asked for that part of it."""
        before, after = old._of[id(was)], self._of[id(now)]
        is_part = [holds for word, holds in _PARTS.items() if word in before.words]
        is_whole = not _WHOLE.isdisjoint(after.key) and bool(_subject(before) & _subject(after))
        return bool(is_part) and is_whole and is_part[0](now.text[2:], was.text[2:])

    def swapped(self, other: Asked) -> Iterator[tuple[Token, Token]]:
        """Values that changed places; rows of a table that did are the same table."""
        if len(self.values) != len(other.values):
            return
        if Counter(one.key for one in self._of.values()) == Counter(one.key for one in other._of.values()):
            return
        for one, now in zip(self.values, other.values, strict=True):
            if one.text != now.text and not _TABLE.search(self._of[id(one)].text):
                yield one, now

    def _counted(self, statement: Statement) -> Iterator[Token]:
        language, text = self._region.language, statement.text
        if _TELLS.match(text) or not statement.values:
            return
        alone = len(statement.tokens) == 1 and language is Language.PYTHON
        if _TABLE.search(text):
            yield from _rows(statement)
        elif (_ROW.match(text) and not alone) or _asserts(text, language):
            yield from _without_words(statement)
        elif (bound := _BOUND.match(text)) and self._is_asked(bound[1]):
            yield from statement.values

    def _is_asked(self, name: str) -> bool:
        """Whether what a name stands for is compared with."""
        if self._users:
            compared = any(name in _compared(one, True) for one in self._users)
            return name == self._region.name and (self._bad or bool(_WANTED.search(name)) or compared)
        return (self._bad or bool(_WANTED.search(name))) and name in _compared(self._region, False)


@lru_cache(maxsize=1_000)
def _compared(region: Region, tables: bool) -> frozenset[str]:
    """The words of a test's assertions, and of what goes through tables."""
    said = (
        one for one in region.statements if _asserts(one.text, region.language) or (tables and _TABLE.search(one.text))
    )
    return frozenset().union(*(one.words for one in said))


def called(part: Region | Statement) -> frozenset[str]:
    """What is called in a test or a statement, what asserts left out."""
    calls = (one.text for one, after in pairwise(part.tokens) if one.is_word and after.text == "(")
    return without_asserting(frozenset(calls))


@lru_cache(maxsize=1_000)
def _subject(statement: Statement) -> frozenset[str]:
    return called(statement) or statement.words or frozenset(one.text for one in statement.values)


def is_sensible(was: Token, now: Token) -> bool:
    """Whether a number stands for another one, said with more figures."""
    if not (was.text.startswith("n:") and now.text.startswith("n:")) or "." not in was.text:
        return False
    digits = len(was.text.partition(".")[2])
    try:
        return round(float(now.text[2:]), digits) == float(was.text[2:])
    except (ValueError, OverflowError):
        return False


def opposite(old: Region, new: Region) -> Iterator[tuple[Token, Token]]:
    """Where a test asks for the opposite and is else what it was."""
    was, now = (_plain(one) for one in (old, new))
    if [text for text, _ in was] != [text for text, _ in now]:
        return
    turned = [(one, other) for (_, one), (_, other) in zip(was, now, strict=True) if one.text != other.text]
    negated = [sum(token.text in _NEGATIONS for token in one.tokens) for one in (old, new)]
    if not turned and negated[0] != negated[1]:
        differs = (two for two in zip(old.tokens, new.tokens, strict=False) if two[0].text != two[1].text)
        turned = [next(differs, (old.tokens[-1], new.tokens[-1]))]
    yield from turned


def _plain(region: Region) -> list[tuple[str, Token]]:
    """A test without its negations."""
    tokens, plain = region.tokens, list[tuple[str, Token]]()
    for at, token in enumerate(tokens):
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.text in _NEGATIONS or (token.text == "." and after == "not"):
            continue
        plain.append((_OPPOSITE.get(token.text, token.text), token))
    return plain


def renamed(old: Region, new: Region) -> Iterator[tuple[Token, Token]]:
    """Named values in assertions (errors, states, codes) that are others, where a test is else what it was."""
    if len(old.tokens) != len(new.tokens):
        return
    asserting = {id(one) for some in old.statements if _asserts(some.text, old.language) for one in some.tokens}
    pairs = [two for two in zip(old.tokens, new.tokens, strict=True) if two[0].text != two[1].text]
    called = {id(one) for one, after in pairwise(old.tokens) if after.text == "("}
    if all(id(one) in asserting - called and _is_named(one) and _is_named(other) for one, other in pairs):
        yield from pairs


def _is_named(token: Token) -> bool:
    return token.is_word and token.text[0].isupper()


def _asserts(text: str, language: Language) -> bool:
    if language is Language.PYTHON:
        return bool(_PYTHON.search(text))
    return bool(CHECKS[language].search(text) or _COMPARES[language].search(text))


def without_asserting(words: frozenset[str]) -> frozenset[str]:
    """Words without those that assert."""
    return frozenset(word for word in words if not _ASSERTING.match(word))


def _rows(statement: Statement) -> Iterator[Token]:
    """The values of a table, without its title and the names of its columns."""
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        before = [one.text for one in tokens[max(0, at - 2) : at]]
        if token.value and before not in ([")", "("], ["parametrize", "("]):
            yield token


def _without_words(statement: Statement) -> Iterator[Token]:
    """The values of an assertion, without the words that it fails with."""
    tokens, depth, argument = statement.tokens, 0, 0
    most, base = (1, 0) if _is_bare(tokens) else (None, 0)
    for at, token in enumerate(tokens):
        if most is None and token.text == "(" and at and (found := _limit(tokens, at)):
            most, base = found, depth + 1
        if not token.value:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            argument += token.text == "," and depth == base
        elif most is None or argument < most or not token.text.startswith("s:"):
            yield token


def _is_bare(tokens: Sequence[Token]) -> bool:
    """Whether an assertion is no call: its brackets, if it begins with some, do not hold all of it."""
    if tokens[0].text != "assert" or len(tokens) < 2 or tokens[1].text == ".":
        return False
    return tokens[1].text != "(" or closing(tokens, 1) < len(tokens)


def _limit(tokens: Sequence[Token], at: int) -> int:
    name = tokens[at - 1].text
    if at > 2 and tokens[at - 2].text == "." and tokens[at - 3].text in ("assert", "require", "t", "is"):
        name = f"assert.{name}"
    first = at + 1 < len(tokens) and tokens[at + 1].text in ("t", "tb", "b")
    return next((most + first for pattern, most in _ARGUMENTS if pattern.fullmatch(name)), 0)
