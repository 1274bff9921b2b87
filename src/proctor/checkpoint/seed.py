"""A first index from the operator's own: what his git knows of the files need not be read again.

An entry is taken over only if its file's bytes are exactly those of an object that the store has: no conversion
keeps both the bytes and their number, but filters and encodings might, so that files with such are read. The status
that git noted decides, as always, whether a file is what it was; for this the index keeps its time. Nothing of the
operator's repository is written, and none of its configuration is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import struct
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint import borrow
from proctor.checkpoint.converted import RULES, converted
from proctor.checkpoint.draft import Draft
from proctor.checkpoint.gitstate.places import objects_of
from proctor.checkpoint.oddities import Oddities
from proctor.checkpoint.origin import Origin, origin_of
from proctor.checkpoint.plumbing import ALTERNATES, NOTHING_MORE, Git, GitFailed, joined, listed

_FILES = {mode.to_bytes(4, "big") for mode in (0o100644, 0o100755, 0o120000)}
_PLAIN = (b"TREE", b"REUC", b"EOIE", b"IEOT")
"""Extensions that may stay in an index."""
_PLAINLY = ("--index-version=2", "--no-split-index", "--no-untracked-cache", "--no-fsmonitor", "--force-write-index")
_FLAGGED, _EXTENDED, _LONGEST = 0xF000, 0x4000, 0xFFF
"""Bits of an entry that is not a whole file's, or whose file git is not to look at; that has more such bits; and the
length of a path from which on another has to be found."""


@dataclass(frozen=True, slots=True)
class _Index:
    """Entries of an index, sorted: `paths`, and before each path its status, mode, size and id (`heads`)."""

    paths: list[bytes]
    heads: list[bytes]

    @property
    def sizes(self) -> list[int]:
        return list(struct.unpack(f">{len(self.heads)}I", b"".join([head[36:40] for head in self.heads])))

    def below(self, prefix: bytes) -> _Index:
        """The entries in a folder (with a slash at its end), as its own."""
        first, last = bisect_left(self.paths, prefix), bisect_left(self.paths, prefix[:-1] + b"0")
        return _Index([path[len(prefix) :] for path in self.paths[first:last]], self.heads[first:last])

    def only(self, stay: Collection[bytes]) -> _Index:
        """The entries of some paths."""
        both = [(path, head) for path, head in zip(self.paths, self.heads, strict=True) if path in stay]
        return _Index([path for path, _ in both], [head for _, head in both])

    def encode(self) -> bytes:
        """Just these entries, as git reads them."""
        parts = [b"DIRC", struct.pack(">II", 2, len(self.paths))]
        for path, head in zip(self.paths, self.heads, strict=True):
            end = 8 - (62 + len(path)) % 8
            parts += [head, struct.pack(">H", min(len(path), _LONGEST)), path, bytes(end)]
        body = b"".join(parts)
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


class _NotPlain(ValueError):
    """An index of another format, or one that says more than its entries."""


def seed(git: Git, draft: Draft, owned: Collection[bytes], most: int) -> None:
    """Give a draft that has no index one made from the operator's, and the store the objects for it, if that can be.

    What git cannot say of the files is being asked for when this returns. `most` is the size (bytes) of a file over
    which it is not kept. Wants the store's lock held.
    """
    origin = origin_of(git.workspace)
    if origin is None:
        return
    try:
        _seed(git, draft, origin, owned, most)
    except (GitFailed, OSError, ValueError, IndexError, struct.error):
        draft.index.unlink(missing_ok=True)  # everything is read from the tree instead


def _seed(git: Git, draft: Draft, origin: Origin, owned: Collection[bytes], most: int) -> None:
    body, written = _read(origin.git / "index")
    lenders = objects_of(origin.common)
    borrow.link_packs(git, lenders)
    try:
        index, gone = _taken_apart(body)
    except _NotPlain:
        body, written = _normalised(git, draft, origin, body, written)
        index, gone = _taken_apart(body)
    if origin.prefix:
        index = index.below(origin.prefix)
    gone |= _unfit(index, owned, most)
    fit = index.only(set(index.paths) - gone) if gone else index
    draft.odd = Oddities(git.top, fit.paths, git.umask)
    gone |= _unlike(git, fit, lenders)
    rules = [path for path in fit.paths if path.endswith(RULES)] if RULES in body else []
    gone |= converted(git, origin, fit.paths, rules)
    if origin.prefix:
        _write(draft.index, index.only(set(index.paths) - gone).encode(), written)
    else:
        _write(draft.index, body, written)
        if gone:
            draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined(gone))


def _read(index: Path) -> tuple[bytes, int]:
    """An index and when it was written (ns); git replaces an index, it never writes into one."""
    fd = os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise ValueError(index)
        return file.read(), state.st_mtime_ns


def _write(index: Path, body: bytes, written: int) -> None:
    index.write_bytes(body)
    os.utime(index, ns=(written, written))  # by its time git knows which files it has to look into again


def _normalised(git: Git, draft: Draft, origin: Origin, body: bytes, written: int) -> tuple[bytes, int]:
    """An index as git itself writes it plainly: unsplit, whole, of an old format, without notes on its monitor."""
    _write(draft.index, body, written)
    parts = [path for path in origin.git.glob("sharedindex.*") if bytes.fromhex(path.suffix[1:]) in body]
    copies = [Path(shutil.copyfile(part, git.gitdir / part.name)) for part in parts]
    try:
        draft.run("update-index", *_PLAINLY)
    finally:
        for copy in copies:
            copy.unlink()
    return _read(draft.index)


def _taken_apart(body: bytes) -> tuple[_Index, set[bytes]]:
    """The whole entries of an index, and the paths of others: unmerged, not added yet, flagged not to be looked at."""
    version, count = struct.unpack_from(">II", body, 4)
    is_unproved = body.endswith(bytes(20))
    if not is_unproved and hashlib.sha1(body[:-20], usedforsecurity=False).digest() != body[-20:]:
        raise ValueError("damaged")
    if is_unproved or version not in (2, 3):
        raise _NotPlain
    paths, heads, others = [], [], set()
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
                others.add(body[begin:end])
            else:
                paths.append(body[begin:end])
                heads.append(body[at : at + 60])
        at = end + 8 - (end - at) % 8
    while at + 8 <= len(body) - 20:
        if body[at : at + 4] not in _PLAIN:
            raise _NotPlain
        at += 8 + int.from_bytes(body[at + 4 : at + 8], "big")
    return _Index(paths, heads), others


def _unfit(index: _Index, owned: Collection[bytes], most: int) -> set[bytes]:
    """The paths of what is no file, too large, or the harness's own."""
    unfit = set[bytes]()
    if {head[24:28] for head in index.heads} - _FILES:
        unfit.update(path for path, head in zip(index.paths, index.heads, strict=True) if head[24:28] not in _FILES)
    sizes = index.sizes
    if max(sizes, default=0) > most:
        unfit.update(path for path, size in zip(index.paths, sizes, strict=True) if size > most)
    for top in owned:
        for first, last in ((top, top + b"\0"), (top + b"/", top + b"0")):
            unfit.update(index.paths[bisect_left(index.paths, first) : bisect_left(index.paths, last)])
    return unfit


