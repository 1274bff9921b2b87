"""A first index from the operator's own: what his git knows of the files need not be read again.

An entry is taken over only if its file's bytes are exactly those of an object that the store has: no conversion
keeps both the bytes and their number, but filters and encodings might, so that files with such are read. The status
that git noted decides, as always, whether a file is what it was; for this the index keeps its time. Nothing of the
operator's repository is written, and none of its configuration is used.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import struct
from bisect import bisect_left
from collections.abc import Collection, Mapping
from pathlib import Path

from proctor.checkpoint.gitstate.places import objects_of
from proctor.checkpoint.look.oddities import Oddities
from proctor.checkpoint.seed.converted import converted
from proctor.checkpoint.seed.entries import Entries, NotPlain, taken_apart
from proctor.checkpoint.seed.origin import Origin, origin_of
from proctor.checkpoint.store import borrow
from proctor.checkpoint.store.command import Command, GitFailed
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import ALTERNATES, NOTHING_MORE, Git, joined, listed

_FILES = {mode.to_bytes(4, "big") for mode in (0o100644, 0o100755, 0o120000)}
_PLAINLY = ("--index-version=2", "--no-split-index", "--no-untracked-cache", "--no-fsmonitor", "--force-write-index")


class Seeding:
    """An index made from the operator's, which is being proved while the tree is looked at."""

    def __init__(
        self, git: Git, origin: Origin, entries: Entries, lenders: list[Path], unfit: set[bytes], *, oddities: bool
    ) -> None:
        """`unfit` are paths that are not taken over in any case."""
        self._git, self._origin, self._entries, self._lenders = git, origin, entries, lenders
        self._unfit = unfit
        self._odd = Oddities(git.top, entries.paths if oddities else [], git.umask)
        self._running = contextlib.ExitStack()
        self._asked = self._running.enter_context(_ask(git, entries))

    def doubtful(self) -> set[bytes]:
        """The paths whose files must be read: the store cannot have an object of the size that the file has, or they
        may be converted. What is in no pack is copied, or read where it is if that is much."""
        try:
            unlike = _unlike(self._entries, self._asked)
            missing = self._entries.only({path for path, is_there in unlike.items() if not is_there})
            if missing.paths and self._lenders:
                self._fetch(missing)
                with _ask(self._git, missing) as asked:
                    unlike = {path: True for path, is_there in unlike.items() if is_there} | _unlike(missing, asked)
            return self._unfit.union(unlike, converted(self._git, self._origin, self._entries.paths))
        except (GitFailed, OSError, ValueError):
            return set(self._entries.paths)

    def _fetch(self, missing: Entries) -> None:
        with _ask(self._git, missing, {ALTERNATES: listed(self._lenders)}) as asked:
            loose = missing.only(set(missing.paths) - _unlike(missing, asked).keys())
        oids = {head[40:60].hex() for head in loose.heads}
        are_own = all(os.stat(place).st_uid == os.geteuid() for place in self._lenders)
        if len(oids) > borrow.LOOSE and self._git.borrows and are_own:
            borrow.lend(self._git, self._lenders)
        elif sum(loose.sizes) <= borrow.COPIED:
            borrow.copy(self._git, oids, self._lenders)

    def odd(self) -> set[bytes]:
        """The paths of files of which there may be something to say that git cannot."""
        return self._odd.found()

    def forget(self) -> None:
        """End what is running."""
        self._running.close()
        self._odd.forget()


def seed(git: Git, draft: Draft, owned: Collection[bytes], most: int, *, oddities: bool = True) -> Seeding | None:
    """Give a draft that has no index one made from the operator's, and the store the objects for it; None if that
    cannot be. `most` is the size (bytes) of a file over which it is not kept; `oddities`: find out what there is to
    say that git cannot. Wants the store's lock held. What is found out ends with the draft."""
    origin = origin_of(git.workspace)
    if origin is None:
        return None
    try:
        seeding = _seed(git, draft, origin, owned, most, oddities=oddities)
    except (GitFailed, OSError, ValueError, IndexError, struct.error):
        draft.index.unlink(missing_ok=True)  # everything is read from the tree instead
        return None
    draft.closing.callback(seeding.forget)
    return seeding


def _seed(git: Git, draft: Draft, origin: Origin, owned: Collection[bytes], most: int, *, oddities: bool) -> Seeding:
    body, written = _read(origin.git / "index")
    lenders = objects_of(origin.common)
    borrow.link_packs(git, lenders)
    try:
        entries, others = taken_apart(body)
    except NotPlain:
        body, written = _normalised(git, draft, origin, body, written)
        entries, others = taken_apart(body)
    if origin.prefix:
        entries, others = entries.below(origin.prefix), {}
    gone = others.keys() | {path for path, kind in entries.kinds() if kind not in _FILES}
    if gone:
        entries = entries.only(set(entries.paths) - gone)
    _write(draft.index, entries.encode() if origin.prefix else body, written)
    if gone and not origin.prefix:
        draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined(gone))
    unfit = _unfit(entries, owned, most) | _late(git, entries)
    return Seeding(git, origin, entries, lenders, unfit, oddities=oddities)


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


def _unfit(entries: Entries, owned: Collection[bytes], most: int) -> set[bytes]:
    """The paths of what is too large, or the harness's own."""
    paths, sizes, unfit = entries.paths, entries.sizes, set[bytes]()
    if max(sizes, default=0) > most:
        unfit.update(path for path, size in zip(paths, sizes, strict=True) if size > most)
    for top in owned:
        for first, last in ((top, top + b"\0"), (top + b"/", top + b"0")):
            unfit.update(paths[bisect_left(paths, first) : bisect_left(paths, last)])
    return unfit


def _late(git: Git, entries: Entries) -> set[bytes]:
    """The paths of files that were written again in the second in which the index was. Git looks into such files by the
    index's time, which is another where it was copied or touched; the entries know their times to the nanosecond."""
    last = max((head[:4] for head in entries.heads), default=b"")
    found = set()
    for path, head in zip(entries.paths, entries.heads, strict=True):
        if head[:4] == last:
            with contextlib.suppress(OSError):  # gone: git says so
                state = os.lstat(git.top + b"/" + path)
                parts = (state.st_ctime_ns % 10**9, state.st_mtime_ns % 10**9)
                if parts != struct.unpack(">4xI4xI", head[:16]):
                    found.add(path)
    return found


def _ask(git: Git, entries: Entries, env: Mapping[str, str] = NOTHING_MORE) -> Command:
    """Ask for the sizes of the entries' objects."""
    told = b"".join([head[40:60] for head in entries.heads]).hex("\n", 20).encode() + b"\n"
    return git.start("cat-file", "--buffer", "--batch-check=%(objectsize)", input=told, env=env)


def _unlike(entries: Entries, asked: Command) -> dict[bytes, bool]:
    """The paths whose objects are not there (False), or have another size than the file (True)."""
    said, sizes = asked.output().splitlines(), entries.sizes
    with contextlib.suppress(ValueError):  # "ID missing"
        if list(map(int, said)) == sizes:
            return {}
    words = zip(entries.paths, said, sizes, strict=True)
    return {path: not word.endswith(b"missing") for path, word, size in words if word != b"%d" % size}
