"""Which repositories a workspace has, and what of each a checkpoint holds: found by looking at files."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from proctor.checkpoint.gitstate.folder import GitFolder
from proctor.checkpoint.gitstate.refs import is_packed

_GIT = ".git"
_MOST = 1 << 16
_DEEP = 5
_APART = (b"objects", b"modules", b"lfs", b"annex")
_BORROWS = b"objects/info/alternates"
_TOLD = (b"HEAD", b"index", b"packed-refs", b"gc.pid")
"""Kept in other words, or of no use later."""
_STATE = re.compile(
    rb"logs/(HEAD|refs/(?!remotes/).*)|[A-Z_]*_HEAD|AUTO_MERGE|MERGE_(MSG|MODE|RR|AUTOSTASH)|SQUASH_MSG|BISECT_.*"
    rb"|(rebase-merge|rebase-apply|sequencer|rr-cache)/.*|info/sparse-checkout|reftable/.*|refs/(?!remotes/).*",
    re.S,
)
_FETCHED = (b"FETCH_HEAD",)
_OWN = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")
"""Refs that each worktree has for itself."""


class Role(StrEnum):
    """What a checkpoint may do with a repository."""

    SESSION = "session"
    """The session's own, which workers write: restored whole."""
    SHARED = "shared"
    """The operator's, where the worker has it too: restored where it is still as it was, with locks."""
    WATCHED = "watched"
    """The operator's alone: never written, what changed is told."""


@dataclass(frozen=True, slots=True)
class Place:
    """A repository: `git` is its own folder, `common` what it shares with other worktrees, `where` its `.git` relative
    to the workspace (`session` for the session's own; `..` for one above)."""

    role: Role
    where: bytes
    git: Path
    common: Path

    @property
    def key(self) -> bytes:
        """Its name in a checkpoint."""
        if self.role is Role.SESSION:
            return b"session"
        return b"git-" + hashlib.sha1(self.where, usedforsecurity=False).hexdigest()[:16].encode()

    @property
    def is_linked(self) -> bool:
        """Whether others work in the same repository, in worktrees of their own."""
        return self.git != self.common

    @property
    def name(self) -> str:
        """In words."""
        if self.role is Role.SESSION:
            return "the session's repository"
        folder = self.where.decode("utf-8", "backslashreplace").removesuffix(_GIT).rstrip("/")
        return f"the repository {folder}" if folder else "your repository"


def wanted(role: Role, path: bytes) -> bool:
    """Whether a path of a git folder is looked at: neither objects, nor what is a repository or a worktree of its own,
    nor locks, nor what is kept in other words."""
    top, _, rest = path.partition(b"/")
    if top in _APART or (top == b"worktrees" and role is not Role.SESSION):
        return False
    if role is Role.WATCHED and top != b"refs":
        return False
    if path.endswith(b".lock") or path.rpartition(b"/")[2].startswith(b".proctor-"):
        return False
    return bool(rest) or (top not in _TOLD and not top.startswith((b"sharedindex.", b"HEAD.quarantined")))


def is_shared(path: bytes) -> bool:
    """Whether a file lies in the folder that worktrees share, where there are several."""
    name = path.removeprefix(b"logs/")
    return path == b"packed-refs" or (name.startswith(b"refs/") and not name.startswith(_OWN))


def is_state(role: Role, path: bytes) -> bool:
    """Whether a file of a git folder is a part of the state that a rollback restores. In the operator's repository
    settings, hooks and what was fetched are not."""
    return role is Role.SESSION or (bool(_STATE.fullmatch(path)) and path not in _FETCHED)


def is_moved(place: Place, name: bytes, branches: Collection[bytes], elsewhere: Collection[bytes]) -> bool:
    """Whether a ref is one that a rollback may move. Of the operator's: not remote-tracking ones, as no push is undone,
    nor the harness's own branch, nor one checked out `elsewhere`; in a linked worktree its own `branches` alone."""
    if place.role is Role.SESSION:
        return True
    if name.startswith((b"refs/remotes/", b"refs/heads/proctor/")) or name in elsewhere:
        return False
    return not place.is_linked or name in branches or name.startswith(_OWN)


def find(workspace: Path, session: Path | None, theirs: bool, nested: Collection[bytes]) -> Iterator[Place]:
    """The repositories of a workspace; `nested` are folders in it with a `.git`. `theirs`: a worker has the
    operator's own repositories, too."""
    if session is not None and os.path.isdir(session) and not os.path.islink(session):
        yield Place(Role.SESSION, b"session", session, session)
    role = Role.SHARED if theirs else Role.WATCHED
    seen = set()
    upper = _above(workspace)
    for where in (b".git", *sorted(folder + b"/.git" for folder in nested), *([upper] if upper else [])):
        git = named(workspace / os.fsdecode(where))
        if git is None or git in seen:
            continue
        seen.add(git)
        place = Place(role, where, git, common_of(git))
        yield place if where == b".git" or is_inside(place, workspace) else replace(place, role=Role.WATCHED)


