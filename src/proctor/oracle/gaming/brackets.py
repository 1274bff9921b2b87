"""Code as tokens with brackets: what a place stands in, and where its statement begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Token

_GOES_ON = frozenset({".", "&&", "||", "??", "+", "?", ":", "=", "==", "!=", "===", "!==", "=>", "else"})
LONG = 400
"""Words of a statement that are looked at, before and after a function in it."""


@dataclass(frozen=True)
class Brackets:
    """The tokens of a test in a language of braces."""

    tokens: Sequence[Token]
    language: Language

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

    def start(self, at: int) -> int:
        """Where the statement that a place stands in begins."""
        opener = self.openers[at]
        while at - 1 > opener:
            before = self.text(at - 1)
            if before == ";" and not (self.language is Language.GO and self._is_header(at)):
                break
            if before in ("}", "{", ",") and self.text(at) not in (".", "else", "catch", "finally"):
                break
            is_new_line = self.tokens[at - 1].line < self.tokens[at].line and self.language is not Language.RUST
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

    def past(self, at: int) -> int:
        """The place after the expression that is the body of a function."""
        while at < len(self.tokens) and self.text(at) not in (",", ";", ")", "}", "]"):
            at = self.closing(at) if self.text(at) in ("(", "[", "{") else at + 1
        return at

    def is_left_alone(self, at: int, *though: str) -> bool:
        """Whether the statement of a place is nothing but a call, of which nobody takes what comes of it."""
        start, opener = self.start(at), self.openers[at]
        said = {self.text(n) for n in range(max(start, at - LONG), at)}
        return not said & ({"await", "return", "=", "yield", "=>"} - {*though}) and (
            opener < 0 or self.text(opener) == "{"
        )

    def is_settled(self, at: int) -> bool:
        """Whether the call with this bracket is waited for, and nobody asks what came of it."""
        return self.is_left_alone(at, "await", "return") and self.text(self.closing(at)) != "."

    @cached_property
    def callbacks(self) -> frozenset[str]:
        """What a script's runner gives to a test, and the test calls to say that it is done."""
        first = next((at for at in range(len(self.tokens)) if self.text(at) in ("=>", "{")), 0)
        given = {token.text for token in self.tokens[2:first] if token.is_word} - {"async", "function"}
        return frozenset(given & {self.text(at - 1) for at in range(first, len(self.tokens)) if self.text(at) == "("})

    def is_in_call(self, at: int, name: str) -> bool:
        """Whether a place stands in what is given to a call of a name."""
        while at > 0 and self.text(at - 1) != name:
            at = self.openers[at]
        return at > 0
