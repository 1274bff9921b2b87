"""What a program with its words would do: which others it runs, and where it is given code that is not read here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace

from proctor.approvals import plain, programs, ways
from proctor.approvals.globs import HOLE
from proctor.approvals.reading import Command, Reading, harmless, sets

DEEPEST = 100
"""How deep a line may be nested."""
_FREE_FILES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


class TooMuch(Exception):
    """The line is longer, deeper or fuller than is looked at."""


class Meaning(ABC):
    """What is found of a line under way."""

    def __init__(self) -> None:
        self.found = Reading()

    @abstractmethod
    def line(self, line: str, depth: int) -> list[Command]:
        """The commands of a line that stands in another."""

    def meaning(self, words: tuple[str, ...], prefix: tuple[str, ...], depth: int, harmless: bool = True) -> Command:
        """What a program with these words is, and what else it would run."""
        if depth > DEEPEST:
            raise TooMuch
        depth += 1
        name = programs.base(words[0])
        if not words[0].strip() or HOLE in words[0] or name in plain.RESERVED:
            self.found.sure = False
        opaque = programs.code(words)
        plainly = Command(
            words, prefix, harmless=harmless, opaque=ways.given(name, words) if opaque is None else opaque
        )
        self.found.sure &= not sets(words) and not programs.code_comes_in(words)
        if name in programs.FREE:
            return replace(plainly, free=True)
        if name in programs.EVALUATING and name != "[" and any("[" in word for word in words[1:]):
            self.found.sure = False
        if name in programs.SHELLS:
            return self._shell(plainly, depth)
        if name == "eval":
            return replace(plainly, runs=self._given(" ".join(words[1:]), depth), at=1, free=True)
        if name in programs.ODD:
            runs = [one for word in words[1:] for one in self._unsure(word.split("=", 1)[-1], depth)]
            return replace(plainly, runs=tuple(runs), at=1)
        if name == "find":
            return self._find(plainly, depth)
        if name == "git":
            return self._git(plainly, depth)
        if (wrapper := programs.WRAPPERS.get(name)) is not None:
            return self._wrapper(plainly, wrapper, depth)
        if (at := programs.runner(words)) is not None:
            self.found.sure &= at == 1
            return self._wrapper(plainly, programs.Wrapper(words=1), depth)
        return plainly

    def _given(self, line: str, depth: int) -> tuple[Command, ...]:
        """The commands of a line that a command is given, as far as it is known: some shells know no `$'…'`."""
        self.found.sure &= not any("$'" in one for one in self.found.lines)
        return self._unsure(line.replace(HOLE, "$x"), depth) if HOLE in line else tuple(self.line(line, depth))

    def _unsure(self, text: str, depth: int) -> tuple[Command, ...]:
        """What a text holds that may be run as a line, or may not."""
        self.found.sure = False
        return tuple(self.line(text.replace(HOLE, "$x"), depth))

    def _sentences(self, words: Iterable[str], depth: int) -> tuple[Command, ...]:
        """The commands of those words that are more than one."""
        return tuple(one for word in words if re.search(r"\s", word) for one in self._given(word, depth))

    def _shell(self, command: Command, depth: int) -> Command:
        words = command.words
        at = programs.script(words)
        if at is None:
            if programs.reads_stdin(words) or any(HOLE in word for word in words):
                self.found.sure = False
            return command
        if not programs.plain_shell(words):
            self.found.sure = False
        return replace(command, runs=self._given(words[at], depth), at=at, free=True)

    def _wrapper(self, command: Command, wrapper: programs.Wrapper, depth: int) -> Command:
        words = command.words
        at = programs.wrapped(words, wrapper)
        if at is None or (wrapper == programs.Wrapper() and at < len(words)):
            self.found.sure &= at is not None
            return replace(command, runs=self._sentences(words[1:], depth), at=at or 1, opaque=at or len(words))
        if at == len(words):
            return replace(command, at=at)
        assigned = tuple(word for word in words[1:at] if wrapper.assigns and re.match(r"[A-Za-z_]\w*=", word))
        inner = words[at:]
        if wrapper.joined:
            runs = self._given(" ".join(inner), depth)
        else:
            if programs.base(words[0]) == "xargs":
                inner = (*(HOLE if "{}" in word else word for word in inner), HOLE)
            runs = (self.meaning(inner, assigned, depth, harmless(assigned)),)
        return replace(command, runs=runs, at=at, free=wrapper.free)

    def _find(self, command: Command, depth: int) -> Command:
        runs: list[Command] = []
        first = end = 0
        self.found.sure &= not any(HOLE in word for word in command.words)
        for place, word in enumerate(command.words):
            if place < end:
                continue
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                first = first or place + 1
                ends = (n for n in range(place + 1, len(command.words)) if command.words[n] in (";", "+"))
                end = next(ends, len(command.words))
                if given := command.words[place + 1 : end]:
                    runs.append(self.meaning(tuple(one.replace("{}", HOLE) for one in given), (), depth))
            elif word in ("-fprint", "-fprint0", "-fprintf", "-fls"):
                self._writes((*command.words, HOLE)[place + 1])
        return replace(command, runs=tuple(runs), at=first)

    def _git(self, command: Command, depth: int) -> Command:
        runs = [one for word in command.words if "=!" in word for one in self._unsure(word.split("=!", 1)[1], depth)]
        if (opaque := programs.git_runs(command.words)) is not None:
            runs += self._sentences(command.words[opaque:], depth)
        return replace(command, runs=tuple(runs), at=1 if runs else 0, opaque=opaque)

    def _writes(self, place: str) -> None:
        if place not in _FREE_FILES:
            self.found.writes.append(place)
