"""Objects that a worker made: copied out of a git folder that it writes, proved by their ids, kept by checkpoints.

A checkpoint lists them by id: files as they are, commits, trees and tags as their bytes, so that the store never
depends on a history that is not all its own. Copies of the latter, as real objects, are a cache beside the store:
git reads them there when it has to tell what a commit holds.
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from proctor.checkpoint.gitstate.folder import EXECUTABLE, PLAIN, GitFolder
from proctor.checkpoint.look.known import FRESH, Signature
from proctor.checkpoint.record import FOLDER, id_of, tree_body
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git, write_file
from proctor.trees import remove_tree

MOST_PACK = 256 << 20
MOST_OBJECT = 64 << 20
"""Bytes of what is copied."""
MOST_UNPACKED = 512 << 20
"""Bytes of objects that one look unpacks. What is more waits for the next: kilobytes can hold gigabytes."""
_PATIENCE = 60
"""Seconds of processor time for one pack."""
_GREED = {"GIT_ALLOC_LIMIT": "512m"}
"""Memory that git may ask for at once, for the same reason."""
_LATER = "more objects than one checkpoint takes in; the next goes on"
Listed = dict[str, tuple[bytes, str]]
"""By id: `PLAIN` and the same id for a file's content, `EXECUTABLE` and the id of a blob that holds `TYPE SIZE NUL
BYTES` for any other object."""

_LOOSE = re.compile(rb"[0-9a-f]{38}")
_FAN = re.compile(rb"[0-9a-f]{2}")
_PACK = re.compile(rb"pack-[0-9a-f]{40,64}\.pack")


class Cache:
    """The objects of workers as git reads them, and what is known of where they came from."""

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self.folder = folder
        self.objects = folder / "objects"

    def env(self, others: Iterable[Path] = ()) -> dict[str, str]:
        """What makes a command read here, in the store, and in folders of objects besides."""
        paths = [self._git.gitdir / "objects", *self._git.lenders, *others]
        self.objects.mkdir(parents=True, exist_ok=True)
        return {
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(json.dumps(str(path), ensure_ascii=False) for path in paths),
        }

    def add(self, oid: str, whole: bytes) -> None:
        """Write an object, from its bytes with their head."""
        place = self.objects / oid[:2] / oid[2:]
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            write_file(place, zlib.compress(whole, 1), durable=False)

    def adopt_pack(self, name: bytes, body: bytes) -> list[str]:
        """Take a pack in, proved; the ids in it. GitFailed if it is no whole pack."""
        pack = self.objects / "pack"
        pack.mkdir(parents=True, exist_ok=True)
        stem = pack / f"pack-{id_of('blob', body)}"
        if not stem.with_suffix(".idx").exists():
            write_file(stem.with_suffix(".pack"), body, durable=False)
            try:
                with self._git.start("index-pack", str(stem.with_suffix(".pack")), env=self.env() | _GREED) as command:
                    command.bound(_PATIENCE)
                    command.output()
            except GitFailed:
                stem.with_suffix(".pack").unlink(missing_ok=True)
                raise
        listed = self._git.run("show-index", input=stem.with_suffix(".idx").read_bytes())
        return [line.split(b" ")[1].decode() for line in listed.splitlines()]

    def read(self, oids: Collection[str], env: dict[str, str]) -> Iterator[tuple[str, bytes]]:
        """Objects with their heads, those that are there."""
        out = self._git.run("cat-file", "--batch", input="".join(f"{oid}\n" for oid in oids).encode(), env=env)
        at = 0
        while at < len(out):
            end = out.index(b"\n", at)
            oid, kind, *size = out[at:end].split(b" ")
            at = end + 1
            if size:
                body = out[at : at + int(size[0])]
                at += int(size[0]) + 1
                yield oid.decode(), b"%s %s\0" % (kind, size[0]) + body

    def sizes(self, oids: Collection[str]) -> dict[str, int]:
        """Bytes of objects that were taken in, unpacked."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        words = ("cat-file", "--batch-check=%(objectname) %(objectsize)")
        out = self._git.run(*words, input=asked, env=self.env()) if oids else b""
        lines = (line.split(b" ") for line in out.splitlines() if not line.endswith(b" missing"))
        return {oid.decode(): int(size) for oid, size in lines}

    def missing(self, oids: Collection[str], env: dict[str, str]) -> set[str]:
        """Those of the ids that no object is there for."""
        if not oids:
            return set()
        asked = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
        out = self._git.run("cat-file", "--batch-check", input=asked, env=env)
        return {line.split(b" ")[0].decode() for line in out.splitlines() if line.endswith(b" missing")}

    def since(self, key: bytes) -> int | None:
        """What was there before this (ns) is the operator's; None for a repository never seen before."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.folder / f"{key.decode()}.since").read_text())
        return None

    def note_since(self, key: bytes, when: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / f"{key.decode()}.since", str(when).encode())

    def forget(self) -> None:
        """Drop all that can be found out anew."""
        with contextlib.suppress(FileNotFoundError):
            for place in self.folder.iterdir():
                if place.suffix != ".since":
                    remove_tree(place)


class Gathered:
    """What was gathered of one repository, kept in a file between looks."""

    def __init__(self, cache: Cache, key: bytes) -> None:
        self._cache = cache
        self._place = cache.folder / f"{key.decode()}.objects"
        self.listed: Listed = {}
        self.since = cache.since(key)
        self._seen: dict[str, Signature] = {}
        self._touched: set[str] = set()
        self._bad: dict[str, Signature] = {}
        self._left = MOST_UNPACKED
        self.is_all = True
        """Whether nothing was left for the next look."""
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            data = json.loads(self._place.read_bytes())
            self._seen = {name: tuple(found) for name, found in data["seen"].items()}
            self.listed = {oid: (EXECUTABLE, kept) if kept else (PLAIN, oid) for oid, kept in data["listed"].items()}

    @property
    def is_new(self) -> bool:
        return not self._place.exists()

    def look(self, folder: GitFolder, now: int, draft: Draft) -> dict[bytes, str]:
        """Take in what appeared since the last look; what could not be, with the reason."""
        refused: dict[bytes, str] = {}
        fresh: Listed = {}
        seen = dict(self._seen)
        for fan, found in folder.children(b"objects").items():
            if not _FAN.fullmatch(fan) or self._seen.get(fan.decode()) == found:
                continue
            is_all = self._fan(folder, b"objects/" + fan, draft, fresh, refused)
            if is_all and found[3] < now - FRESH:
                seen[fan.decode()] = found
        for name, found in folder.children(b"objects/pack").items():
            if not _PACK.fullmatch(name) or self._seen.get(name.decode()) == found:
                continue
            if found[3] < (self.since or 0) or self._pack(folder, b"objects/pack/" + name, draft, fresh, refused):
                seen[name.decode()] = found
        seen |= self._bad
        if fresh or seen != self._seen or self.is_new:
            self._touched = {oid[:2] for oid in (self.listed | fresh if self.is_new else fresh)}
            self.listed |= fresh
            self._seen = seen
            draft.afterwards.append(self._save)
        return refused

    def tree(self, draft: Draft) -> str:
        """Write the list as a tree; "" for none."""
        fans: dict[str, dict[bytes, tuple[bytes, str]]] = {}
        for oid, kept in self.listed.items():
            fans.setdefault(oid[:2], {})[oid[2:].encode()] = kept
        if not fans:
            return ""
        trees = {}
        for fan, held in fans.items():
            body = tree_body(held)
            oid = draft.put("tree", body) if fan in self._touched else id_of("tree", body)
            trees[fan.encode()] = FOLDER, oid
        return draft.put("tree", tree_body(trees))

    def _fan(self, folder: GitFolder, place: bytes, draft: Draft, fresh: Listed, refused: dict[bytes, str]) -> bool:
        """Take in loose objects; whether that was all of them."""
        for name in folder.names(place):
            path = place + b"/" + name
            oid = (place[-2:] + name).decode("ascii", "replace")
            if not _LOOSE.fullmatch(name) or oid in self.listed or oid in fresh:
                continue
            about = folder.signature(path)
            if about is None or about[3] < (self.since or 0) or self._seen.get(oid) == about:
                continue
            if self._left <= 0:
                refused[place] = _LATER
                self.is_all = False
                return False
            whole = loose(folder, path)
            self._left -= MOST_OBJECT if whole is None else len(whole)
            if whole is None or not is_whole(oid, whole):
                refused[path] = "an object that is damaged, or too large"
                self._bad[oid] = about
            else:
                fresh[oid] = self._take(oid, whole, draft)
        return True

    def _pack(self, folder: GitFolder, path: bytes, draft: Draft, fresh: Listed, refused: dict[bytes, str]) -> bool:
        """Take in a pack; whether that was all of it."""
        body = folder.read(path, MOST_PACK)
        if body is None:
            refused[path] = "a pack that cannot be read, or is too large"
            return True
        try:
            inside = self._cache.adopt_pack(path, body)
        except GitFailed:
            refused[path] = "a pack that is damaged, or unpacks to too much"
            return True
        sizes = self._cache.sizes([oid for oid in inside if oid not in self.listed and oid not in fresh])
        if any(size > MOST_OBJECT for size in sizes.values()):
            refused[path] = "a pack with objects that are too large"
        for some in _batches({oid: size for oid, size in sizes.items() if size <= MOST_OBJECT}):
            if self._left <= 0:
                refused[path] = _LATER
                self.is_all = False
                return False
            for oid, whole in self._cache.read(some, self._cache.env()):
                self._left -= len(whole)
                fresh[oid] = self._take(oid, whole, draft)
        return True

    def _take(self, oid: str, whole: bytes, draft: Draft) -> tuple[bytes, str]:
        if whole.startswith(b"blob "):
            draft.put("blob", whole.partition(b"\0")[2])
            return PLAIN, oid
        self._cache.add(oid, whole)
        return EXECUTABLE, draft.put("blob", whole)

    def _save(self) -> None:
        listed = {oid: kept if mode == EXECUTABLE else "" for oid, (mode, kept) in self.listed.items()}
        body = json.dumps({"seen": self._seen, "listed": listed}).encode()
        self._place.parent.mkdir(parents=True, exist_ok=True)
        write_file(self._place, body, durable=False)


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Objects that are read at one time: as many as one large one weighs."""
    some: list[str] = []
    weight = 0
    for oid, size in sizes.items():
        if some and weight + size > MOST_OBJECT:
            yield some
            some, weight = [], 0
        some.append(oid)
        weight += size
    if some:
        yield some


def loose(folder: GitFolder, path: bytes) -> bytes | None:
    """A loose object with its head; None if it cannot be read."""
    packed = folder.read(path, MOST_OBJECT)
    if packed is None:
        return None
    unpacking = zlib.decompressobj()
    try:
        whole = unpacking.decompress(packed, MOST_OBJECT)
    except zlib.error:
        return None
    return whole if unpacking.eof else None


def is_whole(oid: str, whole: bytes) -> bool:
    """Whether an object is what its id says."""
    head, _, body = whole.partition(b"\0")
    kind, _, size = head.partition(b" ")
    known = kind in (b"blob", b"commit", b"tree", b"tag")
    return known and size == b"%d" % len(body) and id_of(kind.decode(), body) == oid
