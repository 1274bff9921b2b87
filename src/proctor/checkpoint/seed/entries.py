"""Git's index, taken apart as fast as Python can: only the entries of whole files, and none of what else it says.

An index of 100,000 files is taken apart at the first checkpoint, and whenever the operator's git writes one.
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_PLAIN = (b"TREE", b"REUC", b"EOIE", b"IEOT")
"""Extensions that change nothing of what the entries say."""
_FLAGGED, _EXTENDED, _LONGEST = 0xF000, 0x4000, 0xFFF
"""Bits of an entry that is not a whole file's, or whose file git is not to look at; that has more such bits; and the
length of a path from which on another has to be found."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of an index, sorted: `paths`, and before each path its status, mode, size and id (`heads`)."""

    paths: list[bytes]
    heads: list[bytes]

    @property
    def sizes(self) -> list[int]:
        return list(struct.unpack(f">{len(self.heads)}I", b"".join([head[36:40] for head in self.heads])))

    def kinds(self) -> Iterator[tuple[bytes, bytes]]:
        """Paths and modes of those that are not of the common mode; all in all few."""
        common = b"\0\0\x81\xa4"
        return ((path, head[24:28]) for path, head in zip(self.paths, self.heads, strict=True) if head[24:28] != common)

    def below(self, prefix: bytes) -> Entries:
        """The entries in a folder (with a slash at its end), as its own."""
        first, last = bisect_left(self.paths, prefix), bisect_left(self.paths, prefix[:-1] + b"0")
        return Entries([path[len(prefix) :] for path in self.paths[first:last]], self.heads[first:last])

    def only(self, stay: Collection[bytes]) -> Entries:
        """The entries of some paths."""
        both = [(path, head) for path, head in zip(self.paths, self.heads, strict=True) if path in stay]
        return Entries([path for path, _ in both], [head for _, head in both])

    def encode(self) -> bytes:
        """Just these entries, as git reads them."""
        parts = [b"DIRC", struct.pack(">II", 2, len(self.paths))]
        for path, head in zip(self.paths, self.heads, strict=True):
            end = 8 - (62 + len(path)) % 8
            parts += [head, struct.pack(">H", min(len(path), _LONGEST)), path, bytes(end)]
        body = b"".join(parts)
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


class NotPlain(ValueError):
    """An index of another format, or one that says more than its entries."""


def taken_apart(body: bytes) -> tuple[Entries, dict[bytes, bytes]]:
    """The whole entries of an index; and the others as they are written, by their paths: unmerged, not added yet,
    flagged not to be looked at. `NotPlain` if only git can tell, ValueError and others if it is damaged."""
    version, count = struct.unpack_from(">II", body, 4)
    is_unproved = body.endswith(bytes(20))
    if not is_unproved and hashlib.sha1(body[:-20], usedforsecurity=False).digest() != body[-20:]:
        raise ValueError("damaged")
    if is_unproved or version not in (2, 3):
        raise NotPlain
    paths, heads = [], []
    others: dict[bytes, bytes] = {}
    at = 12
    for _ in range(count):  # once for each file: as little as possible
        flags = body[at + 60] << 8 | body[at + 61]
        if flags < _LONGEST:
            end = at + 62 + flags
            paths.append(body[at + 62 : end])
            heads.append(body[at : at + 60])
        else:
            begin = at + 64 if flags & _EXTENDED else at + 62
            end = body.index(b"\0", begin)
            if flags & _FLAGGED:
                others[body[begin:end]] = others.get(body[begin:end], b"") + body[at:end]
            else:
                paths.append(body[begin:end])
                heads.append(body[at : at + 60])
        at = end + 8 - (end - at) % 8
    while at + 8 <= len(body) - 20:
        if body[at : at + 4] not in _PLAIN:
            raise NotPlain
        at += 8 + int.from_bytes(body[at + 4 : at + 8], "big")
    return Entries(paths, heads), others
