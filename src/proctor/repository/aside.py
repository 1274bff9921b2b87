"""What a worker's repositories leave in a tree of files once they were renamed: they themselves, and what is around.

Told by names alone, as `planted` gives them and as git lays a repository out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from proctor.checkpoint.record import parents

_RENAMED = re.compile(rb"\.git\.quarantined(-\d+)?", re.IGNORECASE)
_HEAD = re.compile(rb"HEAD(\.quarantined(-\d+)?)?", re.IGNORECASE)
_INNARDS = re.compile(
    rb"objects|refs|hooks|info|logs|branches|modules|worktrees|reftable|rr-cache|lfs|config(\.worktree)?|description"
    rb"|index|sharedindex\..*|packed-refs|shallow|commondir|gitdir|[A-Z]+_(HEAD|EDITMSG|MSG|MODE)"
    rb"|HEAD(\.quarantined(-\d+)?)?|(HEAD|config|index|packed-refs|shallow)\.lock",
)
"""What git makes in a repository's folder. Anything else there is no part of it."""


class Aside:
    """What of these paths, which are a tree's files, belongs to repositories that were renamed."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        found = set(paths)
        heads = {path.rpartition(b"/")[0] for path in found if _is_renamed_head(path)}
        if heads:
            found |= {folder for path in found for folder in parents(path)}
        self.bare = frozenset(folder for folder in heads if _is_laid_out(folder, found))
        """Folders that were repositories, though not named `.git`; b"" is the workspace."""
        self.nested = frozenset(filter(None, map(_around, found)))
        """Folders whose `.git` was renamed, but for the workspace itself."""

    def is_innards(self, path: bytes) -> bool:
        """Whether a path is of such a repository itself, not of the files around it."""
        return is_renamed(path) or any(_INNARDS.fullmatch(first) for first in self._within(path))

    def is_head(self, path: bytes) -> bool:
        """Whether a path is the HEAD of a bare repository, under its old name or the new."""
        return any(_HEAD.fullmatch(rest) for rest in self._within(path, whole=True))

    def _within(self, path: bytes, whole: bool = False) -> Iterator[bytes]:
        """For each bare repository around a path, the way from there, or its first component."""
        for folder in (b"", *parents(path)) if self.bare else ():
            if folder in self.bare:
                rest = path[len(folder) + 1 :] if folder else path
                yield rest if whole else rest.partition(b"/")[0]


def is_renamed(path: bytes) -> bool:
    """Whether a path is, or lies in, what was a `.git`."""
    return any(_RENAMED.fullmatch(part) for part in path.split(b"/"))


def on_disk(workspace: Path, paths: Iterable[bytes]) -> Aside:
    """The same for some paths of a workspace, also of files that are there no more: the folders above that could be
    repositories are looked into. Call it while no worker runs there."""
    known = set(paths)
    folders = {folder for path in known for folder in _may_be(path)}
    for folder in folders:
        try:
            known.update(folder + b"/" + name if folder else name for name in os.listdir(_at(workspace, folder)))
        except OSError:
            continue
    return Aside(known)


def is_live(workspace: Path, path: bytes) -> bool:
    """Whether a path seems to be of a bare repository that stands there now: an estimate, for a worker that runs."""
    for folder in _may_be(path):
        place = _at(workspace, folder)
        if all(os.path.lexists(os.path.join(place, name)) for name in (b"HEAD", b"objects", b"refs")):
            return True
    return is_renamed(path)


def _may_be(path: bytes) -> Iterator[bytes]:
    """The folders above a path, b"" for the workspace, whose repository it may be a part of."""
    parts = path.split(b"/")
    return (b"/".join(parts[:at]) for at, part in enumerate(parts) if _INNARDS.fullmatch(part))


def _at(workspace: Path, folder: bytes) -> bytes:
    return os.path.join(os.fsencode(workspace), folder)


def _is_renamed_head(path: bytes) -> bool:
    name = path.rpartition(b"/")[2]
    return b"." in name and _HEAD.fullmatch(name) is not None


def _is_laid_out(folder: bytes, found: set[bytes]) -> bool:
    names = (b"objects", b"refs", b"commondir")
    objects, refs, elsewhere = ((folder + b"/" + name if folder else name) in found for name in names)
    return (objects and refs) or elsewhere


def _around(path: bytes) -> bytes:
    """The folder whose renamed `.git` a path is, or lies in; b"" for none."""
    parts = path.split(b"/")
    at = next((at for at, part in enumerate(parts) if _RENAMED.fullmatch(part)), 0)
    return b"/".join(parts[:at])
