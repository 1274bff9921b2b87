"""What code does with values that it did not make: which it reads, and which it may change. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from proctor.oracle.moves.bodies import NAME, SIGN, TARGET, Beside, Pieces, Test

Handed = tuple[str, str]
"""A value by its name, and the name of what may change it; "" where it is not known what does."""
_PARTS = re.compile(r"[^\w$!]+")
_GIVES = frozenset({"return", "=>", "yield", "(Return", "(Yield"})
_KEEPS = frozenset({"=", ":="})
_CHANGES = frozenset({
    "Add", "Decode", "Fscan", "Ints", "Reverse", "Set", "Slice", "Sort", "Sscan", "Sscanf", "Sscanln", "Store",
    "Strings", "Swap", "Unmarshal", "add", "append", "assign", "clear", "copy", "delete", "discard", "extend",
    "fetch_add", "fill", "heapify", "insert", "pop", "popitem", "push", "push_str", "remove", "replace", "reverse",
    "set", "setdefault", "shift", "shuffle", "sort", "splice", "store", "swap", "take", "unshift", "update", "write",
})  # fmt: skip
"""Names of what changes that which it is given, or is a part of."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A name with all its parts, and what stands around it."""

    chain: str
    before: str
    after: str
    within: str
    by: str
    """What is called with it."""

    @property
    def is_called(self) -> bool:
        return self.after == "(" or self.before == "(Call"

    @property
    def is_argument(self) -> bool:
        return self.within == "(Call" or (self.within == "(" and self.before in "(," and self.after in "),")


@lru_cache(maxsize=4096)
def asked(test: Test) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the values that a test says and did not make, and of what it calls."""
    said = [one for run in test.runs for statement in run for one in _said(statement.pieces, test.own)]
    parts = (frozenset(_leaf(one.chain) for one in said if one.is_called is called) for called in (False, True))
    values, calls = parts
    return values, calls


@lru_cache(maxsize=4096)
def handed(beside: Beside) -> frozenset[Handed]:
    """The values that a statement may change."""
    return frozenset(_handed(beside))


def is_handing_out(beside: Beside, names: Collection[str]) -> bool:
    """Whether a function gives values of some names as they are."""
    return any(one.before in _GIVES and not one.is_called and one.chain in names for one in _said(beside.pieces, ()))


def _handed(beside: Beside) -> Iterator[Handed]:
    said = list(_said(beside.pieces, beside.own))
    changes = any(one.is_called and _leaf(one.chain) in _CHANGES for one in _said(beside.pieces, ()))
    for one in said:
        *_, of, name = ("", "", *filter(None, _PARTS.split(one.chain)))
        if one.is_called:
            if name in _CHANGES:
                yield of, name
        elif one.before in ("&", "mut") or (changes and (one.before in _KEEPS or one.within == "(Assign")):
            yield name, ""
        elif one.is_argument and _leaf(one.by) in _CHANGES:
            yield name, _leaf(one.by)


def _leaf(chain: str) -> str:
    return next((part for part in reversed(_PARTS.split(chain)) if part), "")


def _said(pieces: Pieces, own: Collection[str]) -> Iterator[_Said]:
    opened: list[tuple[str, str]] = [("", "")]
    last, at = "", 0
    while at < len(pieces):
        kind, text = pieces[at]
        before = pieces[at - 1][1] if at else ""
        at += 1
        if kind in (NAME, TARGET):
            chain = text
            while at < len(pieces) and ((pieces[at][0] == NAME and pieces[at][1][:1] == ".") or pieces[at][1] == "::"):
                chain += pieces[at][1]
                at += 1
                if chain.endswith("::") and at < len(pieces):
                    chain += pieces[at][1]
                    at += 1
            after = pieces[at][1] if at < len(pieces) else ""
            if before == "(Call":
                opened[-1] = ("(Call", chain)
            if kind == TARGET or chain.partition(".")[0] not in own:
                yield _Said(chain, before, after, *opened[-1])
            last = chain
            continue
        if kind == SIGN and text[:1] in ("(", "[", "{"):
            opened.append((text, last if text == "(" else ""))
        elif kind == SIGN and text in (")", "]", "}") and len(opened) > 1:
            opened.pop()
        last = ""
