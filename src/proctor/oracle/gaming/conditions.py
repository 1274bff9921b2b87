"""Conditions as tokens: those that never hold, and those that ask where a test runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_FALSE = frozenset({"false", "n:0", "null", "undefined", "s:"})
PLATFORM_NAME = re.compile(
    r"_*(?:(?:is|on)_?(?:win|mac|node|bun|deno|ci)|(?:(?:is|on)_?)?(?:windows|win32|win64|linux|macos|darwin|posix|unix"
    r"|pypy|cpython|py\d+|python_?\d+)(?:_?only)?|major|gete?uid)",
    re.IGNORECASE,
)
"""A name that says where a test runs."""
_WHERE = re.compile(r"\w*(?:platform|GOOS|GOARCH|Short|Getenv|LookupEnv|env|LookPath|version|cfg)\w*!?")


def is_where(text: str) -> bool:
    """Whether a word of a condition asks where the test runs."""
    return bool(_WHERE.fullmatch(text) or PLATFORM_NAME.fullmatch(text))


def head(own: Sequence[str]) -> int:
    """The place after what the head of a Go condition says before it."""
    return len(own) - own[::-1].index(";") if ";" in own else 0


def never(said: Sequence[str]) -> bool:
    """Whether a condition is false whatever happens: one of what has to hold together is nothing but false."""
    depth, operands = 0, list[list[str]]([[]])
    for text in said:
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth == 0 and text == "||":
            return False
        if depth == 0 and text == "&&":
            operands.append([])
        else:
            operands[-1].append(text)
    return any(len(one) == 1 and one[0] in _FALSE for one in operands)


def parts(own: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The conditions of a Go test that have to hold together, each behind what is said before them; none for one."""
    first = head(own)
    ends = [at for at in range(first, len(own)) if own[at] == "&&"]
    return [(*own[:first], *own[a + 1 : b]) for a, b in pairwise([first - 1, *ends, len(own)])] if ends else []
