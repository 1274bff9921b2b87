"""What a shell line comes to: the commands it would run and the files it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from proctor.approvals import programs
from proctor.approvals.globs import HOLE

LONGEST = 1 << 14
"""Bytes that are parsed of a line and the lines within it."""
_OPERATORS = re.compile(r"[;&|<>(){}\[\]`$\n\r=,\"']+")
_HARMLESS = re.compile(
    r"(?!f?path$|cdpath$)[a-z][a-z0-9]*|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|(NO|FORCE|CLICOLOR)_?COLOR|CI|DEBUG|VERBOSE"
    r"|PYTHON(DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|UTF8|FAULTHANDLER)|NODE_ENV|RUST_BACKTRACE|SOURCE_DATE_EPOCH"
)
"""Variables that cannot make a program do something else."""


@dataclass(frozen=True, slots=True)
class Command:
    """One program as it would be run, quotes and escapes gone; `HOLE` in a word is what only the shell will know.

    `prefix` are the variables set for it. It `runs` others, which begin at word `at`; `opaque` is the word from which
    on it is given code that is not read here. `free` does nothing but what it runs.
    """

    words: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    runs: tuple[Command, ...] = ()
    at: int = 0
    opaque: int | None = None
    free: bool = False
    harmless: bool = True

    def forms(self) -> Iterable[str]:
        """Every way in which its text may be meant by who denies it."""
        if not self.words:
            yield " ".join(self.prefix)
            return
        name, rest = programs.base(self.words[0]), self.words[1:]
        yield " ".join((name, *rest))
        yield " ".join(self.words)
        if self.prefix:
            yield " ".join((*self.prefix, name, *rest))
        if name == "git":
            words, certain = programs.git((name, *rest))
            yield " ".join(words)
            if not certain:
                yield f"git {HOLE}"

    def tail(self) -> str:
        """The words of which some may be another command."""
        return " ".join(self.words[1:]) if self.at or self.opaque is not None else ""


@dataclass(slots=True)
class Reading:
    """What a line would run, and which files it writes and reads by redirection; all of it, if `sure`."""

    commands: list[Command] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    sure: bool = True
    lines: list[str] = field(default_factory=list)
    """The line and those within it, for a look at their bare text."""

    def every(self) -> Iterable[Command]:
        """Each command, and those that it runs."""
        waiting = [*reversed(self.commands)]
        while waiting:
            command = waiting.pop()
            yield command
            waiting.extend(reversed(command.runs))


def bare(line: str) -> list[str]:
    """What the pieces of a line between operators and quotes say, read as if nothing in it were quoted."""
    line = line[:LONGEST]
    texts = {line, re.sub(r"[\"'\\]", "", line), re.sub(r"\\\n", "", line)}
    return [said for text in sorted(texts) for piece in _OPERATORS.split(text) if (said := " ".join(piece.split()))]


def harmless(assignments: Iterable[str]) -> bool:
    """Whether variables that are set so leave every program what it is."""
    return all(_HARMLESS.fullmatch(one.split("=", 1)[0].removesuffix("+")) for one in assignments)


def sets(words: tuple[str, ...]) -> bool:
    """Whether a builtin may set a variable that makes later words mean something else."""
    name, rest = programs.base(words[0]), words[1:]
    if name == "printf":
        return any(word.startswith(("-v", HOLE)) for word in rest[:1])
    return name in programs.SETTING and not harmless(word for word in rest if not word.startswith("-"))
