"""Tests in JavaScript, Go and Rust without the words that they fail with. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from proctor.oracle.gaming.tokens import Token, closing
from proctor.oracle.moves import calm
from proctor.oracle.moves.tables import Tokens, texts

_VALUES = {
    **dict.fromkeys(("expect", "assert", "assert!", ".ok"), 1),
    **dict.fromkeys(("assert_eq!", "assert_ne!", ".equal", ".notEqual", ".strictEqual", ".notStrictEqual"), 2),
    **dict.fromkeys((".deepEqual", ".notDeepEqual", ".deepStrictEqual", ".notDeepStrictEqual"), 2),
    **dict.fromkeys((".True", ".False", ".Nil", ".NotNil", ".NoError", ".Empty", ".NotEmpty"), 2),
    **dict.fromkeys((".Equal", ".NotEqual", ".Len", ".Contains", ".NotContains"), 3),
}
"""How many values an assertion takes before its words; of Go's, with the test that it fails."""
_FAILS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})


def unworded(tokens: Tokens, theirs: Collection[str]) -> list[Token]:
    """Code without the words of its assertions, where these do nothing; what is one of `theirs` is no assertion."""
    dropped: set[int] = set()
    for at in range(len(tokens) - 1):
        values = _values(texts(tokens[max(0, at - 2) : at + 1]), theirs) if tokens[at + 1].text == "(" else 0
        commas = list(_commas(tokens, at + 1)) if values else []
        end = closing(tokens, at + 1) - 1
        if len(commas) >= values > 0 and _are_words(tokens[commas[values - 1] + 1 : end]):
            dropped.update(range(commas[values - 1], end))
    return [token for at, token in enumerate(tokens) if at not in dropped]


def _values(called: Sequence[str], theirs: Collection[str]) -> int:
    """How many values a call takes before words, by its name and what stands before that; 0 if it is no assertion."""
    name, root = called[-1], called[-1]
    if called[:-1][-1:] == ["."]:
        name, root = f".{name}", called[0]
        if root not in ("assert", "require"):
            return 0
    return 0 if root.removesuffix("!") in theirs else _VALUES.get(name, 0)


def _commas(tokens: Tokens, at: int) -> Iterator[int]:
    """The places of the commas that part what stands in the brackets that open at a place."""
    depth = 0
    for place in range(at, closing(tokens, at)):
        text = "" if tokens[place].value else tokens[place].text
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if text == "," and depth == 1:
            yield place


def _are_words(tokens: Tokens) -> bool:
    """Whether some values are a text, and names that it is filled in with."""
    first, *rest = tokens
    return first.text.startswith("s:") and all(one.is_word or one.value or one.text in (",", ".") for one in rest)


def without_messages(body: Tokens, parameters: Tokens) -> list[Token]:
    """A Go test without the words that it fails with."""
    known = _testing([*parameters, *body])
    found: list[Token] = []
    at = 0
    while at < len(body):
        said, begins = texts(body[at : at + 4]), not found or found[-1].text in ("{", "}", ";", ":")
        found.append(body[at])
        at += 1
        if begins and said[0] in known and said[1:2] == ["."] and said[2] in _FAILS and said[3:] == ["("]:
            line = body[at].line
            found += [Token(text, text, line) for text in (".", "Fatal", "(", ")")]
            at = closing(body, at + 2)
    return found


def _testing(tokens: Tokens) -> set[str]:
    """The names that are parameters of Go's `testing` and nothing else."""
    words = texts(tokens)
    typed = {False: set[str](), True: set[str]()}
    for at in range(1, len(tokens)):
        if words[at] == "*" or (tokens[at].is_word and tokens[at].line == tokens[at - 1].line):
            begin = at + (words[at] == "*")
            typed[words[begin : begin + 2] == ["testing", "."]].add(words[at - 1])
    return typed[True] - typed[False] - calm.own_names(tokens) - {*calm.assigned(tokens)}