def is_inside(place: Place, workspace: Path) -> bool:
    """Whether all of a repository lies in the workspace."""
    top = os.path.realpath(workspace)
    return all(folder.is_relative_to(top) for folder in (place.git, place.common))


def home_of(place: Place, workspace: Path) -> list[str]:
    """Which repository it is, whatever its `.git` says: its folders, seen from the workspace that they move with."""
    top = os.path.realpath(workspace)
    both = (place.git, place.common)
    return [os.path.relpath(folder, top) if folder.is_relative_to(top) else str(folder) for folder in both]


def _above(workspace: Path) -> bytes:
    """The `.git` of the folder above that the workspace is a part of, b"" if it has its own or there is none."""
    if os.path.lexists(workspace / _GIT):
        return b""
    device = os.stat(workspace).st_dev
    for number, folder in enumerate(workspace.parents, 1):
        try:
            if os.stat(folder).st_dev != device:
                return b""
        except OSError:
            return b""
        if named(folder / _GIT):
            return b"../" * number + b".git"
    return b""


def named(entry: Path) -> Path | None:
    """The git folder that a `.git` is or names; None if there is none, or it is a link."""
    try:
        mode = os.lstat(entry).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        found = entry
    else:
        said = content(entry) if stat.S_ISREG(mode) else b""
        if not said.startswith(b"gitdir: "):
            return None
        found = entry.parent / os.fsdecode(said[8:].rstrip(b"\r\n"))
    real = Path(os.path.realpath(found))
    return real if is_repository(real) else None


def is_repository(folder: Path) -> bool:
    """Whether git would work in a folder."""
    return os.path.lexists(folder / "HEAD") and os.path.isdir(common_of(folder) / "objects")


def made_from(place: Place) -> str:
    """What the session's repository was made from, as is noted beside it."""
    note = content(place.git.with_name(f"{place.git.name.removesuffix('.git')}.made-from"))
    return note.strip().decode("utf-8", "surrogateescape")


def is_sound(git: Path, borrows: bytes | None) -> bool:
    """Whether git could read a session's repository, which a worker writes, without waiting or giving up at once.
    `borrows` is what the file that names other folders of objects should say, if that is known."""
    try:
        with GitFolder(git) as folder:
            if folder.survey(lambda path: wanted(Role.SESSION, path) or path in _TOLD).skipped:
                return False
            if any(not stat.S_ISDIR((folder.signature(name) or (0,))[0]) for name in (b"objects", b"refs")):
                return False
            packed = folder.read(b"packed-refs") if folder.signature(b"packed-refs") else b""
            lent = folder.read(_BORROWS) if folder.signature(_BORROWS) else b""
            return None not in (packed, lent) and is_packed(packed or b"") and borrows in (None, lent)
    except OSError:
        return False


def common_of(git: Path) -> Path:
    """The folder that a worktree's git folder shares with others: itself, if it names none."""
    said = content(git / "commondir").strip()
    return Path(os.path.realpath(git / os.fsdecode(said))) if said else git


def objects_of(common: Path) -> list[Path]:
    """A repository's folder of objects, and those that it borrows from."""
    found: list[Path] = []
    todo = [(common / "objects", 0)]
    while todo:
        folder, depth = todo.pop(0)
        real = Path(os.path.realpath(folder))
        if real not in found and os.path.isdir(real):
            found.append(real)
            lines = content(real / "info" / "alternates").splitlines() if depth < _DEEP else []
            todo += [(real / os.fsdecode(line), depth + 1) for line in lines if line and line[:1] not in (b"#", b'"')]
    return found


def elsewhere(place: Place) -> set[bytes]:
    """The branches that other worktrees of a repository have checked out."""
    found = set()
    folders = [place.common] if place.is_linked else []
    try:
        with os.scandir(place.common / "worktrees") as entries:
            folders += [Path(entry.path) for entry in entries]
    except OSError:
        pass
    for folder in folders:
        said = content(folder / "HEAD")
        if Path(os.path.realpath(folder)) != place.git and said.startswith(b"ref: "):
            found.add(said[5:].strip())
    return found


def content(file: Path) -> bytes:
    """The beginning of a plain file, b"" if it is none; never waits, as on a FIFO."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(fd, _MOST) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
