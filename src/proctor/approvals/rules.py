"""The contract's standing answers to tool calls: deny weighs more than ask, ask more than allow, the rest is asked.

A pattern is `tool(glob)`, over canonical tool names; `*` also matches nothing after a space, so that `shell(pytest *)`
covers `pytest` alone. A shell line is judged by every command that it would run, and by the files that its redirections
write. What could be denied or asked is never allowed. The rules spare the operator questions; what a worker can reach
is the sandbox's to say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from typing import Any

from proctor.approvals import programs, requests
from proctor.approvals.globs import HOLE, MOST, Glob
from proctor.approvals.reading import Command, Reading, bare, harmless
from proctor.approvals.requests import FETCH, HOST, READ, SHELL, WRITE

_PATTERN = re.compile(r"([\w*?.-]+)\((.+)\)", re.DOTALL)

OUTWARD: tuple[tuple[str, Mapping[str, Any]], ...] = (
    *(
        (SHELL, {"command": line})
        for line in (
            "git push origin main",
            "gh pr create",
            "npm publish",
            "twine upload dist/x",
            "docker push x",
            "kubectl apply -f x",
            "terraform apply",
            "ssh host x",
            "curl -X POST https://example.org",
        )
    ),
    (HOST, {"host": "example.org"}),
)
"""Acts that reach the outside world and that nothing here can take back: what a broad `allow` is tried with."""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A tool's name and what its argument must look like, both globs, case and all."""

    tool: str
    glob: Glob

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read `tool(glob)`. Raises ValueError for anything else."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text[:80]!r} is not a pattern of the form tool(glob), such as shell(pytest *)")
        return cls(requests.canonical(match[1]), Glob(match[2]))


Globs = tuple[Glob, ...]
MOST_PATH = 4_096
"""Characters of a path that can be opened at all."""


