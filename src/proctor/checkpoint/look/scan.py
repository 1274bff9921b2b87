"""Finding out what may differ from the private index, by looking at all of the tree and reading none of its files.

Git compares the files of the index with the tree, meanwhile the folders are looked at here: those that did not change
are remembered. What is in no index is sorted by the ignore rules.
"""

from __future__ import annotations

import itertools
import os
import stat
import zlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from proctor.checkpoint.look.folders import (
    UNKNOWN,
    Folder,
    Memory,
    Survey,
    below,
    fitted,
    is_rules,
    mark_of,
    settled,
    shifted,
)
from proctor.checkpoint.look.folders import split as names_of
from proctor.checkpoint.look.ignores import Ignores
from proctor.checkpoint.look.mapped import mapped
from proctor.checkpoint.look.sorting import Sorting
from proctor.checkpoint.record import Attributes, is_below, is_inside, text
from proctor.checkpoint.store.plumbing import Git, split

_STIRRING = 4000
"""Names in closed folders that one look is about, in the order of their paths; of the others only the folder is."""


@dataclass(slots=True)
class Walk:
    """The folders of the tree. `read` are those that were not as remembered, `children` counts what each one holds,
    `odd` has their modes where uncommon, `attributes` their extended attributes, `special` are FIFOs, sockets and
    devices, `repositories` folders with a `.git` of their own, `unreadable` folders that may not be entered."""

    read: set[bytes] = field(default_factory=set)
    children: Counter[bytes] = field(default_factory=Counter)
    odd: dict[bytes, int] = field(default_factory=dict)
    attributes: dict[bytes, Attributes] = field(default_factory=dict)
    special: set[bytes] = field(default_factory=set)
    repositories: set[bytes] = field(default_factory=set)
    unreadable: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Scan:
    """`suspects` are in the index and look different or gone, `unseen` are those of them that git would not name, and
    `folded` those that are there in another case only; `mapped`, in it or not, a process may write without a sign;
    `new` and `ignored` are files that are not in it; `closed` are ignored folders, of which nothing is kept but what
    git tracks, and `stirs` how those looked that hold no such thing; `still` are those of the paths asked about which
    rules leave out."""

    suspects: set[bytes] = field(default_factory=set)
    unseen: set[bytes] = field(default_factory=set)
    mapped: set[bytes] = field(default_factory=set)
    folded: set[bytes] = field(default_factory=set)
    new: set[bytes] = field(default_factory=set)
    ignored: set[bytes] = field(default_factory=set)
    closed: set[bytes] = field(default_factory=set)
    still: set[bytes] = field(default_factory=set)
    stirs: dict[bytes, int] = field(default_factory=dict)
    walk: Walk = field(default_factory=Walk)
    memory: Memory = field(default_factory=Memory)
    is_whole: bool = False

    def settled(self, index: Path, tree: str, into: Collection[bytes], out_of: Collection[bytes]) -> Memory:
        """What to remember beside an index, of which `tree` is the tree, that took files in and let others go.

        If more may be in it than was seen here, its names are read again next time; and rules are asked again that
        may have changed while they were obeyed.
        """
        folders = settled(self.memory.folders, into, out_of)
        is_whole = self.is_whole and all(path.rpartition(b"/")[0] in folders for path in into)
        is_ruled = not any(map(is_rules, self.suspects | self.new | self.ignored))
        mark, rules = mark_of(index) if is_whole else UNKNOWN, self.memory.rules if is_ruled else UNKNOWN
        return replace(self.memory, index=mark, tree=tree, rules=rules, folders=folders)


def scan(
    git: Git,
    ignores: Ignores,
    owned: Collection[bytes],
    memory: Memory,
    now: int,
    *,
    env: Mapping[str, str],
    untouched: Collection[bytes],
    asked: Collection[bytes],
    unseen: Collection[bytes],
    coming: Collection[bytes],
) -> Scan:
    """Compare the tree with an index by file status. No file is forgotten: each is in the index, in one of the
    sets, in a closed folder, or owned. The `untouched` are not walked; `unseen` are suspects whatever git says, and so
    are the `coming`, which count as being in the index. The look began at `now` (ns)."""
    with git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all", env=env) as differing:
        memory = fitted(git, memory, env)
        if coming:
            memory = shifted(memory, coming, (), any(map(is_rules, coming)))
        written = mapped(git.top)
        sorting = _sorted(git, ignores, owned, memory, now, asked=asked)
        seen = _scanned(git, sorting, untouched)
        suspects = set(split(differing.output()))
    unnamed = memory.among(written.union(unseen, coming)) - suspects
    suspects |= unnamed
    if sorting.is_remembering and any(map(is_rules, suspects)):
        sorting = _sorted(git, ignores, owned, replace(memory, rules=UNKNOWN), now, asked=asked)
        seen = _scanned(git, sorting, untouched)
    gone = memory.folders.keys() - seen.memory.folders.keys()
    lost = (path for folder in gone for path in below(folder, memory.folders[folder].files))
    seen.is_whole = sorting.survey.is_whole and suspects.issuperset(lost)
    seen.folded = _folded(memory.folders, seen.memory.folders)
    seen.suspects, seen.unseen, seen.mapped = suspects | seen.folded, unnamed, written
    return seen


