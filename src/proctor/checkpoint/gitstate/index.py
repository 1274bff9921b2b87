"""Git's index as a difference from a commit's tree, and back. Pure: bytes in, bytes out.

An index of 100,000 files is 8 MB, and its bytes change whenever git looks at the files. What differs from HEAD, the
flags and the stages are what it says.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_VALID, _EXTENDED = 0x8000, 0x4000
_SKIP, _INTENT = 0x4000, 0x2000
_LONGEST = 0xFFF
_STAT = 40
"""Bytes of an entry before its id."""
_RESOLVED = b"REUC"
_HARMLESS = (b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT", _RESOLVED)


class Unreadable(Exception):
    """An index that is not taken apart; `str()` says why."""


@dataclass(frozen=True, slots=True)
class Index:
    """`entries` are lines by path and stage: mode, id, flags as `line` writes them. `stats` are what git remembers of
    the files' status. `resolved` is what it remembers of conflicts that were resolved."""

    version: int
    entries: Mapping[tuple[bytes, int], bytes]
    stats: Mapping[tuple[bytes, int], bytes]
    resolved: bytes = b""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an index says that a tree does not: other or flagged `entries`, and paths that are `gone`."""

    version: int
    entries: Mapping[tuple[bytes, int], bytes]
    gone: tuple[bytes, ...]
    resolved: bytes = b""

    def encode(self) -> bytes:
        parts = [b"%d %s" % (self.version, self.resolved.hex().encode())]
        parts += [b"- " + path for path in self.gone]
        parts += [b"%d %s %s" % (stage, line, path) for (path, stage), line in sorted(self.entries.items())]
        return b"\0".join(parts)

    @classmethod
    def decode(cls, body: bytes) -> Difference:
        head, *rest = body.split(b"\0")
        version, _, resolved = head.partition(b" ")
        entries, gone = {}, []
        for item in rest:
            if item.startswith(b"- "):
                gone.append(item[2:])
            else:
                stage, mode, oid, flags, path = item.split(b" ", 4)
                entries[path, int(stage)] = b" ".join((mode, oid, flags))
        return cls(int(version), entries, tuple(gone), bytes.fromhex(resolved.decode()))


def parse(body: bytes) -> Index:
    """Take an index apart. Unreadable if it is damaged, or says things that only git itself can tell the meaning of."""
    if len(body) < 32 or body[:4] != b"DIRC":
        raise Unreadable("no index that git would read")
    version, count = struct.unpack_from(">II", body, 4)
    if version not in (2, 3, 4):
        raise Unreadable(f"an index of version {version}")
    if body[-20:] != bytes(20) and hashlib.sha1(body[:-20], usedforsecurity=False).digest() != body[-20:]:
        raise Unreadable("an index that is damaged")
    try:
        entries, stats, at = _entries(body, version, count)
    except (IndexError, ValueError, struct.error) as error:
        raise Unreadable("an index that is damaged") from error
    resolved = b""
    while at + 8 <= len(body) - 20:
        name, size = body[at : at + 4], int.from_bytes(body[at + 4 : at + 8], "big")
        if name == _RESOLVED:
            resolved = body[at + 8 : at + 8 + size]
        elif name not in _HARMLESS:
            raise Unreadable({b"link": "a split index", b"sdir": "a sparse index"}.get(name, f"an index with {name!r}"))
        at += 8 + size
    return Index(version, entries, stats, resolved)


def _entries(
    body: bytes, version: int, count: int
) -> tuple[dict[tuple[bytes, int], bytes], dict[tuple[bytes, int], bytes], int]:
    entries, stats = {}, {}
    at, path = 12, b""
    end = len(body) - 20
    for _ in range(count):
        mode, oid, flags = struct.unpack_from(">24xI12x20sH", body, at)
        start = at + 62
        more = 0
        if flags & _EXTENDED:
            (more,) = struct.unpack_from(">H", body, start)
            start += 2
        if version == 4:
            strip, start = _number(body, start)
            stop = body.index(b"\0", start, end)
            path = path[: len(path) - strip] + body[start:stop]
            following = stop + 1
        else:
            length = flags & _LONGEST
            stop = start + length if length < _LONGEST else body.index(b"\0", start, end)
            path = body[start:stop]
            following = at + ((stop - at + 8) & ~7)
        if following > end or not path or b"\0" in path:
            raise ValueError(path)
        word = b"-" if not (flags & _VALID or more) else _word(flags, more)
        key = path, (flags >> 12) & 3
        entries[key] = b"%o %s %s" % (mode, oid.hex().encode(), word)
        stats[key] = body[at : at + _STAT]
        at = following
    return entries, stats, at


def _word(flags: int, more: int) -> bytes:
    """Flags in letters: assumed valid, skipped in the worktree, intended to be added."""
    found = (b"v" if flags & _VALID else b"") + (b"s" if more & _SKIP else b"") + (b"i" if more & _INTENT else b"")
    return found or b"-"


def _number(body: bytes, at: int) -> tuple[int, int]:
    """A number as packs and indexes write offsets, and where it ends."""
    byte = body[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = body[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _number_of(value: int) -> bytes:
    out = bytes([value & 0x7F])
    while value := value >> 7:
        value -= 1
        out = bytes([0x80 | (value & 0x7F)]) + out
    return out


def difference(index: Index, tree: Mapping[bytes, bytes]) -> Difference:
    """What the index says that the tree does not; `tree` has mode and id by path."""
    entries = {
        (path, stage): line
        for (path, stage), line in index.entries.items()
        if stage or not line.endswith(b" -") or tree.get(path) != line[:-2]
    }
    there = {path for path, _ in index.entries}
    return Difference(index.version, entries, tuple(sorted(tree.keys() - there)), index.resolved)


def rebuilt(wanted: Difference, tree: Mapping[bytes, bytes], present: Index | None, written_ns: int) -> bytes:
    """The index that differs so from the tree. Of the present one, last written at `written_ns`, the status of files
    is taken over where it is the same entry and git could trust it; git looks at the others again."""
    entries = {(path, 0): line + b" -" for path, line in tree.items()}
    for path in {*wanted.gone, *(path for path, _ in wanted.entries)}:
        entries.pop((path, 0), None)
    entries |= wanted.entries
    stats = {}
    if present is not None:
        same = present.entries.items() & entries.items()
        stats = {key: present.stats[key] for key, _ in same if _is_settled(present.stats[key], written_ns)}
    return _encode(wanted.version, entries, stats, wanted.resolved)


def _is_settled(status: bytes, written_ns: int) -> bool:
    seconds, nanoseconds = struct.unpack_from(">II", status, 8)
    return bool(seconds * 1_000_000_000 + nanoseconds < written_ns - 1_000_000_000)


def _encode(
    version: int,
    entries: Mapping[tuple[bytes, int], bytes],
    stats: Mapping[tuple[bytes, int], bytes],
    resolved: bytes,
) -> bytes:
    flagged = any(b"s" in line[-3:] or b"i" in line[-3:] for line in entries.values())
    version = version if version == 4 else 3 if flagged else 2
    parts, before = [b"DIRC" + struct.pack(">II", version, len(entries))], b""
    for key in sorted(entries):
        path, stage = key
        mode, oid, word = entries[key].split(b" ")
        more = (_SKIP if b"s" in word else 0) | (_INTENT if b"i" in word else 0)
        flags = (_VALID if b"v" in word else 0) | (_EXTENDED if more else 0) | stage << 12 | min(len(path), _LONGEST)
        status = bytearray(stats.get(key, bytes(_STAT)))
        status[24:28] = struct.pack(">I", int(mode, 8))
        head = bytes(status) + bytes.fromhex(oid.decode()) + struct.pack(">H", flags)
        head += struct.pack(">H", more) if more else b""
        if version == 4:
            common = _common(before, path)
            parts.append(head + _number_of(len(before) - common) + path[common:] + b"\0")
            before = path
        else:
            length = len(head) + len(path)
            parts.append(head + path + bytes(8 - length % 8))
    if resolved:
        parts.append(_RESOLVED + struct.pack(">I", len(resolved)) + resolved)
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _common(one: bytes, other: bytes) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def ids(entries: Iterable[bytes]) -> set[str]:
    """The objects that lines of entries name, without submodules' commits."""
    split = (line.split(b" ") for line in entries)
    return {oid.decode() for mode, oid, _ in split if mode != b"160000"}
