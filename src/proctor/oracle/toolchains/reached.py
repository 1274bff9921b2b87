"""What checks come to of a package's scripts and of a make file: what no check can reach is the worker's to edit. Pure.

A script or a target is reached where its name stands as a word in a command of a check, in a text that may start such
things, or in what is reached itself. So more is taken for reached than is, never less: a name that is put together, and
whatever cannot be read line by line, leaves a file whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping

from proctor.oracle.toolchains import makes

PACKAGE = "package.json"
_STARTS = {
    True: re.compile(rb"make", re.IGNORECASE),
    False: re.compile(
        rb"\b(?:c?[np]+m|npx|yarn|bunx?|deno|run-[sp]|run-all|turbo|lerna|nx|wireit|n[ir]|concurrently|scripts?)\b"
        rb"|package\.json|--run\b",
        re.IGNORECASE,
    ),
}
"""What a text has in it that may start a make file's targets, or else a package's scripts."""
_CALLS = re.compile(r"\b(?:g?make|MAKE|c?[np]+m|yarn|bun|deno|run-[sp]|run-all|turbo|lerna|nx|n[ir])\b")
_NEAR = 120
"""Characters behind a call in which a name may stand that is put together."""
_JUDGING = re.compile(r"test|spec|check|verif|lint|install|prepare|\bci\b")
"""Names of what is never taken for beyond reach."""
_MADE_UP = re.compile(r"[$*?{%`]")
_WORDS = re.compile(r"[\w-]+")
_HEAD = re.compile(r"(?!\.)([A-Za-z][\w-]*(?: +[A-Za-z][\w-]*)*) *:(?!:)((?: *[A-Za-z][\w./-]*)*) *")
_PHONY = re.compile(r"\.PHONY *:([\w ./-]*)")
_DIRECTIVES = frozenset(
    """include sinclude define endef ifdef ifndef ifeq ifneq else endif export unexport override private vpath undefine
    load""".split()  # noqa: SIM905 - a list to read
)
_ODD = re.compile(
    r"\\\\\n|\b(?:define|eval|call|foreach)\b|RECIPEPREFIX|SECONDEXPANSION|\r|(?:\$[({]MAKE[)}]|\bmake\b).*[$*]"
)
"""What a make file is not read line by line with."""


class Texts:
    """What may start scripts and targets: the commands of checks, and frozen files by their paths."""

    def __init__(self, commands: Iterable[str], files: Mapping[str, bytes]) -> None:
        self._commands, self._files = "\n".join(commands), files

    def for_file(self, path: str) -> str:
        """All of it that may start what stands in a file. ValueError where it puts names together."""
        starts = _STARTS[makes.is_make(path)]
        found = [self._commands]
        for other, data in self._files.items():
            related = makes.is_make(other) and makes.is_make(path)
            if other != path and (related or starts.search(data)):
                found.append(data.decode(errors="replace"))
        text = "\n".join(found)
        _refuse_made_up(text)
        return text


def is_shared(path: str) -> bool:
    """Whether a file may have parts that no check reaches."""
    return path.rpartition("/")[2] == PACKAGE or makes.is_make(path)


def without_others(path: str, data: bytes, texts: Texts) -> bytes | None:
    """A file without what is beyond the reach of what may start it; None where that cannot be told."""
    try:
        said, words = data.decode(), _words(texts.for_file(path))
        return (_make(said, words) if makes.is_make(path) else _package(said, words)).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _refuse_made_up(text: str) -> None:
    """ValueError where a text may start something of a name that is put together."""
    if any(_MADE_UP.search(text[at.end() : at.end() + _NEAR].partition("\n")[0]) for at in _CALLS.finditer(text)):
        raise ValueError("a name that is put together")


def _words(text: str) -> set[str]:
    return {*_WORDS.findall(text)}


# --- package.json -----------------------------------------------------------------------------------


def _package(said: str, words: set[str]) -> str:
    data = json.loads(said)
    scripts: Mapping[str, str] = data["scripts"]
    if any(_MADE_UP.search(name) for name in scripts):
        raise ValueError("a script without a plain name")
    _refuse_made_up("\n".join(scripts.values()))
    reached = _closure({name: (_of(name), body) for name, body in scripts.items()}, words)
    data["scripts"] = {name: body for name, body in scripts.items() if name in reached}
    return json.dumps(data)


def _of(name: str) -> set[str]:
    """The words by which a script is started: its own, that of its family (`build:*`), or what it comes before or
    after."""
    plain = re.sub(r"^(?:pre|post)", "", name)
    return _words(name) | _words(plain) | ({"restart"} if plain in ("start", "stop") else set())


def _closure(parts: Mapping[str, tuple[Collection[str], str]], words: set[str]) -> set[str]:
    """The parts that some words reach, and that what these say reaches in turn."""
    reached = set(filter(_JUDGING.search, parts))
    words = words.union(*(_words(parts[name][1]) for name in reached))
    while found := {name for name, (of, _) in parts.items() if name not in reached and not words.isdisjoint(of)}:
        reached |= found
        for name in found:
            words = words | _words(parts[name][1])
    return reached


# --- make -------------------------------------------------------------------------------------------


def _make(said: str, words: set[str]) -> str:
    """Without the rules of plain names that come after the first one."""
    if _ODD.search(said):
        raise ValueError("not to be read line by line")
    rules: dict[str, tuple[set[str], str]] = {}
    lines: list[tuple[str, str]] = []
    rule, is_first, follows = "", True, False
    for line in filter(str.strip, re.split(r"(?<!\\)\n", said)):
        if line.startswith("\t"):
            if not follows:
                raise ValueError("a recipe that is nobody's")
            said_of = line
        elif line.startswith("#"):
            continue
        else:
            head, is_value = _HEAD.fullmatch(line), makes.is_assignment(line)
            follows = ":" in line and not is_value
            if follows and _MADE_UP.search(line):
                raise ValueError("names that are put together")
            rule = head[1] if head and not is_first and not any(map(_is_special, head[1].split())) else ""
            is_first = is_first and (not follows or line.startswith("."))
            said_of = head[2] if head else line
        if rule:
            rules[rule] = set(rule.split()), f"{rules.get(rule, ('', ''))[1]}\n{said_of}"
        lines.append((rule, line))
    kept = "\n".join(line for rule, line in lines if not rule and not _PHONY.fullmatch(line))
    reached = _closure(rules, words | _words(kept))
    left = [line for rule, line in lines if not rule or rule in reached]
    known = words | _words("\n".join(line for line in left if not _PHONY.fullmatch(line)))
    return "\n".join(filter(None, (_without_others(line, known) for line in left)))


def _is_special(name: str) -> bool:
    return name in _DIRECTIVES or makes.is_make(name)


def _without_others(line: str, known: set[str]) -> str:
    """A line that says of some names that they are no files, without those that nothing reaches."""
    phony = _PHONY.fullmatch(line)
    names = [name for name in phony[1].split() if not known.isdisjoint(_words(name))] if phony else []
    return line if not phony else f".PHONY: {' '.join(names)}" if names else ""
