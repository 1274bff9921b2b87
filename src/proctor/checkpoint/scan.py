"""Finding out what may differ from the private index, by looking at all of the tree and reading none of its files."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from proctor.checkpoint.ignores import Ignores
from proctor.checkpoint.plumbing import Git, split
from proctor.checkpoint.record import is_below, parents, text


@dataclass(slots=True)
class Walk:
    """The folders of the tree. `children` counts what each one holds, `odd` has their modes where uncommon,
    `special` are FIFOs, sockets and devices, `repositories` folders with a `.git` of their own."""

    children: Counter[bytes] = field(default_factory=Counter)
    odd: dict[bytes, int] = field(default_factory=dict)
    special: set[bytes] = field(default_factory=set)
    repositories: set[bytes] = field(default_factory=set)
    closed: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Scan:
    """`suspects` are in the index and look different or gone; `new` and `ignored` are files that are not in it;
    `left` is ignored and not to be kept, folders by their own name."""

    suspects: set[bytes]
    new: set[bytes]
    ignored: set[bytes]
    left: set[bytes]
    walk: Walk


def scan(git: Git, ignores: Ignores, owned: Collection[bytes], untouched: Collection[bytes]) -> Scan:
    """Compare the tree with the index by file status. No file is forgotten: each is in the index, in one of the
    sets, in a folder of `left`, or owned. The folders in `untouched` are not walked."""
    ignores.refresh()
    listing = _listing(owned)
    with (
        git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all") as differing,
        git.start(*listing, "-i", "--directory") as ignoring,
        git.start(*listing) as others,
    ):
        ignored, left, closed = _ignored(ignores, split(ignoring.output()), owned)
        new = {path for path in ignored if ignores.is_tracked(path)}
        ignored -= new
        for folder in sorted(closed):
            if tracked := ignores.tracked_below(folder):
                closed.discard(folder)
                new.update(tracked)
        walk = walked(git.top, closed.union(owned, untouched), git.umask)
        suspects = set(split(differing.output()))
        new.update(split(others.output()))
    if nested := {path for path in new if path.endswith(b"/")}:
        more, more_ignored, more_left = _nested(git, ignores, [path.rstrip(b"/") for path in nested])
        new = new - nested | more
        ignored |= more_ignored
        left |= more_left
    return Scan(suspects, new, ignored, left, walk)


def ignored_folders(git: Git, ignores: Ignores, owned: Collection[bytes]) -> set[bytes]:
    """The outermost folders that ignore rules name."""
    ignores.refresh()
    _, left, closed = _ignored(ignores, split(git.run(*_listing(owned), "-i", "--directory")), owned)
    return left | closed


def walked(top: bytes, closed: Collection[bytes], umask: int) -> Walk:
    """Walk all folders but the `closed` ones."""
    found = Walk()
    common = 0o777 & ~umask
    todo = [b""]
    while todo:
        folder = todo.pop()
        prefix = folder + b"/" if folder else b""
        try:
            entries = os.scandir(top + b"/" + folder)
        except PermissionError:
            found.closed.add(folder)
            continue
        except OSError:  # gone since it was listed
            continue
        count = 0
        with entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.name == b".git":
                    if folder:
                        found.repositories.add(folder)
                elif path in closed:
                    continue
                elif entry.is_dir(follow_symlinks=False):
                    count += 1
                    todo.append(path)
                    mode = _mode(entry)
                    if mode not in (common, None):
                        found.odd[path] = mode
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    count += 1
                else:
                    found.special.add(path)
        found.children[folder] = count
    return found


def _mode(entry: os.DirEntry[bytes]) -> int | None:
    try:
        return stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return None


def _listing(owned: Collection[bytes]) -> tuple[str, ...]:
    return ("ls-files", "-z", "-o", "--exclude-standard", *(f"--exclude=/{_literal(path)}" for path in owned))


def _ignored(
    ignores: Ignores, listed: list[bytes], owned: Collection[bytes]
) -> tuple[set[bytes], set[bytes], set[bytes]]:
    """Ignored files that may be kept; what is left alone; the folders among that which hold nothing that is kept.

    Git lists a folder alone where a rule names it, and together with its files where rules only name these. In a
    folder that a rule names and that holds kept files nevertheless, it lists the others one by one.
    """
    listed = [path for path in listed if not is_below(path.rstrip(b"/"), owned)]
    above = {parent for path in listed for parent in parents(path.rstrip(b"/"))}
    closed = {path[:-1] for path in listed if path.endswith(b"/")} - above
    files = {path for path in listed if not path.endswith(b"/")}
    named = ignores.matching({parent for path in files for parent in parents(path)})
    outermost = {path: next((parent for parent in parents(path) if parent in named), None) for path in files}
    kept = {path for path, folder in outermost.items() if folder is None}
    return kept, closed | {folder for folder in outermost.values() if folder is not None}, closed


def _nested(git: Git, ignores: Ignores, tops: list[bytes]) -> tuple[set[bytes], set[bytes], set[bytes]]:
    """New files, ignored files and ignored folders of repositories inside the tree, which git does not enter."""
    files: list[bytes] = []
    left: set[bytes] = set()
    level = tops
    while level:
        below: list[bytes] = []
        for folder in level:
            with contextlib.suppress(OSError), os.scandir(git.top + b"/" + folder) as entries:
                for entry in entries:
                    if entry.name != b".git":
                        kind = below if entry.is_dir(follow_symlinks=False) else files
                        kind.append(folder + b"/" + entry.name)
        named = ignores.matching(below)
        left |= named
        level = [folder for folder in below if folder not in named]
    ignored = ignores.matching(files)
    return set(files) - ignored, ignored, left


def _literal(path: bytes) -> str:
    """A path as an ignore rule that means only itself."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", text(path))
