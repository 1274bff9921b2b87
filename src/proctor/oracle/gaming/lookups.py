"""Where JavaScript, TypeScript, Go and Rust compare literals, answer and expect them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, permutations
from math import inf
from typing import Protocol

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Token, Value, lexed

MOST = 400_000
"""Tokens of a text that are read: a table is longer than code."""
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_ENDS = frozenset({";", "}", ",", ")", ":", "]", "else", "case", "default", "if", "return", "&&", "||", "_"})
_PASSED = frozenset({")", "{", "(", "return", "?", "=>", "->", ":", "&&", "*"})
_BETWEEN = frozenset({";", "}", "{", ")", "(", "else", "return", "default", ":", "_", "=>", ","})
_EQUAL = frozenset({"==", "===", "!=", "!=="})
_ASSERTING = re.compile(
    r"(?:to|not|be|deep|assert|expect|equal|strict|deepequal|Error|Fatal|Log|Print|println|panic|it|test|describe|require"
    r"|case|if|switch|match|for|while|return|func|fn|each|Run|Some|Ok|Err|vec|String|from|new)\w*|\w+!", re.IGNORECASE
)  # fmt: skip
Span = tuple[float, float]
ALL: Span = (-inf, inf)
Listed = tuple[int, tuple[Value, ...]]
"""A list of literals, with its line."""
_FIELD = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?(?!\w)|\w+")
_SEQUENCES, _FIELDS = 40, 100
"""Lists of a file that are held against each other, and what is read of one."""
_CHAIN = 14
"""Words between one branch and the next."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A branch, or an entry of a table: for what it gives which answer."""

    line: int
    asked: tuple[Value, ...]
    answer: tuple[Value, ...]
    span: Span | None = None
    """The numbers that it gives the answer for, where it asks for more than one."""


@dataclass(slots=True)
class Lookup:
    """Entries that stand together, and what is given for all else. `is_sheer`: nothing else is done than look up."""

    entries: list[Entry] = field(default_factory=list)
    default: tuple[Value, ...] | None = None
    is_table: bool = False
    is_sheer: bool = False


class Learns(Protocol):
    """What takes in which answers are wanted."""

    def pair(self, inputs: Iterable[object], answer: Iterable[object], group: str = "") -> None: ...
    def row(self, parts: list[list[Value]], group: str = "") -> None: ...


def literals(tokens: Iterable[Token]) -> tuple[Value, ...]:
    """What the texts and numbers among them say."""
    return tuple(token.literal for token in tokens if token.literal is not None)


def fields(text: str) -> tuple[Value, ...]:
    """The numbers and words of a text that is a list: `12:43,-7:-37`."""
    if len(text) > 8 * _FIELDS or not text[:1].strip():
        return ()
    found = _FIELD.findall(text)
    return tuple(float(one) if "." in one else int(one) if one.lstrip("-").isdecimal() and len(one) < 22 else one
                 for one in found)  # fmt: skip


def beside(sequences: Iterable[Listed]) -> Iterator[Lookup]:
    """Tables of another form: lists that hold in turn what is asked and what is answered, and lists side by side."""
    known = [(line, values[:_FIELDS]) for line, values in islice(sequences, _SEQUENCES)]
    for line, values in known:
        if len(values) > 2 and len(values) % 2 == 0:
            pairs = zip(values[::2], values[1::2], strict=True)
            yield Lookup([Entry(line, (one,), (other,)) for one, other in pairs], is_table=True)
    for (line, given), (other, answers) in permutations(known, 2):
        if len(given) == len(answers):
            pairs = zip(given, answers, strict=True)
            yield Lookup([Entry(max(line, other), (one,), (two,)) for one, two in pairs], is_table=True)


