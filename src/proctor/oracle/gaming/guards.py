"""What stands around an assertion in JavaScript, TypeScript, Go and Rust: a condition, a catcher, a function of which
nothing says that it is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from proctor.oracle.gaming.brackets import LONG, Brackets
from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.conditions import head, is_where, never, parts
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
_QUIET = re.compile(
    r"console|log\w*|warn\w*|debug|info|trace|print\w*|write\w*|String|stringify|inspect|Boolean|is[A-Z]\w*"
    r"|if|while|for|switch|function|catch"
)
"""What a catcher gives its error to and tells nobody of it."""
_PANICS = frozenset({"unwrap", "expect", "is_err", "is_ok", "resume_unwind", "panic!"})
_DEFERS = frozenset({"setTimeout", "setInterval", "setImmediate", "queueMicrotask", "nextTick"})
_ENDS = frozenset({"done", "resolve", "reject", "cb", "callback", "next", "end"})
"""What a function that runs later calls, so that the test waits for it."""
_WAITS = frozenset({"Wait", "await", "return", "<", "join", "block_on", "scope"})
_FLUSHES = re.compile(r"(?:tick|flush|runAll|runOnlyPending|advanceTimers)\w*")
"""What runs all that waits."""
_ARROWS = {_S: ("=>",), _G: (), _R: ("|", "||")}
_FUNCTION = {_S: "function", _G: "func", _R: "fn"}
_SAYS = frozenset({"assert", "ok", "isTrue", "isOk", "assert!", "True", "NotNil", "expect"})
_SAYS_SO = re.compile(
    r"\.(?:(?:toBe|toEqual|toStrictEqual)\(true\)|toBe(?:Truthy|Defined)\(|not\.toBe(?:Null|Undefined|Falsy)\("
    r"|to\.be\.(?:true|ok)\b)"
)
_PLAIN = frozenset({"assert", "expect", "equal", "strictEqual", "deepEqual", "toBe", "toEqual", "assert_eq!", "t"})

_DEEP = 60
"""Brackets around an assertion that are looked at."""
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
class _Reader(Brackets):
    whole: Counter[str]

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
        if {"resolves", "rejects", "doesNotReject"} & set(said) and self.is_left_alone(at):
            guards.append(Guard(UNAWAITED, line, False))
        if never(own[head(own) :]):
            guards.append(Guard(NEVER, line, True))
        some = [] if any(map(is_where, own)) else parts(own)
        return Check((*own, *said), line, tuple(guards), frozenset((*part, *said) for part in some))

    def _own(self, at: int) -> tuple[str, ...]:
        """The condition on which a Go test fails: what it asserts."""
        opener = self.openers[at]
        start = self.start(opener) if opener >= 0 else 0
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
            elif at > 0 and self.text(at - 1) == "allSettled" and self.is_settled(at):
                yield Guard(SWALLOWED, self.tokens[at].line, True)

    def _beside(self, at: int, key: tuple[str, ...]) -> Iterator[Guard]:
        """What the statement says before a place, on its level: a condition, the head of a function."""
        start = self.start(at)
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
                    yield from self._function(here, self.past(here + 1))
                return
            here -= 1

    def _condition(self, start: int, end: int, key: tuple[str, ...]) -> Iterator[Guard]:
        line = self.tokens[start].line if start < len(self.tokens) else 0
        all_said = [token.text for token in self.tokens[start:end]]
        said = set(all_said)
        values = {text for text in key if text[:2] in ("n:", "s:")}
        words = {text for text in key if text[:1].isalpha() and text[1:2] != ":"} - _PLAIN
        if never(all_said):
            yield Guard(NEVER, line, True)
        elif values and words & said and values <= said:
            yield Guard(HOLDS, line, True)
        elif not any(map(is_where, said)) and not self._is_asserted(start, all_said):
            yield Guard(CONDITION, line, False)

    def _is_asserted(self, start: int, said: list[str]) -> bool:
        """Whether an assertion before a condition, on its level, says that it holds."""
        level = self.openers[start - 1 if self.text(start - 1) == "(" else start]
        for at in range(max(2, start - LONG), start - len(said)):
            is_said = self.text(at - 2) in _SAYS and self.text(at - 1) == "(" and self.openers[at - 2] == level
            end = at + len(said)
            if is_said and self.text(end) in (")", ",") and [one.text for one in self.tokens[at:end]] == said:
                after = "".join(one.text for one in self.tokens[end + 1 : end + 8])
                return self.text(at - 2) != "expect" or bool(_SAYS_SO.match(after))
        return False

    def _block(self, at: int, key: tuple[str, ...]) -> Iterator[Guard]:
        """What the block that begins at a bracket hangs on."""
        before, start, end = self.text(at - 1), self.start(at), self.closing(at)
        line = self.tokens[at].line
        if before in _ARROWS[self.language]:
            yield from self._function(at - 1, end)
        elif before == "try":
            yield from self._caught(end, line)
        elif self.text(start) == "if" or (self.text(start) == "else" and self.text(start + 1) == "if"):
            if not self._asserts_else(end):
                first = start + 1 + (self.text(start) == "else")
                yield from self._condition(first + (self.language is _S), at - (self.language is _S), key)
        elif before == ")" and self.text(self.openers[at - 1] - 1) == "if":
            if not self._asserts_else(end):
                yield from self._condition(self.openers[at - 1] + 1, at - 1, key)
        elif self._is_for_none(at):
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

    def _is_for_none(self, at: int) -> bool:
        """Whether a block is run for each of nothing."""
        said = [token.text for token in self.tokens[max(0, at - 5) : at]]
        if self.language is _R:
            return said[-3:] == ["in", "[", "]"] or said == ["in", "n:0", ".", ".", "n:0"]
        if self.language is not _S or said[-1:] != [")"] or self.text(self.openers[at - 1] - 1) not in ("for", "await"):
            return False
        return said[-4:-1] == ["of", "[", "]"] or (said[-3:-2] == ["of"] and said[-2] in self.empty)

    @cached_property
    def empty(self) -> set[str]:
        """The names that are given an empty list, and asked for once."""
        names = (at for at in range(len(self.tokens) - 3) if self.text(at - 1) in ("const", "let", "var"))
        given = {self.text(at): [self.text(n) for n in range(at + 1, at + 5)] for at in names}
        return {
            name
            for name, said in given.items()
            if said[:3] == ["=", "[", "]"] and said[3] != "." and self.whole[name] == 2
        }

    # --- catchers -------------------------------------------------------------------------------

    def _caught(self, at: int, line: int) -> Iterator[Guard]:
        """What comes after a `try`: a catcher that tells nobody, an end that lets no failure out."""
        if self.text(at) == "catch":
            opening = self.closing(at + 1) if self.text(at + 1) == "(" else at + 1
            handler = range(opening, self.closing(opening))
            kept = {self.text(n - 1) for n in handler if self.text(n) == "="}
            is_thrown = any(self.thrown.get(name, -1) >= handler.stop for name in kept)
            if not is_thrown and not self._tells(handler, range(at + 1, opening)):
                yield Guard(SWALLOWED, line, not kept)
            at = handler.stop
        if self.text(at) == "finally":
            inside = (n for n in range(at + 1, self.closing(at + 1)) if self.openers[n] == at + 1)
            if any(self.text(n) in ("return", "break", "continue") for n in inside):
                yield Guard(SWALLOWED, line, True)

    @cached_property
    def thrown(self) -> dict[str, int]:
        """The last place at which each name is thrown."""
        return {self.text(at): at for at in range(len(self.tokens)) if self.text(at - 1) == "throw"}

    def _tells(self, places: range, given: range) -> bool:
        """Whether a catcher says of a failure: throws, asserts, or hands on the error that it is given."""
        names = {self.tokens[n].text for n in given if self.tokens[n].is_word} - {"function", "async"}
        return any(
            _RETHROWS.fullmatch(self.text(at)) or (self.text(at) in names and self._is_handed(at, places.start))
            for at in places
        )

    def _is_handed(self, at: int, start: int) -> bool:
        """Whether what stands at a place is given to a call that may tell the runner."""
        opener, callees = self.openers[at], list[str]()
        while opener > start:
            if self.text(opener) == "(" and self.tokens[opener - 1].is_word:
                callees += [self.text(opener - 1), self.text(opener - 3) if self.text(opener - 2) == "." else ""]
            opener = self.openers[opener]
        return bool(callees) and not any(map(_QUIET.fullmatch, callees))

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
            if (name == "_" or self.whole[name] - self.idle[name] < 2) and (owner := self._owner(at)) != "used":
                yield Guard(UNCALLED, line, not owner)
        elif before == "go":
            if not _WAITS & {token.text for token in self.tokens[end:]}:
                yield Guard(UNAWAITED, line, False)
        elif before in ("(", ","):
            yield from self._argument(self.openers[first - 1] if before == "," else first - 1, line, words, end)
        elif before in ("", ";", "{", "}") and first > 0 and self._is_dropped(first, end):
            yield Guard(UNCALLED, line, True)

    def _is_dropped(self, first: int, end: int) -> bool:
        """Whether a function expression is a statement by itself. Go knows none; Rust's last is what a block gives; in
        a script it may be what an element of markup is given."""
        if self.language is _G or self.text(end) == "(":
            return False
        if self.language is _R:
            return self.text(end) == ";"
        is_markup = self.text(first - 1) == "{" and self.text(end) == "}"
        return not (is_markup and (self.text(first - 2) in ("=", ">") or self.text(end + 1) == "<"))

    @cached_property
    def idle(self) -> Counter[str]:
        """How often a name is only mentioned, so that it does not count as unused."""
        places = (at for at in range(1, len(self.tokens)) if self.text(at + 1) not in ("(", ".", "["))
        return Counter(
            self.text(at)
            for at in places
            if self.text(at - 1) == "void" or (self.text(at - 1) == "=" and self.text(at - 2) == "_")
        )

    def _owner(self, at: int) -> str:
        """What a Rust function is a method of: "" for nothing, "used" for a type that is used beside that."""
        block = self.openers[at]
        head = [token.text for token in self.tokens[self.start(block) : block]] if block > 0 else []
        if self.language is not _R or not {"impl", "trait"} & set(head):
            return ""
        names = head[head.index("for") + 1 :] if "for" in head else head[1:]
        return "used" if any(self.whole[name] > 2 for name in names if name[:1].isalpha()) else "unused"

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
        start = self.start(at)
        names = [token.text for token in self.tokens[start:at] if token.is_word]
        names = [name for name in names if name not in ("const", "let", "var", "mut")]
        return names[0] if names and self.text(at - 1) != "." else ""

    def _argument(self, opener: int, line: int, words: set[str], end: int) -> Iterator[Guard]:
        """What is done with a function that is given to the call with this bracket."""
        is_named = opener > 0 and self.tokens[opener - 1].is_word and self.text(opener - 1) != "void"
        callee, after = self.text(opener - 1) if is_named else "", self.closing(opener)
        if callee in _DEFERS and not words & (_ENDS | self.callbacks) and self.flushed < after:
            yield Guard(UNAWAITED, line, False)
        elif callee == "catch_unwind":
            start = self.start(opener)
            is_idle = self.text(after) == ";" and [self.text(n) for n in range(start, start + 3)] == ["let", "_", "="]
            if is_idle or not _PANICS & {token.text for token in self.tokens[after:]}:
                yield Guard(SWALLOWED, line, True)
        elif callee == "spawn" and not (
            self.is_in_call(opener, "scope") or _WAITS & {t.text for t in self.tokens[after:]}
        ):
            yield Guard(UNAWAITED, line, False)
        elif callee in ("then", "finally") or not callee:
            yield from self._promised(opener, line, bool(callee) or "async" in self.text(opener + 1))
        elif callee in ("forEach", "map", "each") and self.text(opener - 2) == ".":
            given = self.text(opener - 3)
            if given in self.empty or (given == "]" and self.text(opener - 4) == "["):
                yield Guard(NO_CASE, line, True)

    @cached_property
    def flushed(self) -> int:
        """The last place at which all that waits is run; -1 for none."""
        return max((at for at in range(len(self.tokens)) if _FLUSHES.fullmatch(self.text(at))), default=-1)

    def _promised(self, opener: int, line: int, is_promise: bool) -> Iterator[Guard]:
        """A promise whose failure is caught by nothing that tells, or that nobody waits for."""
        at = self.closing(opener)
        most = opener + LONG
        while self.text(at) in (".", "(") and at < most:
            end = self.closing(at if self.text(at) == "(" else at + 2)
            said = {self.text(n) for n in range(at, end)}
            if self.text(at + 1) == "catch" and said & {"=>", "function"}:
                heads = (n for n in range(at + 2, end) if self.text(n) in ("=>", "{"))
                if not self._tells(range(at + 2, end), range(at + 3, next(heads, at + 3))):
                    yield Guard(SWALLOWED, line, True)
                    return
            at = end
        is_run = self.text(self.start(opener)) == "cy" or self.flushed >= at
        is_run = is_run or bool((_ENDS | self.callbacks) & {self.text(n) for n in range(opener, at)})
        if is_promise and self.is_left_alone(opener) and not is_run:
            yield Guard(UNAWAITED, line, False)
