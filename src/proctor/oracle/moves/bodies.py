"""What tests say, whatever their layout, name and place: values that are held against each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from proctor.oracle.gaming.regions import Region

SIGN, NAME, VALUE, TARGET = "sign", "name", "value", "target"
"""Kinds of pieces: syntax, a name, a literal, and what a name stands for that a file imports."""
MOST_ROWS = 200
"""Rows of a table that a test is run with."""

Piece = tuple[str, str]
Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a test. `asserts`: it can do nothing but fail. `stays`: nothing of it is left for what follows."""

    pieces: Pieces
    asserts: bool = False
    stays: bool = False


@dataclass(frozen=True, eq=False)
class Test:
    """A test as a file has it. `runs` are its statements, once for each row of a table that it is run with."""

    path: str
    region: Region
    """By which it is known to runners; of what it holds nothing is asked here."""
    head: Pieces
    """What surrounds it: its class, its fixtures, its marks, its package."""
    runs: tuple[tuple[Statement, ...], ...]
    own: frozenset[str]
    """Names that it gives itself."""
    ids: int = 1
    """How many ids it has at least."""
    leans: frozenset[str] = frozenset()
    """What else it needs as it was: where imports lead to that its rows and marks come from, and names of tables."""
    is_anew: bool = False
    """Whether something is made or put back for each time that it is run."""

    @cached_property
    def words(self) -> frozenset[str]:
        """All names that it says, and the parts of what it imports."""
        return words_of((*self.head, *(piece for run in self.runs for one in run for piece in one.pieces)))


@dataclass(frozen=True, eq=False)
class Beside:
    """A statement that stands beside a test, be it another test. `plain`: it gives names and does nothing else."""

    pieces: Pieces
    gives: frozenset[str] = frozenset()
    plain: bool = False
    test: str = ""
    """The name of the test that it is."""
    frail: bool = False
    """Whether what it gives may be changed in place."""
    hook: bool = False
    """Whether it is run unasked."""
    is_each: bool = False
    """Whether it is run unasked for each test."""
    own: frozenset[str] = frozenset()
    """Names that it gives within itself."""

    @cached_property
    def shape(self) -> int:
        """The same for what differs in names alone."""
        return hash(tuple((kind, text if kind in (SIGN, VALUE) else "") for kind, text in self.pieces))

    @cached_property
    def words(self) -> frozenset[str]:
        return words_of(self.pieces)


@dataclass(frozen=True, eq=False)
class Module:
    """A file of tests."""

    path: str
    tests: tuple[Test, ...] = ()
    beside: tuple[Beside, ...] = ()

    @cached_property
    def has(self) -> frozenset[Pieces]:
        """What stands beside the tests, each by itself."""
        return frozenset(one.pieces for one in self.beside)

    @cached_property
    def shapes(self) -> dict[int, list[Beside]]:
        """What stands beside the tests, by its shape."""
        found: dict[int, list[Beside]] = {}
        for one in self.beside:
            found.setdefault(one.shape, []).append(one)
        return found


def words_of(pieces: Pieces) -> frozenset[str]:
    """The names in some pieces, those that imports lead to by their parts."""
    names = {text.removeprefix(".") for kind, text in pieces if kind == NAME}
    return frozenset(names.union(*(re.split(r"[./#]", text) for kind, text in pieces if kind == TARGET)))
