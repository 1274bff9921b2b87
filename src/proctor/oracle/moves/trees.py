"""The trees before and after, as far as they tell whether a test still tests what it did. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language, is_test, language_of
from proctor.oracle.gaming.syntax import parsed
from proctor.oracle.gaming.tokens import lexed

_SCRIPTS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_CRATE = re.compile(r"^name\s*=\s*[\"']([\w-]+)", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Tree:
    """The paths of a tree, and the texts of those files that are not what they are in the other one."""

    paths: frozenset[str]
    texts: Mapping[str, str]
    modules: Mapping[str, str] = field(default_factory=dict)
    """The files that count for others though they are what they were, by path: those that say what packages are called
    (`go.mod`, `Cargo.toml`), and those with fixtures (`conftest.py`)."""

    @cached_property
    def places(self) -> frozenset[str]:
        """All that may hold what is imported: files, and folders with Go sources, which end with a slash."""
        sources = (path for path in self.paths if path.endswith(".go") and not path.endswith("_test.go"))
        return self.paths | {_folder(path) for path in sources}

    @cached_property
    def _python(self) -> Mapping[str, frozenset[str]]:
        """Python's files by the last part of the module that they are."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            if path.endswith(".py"):
                found.setdefault(_dotted(path).rpartition(".")[2], set()).add(path)
        return {name: frozenset(paths) for name, paths in found.items()}

    @cached_property
    def crates(self) -> Mapping[str, str]:
        """The folders of Rust's crates, each with the name of its crate."""
        found = {}
        for path, text in self.modules.items():
            if path.endswith("Cargo.toml") and (named := _CRATE.search(text)):
                found[PurePosixPath(path).parent.as_posix()] = named[1]
        return found

    @cached_property
    def autouse(self) -> frozenset[str]:
        """Names of fixtures of Python's that nothing has to ask for, as far as files are read."""
        texts = (text for text in (*self.texts.values(), *self.modules.values()) if "autouse" in text)
        tops = (top for tree in map(parsed, texts) if tree for top in tree.body if "autouse" in ast.unparse(top))
        nodes = (node for top in tops for node in (top, *getattr(top, "targets", ())))
        return frozenset(str(getattr(node, "name", "") or getattr(node, "id", "")) for node in nodes)

    def above(self, path: str, name: str) -> str:
        """The nearest folder above a file that holds one of the names of packages; "." for none."""
        folders = (one.as_posix() for one in PurePosixPath(path).parents)
        return next((one for one in folders if f"{one}/{name}".removeprefix("./") in self.modules), ".")

    def go_package(self, path: str) -> str:
        """The import path of the package that a Go file belongs to; "" if no module tells it."""
        above = self.above(path, "go.mod")
        if named := _MODULE.search(self.modules.get(f"{above}/go.mod".removeprefix("./"), "")):
            below = PurePosixPath(path).parent.relative_to(above).as_posix()
            return named[1] if below == "." else f"{named[1]}/{below}"
        return ""

    def home(self, target: str, language: Language) -> tuple[frozenset[str], str]:
        """Where a tree has what an import leads to, and what of it is named there; nowhere, if it is not its own."""
        match language:
            case Language.PYTHON:
                parts = target.split(".")
                for end in range(len(parts), 0, -1):
                    module = ".".join(parts[:end])
                    if hits := frozenset(p for p in self._python.get(parts[end - 1], ()) if _ends(_dotted(p), module)):
                        return hits, ".".join(parts[end:])
                return frozenset(), target
            case Language.GO:
                package, _, leaf = target.partition("#")
                hits = frozenset(p for p in self.places if p.endswith("/") and self.go_package(p + "x.go") == package)
                return hits, leaf
        stem, _, leaf = target.partition("#")
        return frozenset(p for end in _SCRIPTS for p in (stem + end, f"{stem}/index{end}") if p in self.paths), leaf


