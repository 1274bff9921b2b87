"""The bytes of the files that differ between two trees, within bounds: for who reads a change and does not run it."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from proctor.checkpoint.record import text
from proctor.checkpoint.store.plumbing import Git
from proctor.checkpoint.view import NOTHING, Delta, deltas, sizes_of


@dataclass(frozen=True, slots=True)
class Pair:
    """A file's bytes before and after; None where there was, or is, no plain file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of one file, of all, and the most files."""

    file: int = 256 << 10
    total: int = 4 << 20
    files: int = 2_000


BOUNDS = Bounds()


def pairs(
    git: Git, before: str, after: str, wanted: Callable[[str], bool], bounds: Bounds = BOUNDS
) -> tuple[list[Pair], list[str]]:
    """The wanted files that differ between two trees of files, and the names of those that the bounds leave out."""
    differing = [d for d in deltas(git, before, after) if d.old != d.new and wanted(text(d.path))]
    sizes = sizes_of(git, [oid for delta in differing for oid in _oids(delta)])
    chosen: list[Delta] = []
    left_out: list[str] = []
    room = bounds.total
    for delta in differing:
        each = [sizes.get(oid, 0) for oid in _oids(delta)]
        if len(chosen) < bounds.files and max(each, default=0) <= bounds.file and sum(each) <= room:
            chosen.append(delta)
            room -= sum(each)
        else:
            left_out.append(text(delta.path))
    blobs = dict(_read(git, sorted({oid for delta in chosen for oid in _oids(delta)})))
    return [Pair(text(d.path), _of(blobs, d.old_mode, d.old), _of(blobs, d.new_mode, d.new)) for d in chosen], left_out


def mentioned(git: Git, tree: str, words: Sequence[str], but: Sequence[str], *, whole: bool = False) -> set[str]:
    """Those of some texts of one line that stand in a file of a tree, other than the paths in `but`; as a `whole` word,
    if asked."""
    patterns = [part for word in words for part in ("-e", word)]
    if not patterns:
        return set()
    places = [".", *(f":(exclude,literal,top){path}" for path in but)]
    out = git.run(
        "grep",
        "-h",
        "-o",
        "-F",
        "-I",
        *(["-w"] if whole else []),
        *patterns,
        tree,
        "--",
        *places,
        ok=(0, 1),
        work=git.gitdir,
    )
    return set(out.decode("utf-8", "replace").splitlines())


def _oids(delta: Delta) -> list[str]:
    both = ((delta.old_mode, delta.old), (delta.new_mode, delta.new))
    return [oid for mode, oid in both if oid != NOTHING and stat.S_ISREG(mode)]


def _of(blobs: dict[str, bytes], mode: int, oid: str) -> bytes | None:
    return blobs.get(oid) if stat.S_ISREG(mode) else None


def _read(git: Git, oids: list[str]) -> Iterator[tuple[str, bytes]]:
    if not oids:
        return
    out = git.run("cat-file", "--batch", input="\n".join([*oids, ""]).encode())
    at = 0
    for oid in oids:
        end = out.index(b"\n", at)
        head = out[at:end].split()
        if len(head) != 3:
            at = end + 1
            continue
        size = int(head[2])
        yield oid, out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
