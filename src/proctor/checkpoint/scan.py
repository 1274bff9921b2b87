"""Finding out what may differ from the private index, by looking at all of the tree and reading none of its files."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from proctor.checkpoint.extras import attributes_of
from proctor.checkpoint.ignores import Ignores
from proctor.checkpoint.plumbing import Git, split
from proctor.checkpoint.record import Attributes, is_below, is_inside, parents
from proctor.checkpoint.shelf import is_folder

WORTH_ASKING = 1000
"""Paths that one look at the ignore rules should be about."""


@dataclass(slots=True)
class Walk:
    """The folders of the tree. `children` counts what each one holds, `odd` has their modes where uncommon,
    `attributes` their extended attributes, `special` are FIFOs, sockets and devices, `repositories` folders with a
    `.git` of their own, `unreadable` folders that may not be entered."""

    children: Counter[bytes] = field(default_factory=Counter)
    odd: dict[bytes, int] = field(default_factory=dict)
    attributes: dict[bytes, Attributes] = field(default_factory=dict)
    special: set[bytes] = field(default_factory=set)
    repositories: set[bytes] = field(default_factory=set)
    unreadable: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Scan:
    """`suspects` are in the index and look different or gone; `new` and `ignored` are files that are not in it;
    `closed` are ignored folders, of which nothing is kept but what git tracks; `still` are those of the paths asked
    about which rules leave out."""

    suspects: set[bytes] = field(default_factory=set)
    new: set[bytes] = field(default_factory=set)
    ignored: set[bytes] = field(default_factory=set)
    closed: set[bytes] = field(default_factory=set)
    still: set[bytes] = field(default_factory=set)
    walk: Walk = field(default_factory=Walk)


def scan(
    git: Git,
    ignores: Ignores,
    owned: Collection[bytes],
    *,
    env: Mapping[str, str],
    untouched: Collection[bytes],
    asked: Collection[bytes],
) -> Scan:
    """Compare the tree with an index by file status. No file is forgotten: each is in the index, in one of the
    sets, in a closed folder, or owned. The folders in `untouched` are not walked."""
    ignores.refresh()
    with (
        git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all", env=env) as differing,
        git.start("ls-files", "-z", "-o", "--directory", env=env) as others,
    ):
        listed, suspects = split(others.output()), set(split(differing.output()))
    listed += [path + b"/" for path in suspects if is_folder(git.top + b"/" + path)]  # git hides these: it has a file
    seen, hollow = _sorted(git.top, ignores, listed, owned, asked)
    for folder in sorted(hollow):
        if tracked := ignores.tracked_below(folder):
            hollow.discard(folder)
            seen.new.update(tracked)
    seen.suspects = suspects
    seen.walk = walked(git.top, hollow.union(owned, untouched), git.umask)
    return seen


def ignored_folders(git: Git, ignores: Ignores, owned: Collection[bytes]) -> set[bytes]:
    """The outermost folders that ignore rules name."""
    ignores.refresh()
    listed = split(git.run("ls-files", "-z", "-o", "--directory"))
    return _sorted(git.top, ignores, listed, owned, ())[0].closed


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
            found.unreadable.add(folder)
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
                    if attributes := attributes_of(top + b"/" + path):
                        found.attributes[path] = attributes
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


def _sorted(
    top: bytes, ignores: Ignores, listed: list[bytes], owned: Collection[bytes], asked: Collection[bytes]
) -> tuple[Scan, set[bytes]]:
    """Sort what is not in the index by the ignore rules; also the closed folders that hold nothing in the index.

    Git lists a folder alone if nothing of it is in the index, so that folders which rules name are never entered.
    The others are looked through here: git would not enter a repository inside the tree.
    """
    seen, hollow = Scan(), set[bytes]()
    listed = [path for path in listed if not is_below(path.rstrip(b"/"), owned)]
    files = [path for path in listed if not path.endswith(b"/")]
    folders = [path[:-1] for path in listed if path.endswith(b"/")]
    above = {parent for path in (*files, *folders) for parent in parents(path)}
    named = ignores.matching({*files, *folders, *above, *asked})
    seen.still = {path for path in asked if path in named and not ignores.is_tracked(path)}
    seen.closed = {folder for folder in above & named if not is_inside(folder, named)}
    levels = [(files, folders)]
    while levels:
        for files, folders in levels:
            open_files = [path for path in files if not is_inside(path, seen.closed)]
            seen.ignored.update(path for path in open_files if path in named and not ignores.is_tracked(path))
            seen.new.update(path for path in open_files if path not in named or ignores.is_tracked(path))
            open_folders = [path for path in folders if not is_inside(path, seen.closed)]
            hollow.update(path for path in open_folders if path in named)
            seen.closed |= hollow
        levels = _levels(top, [path for path in open_folders if path not in named], owned)
        named = ignores.matching(path for level in levels for paths in level for path in paths)
    return seen, hollow


def _levels(top: bytes, folders: list[bytes], owned: Collection[bytes]) -> list[tuple[list[bytes], list[bytes]]]:
    """The files and the folders right below some folders, and so on down until it is worth asking git about them.

    Asked level by level, a tree of a thousand nested folders would start git a thousand times.
    """
    levels: list[tuple[list[bytes], list[bytes]]] = []
    while folders and sum(len(files) + len(below) for files, below in levels) < WORTH_ASKING:
        files, folders = _children(top, folders, owned)
        levels.append((files, folders))
    return levels


def _children(top: bytes, folders: list[bytes], owned: Collection[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The files and the folders right below some folders."""
    files: list[bytes] = []
    below: list[bytes] = []
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(top + b"/" + folder) as entries:
            for entry in entries:
                path = folder + b"/" + entry.name
                if entry.name != b".git" and path not in owned:
                    (below if entry.is_dir(follow_symlinks=False) else files).append(path)
    return files, below
