"""The contract's standing answers to tool calls: deny weighs more than ask, ask more than allow, the rest is asked.

A pattern is `tool(glob)`, over canonical tool names; `*` also matches nothing after a space, so that
`shell(pytest *)` covers `pytest` alone. A shell line is taken apart at its operators first: it is
allowed only if each of its commands is, and denied if any is. The rules spare the operator questions;
what a worker can reach is the sandbox's to say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

SHELL = "shell"

_PATTERN = re.compile(r"([\w*?.-]+)\((.+)\)", re.DOTALL)
_QUIET_REDIRECTION = re.compile(r"\s*(?:[0-9]?>&[0-9]|[0-9&]?>\s*/dev/null)(?=\s|$)")
_ANY_OPERATOR = re.compile(r"[;&|<>(){}`$\n]+")
_PIECE = re.compile(
    r"""(?P<joint>&&|\|\||[;&|\n])|(?P<other>[<>`(){}\#]|\$[({'"])|'[^']*'|"(?:[^"\\`$]|\\.|\$(?![({]))*"|\\.|[^'"\\]""",
    re.DOTALL,
)

OUTWARD = (
    ("shell", "git push origin main"),
    ("shell", "gh pr create"),
    ("shell", "npm publish"),
    ("shell", "twine upload dist/x"),
    ("shell", "docker push x"),
    ("shell", "kubectl apply -f x"),
    ("shell", "terraform apply"),
    ("shell", "ssh host x"),
    ("shell", "curl -X POST https://example.org"),
    ("host", "example.org"),
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
    glob: str

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read `tool(glob)`. Raises ValueError for anything else."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text[:80]!r} is not a pattern of the form tool(glob), such as shell(pytest *)")
        return cls(match[1], match[2])

    def matches(self, tool: str, argument: str) -> bool:
        """Whether the pattern covers this call."""
        if not fnmatchcase(tool, self.tool):
            return False
        return fnmatchcase(argument, self.glob) or (self.glob.endswith(" *") and fnmatchcase(argument, self.glob[:-2]))


class Rules:
    """The patterns of a contract. Raises ValueError for one that cannot be read."""

    def __init__(self, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        self._allow, self._ask, self._deny = (tuple(Pattern.parse(text) for text in p) for p in (allow, ask, deny))

    def decide(self, tool: str, argument: str) -> Decision:
        """The standing answer to one call of a tool."""
        for patterns, decision in ((self._deny, Decision.DENY), (self._ask, Decision.ASK)):
            if any(pattern.matches(tool, form) for form in _every_form(tool, argument) for pattern in patterns):
                return decision
        return Decision.ALLOW if self._allows(tool, argument) else Decision.ASK

    def ungated(self) -> tuple[str, ...]:
        """Those of the `OUTWARD` acts that would go ahead without a question."""
        return tuple(f"{tool}({act})" for tool, act in OUTWARD if self.decide(tool, act) is Decision.ALLOW)

    def _allows(self, tool: str, argument: str) -> bool:
        if any(pattern.glob == "*" and pattern.matches(tool, argument) for pattern in self._allow):
            return True
        forms = _commands(argument) if tool == SHELL else _paths(argument)
        return bool(forms) and all(any(pattern.matches(tool, form) for pattern in self._allow) for form in forms)


def _paths(argument: str) -> list[str]:
    """The argument as written, and as the path it really is where it climbs."""
    return [argument, posixpath.normpath(argument)] if ".." in argument.split("/") else [argument]


def _every_form(tool: str, argument: str) -> list[str]:
    """All that a call could be taken for: better one question or refusal too many than one too few."""
    if tool != SHELL:
        return _paths(argument)
    pieces = (argument, *_ANY_OPERATOR.split(argument))
    return [argument, *(" ".join(piece.split()) for piece in pieces)]


def _commands(line: str) -> list[str]:
    """The commands of a shell line, or none if it holds more than plain commands in a row.

    Quoted text is left whole. Substitutions, groups, comments (which may hide a quote), and redirections
    other than to nowhere are more.
    """
    line = _QUIET_REDIRECTION.sub("", line.strip())
    commands, place = [""], 0
    while place < len(line):
        piece = _PIECE.match(line, place)
        if piece is None or piece["other"]:
            return []
        if piece["joint"]:
            commands.append("")
        else:
            commands[-1] += piece[0]
        place = piece.end()
    return [command.strip() for command in commands if command.strip()]
