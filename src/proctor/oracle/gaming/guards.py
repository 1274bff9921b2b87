"""What stands around an assertion in JavaScript, TypeScript, Go and Rust: a condition, a catcher, a function of which
nothing says that it is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Token

_S, _G, _R = Language.SCRIPT, Language.GO, Language.RUST
_HEADS = {
    _S: re.compile(r"(?:expect|assert|check|verify|validate)\w*"),
    _G: re.compile(r"(?:assert|require|check|expect|verify|must)\w*"),
    _R: re.compile(r"(?:assert\w*|panic|unreachable|prop_assert\w*)!|(?:assert|check|verify|expect)\w*"),
}
"""What begins something that can fail on purpose."""
_FAILS = re.compile(r"(?:Error|Fatal|Fail)\w*")
_RETHROWS = re.compile(
    r"throw|done|reject|fail\w*|next|panic!?|resume_unwind|exit\w*|push|(?:assert|expect|check|verify)\w*!?"
)
"""What a catcher says that does not swallow: it throws again, tells the runner, or asserts."""
_DEFERS = frozenset({"setTimeout", "setInterval", "setImmediate", "queueMicrotask", "nextTick"})
_ENDS = frozenset({"done", "resolve", "reject", "cb", "callback", "next", "end"})
"""What a function that runs later calls, so that the test waits for it."""
_WAITS = frozenset({"Wait", "await", "return", "<", "join", "block_on", "scope"})
_ARROWS = {_S: ("=>",), _G: (), _R: ("|", "||")}
_FUNCTION = {_S: "function", _G: "func", _R: "fn"}
_FALSE = frozenset({"false", "n:0", "null", "undefined", "s:"})
_WHERE = re.compile(r"\w*(?:platform|GOOS|GOARCH|Short|Getenv|LookupEnv|env|LookPath|version|cfg)\w*")
_GOES_ON = frozenset({".", "&&", "||", "??", "+", "?", ":", "=", "==", "!=", "===", "!==", "=>", "else"})
_PLAIN = frozenset({"assert", "expect", "equal", "strictEqual", "deepEqual", "toBe", "toEqual", "assert_eq!", "t"})

_DEEP = 60
"""Brackets around an assertion that are looked at."""
_LONG = 400
"""Words of a statement that are looked at, before and after a function in it."""
_MOST = 500
"""Assertions of a test that are looked at."""
CONDITION = "it asserts only on a new condition"
SWALLOWED = "a failed assertion is swallowed"
UNAWAITED = "nobody waits for what it asserts"
UNCALLED = "its assertion stands in a function that nobody calls"
NO_CASE = "its assertion is run for no case"
HOLDS = "it asserts only where the assertion holds anyway"
NEVER = "its assertion stands under a condition that never holds"


@dataclass(frozen=True)
class Guard:
    """Something that keeps an assertion from failing its test. `certain`: nothing honest looks like it."""

    why: str
    line: int
    certain: bool


@dataclass(frozen=True)
class Check:
    """An assertion; `key` is the same for those that say the same."""

    key: tuple[str, ...]
    line: int
    guards: tuple[Guard, ...]
    parts: frozenset[tuple[str, ...]] = frozenset()
    """The keys that it would have on one of the conditions alone that have to hold together."""


def checks_of(tokens: Sequence[Token], language: Language, whole: Counter[str]) -> list[Check]:
    """The assertions of a test. `whole` counts the words of its file."""
    return list(islice(_Reader(tokens, language, whole).checks(), _MOST))


@dataclass(frozen=True)
class _Reader:
    tokens: Sequence[Token]
    language: Language
    whole: Counter[str]

    @cached_property
    def openers(self) -> list[int]:
        """For each token the bracket that it stands in, -1 for none; for a closing bracket the one it closes."""
        found, stack = list[int](), [-1]
        for at, token in enumerate(self.tokens):
            text = "" if token.value else token.text
            if text in (")", "]", "}"):
                found.append(stack.pop() if len(stack) > 1 else -1)
                continue
            found.append(stack[-1])
            if text in ("(", "[", "{"):
                stack.append(at)
        return found

    @cached_property
    def closers(self) -> dict[int, int]:
        """For each bracket the one that closes it."""
        ends = (at for at in range(len(self.tokens)) if self.text(at) in (")", "]", "}"))
        return {self.openers[at]: at for at in ends}

    def closing(self, at: int) -> int:
        """The place after the bracket that closes the one at a place."""
        return self.closers.get(at, len(self.tokens) - 1) + 1

    def text(self, at: int) -> str:
        inside = 0 <= at < len(self.tokens) and not self.tokens[at].value
        return self.tokens[at].text if inside else ""

    def checks(self) -> Iterator[Check]:
        for here, token in enumerate(self.tokens):
            at = here
            if not token.is_word or self.text(at - 1) in ("function", "fn", "func", "const", "let"):
                continue
            if self.text(at - 1) == ".":
                if not (self.language is _G and _FAILS.fullmatch(token.text) and self.text(at - 2) in ("t", "b")):
                    continue
                at -= 2
            elif not _HEADS[self.language].fullmatch(token.text):
                continue
            end = self._end(at)
            if end > at + 1:
                yield self._check(at, end)

    def _end(self, at: int) -> int:
        """The place after a call with all that is called on it; the one after the word where it is none."""
        end, called = at + 1, False
        while end < len(self.tokens):
            if self.text(end) == "(" or (self.language is _R and self.text(end) in ("[", "{") and not called):
                end, called = self.closing(end), True
            elif self.text(end) == "." and end + 1 < len(self.tokens) and self.tokens[end + 1].is_word:
                end += 2
            else:
                break
        return end if called else at + 1

    def _check(self, at: int, end: int) -> Check:
        said = tuple(token.text for token in self.tokens[at:end])
        own = self._own(at) if self.language is _G and self.text(at + 1) == "." else ()
        guards = list(self._around(self.openers[at] if own else at, said))
        line = self.tokens[at].line
        if {"resolves", "rejects", "doesNotReject"} & set(said) and self._is_left_alone(at):
            guards.append(Guard(UNAWAITED, line, False))
        if own == ("false",) or ("false" in own and "&&" in own):
            guards.append(Guard(NEVER, line, True))
        parts = [] if any(map(_WHERE.fullmatch, own)) else _parts(own)
        return Check((*own, *said), line, tuple(guards), frozenset((*part, *said) for part in parts))

    def _own(self, at: int) -> tuple[str, ...]:
        """The condition on which a Go test fails: what it asserts."""
        opener = self.openers[at]
        start = self._start(opener) if opener >= 0 else 0
        return tuple(token.text for token in self.tokens[start + 1 : opener]) if self.text(start) == "if" else ()

    # --- what is around a place -----------------------------------------------------------------

    def _around(self, at: int, key: tuple[str, ...]) -> Iterator[Guard]:
        for _ in range(_DEEP):
            if at < 0:
                return
            yield from self._beside(at, key)
            at = self.openers[at]
            if at >= 0 and self.text(at) == "{":
                yield from self._block(at, key)

    def _start(self, at: int) -> int:
        """Where the statement that a place stands in begins."""
        opener = self.openers[at]
        while at - 1 > opener:
            before = self.text(at - 1)
            if before == ";" and not (self.language is _G and self._is_header(at)):
                break
            if before in ("}", "{", ",") and self.text(at) not in (".", "else", "catch", "finally"):
                break
            is_new_line = self.tokens[at - 1].line < self.tokens[at].line and self.language is not _R
            if is_new_line and not ({before, self.text(at)} & _GOES_ON or self._is_head(at - 1)):
                break
            at = self.openers[at - 1] if before in (")", "]", "}") else at - 1
        return at

    def _is_header(self, at: int) -> bool:
        """Whether a semicolon before a place belongs to the head of a Go statement."""
        return self.tokens[at - 2].line == self.tokens[at].line

    def _is_head(self, at: int) -> bool:
        """Whether the head of a statement without a block ends at a place."""
        return self.text(at) == ")" and self.text(self.openers[at] - 1) in ("if", "while", "for")

    def _beside(self, at: int, key: tuple[str, ...]) -> Iterator[Guard]:
        """What the statement says before a place, on its level: a condition, the head of a function."""
        start = self._start(at)
        here = at - 1
        while here >= start:
            text = self.text(here)
            if text in (")", "]", "}") and self.openers[here] >= start:
                opener = self.openers[here]
                if text == ")" and self.text(opener - 1) == "if" and self.language is _S and self.text(at) != "{":
                    yield from self._condition(opener + 1, here, key)
                here = opener - 1
                continue
            if text in ("&&", "||", "?", "??") and self.language is _S:
                yield from self._condition(start, here, key)
                return
            if text in _ARROWS[self.language] or (text == "=>" and self.language is _R):
                if text != "=>" or self.language is _S:
                    yield from self._function(here, self._past(here + 1))
                return
            here -= 1

    def _past(self, at: int) -> int:
        """The place after the expression that is the body of a function."""
        while at < len(self.tokens) and self.text(at) not in (",", ";", ")", "}", "]"):
            at = self.closing(at) if self.text(at) in ("(", "[", "{") else at + 1
        return at

    def _condition(self, start: int, end: int, key: tuple[str, ...]) -> Iterator[Guard]:
        line = self.tokens[start].line if start < len(self.tokens) else 0
        said = {token.text for token in self.tokens[start:end]}
        values = {text for text in key if text[:2] in ("n:", "s:")}
        words = {text for text in key if text[:1].isalpha() and text[1:2] != ":"} - _PLAIN
        if (end - start == 1 and said <= _FALSE) or {"false", "&&"} <= said:
            yield Guard(NEVER, line, True)
        elif values and words & said and values <= said:
            yield Guard(HOLDS, line, True)
        elif not any(_WHERE.fullmatch(text) for text in said):
            yield Guard(CONDITION, line, False)

    def _block(self, at: int, key: tuple[str, ...]) -> Iterator[Guard]:
        """What the block that begins at a bracket hangs on."""
        before, start, end = self.text(at - 1), self._start(at), self.closing(at)
        line = self.tokens[at].line
        if before in _ARROWS[self.language]:
            yield from self._function(at - 1, end)
        elif before == "try":
            if self.text(end) == "catch":
                opening = next((n for n in range(end, len(self.tokens)) if self.text(n) == "{"), end)
                handler = range(opening, self.closing(opening))
                if not self._tells(handler):
                    yield Guard(SWALLOWED, line, not any(self.text(n) == "=" for n in handler))
        elif self.text(start) == "if" or (self.text(start) == "else" and self.text(start + 1) == "if"):
            if not self._asserts_else(end):
                first = start + 1 + (self.text(start) == "else")
                yield from self._condition(first + (self.language is _S), at - (self.language is _S), key)
        elif before == ")" and self.text(self.openers[at - 1] - 1) == "if":
            if not self._asserts_else(end):
                yield from self._condition(self.openers[at - 1] + 1, at - 1, key)
        elif before == ")" and self.text(at - 2) == "]" and self.text(at - 3) == "[":
            yield Guard(NO_CASE, line, True)
        else:
            head = next((n for n in range(at - 1, start - 1, -1) if self.text(n) == _FUNCTION[self.language]), -1)
            if head >= 0 and self.openers[head] >= 0:
                yield from self._function(head, end)

    def _asserts_else(self, end: int) -> bool:
        """Whether the other branch of a condition asserts, too."""
        if self.text(end) != "else":
            return False
        opening = next((n for n in range(end, len(self.tokens)) if self.text(n) == "{"), end)
        heads = self.tokens[opening : self.closing(opening)]
        return any(
            _HEADS[self.language].fullmatch(one.text) or _FAILS.fullmatch(one.text) for one in heads if one.is_word
        )

    def _tells(self, places: range) -> bool:
        return any(_RETHROWS.fullmatch(self.text(at)) for at in places)

    # --- functions --------------------------------------------------------------------------------

    def _function(self, at: int, end: int) -> Iterator[Guard]:
        """Whether somebody calls the function of which the head is at a place, and which ends at another."""
        line, first, name = self.tokens[at].line, self._first(at), ""
        if self.text(at) == _FUNCTION[self.language] and at + 1 < len(self.tokens) and self.tokens[at + 1].is_word:
            name = self.text(at + 1)
        before = self.text(first - 1)
        words = {token.text for token in self.tokens[at:end]}
        if before in ("=", ":="):
            name = self._given(first - 1)
        if name:
            if name == "_" or self.whole[name] < 2:
                yield Guard(UNCALLED, line, True)
        elif before == "go":
            if not _WAITS & {token.text for token in self.tokens[end:]}:
                yield Guard(UNAWAITED, line, False)
        elif before in ("(", ","):
            yield from self._argument(self.openers[first - 1] if before == "," else first - 1, line, words, end)
        elif before in ("", ";", "{", "}") and self.text(end) != "(" and first - 1 >= 0:
            yield Guard(UNCALLED, line, True)

    def _first(self, at: int) -> int:
        """Where a function expression begins, of which the arrow, the keyword or the last `|` is at a place."""
        if self.text(at) == "=>":
            at = self.openers[at - 1] if self.text(at - 1) == ")" else at - 1
        elif self.text(at) == "|":
            at = next((n for n in range(at - 1, -1, -1) if self.text(n) == "|"), at)
        while self.text(at - 1) in ("async", "move"):
            at -= 1
        return at

    def _given(self, at: int) -> str:
        """The name that a value is given to by the sign at a place."""
        start = self._start(at)
        names = [token.text for token in self.tokens[start:at] if token.is_word]
        names = [name for name in names if name not in ("const", "let", "var", "mut")]
        return names[0] if names and self.text(at - 1) != "." else ""

    def _argument(self, opener: int, line: int, words: set[str], end: int) -> Iterator[Guard]:
        """What is done with a function that is given to the call with this bracket."""
        is_named = opener > 0 and self.tokens[opener - 1].is_word and self.text(opener - 1) != "void"
        callee, after = self.text(opener - 1) if is_named else "", self.closing(opener)
        if callee in _DEFERS and not words & _ENDS:
            yield Guard(UNAWAITED, line, False)
        elif callee == "catch_unwind":
            if not {"unwrap", "expect", "is_err", "is_ok", "resume_unwind"} & {t.text for t in self.tokens[after:]}:
                yield Guard(SWALLOWED, line, True)
        elif callee == "spawn" and not _WAITS & {token.text for token in self.tokens[after:]}:
            yield Guard(UNAWAITED, line, False)
        elif callee in ("then", "finally") or not callee:
            yield from self._promised(opener, line, bool(callee) or "async" in self.text(opener + 1))
        elif callee in ("forEach", "map", "each") and self.text(opener - 3) == "]" and self.text(opener - 4) == "[":
            yield Guard(NO_CASE, line, True)

    def _promised(self, opener: int, line: int, is_promise: bool) -> Iterator[Guard]:
        """A promise whose failure is caught by nothing that tells, or that nobody waits for."""
        at = self.closing(opener)
        most = opener + _LONG
        while self.text(at) in (".", "(") and at < most:
            end = self.closing(at if self.text(at) == "(" else at + 2)
            said = {self.text(n) for n in range(at, end)}
            if self.text(at + 1) == "catch" and said & {"=>", "function"} and not self._tells(range(at + 2, end)):
                yield Guard(SWALLOWED, line, True)
                return
            at = end
        if is_promise and self._is_left_alone(opener) and not _ENDS & {self.text(n) for n in range(opener, at)}:
            yield Guard(UNAWAITED, line, False)

    def _is_left_alone(self, at: int) -> bool:
        """Whether the statement of a place is nothing but a call, of which nobody takes what comes of it."""
        start, opener = self._start(at), self.openers[at]
        said = {self.text(n) for n in range(max(start, at - _LONG), at)}
        return not said & {"await", "return", "=", "yield", "=>"} and (opener < 0 or self.text(opener) == "{")


def _parts(own: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The conditions of a Go test that have to hold together, each behind what is said before them; none for one."""
    first = len(own) - own[::-1].index(";") if ";" in own else 0
    ends = [at for at in range(first, len(own)) if own[at] == "&&"]
    return [(*own[:first], *own[a + 1 : b]) for a, b in pairwise([first - 1, *ends, len(own)])] if ends else []
