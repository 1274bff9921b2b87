"""Lines of ignore and attribute files that stand above a workspace, said again for the workspace as the top."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_PATTERN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\S+)')


def ignores(text: str, below: str) -> str:
    """Ignore rules written for a folder, as they read from the folder `below` it ("" for the same one)."""
    return _lines(text, below, _ignored)


def attributes(text: str, below: str) -> str:
    """Attribute rules likewise. Macros stay; a rule for the way down to the workspace says nothing of its files."""
    return _lines(text, below, _attributed)


def literal(paths: Iterable[str]) -> str:
    """Ignore rules for these paths of the same folder, and all below them."""
    return "".join("/" + re.sub(r"[][*? \\]", r"\\\g<0>", path) + "\n" for path in paths)


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


def _lines(text: str, below: str, moved: Callable[[str, list[str]], Iterator[str]]) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    if not below:
        return text
    way = below.split("/")
    return "".join(f"{new}\n" for line in text.splitlines() for new in sorted(moved(line, way)))


def _ignored(line: str, way: list[str]) -> Iterator[str]:
    if line.strip() and not line.startswith("#"):
        negated = "!" if line.startswith("!") else ""
        for pattern in _moved(line[len(negated) :], way, folders=True):
            yield negated + pattern


def _attributed(line: str, way: list[str]) -> Iterator[str]:
    found = _PATTERN.match(line)
    if found is None or found[1].startswith("#"):
        return
    if found[1].startswith(("[attr]", '"')):
        yield line
        return
    for pattern in _moved(found[1], way, folders=False):
        yield pattern + line[found.end() :]


def _moved(pattern: str, way: list[str], folders: bool) -> set[str]:
    """A pattern as it reads at the end of the way: none if it cannot match there, several if it can in several ways.

    `folders`: a pattern that matches a folder also says something about all in it.
    """
    bare = pattern.rstrip()
    name = bare.rstrip("/")
    if "/" in name:
        return set(_rest(bare.lstrip("/").split("/"), way, folders))
    return {"*"} if folders and any(_like(name, part) for part in way) else {bare}


def _rest(parts: list[str], way: list[str], folders: bool) -> Iterator[str]:
    """What is left of a pattern's components at the end of the way."""
    if parts == ["**"]:
        yield "*"
    elif parts in ([], [""]):
        if folders:
            yield "*"
    elif not way:
        yield "/" + "/".join(parts)
    elif parts[0] == "**":  # any number of folders: none, or this one and more
        yield from _rest(parts[1:], way, folders)
        yield from _rest(parts, way[1:], folders)
    elif _like(parts[0], way[0]):
        yield from _rest(parts[1:], way[1:], folders)


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