class Rules:
    """The patterns of a contract, for work in a folder. Raises ValueError for one that cannot be read.

    `real` follows the links in an absolute path: what it leads to has to be allowed too.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        workspace: str = "",
        real: Callable[[str], str] = str,
    ) -> None:
        self._real = real
        self._allow, self._ask, self._deny = (tuple(Pattern.parse(text) for text in p) for p in (allow, ask, deny))
        self._workspace = workspace.rstrip("/")

    def decide(self, tool: str, given: Mapping[str, Any]) -> Decision:
        """The standing answer to one call of a tool, by its whole input."""
        tool = requests.canonical(tool)
        if tool == SHELL and (command := requests.command(given)) is not None:
            reading = requests.reading(given, requests.elsewhere(given, self._workspace) is not None)
            assert reading is not None
            words = (command,) if isinstance(command, str) else command
            reading.sure &= not any(word.endswith(requests.CUT) for word in words)
            return self._line(reading, requests.argument(tool, given))
        if tool == HOST:
            return self._either(tool, requests.hosts(given))
        try:
            named = requests.paths(given)
        except ValueError:
            return Decision.ASK
        if not named or tool == FETCH:
            return self._either(tool, (requests.argument(tool, given),))
        judged = {self._path(tool, path) for path in named}
        return next(decision for decision in (Decision.DENY, Decision.ASK, Decision.ALLOW) if decision in judged)

    def ungated(self) -> tuple[str, ...]:
        """Those of the `OUTWARD` acts that would go ahead without a question."""
        return tuple(
            f"{tool}({requests.argument(tool, act)})"
            for tool, act in OUTWARD
            if self.decide(tool, act) is Decision.ALLOW
        )

    # --- paths, hosts and other texts -----------------------------------------------------------

    def _either(self, tool: str, texts: tuple[str, ...]) -> Decision:
        """One thing under several names: each may deny it or have it asked, each may allow it."""
        ways = ((self._deny, Decision.DENY), (self._ask, Decision.ASK), (self._allow, Decision.ALLOW))
        found = (way for patterns, way in ways if _any(_of(patterns, tool), texts))
        return next(found, Decision.ASK)

    def _path(self, tool: str, path: str) -> Decision:
        """A path by all its spellings, of which the one as written allows nothing."""
        if HOLE in path:
            return self._unknown(tool, path)
        spelt, led = self._spellings(path)
        decision = self._either(tool, (path, *spelt, *led))
        if decision is Decision.ALLOW and self._either(tool, spelt) is not decision:
            return Decision.ASK
        return self._either(tool, led) if decision is Decision.ALLOW else decision

    def _spellings(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """A path as it is written, and as where its links lead."""
        spelt = requests.spellings(path, self._workspace)
        if not self._workspace or HOLE in path or len(path) > MOST_PATH:
            return spelt, spelt
        return spelt, requests.spellings(self._real(posixpath.join(self._workspace, path)), self._workspace)

    def _unknown(self, tool: str, path: str) -> Decision:
        """A path of which a part is not known: only `*` allows it."""
        denied, asked = _of(self._deny, tool), _of(self._ask, tool)
        if _any(denied, (path,)):
            return Decision.DENY
        everything = any(glob.text == "*" for glob in _of(self._allow, tool))
        return Decision.ALLOW if everything and not denied and not asked else Decision.ASK

    # --- shell lines ----------------------------------------------------------------------------

    def _line(self, reading: Reading, whole: str) -> Decision:
        denied, asked, allowed = (_of(patterns, SHELL) for patterns in (self._deny, self._ask, self._allow))
        files = [self._path(WRITE, path) for path in reading.writes]
        if Decision.DENY in (*files, *(self._path(READ, path) for path in reading.reads)) or _meant(
            denied, reading, whole
        ):
            return Decision.DENY
        if _meant(asked, reading, whole) or self._asked(WRITE, reading.writes) or self._asked(READ, reading.reads):
            return Decision.ASK
        everything = any(glob.text == "*" for glob in allowed)
        gates = (*denied, *asked)
        if everything and not gates:
            return Decision.ALLOW
        if not reading.sure or any(g.could(form) for form in _forms(reading) if HOLE in form for g in gates):
            return Decision.ASK
        if everything:
            texts = (text for line in reading.lines for text in bare(line))
            return Decision.ASK if any(glob.within(text) for text in texts for glob in gates) else Decision.ALLOW
        fine = all(self._allows(command) for command in reading.commands)
        return Decision.ALLOW if fine and set(files) <= {Decision.ALLOW} else Decision.ASK

    def _asked(self, tool: str, paths: list[str]) -> bool:
        """Whether a rule may have one of the paths asked."""
        spelt = (self._spellings(path) for path in paths)
        names = (*paths, *(one for both in spelt for way in both for one in way))
        return any(glob.could(one) for one in names for glob in _of(self._ask, tool))

    def _allows(self, command: Command) -> bool:
        """Whether a command and all it runs are surely allowed.

        A pattern that names a wrapper's command too, as in `shell(sudo apt *)`, allows both; code in another language
        is allowed only by a pattern that names the option before it.
        """
        runs = all(self._allows(one) for one in command.runs)
        if command.free and command.harmless and runs:
            return True
        texts = _allowed_as(command)
        split = (_variables(glob.text) for glob in _of(self._allow, SHELL))
        named = [
            rest.fixed
            for variables, rest in split
            if _set_as(variables, command) and any(rest.matches(text) for text in texts)
        ]
        if not named or not command.words:
            return bool(named)
        if command.opaque is not None and max(named) <= command.opaque:
            return False
        return runs or (command.at > 0 and max(named) > command.at)


def _of(patterns: tuple[Pattern, ...], tool: str) -> Globs:
    return tuple(pattern.glob for pattern in patterns if fnmatchcase(tool, pattern.tool))


def _any(globs: Globs, texts: Iterable[str]) -> bool:
    return any(glob.matches(text) for text in texts for glob in globs)


def _meant(globs: Globs, reading: Reading, whole: str) -> bool:
    """Whether one of the patterns means the line, or anything that the line would run or might."""
    if not globs:
        return False
    texts = [whole, " ".join(whole.split()), *_forms(reading)]
    if any(glob.matches(text) or (len(text) > MOST and glob.could(text)) for text in texts for glob in globs):
        return True
    tails = [tail for command in reading.every() if (tail := command.tail())]
    if any(glob.among(tail) for tail in tails for glob in globs):
        return True
    lines = [*(reading.lines if not reading.sure else ())]
    lines += [word for one in reading.every() if one.opaque is not None for word in one.words[one.opaque :]]
    return any(glob.among(text) for line in lines for text in bare(line) for glob in globs)


def _forms(reading: Reading) -> Iterable[str]:
    return (form for command in reading.every() for form in command.forms())


@lru_cache(maxsize=1_024)
def _variables(pattern: str) -> tuple[Globs, Glob]:
    """The variables that a pattern names before the program, and the rest of it: no `*` of theirs reaches into that."""
    words = pattern.split(" ")
    count = len([*takewhile(re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL).fullmatch, words)])
    return tuple(map(Glob, words[:count])), Glob(" ".join(words[count:]))


def _set_as(variables: Globs, command: Command) -> bool:
    """Whether these patterns mean variables that are set for a command, and none is set that they do not mean."""
    if not variables:
        return command.harmless
    meant = {one for one in command.prefix for glob in variables if glob.matches(one)}
    return all(any(glob.matches(one) for one in command.prefix) for glob in variables) and harmless(
        one for one in command.prefix if one not in meant
    )


def _allowed_as(command: Command) -> list[str]:
    """The texts under which a command may be allowed.

    A program in a folder is what the pattern says, or what its name says if it is one of the system's own.
    """
    if not command.words:
        return [""]
    program, rest = command.words[0], command.words[1:]
    if re.search(r"\s", program):
        return []
    names = [program]
    if re.fullmatch(r"/(usr/(local/)?)?s?bin/[^/]+", program):
        names.append(programs.base(program))
    return [" ".join((name, *rest)) for name in names]
