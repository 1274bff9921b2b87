"""Whether checkpoints are whole: every object that one needs is there and hashes to its name.

Git says of a pack only that something in it is wrong. So what exactly is lost is found out here, from the checksums
of single objects that a pack's index holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import mmap
import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.checkpoint.record import BESIDE, FILES, STATE, text
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.plumbing import Git
from proctor.text import safe_line
from proctor.units import counted

_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDER, _LINK = b"40000", b"160000"
_SHOWN = 3
_OFS_DELTA, _REF_DELTA = 6, 7

Entries = list[tuple[bytes, bytes, str]]


@dataclass(frozen=True, slots=True)
class Verified:
    """What a proof of checkpoints said. `whole` are the names of those that have every byte, `lost` says in words why
    the others have not, `files` which files of each are gone (none where a checkpoint cannot be read at all)."""

    whole: tuple[str, ...]
    lost: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def verify(git: Git, names: Mapping[str, str]) -> Verified:
    """Prove the checkpoints that are named (name -> commit, "" for one whose ref cannot be read). Reads all of the
    store, so it is slow. Wants its lock."""
    stock = _Stock(git)
    walk = _Walk(git, stock, set(names.values()))
    whole, lost, files = [], {}, {}
    for name, commit in names.items():
        damage = walk.damage(commit)
        inside = sorted(path.removeprefix(FILES + b"/") for path in damage if path.startswith(FILES + b"/"))
        if not damage:
            whole.append(name)
        elif all(path.startswith((FILES + b"/", STATE, BESIDE)) for path in damage):
            files[name] = tuple(map(text, inside))
            lost[name] = _words(inside, state=len(inside) < len(damage))
        else:
            lost[name] = "it is missing or damaged itself" if commit else "its ref is damaged"
    return Verified(tuple(whole), lost, files)


def _words(files: list[bytes], state: bool) -> str:
    shown = ", ".join(safe_line(path, 100) for path in files[:_SHOWN]) + (", …" if len(files) > _SHOWN else "")
    parts = [f"{counted(len(files), 'file')} of it ({shown})"] if files else []
    parts += ["the state of its repositories"] if state else []
    return f"missing or damaged: {' and '.join(parts)}"


class _Stock:
    """Which objects are there and whole."""

    def __init__(self, git: Git) -> None:
        self._whole: set[str] = set()
        self._folders = [git.gitdir / "objects", *git.lenders]
        hurt: list[tuple[str, str]] = []
        for index in sorted(path for folder in self._folders for path in (folder / "pack").glob("*.idx")):
            pack = _Pack(index)
            try:
                git.run("verify-pack", str(index))
                self._whole.update(pack.ids() or _listed(git, index))
            except GitFailed:
                hurt += pack.salvage()
        while good := {oid for oid, base in hurt if not base or base in self._whole} - self._whole:
            self._whole |= good

    def holds(self, oid: str) -> bool:
        """Whether an object can be had."""
        if oid not in self._whole:
            if not any(_is_whole(folder / oid[:2] / oid[2:], oid) for folder in self._folders):
                return False
            self._whole.add(oid)
        return True


def _listed(git: Git, index: Path) -> Iterator[str]:
    """The objects in a pack whose index is of the old version."""
    return (line.split(b" ")[1].decode() for line in git.run("show-index", input=index.read_bytes()).splitlines())


class _Walk:
    """What checkpoints consist of, as far as it can be read."""

    def __init__(self, git: Git, stock: _Stock, commits: Iterable[str]) -> None:
        self._git = git
        self._stock = stock
        self._bodies: dict[str, tuple[bytes, bytes]] = {}
        self._bad: set[str] = set()
        self._hurt: set[str] = set()
        level = set(commits)
        above: dict[str, set[str]] = defaultdict(set)
        seen = set(level)
        while level:
            bad = {oid for oid in level if not stock.holds(oid)}
            self._bad |= bad
            below = set()
            for oid in self._read(level - bad):
                for mode, _, child in self._children(oid):
                    is_leaf = mode not in (_FOLDER, b"")
                    if child not in seen:
                        seen.add(child)
                        if not is_leaf:
                            below.add(child)
                        elif not stock.holds(child):
                            self._bad.add(child)
                    if not is_leaf or child in self._bad:
                        above[child].add(oid)
            level = below
        todo = list(self._bad)
        while todo:
            fresh = above[todo.pop()] - self._hurt
            self._hurt |= fresh
            todo += fresh

    def damage(self, commit: str) -> set[bytes]:
        """The paths of what is gone of a checkpoint, b"" for itself; a folder that is gone stands for what it held."""
        found, todo = set(), [(commit, b"")]
        while todo:
            oid, path = todo.pop()
            if oid in self._bad:
                found.add(path)
            elif oid in self._hurt:
                todo += [(child, path + b"/" + name if path else name) for _, name, child in self._children(oid)]
        return found

    def _read(self, oids: Iterable[str]) -> Iterator[str]:
        """Take in commits, trees and tags; those that were read."""
        wanted = sorted(oids)
        if not wanted:
            return
        out = self._git.run("cat-file", "--batch", input="\n".join([*wanted, ""]).encode())
        at = 0
        for oid in wanted:
            end = out.index(b"\n", at)
            _, kind, size = out[at:end].split(b" ")
            at = end + 1 + int(size) + 1
            self._bodies[oid] = kind, out[end + 1 : at - 1]
            yield oid

    def _children(self, oid: str) -> Entries:
        kind, body = self._bodies.get(oid, (b"", b""))
        if kind == b"tree":
            found = [(mode, name, raw.hex()) for mode, name, raw in _ENTRY.findall(body)]
            return [entry for entry in found if entry[0] != _LINK]
        lines = body.partition(b"\n\n")[0].split(b"\n")
        heads = (b"tree ", b"parent ") if kind == b"commit" else (b"object ",) if kind == b"tag" else ()
        return [(b"", b"", line.split(b" ")[1].decode()) for line in lines if line.startswith(heads or (b"\0",))]


class _Pack:
    """One pack, by its index (version 2)."""

    def __init__(self, index: Path) -> None:
        self._pack = index.with_suffix(".pack")
        self._data = b""
        with contextlib.suppress(OSError):
            data = index.read_bytes()
            sound = data.startswith(b"\377tOc\0\0\0\2") and hashlib.sha1(data[:-20], usedforsecurity=False).digest()
            self._data = data if sound == data[-20:] else b""
        self._count = int.from_bytes(self._data[1028:1032]) if self._data else 0

    def ids(self) -> list[str]:
        """The names of its objects, sorted."""
        names = self._data[1032 : 1032 + 20 * self._count].hex()
        return [names[at : at + 40] for at in range(0, len(names), 40)]

    def salvage(self) -> list[tuple[str, str]]:
        """Which objects of a damaged pack are good still, each with the one that it is a difference from, or ""."""
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError, ValueError):
            file = stack.enter_context(open(self._pack, "rb"))
            body = stack.enter_context(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
            # Where the beginning or the end is wrong, git would not open it at all.
            if self._data and body[:4] == b"PACK" and body[-20:] == self._data[-40:-20]:
                return list(self._good(body))
        return []

    def _good(self, body: mmap.mmap) -> Iterator[tuple[str, str]]:
        ids, count = self.ids(), self._count
        at = 1032 + 20 * count
        sums = struct.unpack_from(f">{count}I", self._data, at)
        short = struct.unpack_from(f">{count}I", self._data, at + 4 * count)
        large = struct.unpack(f">{(len(self._data) - 40 - at - 8 * count) // 8}Q", self._data[at + 8 * count : -40])
        starts = [large[start & 0x7FFFFFFF] if start >> 31 else start for start in short]
        ends = dict(itertools.pairwise([*sorted(starts), len(body) - 20]))
        at_start = dict(zip(starts, ids, strict=True))
        for oid, start, checksum in zip(ids, starts, sums, strict=True):
            if zlib.crc32(body[start : ends[start]]) == checksum:
                base = _base(body, start)
                yield oid, at_start.get(start - base, oid) if isinstance(base, int) else base


def _base(pack: mmap.mmap, start: int) -> int | str:
    """What an object in a pack is a difference from: how far before it that stands, or its name, or "" for nothing."""
    at = start
    kind = pack[at] >> 4 & 7
    while pack[at] & 0x80:
        at += 1
    at += 1
    if kind == _REF_DELTA:
        return pack[at : at + 20].hex()
    if kind != _OFS_DELTA:
        return ""
    far = pack[at] & 0x7F
    while pack[at] & 0x80:
        at += 1
        far = (far + 1 << 7) | (pack[at] & 0x7F)
    return far


def _is_whole(path: Path, oid: str) -> bool:
    try:
        body = zlib.decompress(path.read_bytes())
    except (OSError, zlib.error):
        return False
    return hashlib.sha1(body, usedforsecurity=False).hexdigest() == oid
