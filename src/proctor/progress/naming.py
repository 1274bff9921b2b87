"""What a text names: paths, and in backticks symbols and commands. Pure, and bounded.

Only what once was there can be gone, so a word that merely looks like a path or a symbol does no harm.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST = 200_000
"""Characters of a text that are read."""
MOST = 400
"""Names of one text."""

_TICKED = re.compile(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_PATH = re.compile(
    r"(?<![\w./:@~-])(?:\./)?((?:[\w.@+-]{1,80}/){1,12}[\w.@+-]{0,80}|[\w@+-][\w.@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w:@/-])"
)
_SYMBOL = re.compile(r"(?:[A-Za-z_$][\w$]{2,60})(?:(?:\.|::|#)[A-Za-z_$][\w$]{1,60}){0,4}(?:\([^()`]{0,80}\))?")
_LEAVES = re.compile(
    r"\b(?:remov|delet|drop|renam|mov(?:e|ing)|replac|retir|split|merg|rewrit|convert|migrat|get rid|no longer|obsolete"
    r"|deprecat|inlin|extract|rid of|instead of|fold(?:ed|s)? into)",
    re.IGNORECASE,
)
_RUNNERS = {"npm": 2, "pnpm": 2, "yarn": 1, "bun": 2}


class Names(NamedTuple):
    """What a text names. `targets` are of make or just, `scripts` of a `package.json`."""

    paths: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()

    def without(self, other: Names) -> Names:
        return Names(*(mine - others for mine, others in zip(self, other, strict=True)))


def together(parts: Iterable[Names]) -> Names:
    """What the parts of a text name, as many as of one text."""
    found = Names()
    for part in parts:
        found = Names(*(mine | others for mine, others in zip(found, part, strict=True))) if any(part) else found
        if sum(map(len, found)) >= MOST:
            break
    return found


def names(text: str) -> Names:
    """All that a text names."""
    found: dict[str, set[str]] = {"path": set(), "symbol": set(), "target": set(), "script": set()}
    for number, (kind, name) in enumerate(_all(text[:LONGEST])):
        if number >= MOST:
            break
        found[kind].add(name)
    return Names(*(frozenset(one) for one in found.values()))


def lines_that_take_leave(texts: Iterable[str]) -> str:
    """The lines that tell somebody to remove, rename or replace something: what they name may go."""
    return "\n".join(line for text in texts for line in text[:LONGEST].splitlines() if _LEAVES.search(line))


def _all(text: str) -> Iterator[tuple[str, str]]:
    for path in _PATH.finditer(text):
        yield "path", _plain(path[1])
    for ticked in _TICKED.finditer(text):
        word = ticked[1].strip()
        if " " in word:
            yield from _command(word)
        elif _SYMBOL.fullmatch(word):
            yield "symbol", word.partition("(")[0]
        elif re.fullmatch(r"[\w./@+-]+", word):
            yield "path", _plain(word)


def _command(text: str) -> Iterator[tuple[str, str]]:
    """What a command needs: paths are found as such."""
    try:
        words = shlex.split(text)
    except ValueError:
        return
    program, rest = words[0].rpartition("/")[2], words[1:]
    plain = [word for word in rest if not word.startswith("-") and "=" not in word]
    if program in ("make", "just", "gmake"):
        yield from (("target", word) for word in plain)
    elif program in _RUNNERS and plain:
        script = plain[1] if plain[0] in ("run", "run-script") and len(plain) > 1 else ""
        script = script or (plain[0] if _RUNNERS[program] == 1 else "")
        yield from ((("script", script),) if script else ())
    elif program.startswith("python") and "-m" in rest[:-1]:
        yield "path", f"{rest[rest.index('-m') + 1].replace('.', '/')}.py"


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/").rstrip(".")
