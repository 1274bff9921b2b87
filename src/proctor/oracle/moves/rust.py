"""What a Rust test file imports, and which module each file is. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from proctor.oracle.gaming.tokens import Token, closing
from proctor.oracle.moves.trees import Tree, defined

CRATE = "crate"


def home(path: str, tree: Tree) -> tuple[str, tuple[str, ...]]:
    """The folder of the crate that a file belongs to, and the module that it is; none in a file of tests."""
    folder = tree.above(path, "Cargo.toml")
    parts = PurePosixPath(path).relative_to(folder).with_suffix("").parts
    if parts[:1] != ("src",):
        return folder, ()
    parts = parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts
    return folder, (CRATE, *parts[1:])


def imported(said: Sequence[Token], path: str, text: str, tree: Tree) -> Iterator[tuple[str, str]]:
    """The names that a `use` gives, each with where it leads: `folder|crate::module#name`."""
    folder, module = home(path, tree)
    crates = {name.replace("-", "_"): at for at, name in tree.crates.items()}
    for root, *rest, name in (one for one in _paths([token.text for token in said[1:]], said[1:]) if len(one) > 1):
        at: tuple[str, ...] = (root, *rest)
        where = folder
        if root == "super":
            at = (*(module or at[:1]), *rest)
        elif root in crates:
            where, at = crates[root], (CRATE, *rest)
        elif root not in (CRATE, "self"):
            where = ""
        *_, leaf, given = ("", *name.split(" as "), *([] if " as " in name else [name]))
        target = f"{where}|{'::'.join(at)}"
        if leaf == "*":
            names = defined(text) if at == module else ()
            yield from ((one, f"{target}#{one}") for one in names)
        else:
            yield given, f"{target}#{leaf}"


def _paths(words: Sequence[str], tokens: Sequence[Token]) -> Iterator[list[str]]:
    """The paths of a `use`, those in braces one by one; a name with `as` is one part."""
    before: list[str] = []
    at = 0
    while at < len(words):
        if words[at] == "{":
            end = closing(tokens, at)
            start = depth = at + 1
            for here in range(start, end):
                depth = here
                if (words[here] == "," and _level(words[at + 1 : here]) == 0) or here == end - 1:
                    for path in _paths(words[start:depth], tokens[start:depth]):
                        yield [*before, *path]
                    start = here + 1
            return
        if words[at] == "as":
            before[-1] = f"{before[-1]} as {words[at + 1]}"
            at += 1
        elif words[at] != "::":
            before.append(words[at])
        at += 1
    if before:
        yield before


def _level(words: Sequence[str]) -> int:
    return sum((word == "{") - (word == "}") for word in words)


def unwrapped(tokens: Sequence[Token]) -> list[Token]:
    """What stands beside tests without the modules that it is put in."""
    found: list[Token] = []
    ends: set[int] = set()
    at = next((n + 1 for n, one in enumerate(tokens[:8]) if one.text == "{"), 0) if _begins_inside(tokens) else 0
    if at:
        ends.add(closing(tokens, at - 1) - 1)
    while at < len(tokens):
        words = [one.text for one in tokens[at : at + 3]]
        if words[:1] == ["mod"] and words[2:] == ["{"]:
            ends.add(closing(tokens, at + 2) - 1)
            at += 2
        elif words[:1] == ["#"] and [one.text for one in tokens[at + 2 : at + 5]] == ["cfg", "(", "test"]:
            at = closing(tokens, at + 1) - 1
        elif at not in ends:
            found.append(tokens[at])
        at += 1
    return found


def _begins_inside(tokens: Sequence[Token]) -> bool:
    return [one.text for one in tokens[:3]] == ["test", ")", "]"]