@dataclass(frozen=True)
class Move:
    """What became of names and places between two trees."""

    before: Tree
    after: Tree

    def same_target(self, old: str, new: str, language: Language) -> dict[str, str] | None:
        """The names that differ where an import leads to what it did, though that moved or has another name; None
        where it leads to something else."""
        if language is Language.RUST:
            return self._same_crate(old, new)
        was, leaf = self.before.home(old, language)
        now, name = self.after.home(new, language)
        gone = bool(was) and not was & self.after.places
        if old == new:
            return {} if now <= was or gone else None
        if not (was and now and leaf.count(".") == name.count(".")):
            return None
        parts = [(a, b) for a, b in zip(leaf.split("."), name.split("."), strict=True) if a != b]
        if was != now and not (self._came(was, now, name) and (gone or (leaf and self._left(was, now, leaf, name)))):
            return None
        return dict(parts) if all(self._left(was, now, a, b) for a, b in parts) else None

    def _same_crate(self, old: str, new: str) -> dict[str, str] | None:
        """The same of Rust: a module above may give what one below defines, but has none of its own by that name."""
        (was, leaf), (now, name) = (one.split("#", 1) for one in (old, new))
        if leaf != name and not self.same_name(leaf, name):
            return None
        if was != now and not (was.startswith(f"{now}::") and not now.startswith("|")):
            return None
        return {leaf: name} if leaf != name else {}

    def _came(self, was: frozenset[str], now: frozenset[str], name: str) -> bool:
        """Whether nothing else came that may be what places that are gone held."""
        first = name.partition(".")[0]
        names = {first} if first else {name for _, text in _texts(self.before, was) for name in defined(text)}
        homes = tuple(
            _folder(place) for place in now if place.endswith(("/", "/__init__.py", "/index.js", "/index.ts"))
        )
        return all(
            path in now or path.startswith(homes) or is_test(path) or not names & defined(text)
            for path, text in self.after.texts.items()
            if path not in self.before.texts or not names & defined(self.before.texts[path])
        )

    def _left(self, was: frozenset[str], now: frozenset[str], old: str, new: str) -> bool:
        """Whether places had something by a name and have it no more, by this one or by that of others."""
        old, new = old.rpartition(".")[2], new.rpartition(".")[2]
        had, kept = list(_texts(self.before, was)), list(_texts(self.after, was - now))
        kept_now = [*kept, *_texts(self.after, was & now)]
        come = list(_texts(self.after, now))
        for has in (_defines, _says):
            if any(has(text, old) for text in had) and not any(has(text, old) for text in kept_now):
                return any(_says(text, new) for text in come) and not any(has(text, new) for text in kept)
        return False

    def same_name(self, old: str, new: str) -> bool:
        """Whether the change gives a thing another name: what defined the old one defines it no more, and what defines
        the new one did not."""
        if not (_NAME.fullmatch(old) and _NAME.fullmatch(new)):
            return False
        was = [path for path, text in self.before.texts.items() if _defines((path, text), old)]
        now = [path for path, text in self.after.texts.items() if _defines((path, text), new)]
        if not was or not now or any(_defines(one, old) for one in self.after.texts.items()):
            return False
        before = self.before.texts
        return all(path not in before or not _defines((path, before[path]), new) for path in now)


def _texts(tree: Tree, places: frozenset[str]) -> Iterator[tuple[str, str]]:
    for path, text in tree.texts.items():
        if path in places or (_folder(path) in places and not is_test(path)):
            yield path, text


def _folder(path: str) -> str:
    return f"{PurePosixPath(path).parent.as_posix()}/"


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _ends(whole: str, end: str) -> bool:
    return whole == end or whole.endswith(f".{end}")


def _defines(one: tuple[str, str], name: str) -> bool:
    """Whether a file says what a name stands for."""
    return name in defined(one[1])


_DEFINES = re.compile(
    r"\b(?:def|class|func|fn|function|const|let|var|type|struct|enum|trait|static)\s+(?:\([^)\n]{0,200}\)\s*)?(\w+)"
    r"|^(?:export\s+)?(\w+)\s*(?::[^=\n]{1,80})?=(?!=)"
    r"|^\s+(?:(?:async|static|get|set|public|private)\s+){0,3}(\w+)\s*\([^)\n]{0,300}\)[^\n;()]{0,80}\{",
    re.MULTILINE,
)


@lru_cache(maxsize=512)
def defined(text: str) -> frozenset[str]:
    return frozenset(name for match in _DEFINES.finditer(text) for name in match.groups() if name)


def _says(one: tuple[str, str], name: str) -> bool:
    """Whether a file holds a name, outside of texts and comments."""
    path, text = one
    language = language_of(path, text)
    if language not in (Language.PYTHON, Language.SCRIPT, Language.GO, Language.RUST):
        return False
    return any(token.is_word and token.text == name for token in lexed(text, language))
