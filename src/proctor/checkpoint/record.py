"""What a checkpoint is made of: a tree of files, a manifest of what git cannot say, and notes that identify nothing.

The commit's tree holds `files` (the files), `manifest`, `notes` and `meta` (the caller's bytes). The id of the tree
of `files` and `manifest` alone is the identity of a working tree: equal ids, equal trees.
"""

from __future__ import annotations

import base64
import hashlib
import json
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from proctor.words import Certainty

FILES, MANIFEST, NOTES, META = b"files", b"manifest", b"notes", b"meta"
STATE, BESIDE = b"repositories", b"beside"
FOLDER, FILE = b"40000", b"100644"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored working tree. `tree` is its identity; `skipped` are lines about what is not kept and why;
    `unstable` are paths that were written while they were read. `commit` is a tree id if nothing names it yet.
    `state` is the identity of the repositories (refs, HEAD, index and the rest), "" if there are none. `borrowed`:
    some of its objects are still the operator's alone. `ignored`: kept although ignore rules leave them out."""

    commit: str
    tree: str
    files: int
    skipped: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    state: str = ""
    certainty: Certainty = Certainty.CONFIRMED
    borrowed: bool = False
    ignored: frozenset[bytes] = frozenset()


class ChangeKind(StrEnum):
    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RETYPED = "retyped"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs. `added` and `removed` are lines, 0 for binary files; `size` is the new size in bytes.

    `ignored` marks a file that the project's ignore rules leave out, kept because it is small.
    """

    path: str
    kind: ChangeKind
    added: int = 0
    removed: int = 0
    binary: bool = False
    size: int = 0
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a checkpoint: `mode` as lstat gives it, `oid` the id of its content (a symlink's is its target)."""

    path: str
    mode: int
    oid: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The tree equals the target. `parked` are paths that stood in the way and were moved aside, `missing` nested
    repositories of the target whose `.git` is gone, `tree` the identity that was proved, `mine` the operator's edits
    that stayed, `said` lines about what needs his eye, such as a file that a process has open."""

    changed: int
    parked: tuple[str, ...]
    tree: str
    missing: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


Attributes = tuple[tuple[str, bytes], ...]
"""Extended attributes by name, sorted."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What git cannot say. `modes` and `folders`: permission bits other than those that git and the umask give.
    `empty`: folders that hold no file. `links`: files that are one file under several names, each with the first of
    the names. `fifos`: their permission bits. `attributes`: of files and folders.

    What a tree does not use is not written, so that an id does not change with what can be said.
    """

    modes: dict[bytes, int] = field(default_factory=dict)
    folders: dict[bytes, int] = field(default_factory=dict)
    empty: frozenset[bytes] = frozenset()
    links: dict[bytes, bytes] = field(default_factory=dict)
    fifos: dict[bytes, int] = field(default_factory=dict)
    attributes: dict[bytes, Attributes] = field(default_factory=dict)

    def encode(self) -> bytes:
        data: dict[str, object] = {
            "modes": _named(self.modes),
            "folders": _named(self.folders),
            "empty": _texts(self.empty),
        }
        if self.links:
            data["links"] = sorted(_texts(group) for group in grouped(self.links))
        if self.fifos:
            data["fifos"] = _named(self.fifos)
        if self.attributes:
            data["attributes"] = {
                text(path): {name: base64.b64encode(value).decode() for name, value in attributes}
                for path, attributes in self.attributes.items()
            }
        return _json(data)

    @classmethod
    def decode(cls, body: bytes) -> Manifest:
        data = json.loads(body)
        return cls(
            {raw(path): mode for path, mode in data["modes"].items()},
            {raw(path): mode for path, mode in data["folders"].items()},
            frozenset(map(raw, data["empty"])),
            linked([map(raw, group) for group in data.get("links", ())]),
            {raw(path): mode for path, mode in data.get("fifos", {}).items()},
            {
                raw(path): tuple(sorted((name, base64.b64decode(value)) for name, value in attributes.items()))
                for path, attributes in data.get("attributes", {}).items()
            },
        )

    def merged(self, other: Manifest, chosen: Callable[[bytes], bool]) -> Manifest:
        """This manifest, with `other`'s word on the chosen paths."""

        def pick(mine: dict[bytes, T], theirs: dict[bytes, T]) -> dict[bytes, T]:
            kept = {path: word for path, word in mine.items() if not chosen(path)}
            return kept | {path: word for path, word in theirs.items() if chosen(path)}

        empty = {path for path in self.empty if not chosen(path)} | {path for path in other.empty if chosen(path)}
        same = self.links.keys() - self._linked_otherwise(other)
        names: dict[tuple[bool, bytes], list[bytes]] = {}
        for theirs, links in ((False, self.links), (True, other.links)):
            for path, first in links.items():
                if (chosen(path) and path not in same) == theirs:
                    names.setdefault((theirs, first), []).append(path)
        return Manifest(
            pick(self.modes, other.modes),
            pick(self.folders, other.folders),
            frozenset(empty),
            linked(names.values()),
            pick(self.fifos, other.fifos),
            pick(self.attributes, other.attributes),
        )

    @property
    def hollow(self) -> frozenset[bytes]:
        """Folders that hold no file, and those above them."""
        return self.empty.union(*map(parents, self.empty))

    @property
    def odd_files(self) -> set[bytes]:
        """The files of which something is said, and perhaps some folders."""
        return {*self.modes, *self.links, *self.attributes}

    @property
    def paths(self) -> set[bytes]:
        """All of which something is said."""
        return self.odd_files.union(self.folders, self.empty, self.fifos)

    def differing(self, other: Manifest) -> set[bytes]:
        """The paths of which the two say different things."""
        unequal = {path for path, _ in self.modes.items() ^ other.modes.items()}
        unequal |= {path for path, _ in self.folders.items() ^ other.folders.items()}
        unequal |= {path for path, _ in self.fifos.items() ^ other.fifos.items()}
        unequal |= {path for path, _ in self.attributes.items() ^ other.attributes.items()}
        return unequal | (self.empty ^ other.empty) | self._linked_otherwise(other)

    def _linked_otherwise(self, other: Manifest) -> set[bytes]:
        return {path for group in set(grouped(self.links)) ^ set(grouped(other.links)) for path in group}