def ignored_folders(git: Git, ignores: Ignores, owned: Collection[bytes], memory: Memory, now: int) -> set[bytes]:
    """The outermost folders that ignore rules name."""
    return _sorted(git, ignores, owned, fitted(git, memory, {}), now, asked=()).closed


def _sorted(
    git: Git, ignores: Ignores, owned: Collection[bytes], memory: Memory, now: int, *, asked: Collection[bytes]
) -> Sorting:
    """All that is in the tree, by rules as they were judged before where that can be relied on."""
    rules = ignores.refresh()
    seen = Sorting(Survey(git.top, owned, memory.folders, memory.indexed, now), ignores, memory, rules)
    if seen.is_remembering and seen.holds_rules:
        return _sorted(git, ignores, owned, replace(memory, rules=UNKNOWN), now, asked=asked)
    seen.sort(asked)
    return seen


def _folded(before: Mapping[bytes, Folder], now: Mapping[bytes, Folder]) -> set[bytes]:
    """Files of the index that are listed in another case only. Where upper and lower case are one, they are still found
    by the name that they had."""
    found: set[bytes] = set()
    gone = before.keys() - now.keys()
    listed = {text(path).casefold() for path in now} if gone else set()
    for path in gone:
        if text(path).casefold() in listed:
            found.update(below(path, before[path].files))
    for path in before.keys() & now.keys():
        if before[path].files != now[path].files:
            names = set(names_of(now[path].files))
            there = {text(name).casefold() for name in names.union(names_of(now[path].beside))}
            others = set(names_of(before[path].files)) - names
            found.update(below(path, b"/".join(name for name in others if text(name).casefold() in there)))
    return found


def _scanned(git: Git, sorting: Sorting, untouched: Collection[bytes]) -> Scan:
    return Scan(
        new=sorting.new,
        ignored=sorting.ignored,
        closed=sorting.closed,
        still=sorting.still,
        stirs=_stirs(git.top, sorting.hollow),
        walk=_walk(sorting, untouched, git.umask),
        memory=Memory(rules=sorting.rules, judged=sorting.judged, folders=sorting.survey.folders),
    )


def _walk(sorting: Sorting, untouched: Collection[bytes], umask: int) -> Walk:
    """The folders that were entered, but for the untouched."""
    folders, beside = sorting.survey.folders, sorting.hollow.union(untouched)
    found = Walk(read=sorting.survey.read & folders.keys())
    found.unreadable = {path for path in sorting.survey.unreadable if not is_below(path, beside)}
    common = stat.S_IFDIR | 0o777 & ~umask
    for path, folder in folders.items():
        if untouched and is_below(path, untouched):
            continue
        found.children[path] = folder.count
        if folder.mode != common and path:
            found.odd[path] = stat.S_IMODE(folder.mode)
        if folder.attributes and path:
            found.attributes[path] = folder.attributes
        if folder.special:
            found.special.update(path for path in below(path, folder.special) if path not in untouched)
        if folder.is_repository:
            found.repositories.add(path)
    for path in beside:
        holder, _, name = path.rpartition(b"/")
        is_folder = path in sorting.hollow or (holder in folders and name in names_of(folders[holder].folders))
        if is_folder and holder in found.children:  # a file that is left is none of those that are kept anyhow
            found.children[holder] -= 1
    return found


def _stirs(top: bytes, hollow: Collection[bytes]) -> dict[bytes, int]:
    """A number for how each outermost folder looks: itself, and what lies right in it. Nothing further in is read."""
    found = {}
    left = _STIRRING
    for path in sorted(hollow):
        if is_inside(path, hollow):
            continue
        try:
            looks = [_look_of(os.lstat(top + b"/" + path))]
            if left > 0:
                with os.scandir(top + b"/" + path) as entries:
                    names = sorted((entry.name, entry) for entry in itertools.islice(entries, left + 1))
                left -= len(names)
                if left >= 0:
                    looks += [name + _look_of(entry.stat(follow_symlinks=False)) for name, entry in names]
        except OSError:  # closed to us, or written to right now: then it will be another next time
            looks.append(b"?")
        found[path] = zlib.crc32(b"\0".join(looks))
    return found


def _look_of(state: os.stat_result) -> bytes:
    return b"%d %d %d" % (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
