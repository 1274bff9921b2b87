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
_MODES = {b"%o" % mode: mode.to_bytes(4, "big") for mode in (0o100644, 0o100755, 0o120000, 0o160000)}
_HARMLESS = (b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT", _RESOLVED)


class Unreadable(Exception):
    """An index that is not taken apart; `str()` says why."""


Key = tuple[bytes, int]
"""A path and a stage: 0, or 1 to 3 in a conflict."""


@dataclass(frozen=True, slots=True)
class Index:
    """`plain` entries are packed mode and id by path, as `packed` gives them; `odd` ones, which have flags or are of a
    conflict, are lines of mode, id and flags. `stats` are what git remembers of the files' status, if they were asked
    for; `resolved` is what it remembers of conflicts that were resolved."""

    version: int
    plain: Mapping[bytes, bytes]
    odd: Mapping[Key, bytes]
    stats: Mapping[Key, bytes]
    resolved: bytes = b""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an index says that a tree does not: other or flagged `entries`, and paths that are `gone`."""

    version: int
    entries: Mapping[Key, bytes]
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


def packed(mode: bytes, oid: bytes) -> bytes:
    """A mode and an id, in octal and hexadecimal digits, as an index has them."""
    return (_MODES.get(mode) or int(mode, 8).to_bytes(4, "big")) + bytes.fromhex(oid.decode())


def _line(both: bytes, word: bytes = b"-") -> bytes:
    return b"%o %s %s" % (int.from_bytes(both[:4], "big"), both[4:].hex().encode(), word)


def parse(body: bytes, stats: bool = False) -> Index:
    """Take an index apart. Unreadable if it is damaged, or says things that only git itself can tell the meaning of."""
    if len(body) < 32 or body[:4] != b"DIRC":
        raise Unreadable("no index that git would read")
    (version,) = struct.unpack_from(">I", body, 4)
    if version not in (2, 3, 4):
        raise Unreadable(f"an index of version {version}")
    if body[-20:] != bytes(20) and hashlib.sha1(body[:-20], usedforsecurity=False).digest() != body[-20:]:
        raise Unreadable("an index that is damaged")
    plain: dict[bytes, bytes] = {}
    odd: dict[Key, bytes] = {}
    found: dict[Key, bytes] = {}
    try:
        at = _entries(body, plain, odd, found if stats else None)
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
    return Index(version, plain, odd, found, resolved)


def _entries(body: bytes, plain: dict[bytes, bytes], odd: dict[Key, bytes], stats: dict[Key, bytes] | None) -> int:
    """Read the entries into the tables; where they end. An index can have 100,000: what most have in common is read
    with as few steps as possible."""
    version, count = struct.unpack_from(">II", body, 4)
    at, path, end = 12, b"", len(body) - 20
    for _ in range(count):
        flags = int.from_bytes(body[at + 60 : at + 62], "big")
        start, more = at + 62, 0
        if flags & _EXTENDED:
            more = int.from_bytes(body[start : start + 2], "big")
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
        if following > end or not path:
            raise ValueError(path)
        both = body[at + 24 : at + 28] + body[at + 40 : at + 60]
        stage = (flags >> 12) & 3
        if more or flags & ~_LONGEST:
            odd[path, stage] = _line(both, _word(flags, more))
        else:
            plain[path] = both
        if stats is not None:
            stats[path, stage] = body[at : at + _STAT]
        at = following
    return at


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
    """What the index says that the tree does not; `tree` has packed mode and id by path."""
    other = {(path, 0): _line(both) for path, both in index.plain.items() if tree.get(path) != both}
    gone = {path for path in tree if path not in index.plain} - {path for path, _ in index.odd}
    return Difference(index.version, other | dict(index.odd), tuple(sorted(gone)), index.resolved)


def rebuilt(wanted: Difference, tree: Mapping[bytes, bytes], present: Index | None, written_ns: int) -> bytes:
    """The index that differs so from the tree. Of the present one, parsed with its `stats` and last written at
    `written_ns`, the status of files is taken over where it is the same entry and git could trust it; git looks at
    the others again."""
    changed = {*wanted.gone, *(path for path, _ in wanted.entries)}
    entries = {(path, 0): (both, 0) for path, both in tree.items() if path not in changed}
    for key, line in wanted.entries.items():
        mode, oid, word = line.split(b" ")
        entries[key] = packed(mode, oid), _flags(word)
    stats: dict[Key, bytes] = {}
    for key, status in present.stats.items() if present else ():
        ours = entries.get(key)
        if ours is not None and _is_settled(status, written_ns) and present is not None:
            theirs = present.plain.get(key[0]) if not key[1] else None
            if theirs == ours[0] or present.odd.get(key) == wanted.entries.get(key, b""):
                stats[key] = status
    return _encode(wanted.version, entries, stats, wanted.resolved)


def _flags(word: bytes) -> int:
    """What `_word` says, as one number: the extended flags, and the bit of those that are assumed valid."""
    found = (_SKIP if b"s" in word else 0) | (_INTENT if b"i" in word else 0)
    return found | (_VALID if b"v" in word else 0)


def _is_settled(status: bytes, written_ns: int) -> bool:
    seconds, nanoseconds = struct.unpack_from(">II", status, 8)
    return bool(seconds * 1_000_000_000 + nanoseconds < written_ns - 1_000_000_000)


def _encode(
    version: int, entries: Mapping[Key, tuple[bytes, int]], stats: Mapping[Key, bytes], resolved: bytes
) -> bytes:
    flagged = any(flags & ~_VALID for _, flags in entries.values())
    version = version if version == 4 else 3 if flagged else 2
    parts, before = [b"DIRC" + struct.pack(">II", version, len(entries))], b""
    for key in sorted(entries):
        path, stage = key
        both, word = entries[key]
        more = word & ~_VALID
        flags = (word & _VALID) | (_EXTENDED if more else 0) | stage << 12 | min(len(path), _LONGEST)
        head = (stats.get(key) or bytes(24) + both[:4] + bytes(12)) + both[4:] + flags.to_bytes(2, "big")
        if more:
            head += more.to_bytes(2, "big")
        if version == 4:
            common = _common(before, path)
            parts.append(head + _number_of(len(before) - common) + path[common:] + b"\0")
            before = path
        else:
            parts.append(head + path + bytes(8 - (len(head) + len(path)) % 8))
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
