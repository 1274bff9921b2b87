"""Lines of ignore and attribute files that stand above a workspace, said again for the workspace as the top."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_PATTERN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\S+)')


def ignores(text: str, below: str) -> str:
    """Ignore rules written for a folder, as they read from the folder `below` it ("" for the same one)."""
    return _lines(_ignored(line, below) for line in text.splitlines())


def attributes(text: str, below: str) -> str:
    """Attribute rules likewise. Macros stay; a rule for the way down to the workspace says nothing of its files."""
    return _lines(_attributed(line, below) for line in text.splitlines())


def above(top: Path, prefix: str, name: str) -> Iterator[tuple[str, str]]:
    """The files of that name from the top down to the workspace, without its own: what is in them, and the way
    from there to the workspace."""
    parts = prefix.split("/") if prefix else []
    for depth in range(len(parts)):
        yield content(top.joinpath(*parts[:depth], name)), "/".join(parts[depth:])


def content(file: Path | None) -> str:
    """A text file, "" if there is none or it is no plain file."""
    try:
        return file.read_text("utf-8", "surrogateescape") if file is not None and file.is_file() else ""
    except OSError:
        return ""


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines if line)


def _ignored(line: str, below: str) -> str:
    if not line.strip() or line.startswith("#"):
        return ""
    negated = "!" if line.startswith("!") else ""
    pattern = _moved(line[len(negated) :], below, folders=True)
    return negated + pattern if pattern else ""


def _attributed(line: str, below: str) -> str:
    if not line.strip() or line.lstrip().startswith("#"):
        return ""
    found = _PATTERN.match(line)
    if found is None or found[1].startswith("[attr]") or found[1].startswith('"'):
        return line
    pattern = _moved(found[1], below, folders=False)
    return pattern + line[found.end() :] if pattern else ""


def _moved(pattern: str, below: str, folders: bool) -> str:
    """A pattern as it reads `below`; "" when it cannot match anything there.

    `folders`: a pattern that matches a folder also says something about all in it.
    """
    way = below.split("/") if below else []
    bare = pattern.rstrip()
    if not way:
        return bare
    if "/" not in bare.rstrip("/"):
        return "*" if folders and any(_like(bare.rstrip("/"), part) for part in way) else bare
    parts = bare.lstrip("/").split("/")
    for number, part in enumerate(way):
        if parts[0] == "**":  # any depth, so also from here on
            return "/".join(parts)
        if not _like(parts[0], part):
            return ""
        parts = parts[1:]
        if not parts or parts == [""] or (parts == ["**"] and number < len(way)):
            return "*" if folders or parts == ["**"] else ""
    return "/" + "/".join(parts)


def _like(pattern: str, name: str) -> bool:
    """Whether one component matches, as git's patterns do."""
    words = ""
    rest = pattern
    while rest:
        if found := re.match(r"\[([!^]?)((?:\\.|[^\]\\])+)\]", rest):
            words += f"[{'^' if found[1] else ''}{found[2]}]"
        elif found := re.match(r"\\(.)", rest):
            words += re.escape(found[1])
        elif found := re.match(r"\*+", rest):
            words += ".*"
        else:
            found = re.match(r"(?s).", rest)
            assert found is not None
            words += "." if found[0] == "?" else re.escape(found[0])
        rest = rest[found.end() :]
    try:
        return re.fullmatch(words, name, re.S) is not None
    except re.error:
        return False