class Reader:
    """One text, read as tokens."""

    def __init__(self, text: str, language: Language) -> None:
        self.words = lexed(text, language, MOST)
        self.parent, self.match = self._brackets()

    def _brackets(self) -> tuple[list[int], dict[int, int]]:
        """For each word the bracket that it stands in, -1 for none; for each bracket the one that closes it."""
        parent, match, open_ = [], dict[int, int](), list[int]()
        for at, word in enumerate(self.words):
            if word.text in _CLOSE and open_:
                match[open_.pop()] = at
            parent.append(open_[-1] if open_ else -1)
            if word.text in _OPEN:
                open_.append(at)
        return parent, match

    def _is(self, at: int, *texts: str) -> bool:
        return 0 <= at < len(self.words) and self.words[at].text in texts

    def _values(self, at: int) -> tuple[Value, ...]:
        """The literal at a place, if there is one."""
        return literals(self.words[at : at + 1]) if at >= 0 else ()

    def _literal(self, at: int) -> tuple[tuple[Value, ...], int] | None:
        """The literal, or the list of literals, at a word, and the word after it."""
        if at >= len(self.words):
            return None
        if value := self._values(at):
            return value, at + 1
        start = at
        for _ in range(5):  # vec![…], []string{…}, [2]int{…}, &[…]
            if self._is(start, "[", "{") and (values := self._inside(start)):
                return values, self.match[start] + 1
            if not (self._is(start, "[", "]", "&") or self._is_name(start) or self._values(start)):
                return None
            start += 1
        return None

    def _inside(self, at: int) -> tuple[Value, ...]:
        """The values of a bracket that holds literals and commas alone."""
        end = self.match.get(at, at)
        words = self.words[at + 1 : end] if end - at < 400 else ()
        return literals(words) if all(word.literal is not None or word.text == "," for word in words) else ()

    # --- what sources answer ----------------------------------------------------------------------

    def lookups(self) -> Iterator[Lookup]:
        """What a source looks up."""
        chain, last = Lookup(is_sheer=True), -1
        asked: list[list[Value]] = [[]]
        span, unequal = ALL, list[Value]()
        for at, word in enumerate(self.words):
            if word.literal is not None:
                continue
            if word.text in _EQUAL:
                values = [*self._values(at - 1), *self._values(at + 1)]
                (unequal if word.text.startswith("!") else asked[-1]).extend(values)
            elif word.text in ("<", "<=", ">", ">="):
                span = self._narrowed(span, at)
            elif word.text == "||":
                asked.append([])
            elif word.text in ("if", "case", ";", "}"):
                asked, span, unequal = [[]], ALL, []
            if unequal and word.text in ("{", ")"):
                chain.entries += self._otherwise(at, unequal)
                unequal = []
            ways: list[list[Value]] = []
            after = self._colon(at) if word.text == "case" else at
            if word.text == "case":
                ways = [[one] for one in literals(self.words[at + 1 : after if after > at else at + 40])]
            elif word.text == "=>":
                ways = self._arm(at)
            if word.text in ("?", "{", ")", "return", "&&") and any(asked):
                ways = asked
            is_between = word.text in ("?", "{", ")", "return") and span != ALL and not any(asked)
            given = self._answer(after) if any(ways) or is_between else None
            if given is None:
                continue
            if last >= 0 and at - last > _CHAIN:
                yield chain
                chain = Lookup(is_sheer=True)
            last = given[1]
            chain.entries += [Entry(word.line, tuple(way), given[0]) for way in ways if way]
            chain.entries += [Entry(word.line, (), given[0], span)] if is_between else []
            chain.default = self._default(last)
            asked, span = [[]], ALL
        yield chain
        yield from self.tables()

    def _otherwise(self, at: int, unequal: list[Value]) -> list[Entry]:
        """What is answered where a condition does not hold that asks for something else."""
        first = self._answer(at)
        rest = self._default(first[1]) if first else None
        return [Entry(self.words[at].line, tuple(unequal), rest)] if rest else []

    def _narrowed(self, span: Span, at: int) -> Span:
        """What a comparison by order leaves of some numbers."""
        right, left = self._values(at + 1), self._values(at - 1)
        value = next((one for one in (*right, *left) if not isinstance(one, str)), None)
        if value is None:
            return span
        step = 0 if self._is(at, "<=", ">=") else 1
        is_low = self._is(at, ">", ">=") is bool(right)
        return (max(span[0], value + step), span[1]) if is_low else (span[0], min(span[1], value - step))

    def _is_name(self, at: int) -> bool:
        return 0 <= at < len(self.words) and self.words[at].is_word

    def _colon(self, at: int) -> int:
        return next((n for n in range(at, min(at + 40, len(self.words))) if self._is(n, ":", "=>")), at)

    def _arm(self, at: int) -> list[list[Value]]:
        """What the pattern of an arm before `=>` holds, if that is literals alone."""
        ways: list[list[Value]] = [[]]
        depth = 0
        for n in range(at - 1, max(-1, at - 30), -1):
            word = self.words[n]
            if word.literal is not None:
                ways[-1].append(word.literal)
            elif word.text == ")":
                depth += 1
            elif word.text == "(" and depth:
                depth -= 1
            elif word.text == "|":
                ways.append([])
            elif not (depth and (word.text == "," or word.text in ("_", "Some", "Ok"))):
                break
        return ways

    def _answer(self, at: int) -> tuple[tuple[Value, ...], int] | None:
        """The literal that is answered after a condition, and the word after it."""
        while self._is(at, *_PASSED, "case") and not self._values(at):
            at += 1
        if self._is_name(at) and self._is(at + 1, "=", ":="):
            at += 2
        return self._closed(at)

    def _closed(self, at: int) -> tuple[tuple[Value, ...], int] | None:
        """A literal that nothing is reckoned with."""
        given = self._literal(at)
        if given is None:
            return None
        if given[1] >= len(self.words) or self.words[given[1]].line > self.words[given[1] - 1].line:
            return given
        return given if self._is(given[1], *_ENDS) else None

    def _default(self, at: int) -> tuple[Value, ...] | None:
        start = at
        while at < len(self.words) and at - start < 8 and self._is(at, *_BETWEEN):
            at += 1
        if self._values(at) and self._is(at + 1, "=>"):
            return None
        given = self._closed(at) if at > start else None
        return given[0] if given else None

    def tables(self) -> Iterator[Lookup]:
        """Objects, maps, and lists of rows."""
        tables: dict[int, Lookup] = {}
        for at, word in enumerate(self.words):
            home = self.parent[at]
            if word.text == ":" and home >= 0 and at:
                key, given = self._key(at - 1), self._closed(at + 1)
                if key and given and not self._is(at - 2, "?", "case"):
                    tables.setdefault(home, Lookup(is_table=True)).entries.append(Entry(word.line, key, given[0]))
            elif word.text in _OPEN and home >= 0 and len(row := self._inside(at)) >= 2:
                tables.setdefault(home, Lookup(is_table=True)).entries.append(Entry(word.line, row[:-1], row[-1:]))
        yield from tables.values()

    def sequences(self) -> Iterator[Listed]:
        """Lists of literals, and texts that are lists."""
        for at, word in enumerate(self.words):
            if isinstance(word.literal, str):
                yield word.line, fields(word.literal)
            elif word.text in _OPEN:
                yield word.line, self._inside(at)

    def _key(self, at: int) -> tuple[Value, ...]:
        word = self.words[at]
        if word.literal is not None:
            return (word.literal,)
        if word.is_word:
            return (word.text,)
        if word.text in ("}", "]"):
            start = next((n for n in range(at - 1, max(-1, at - 40), -1) if self.match.get(n) == at), -1)
            return self._inside(start) if start >= 0 else ()
        return ()

    # --- what tests expect ------------------------------------------------------------------------

    def learn(self, wanted: Learns, path: str) -> None:
        """Tell what the tests of a text want."""
        bound: dict[str, tuple[str, tuple[Value, ...]]] = {}
        for at, word in enumerate(self.words):
            if word.is_word and self._is(at + 1, "(") and not _ASSERTING.fullmatch(word.text):
                end = self.match.get(at + 1, -1)
                inside = self.words[at + 2 : end] if 0 < end - at < 200 else ()
                if not (given := literals(inside)):
                    continue
                if name := self._bound(at):
                    bound[name] = (word.text, given)
                self._expect(wanted, f"{path} {word.text}", given, at, end + 1)
            elif word.text in bound and not self._is(at + 1, "=", ":=", "("):
                name, given = bound[word.text]
                self._expect(wanted, f"{path} {name}", given, at, at + 1)
            elif word.text in _OPEN:
                self._row(wanted, path, at)

    def _bound(self, at: int) -> str:
        """The variable that a call's result is given to."""
        for n in range(at - 1, max(-1, at - 8), -1):
            if self._is(n, "=", ":="):
                first = n - 1
                while self._is(first - 1, ",") and first >= 2:
                    first -= 2
                return self.words[first].text if self._is_name(first) else ""
            if not (self._is_name(n) or self._is(n, ".", "::", "await", "&")):
                return ""
        return ""

    def _expect(self, wanted: Learns, group: str, given: tuple[Value, ...], at: int, end: int) -> None:
        """Find what is expected of a call, or of its result, that stands between two words."""
        while self._is(end, ")", "?") or (
            self._is(end, ".") and self._is(end + 1, "unwrap", "await", "not", "to", "be", "deep")
        ):
            end += 1 if not self._is(end, ".") else 2
            if self._is(end, "(") and self._is(end + 1, ")"):
                end += 2
        if self._is(end, *_EQUAL, ","):
            after = self._literal(end + 1)
        elif self._is(end, ".") and self._is(end + 2, "("):
            after = self._literal(end + 3)
        else:
            after = None
        if after:
            wanted.pair(given, after[0], group)
        start = at
        while start >= 2 and self._is(start - 1, ".", "::"):
            start -= 2
        if self._is(start - 1, ",", *_EQUAL) and (before := self._values(start - 2)):
            wanted.pair(given, before, group)

    def _row(self, wanted: Learns, path: str, at: int) -> None:
        """A bracket that holds literals, their names and lists of them: a row of a table."""
        end, group = self.match.get(at, at), f"{path}:{self.parent[at]}"
        if not 2 < end - at < 200 or self.parent[at] < 0:
            return
        parts: list[list[Value]] = []
        n = at + 1
        while n < end:
            given = self._literal(n)
            if given:
                parts.append(list(given[0]))
                n = given[1]
            elif self._is(n, ",") or (self._is_name(n) and self._is(n + 1, ":")):
                n += 1 if self._is(n, ",") else 2
            else:
                return
        wanted.row(parts, group)
        if len(parts) > 2 and isinstance(parts[0][0], str):
            wanted.row(parts[1:], group)
