"""The groups that tests in JavaScript and TypeScript are put in, and what counts for the tests of each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.oracle.gaming.tokens import Token, closing
from proctor.oracle.moves import calm, runners
from proctor.oracle.moves.tables import Tokens, texts

_DECLARES = ("const", "let", "var", "function", "class")
_EACH = frozenset({"beforeEach", "afterEach", "setup"})
"""What is run for each test anew."""


@dataclass(eq=False)
class Level:
    """A file, or a group in it: its own `tokens`, which are those of no test and of no group that only holds tests."""

    title: str = ""
    head: str = ""
    """What a runner knows it by."""
    inside: range = field(default_factory=lambda: range(0))
    tokens: list[Token] = field(default_factory=list)
    statements: list[Tokens] = field(default_factory=list)


def levels(tokens: Sequence[Token], left_out: Collection[int]) -> list[Level]:
    """A file and its groups, the outer before the inner; `left_out` are the places of the tests."""
    found = [Level(inside=range(-1, len(tokens)))]
    of = [found[0]] * len(tokens)
    heads = set(left_out)
    for title, at, body, inner, end in _described(tokens):
        opening = texts(tokens[at + 2 : body + 1])
        if opening[1:] in ([",", "(", ")", "=>", "{"], [",", "function", "(", ")", "{"]) and end == inner + 1:
            found.append(Level(title, tokens[at].text, range(body + 1, inner - 1)))
            heads.update(range(at, body + 1), range(inner - 1, end))
            of[body + 1 : inner - 1] = [found[-1]] * (inner - body - 2)
        else:
            found.append(Level(title, tokens[at].text, range(body + 1, inner - 1)))
    for at, token in enumerate(tokens):
        if at not in heads:
            of[at].tokens.append(token)
    return found


def around(places: Sequence[Level], at: int) -> list[Level]:
    """The file and those of its groups that a place is in."""
    return [one for one in places if at in one.inside]


def counting(places: Sequence[Level], names: Collection[str], apart: Collection[str]) -> list[Tokens]:
    """What counts for a test beyond what it says: what is run around it, and of the `names` that it says those that are
    to be told `apart`, as the innermost place has them."""
    hooks = [said for one in places for said in one.statements if _around(said)]
    inner_first = [said for one in reversed(places) for said in reversed(one.statements)] if apart else []
    wanted, more = set[str](), {*names, *(word for said in hooks for word in texts(said))}
    while more:
        wanted |= more
        more = {word for said in inner_first if declared(said) & more for word in texts(said)} - wanted
    meant = (next((said for said in inner_first if one in declared(said)), ()) for one in sorted(wanted & set(apart)))
    return [*hooks, *filter(None, meant)]


def is_each(said: Tokens) -> bool:
    """Whether a statement has something run for each test."""
    return bool(_around(said) & _EACH)


def _around(said: Tokens) -> frozenset[str]:
    """By which names a statement has something run around tests."""
    begin = texts(said[:4])
    called = begin[: begin.index("(")] if "(" in begin else []
    return frozenset(called) & calm.UNASKED if called and called[0] not in _DECLARES else frozenset()


def declared(said: Tokens) -> frozenset[str]:
    """The names that a statement declares."""
    words = texts(said)
    while words[:1] in (["export"], ["async"], ["default"], ["declare"]):
        words, said = words[1:], said[1:]
    if words[:1] in (["function"], ["class"]):
        return frozenset(words[1:2])
    end = words.index("=") if "=" in words else len(words)
    return calm.own_names(said[:end]) if words[:1] and words[0] in _DECLARES else frozenset()


def shadowed(places: Sequence[Level], bound: Mapping[str, str]) -> frozenset[str]:
    """The names of runners that stand for something else in a file; `bound` are those that imports give."""
    brought = {name for name, leads in bound.items() if leads.partition("#")[0] not in runners.MODULES}
    return runners.NAMES & brought.union(*(declared(said) for one in places for said in one.statements))


def told_apart(places: Sequence[Level]) -> frozenset[str]:
    """The names that are declared more than once."""
    count = Counter(name for one in places for said in one.statements for name in declared(said))
    return frozenset(name for name, times in count.items() if times > 1)


def _described(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int, int, int]]:
    """The groups of tests: title, where each begins, where its body does, where this ends, where all ends."""
    for at in range(len(tokens) - 1):
        if tokens[at].text not in runners.HEADS or (at and tokens[at - 1].text == "."):
            continue
        opening = next((n for n in range(at + 1, min(at + 6, len(tokens))) if tokens[n].text == "("), 0)
        end = closing(tokens, opening)
        body = next((n for n in range(opening, min(end, opening + 20)) if tokens[n].text == "{" and n > opening + 1), 0)
        if opening and body and tokens[opening + 1].text.startswith("s:"):
            yield tokens[opening + 1].text[2:], at, body, closing(tokens, body), end
