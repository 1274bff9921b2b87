"""A frozen set as a value: what was recorded, where its bytes are kept, and whether they still are what they were.

    .proctor/oracle/<rev>/manifest.json   what is frozen, and where it stood
    .proctor/oracle/<rev>/files/<sha256>  the contents
    .proctor/oracle/current               the revision in force

A revision is named by the hash of its manifest, and a manifest names contents by theirs, so that a frozen set
either is what was recorded or says so.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from proctor.errors import Unrecoverable
from proctor.oracle.toolchains import discovery, makes, modules, reached
from proctor.text import safe_line

MANIFEST, FILES, CURRENT = "manifest.json", "files", "current"
_MANY = 64
_STARTING = 32 << 20
"""Bytes of frozen files that are looked through for what they start."""


@dataclass(frozen=True, slots=True)
class Item:
    """One frozen file or link. `declared`: named by the contract or by a check, so that every byte counts."""

    path: str
    digest: str
    mode: int
    link: str | None = None
    declared: bool = False


@dataclass(frozen=True)
class Frozen:
    """A frozen set. All paths are relative to the workspace.

    `roots` are the declared protected paths, present or not: what appears inside them later is not the project's.
    `modules` are the top-level modules that were there, `imports` the names that frozen files take from elsewhere: a
    new module of such a name would stand before the real one. `borrowed` are the ignored environments that checks use
    where they stand, `guarded` the part of them that starts test runners, `trees` the manifest of each as a whole
    (`installed.py`). `skipped` names what could not be frozen, `awaited` what make files include, there or not,
    `starts` the folders that unwatched checks let Python import from first, `installed` the top-level names of the
    packages of environments that checks use, `named` the paths that checks name, there or not, `tested` the folders
    that held tests for Python, `goals` the names that make files give to commands, and no file had, `made` what
    other rules of theirs make (`makes.py`), `stood` what was there of it, `documents` the
    frozen files of which only the examples count, `supports` the modules of which what reaches into tests counts
    (`supports.py`), `cases` data of tests that may be another but not be gone, `sourced` what scripts of checks read
    into their own shell, if it comes, `joined` what of it was there, `entrusted` what the operator leaves to workers
    whatever it is.
    """

    rev: str
    folder: Path
    items: tuple[Item, ...]
    guarded: tuple[Item, ...]
    roots: tuple[str, ...]
    modules: tuple[str, ...]
    imports: tuple[str, ...]
    borrowed: tuple[str, ...]
    skipped: tuple[str, ...]
    trees: tuple[Item, ...] = ()
    awaited: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    entrusted: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    stood: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    cases: tuple[Item, ...] = ()
    sourced: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    @cached_property
    def by_path(self) -> dict[str, Item]:
        return {item.path: item for item in self.items}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names of modules that stand for something else where Python imports from first."""
        return modules.LIBRARY | frozenset((*self.imports, *self.installed))

    @cached_property
    def places(self) -> frozenset[str]:
        """Folders that had a build or package file, in which checks may start."""
        paths = (item.path.rpartition("/") for item in self.items)
        return frozenset(folder for folder, _, name in paths if name in discovery.MANIFESTS)

    @cached_property
    def case_paths(self) -> frozenset[str]:
        return frozenset(item.path for item in self.cases)

    @cached_property
    def supporting(self) -> frozenset[tuple[str, str]]:
        """The modules that tests rest on and that count by a part, as `modules.whole_module` gives them."""
        return frozenset(filter(None, map(modules.whole_module, self.supports)))

    @cached_property
    def go_tests(self) -> frozenset[str]:
        """Folders of Go packages with frozen tests."""
        return discovery.go_packages(item.path for item in self.items)

    @cached_property
    def vendored(self) -> frozenset[str]:
        """Folders of test tools that are part of the tree."""
        return frozenset(filter(None, (discovery.vendored(item.path) for item in self.items)))

    @cached_property
    def harmless(self) -> set[str]:
        """Paths that are known to change nothing of what the checks mean, whatever stands there."""
        return set()

    @cached_property
    def starting(self) -> reached.Texts | None:
        """What may start scripts and targets; None where it is not known, or too much to be looked through."""
        items = [item for item in self.items if item.link is None and discovery.decides_here(item.path)]
        if not self.run or sum(self.content(item).stat().st_size for item in items) > _STARTING:
            return None
        return reached.Texts(self.run, {item.path: discovery.read(self.content(item)) for item in items})

    def content(self, item: Item) -> Path:
        """Where the bytes of a frozen file are kept."""
        return self.folder / FILES / item.digest

    def protects(self, path: str) -> bool:
        """Whether a path is, or lies inside, a declared protected path."""
        return is_within(path, self.roots)

    def awaits(self, path: str) -> bool:
        """Whether a make file includes a file of this path as soon as there is one."""
        return any(makes.is_match(path, pattern) for pattern in self.awaited)

    def reads_in(self, path: str) -> bool:
        """Whether a script of checks reads a file of this path into its own shell as soon as there is one."""
        return any(makes.is_match(path, pattern) for pattern in self.sourced)


def is_within(path: str, places: Collection[str]) -> bool:
    """Whether a path is, or lies below, one of some places."""
    return any(path == place or path.startswith(place + "/") for place in places)


def encode(**parts: object) -> bytes:
    """The manifest: text that holds any path, names that are not UTF-8 as escaped surrogates."""
    return json.dumps(parts, indent=1, sort_keys=True, default=asdict).encode()


def decode(folder: Path, manifest: bytes) -> Frozen:
    """The frozen set that a manifest describes."""
    data = {name: tuple(value) for name, value in json.loads(manifest).items()}
    for name in ("items", "guarded", "trees", "cases"):
        data[name] = tuple(Item(**item) for item in data.get(name, ()))
    return Frozen(rev=folder.name, folder=folder, **data)


def revision(manifest: bytes) -> str:
    return hashlib.sha256(manifest).hexdigest()[:20]


def digest_of(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is old or new, never half, and on disk when this returns."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    sync(new)
    os.replace(new, path)
    sync(path.parent)


def sync_all(folder: Path, places: Collection[Path]) -> None:
    """Bring files and folders below a folder to the disk: one by one, or where these are many, all that it is on."""
    if len(places) <= _MANY:
        for place in places:
            sync(place)
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(fd):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(fd)


def sync(place: Path) -> None:
    """Bring a file or folder to the disk."""
    fd = os.open(place, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def load_frozen(store: Path, rev: str | None = None) -> Frozen | None:
    """The frozen set in force, or that of a revision; None when nothing was ever frozen.

    Every byte is checked against its hash. Unrecoverable, word `oracle`, when one does not match.
    """
    if rev is None and not (store / CURRENT).exists():
        return None
    try:
        name = rev or (store / CURRENT).read_text()
        manifest = (store / name / MANIFEST).read_bytes()
        if revision(manifest) != name:
            raise ValueError(f"{name}/{MANIFEST} was changed")
        frozen = decode(store / name, manifest)
        for item in (*frozen.items, *frozen.guarded, *frozen.trees, *frozen.cases):
            if item.link is None and digest_of(frozen.content(item)) != item.digest:
                raise ValueError(f"the record of {item.path} was changed")
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = safe_line(str(error))
        raise Unrecoverable(
            f"{safe_line(str(store))}: the frozen checks are damaged ({why}); restore this folder from a copy", "oracle"
        ) from error
    return frozen