@dataclass(frozen=True, slots=True)
class Notes:
    """What is worth knowing about a snapshot and is no part of the tree's identity.

    `ignored`: kept although ignore rules leave them out. `closed` and `left`: ignored folders and files that are not.
    `skipped`: other paths that are not kept, with the reason. `bare`: kept without their extended attributes, which
    were too many. `repositories`: folders with a `.git` of their own. `stirs`: a number for how each closed folder
    looked of which nothing is kept.
    """

    parent: str = ""
    ignored: frozenset[bytes] = frozenset()
    closed: frozenset[bytes] = frozenset()
    left: frozenset[bytes] = frozenset()
    skipped: dict[bytes, str] = field(default_factory=dict)
    unstable: frozenset[bytes] = frozenset()
    repositories: frozenset[bytes] = frozenset()
    bare: frozenset[bytes] = frozenset()
    stirs: dict[bytes, int] = field(default_factory=dict)

    def stirred(self, since: Notes) -> frozenset[bytes]:
        """Closed folders that changed since the other notes were made, or came, or went; what changed is not kept."""
        differing = {path for path, _ in self.stirs.items() ^ since.stirs.items()}
        return frozenset(path for path in differing if path in since.stirs or not is_below(path, since.closed))

    @property
    def not_kept(self) -> frozenset[bytes]:
        """Folders and files that are in the tree and in no checkpoint."""
        return self.closed | self.left | self.skipped.keys()

    @property
    def words(self) -> tuple[str, ...]:
        """What is not kept, a line each, with the reason."""
        bare = dict.fromkeys(self.bare, "kept without its extended attributes, there are too many of them")
        return tuple(f"{text(path)}: {why}" for path, why in sorted((bare | self.skipped).items()))

    def encode(self) -> bytes:
        return _json(
            {
                "parent": self.parent,
                "ignored": _texts(self.ignored),
                "closed": _texts(self.closed),
                "left": _texts(self.left),
                "skipped": _named(self.skipped),
                "unstable": _texts(self.unstable),
                "repositories": _texts(self.repositories),
                "bare": _texts(self.bare),
                "stirs": _named(self.stirs),
            }
        )

    @classmethod
    def decode(cls, body: bytes) -> Notes:
        data = json.loads(body)
        return cls(
            data["parent"],
            frozenset(map(raw, data["ignored"])),
            frozenset(map(raw, data["closed"])),
            frozenset(map(raw, data["left"])),
            {raw(path): why for path, why in data["skipped"].items()},
            frozenset(map(raw, data["unstable"])),
            frozenset(map(raw, data["repositories"])),
            frozenset(map(raw, data.get("bare", ()))),
            {raw(path): look for path, look in data.get("stirs", {}).items()},
        )