def _unlike(git: Git, index: _Index, lenders: list[Path]) -> set[bytes]:
    """The paths whose objects the store cannot have, or are not of the size that the files have.

    Those that are in no pack are copied, or read where they are if they are many.
    """
    unlike = _asked(git, index)
    missing = index.only({path for path, is_there in unlike.items() if not is_there})
    if missing.paths and lenders:
        loose = missing.only(set(missing.paths) - _asked(git, missing, {ALTERNATES: listed(lenders)}).keys())
        oids = {head[40:60].hex() for head in loose.heads}
        are_own = all(os.stat(place).st_uid == os.geteuid() for place in lenders)
        if len(oids) > borrow.LOOSE and git.borrows and are_own:
            borrow.lend(git, lenders)
        elif oids:
            borrow.copy(git, oids, lenders)
        unlike = {path: True for path, is_there in unlike.items() if is_there} | _asked(git, missing)
    return set(unlike)


def _asked(git: Git, index: _Index, env: Mapping[str, str] = NOTHING_MORE) -> dict[bytes, bool]:
    """The paths whose objects are not there (False), or have another size (True)."""
    told = b"".join([head[40:60] for head in index.heads]).hex("\n", 20).encode() + b"\n"
    said = git.run("cat-file", "--buffer", "--batch-check=%(objectsize)", input=told, env=env).splitlines()
    sizes = index.sizes
    with contextlib.suppress(ValueError):  # "ID missing"
        if list(map(int, said)) == sizes:
            return {}
    words = zip(index.paths, said, sizes, strict=True)
    return {path: not word.endswith(b"missing") for path, word, size in words if word != b"%d" % size}