@dataclass(frozen=True, slots=True)
class Held:
    """A tree in the store, whether or not a commit names it: ids of the files and of the whole, and the words."""

    files: str
    tree: str
    manifest: Manifest
    notes: Notes
    state: str = ""
    """The id of the tree of the repositories' state, "" for none."""
    beside: str = ""
    """The id of the tree of what else is kept of them: workers' objects, settings; "" for none."""
    partly: tuple[str, ...] = ()
    """Lines about what of the repositories is not kept."""


def identity(files: str, manifest: Manifest) -> tuple[str, bytes]:
    """The id of the tree of files and manifest, and the tree itself."""
    body = tree_body({FILES: (FOLDER, files), MANIFEST: (FILE, id_of("blob", manifest.encode()))})
    return id_of("tree", body), body


def id_of(kind: str, body: bytes) -> str:
    """The id that git gives an object."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(body)) + body, usedforsecurity=False).hexdigest()


def tree_body(entries: dict[bytes, tuple[bytes, str]]) -> bytes:
    """A git tree of named modes and ids, in git's order: a folder's name as if it ended with a slash."""
    order = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == FOLDER else name)
    return b"".join(b"%s %s\0%s" % (entries[name][0], name, bytes.fromhex(entries[name][1])) for name in order)


def tree_entries(body: bytes) -> dict[bytes, tuple[bytes, str]]:
    """What a git tree holds."""
    found, at = {}, 0
    while at < len(body):
        end = body.index(b"\0", at)
        mode, _, name = body[at:end].partition(b" ")
        at = end + 21
        found[name] = (mode, body[end + 1 : at].hex())
    return found


def text(path: bytes) -> str:
    """A path as callers see it: `os.fsdecode` in a UTF-8 locale, whatever the locale is."""
    return path.decode("utf-8", "surrogateescape")


def raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def is_below(path: bytes, tops: Collection[bytes]) -> bool:
    """Whether a path is one of `tops` or lies in one."""
    return path in tops or is_inside(path, tops)


def is_inside(path: bytes, tops: Collection[bytes]) -> bool:
    """Whether a path lies in one of `tops`."""
    return bool(tops) and any(parent in tops for parent in parents(path))


def parents(path: bytes) -> Iterable[bytes]:
    """The folders above a path, the outermost first; not the workspace itself."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def linked(groups: Iterable[Iterable[bytes]]) -> dict[bytes, bytes]:
    """Names of one file each with the first of them; a name that stands alone is none."""
    found: dict[bytes, bytes] = {}
    for names in map(sorted, groups):
        if len(names) > 1:
            found |= dict.fromkeys(names, names[0])
    return found


def grouped(links: dict[bytes, bytes]) -> list[tuple[bytes, ...]]:
    """The names of each file that has several, sorted."""
    found: dict[bytes, list[bytes]] = {}
    for path, first in sorted(links.items()):
        found.setdefault(first, []).append(path)
    return [tuple(names) for names in found.values()]


def common_mode(executable: int, umask: int) -> int:
    """The permission bits that a checkout gives a file without any further word."""
    return (0o777 if executable & stat.S_IXUSR else 0o666) & ~umask


def _texts(paths: Iterable[bytes]) -> list[str]:
    return sorted(map(text, paths))


def _named(values: dict[bytes, int] | dict[bytes, str]) -> dict[str, int | str]:
    return {text(path): value for path, value in values.items()}


def _json(data: object) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
