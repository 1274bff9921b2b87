"""What appeared in a workspace and would make the operator's git run something: found, and renamed out of the way.

Only for a workspace in which no worker runs. Nothing is read of what was planted but names, and nothing is followed:
folders are opened one component at a time, and the way back up is the folder above.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from proctor.repository.layout import REPOSITORY, content
from proctor.sandbox.below import open_own
from proctor.text import CUT

STATE = ".proctor"
SUFFIX = "quarantined"
MOST_NAMED = 200
MOST_TEXT = 64 * 1024

_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ENOENT)
_MOST = 1 << 20
_LONGEST = 2000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Before:
    """What was there at the start of an iteration, by path relative to the workspace.

    `repositories` are the `.git`, the workspace's own included, each with what it was. `bare` are folders that git
    takes for repositories without being named `.git`, with a digest of what decides what is run in them. `executed`
    are the paths that the operator's git would execute, with what they led to; "" where nothing was.
    """

    repositories: dict[str, str] = field(default_factory=dict)
    bare: dict[str, str] = field(default_factory=dict)
    executed: dict[str, str] = field(default_factory=dict)


class Renamed(NamedTuple):
    """A path relative to the workspace, and the name that it has `now`; of long ones, the middle is left out."""

    path: str
    now: str


def look(workspace: Path, repositories: Iterable[str], executed: Iterable[str], bare: Iterable[str] = ()) -> Before:
    """Notes what is there now. `repositories` are the `.git` below the workspace, as a survey of it lists them;
    `executed` is what `executed()` says; `bare` what `bare_repositories()` finds."""
    return Before(
        {name: _named(workspace / name) for name in (REPOSITORY, *repositories)},
        {name: _deciding(workspace / name) for name in bare},
        {name: _led_to(workspace / name) for name in executed},
    )


def named(renamed: Sequence[Renamed]) -> tuple[Renamed, ...]:
    """The first of them, as many as can be told: at most MOST_NAMED, with MOST_TEXT characters, but one at least."""
    length = itertools.accumulate(len(one.path) + len(one.now) for one in renamed[:MOST_NAMED])
    return tuple(renamed[: max(1, sum(total <= MOST_TEXT for total in length))])


def bare_repositories(workspace: Path) -> tuple[str, ...]:
    """Folders that git takes for repositories when one works in them, though none is named `.git`."""
    return tuple(sorted(one.path.removesuffix("HEAD").rstrip("/") for one in _Walk(workspace, None).run()))


def quarantine(workspace: Path, before: Before, state: str = STATE) -> tuple[Renamed, ...]:
    """Renames, in place, what appeared since: each `.git` of whatever type, the HEAD of each bare repository, and each
    path that the operator's git would execute. What was renamed, sorted.

    OSError when the workspace itself cannot be read.
    """
    gone = list(_Walk(workspace, before, state).run())
    for name, was in before.executed.items():
        if _led_to(workspace / name) not in ("", was) and (one := _rename_below(workspace, name)) is not None:
            gone.append(one)
    return tuple(sorted(gone))


def _led_to(path: Path) -> str:
    """Where a path leads in the end; "" where nothing is. A file that was saved anew is the same; a link is not."""
    return os.path.realpath(path) if os.path.lexists(path) else ""


def _what(path: Path | str, folder: int | None = None) -> str:
    """What a name stands for: its type, and where it leads if it is a link; "" if nothing is there."""
    try:
        kind = stat.S_IFMT(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode)
        return f"{kind:o}:{os.readlink(path, dir_fd=folder)}" if kind == stat.S_IFLNK else f"{kind:o}"
    except OSError:
        return ""


def _named(path: Path, folder: int | None = None) -> str:
    """The same for a `.git`, which may be a file that says where to go."""
    what = _what(path, folder)
    is_file = what == f"{stat.S_IFREG:o}"
    where = path if folder is None else Path(f"/proc/self/fd/{folder}", path)
    return f"{what}:{os.fsdecode(content(where))}" if is_file else what


def _deciding(folder: Path) -> str:
    """A digest of what makes git run something in a bare repository: its settings and its hooks."""
    files = [folder / name for name in ("config", "config.worktree", "commondir", "hooks")]
    with contextlib.suppress(OSError):
        files += sorted((Path(entry.path) for entry in os.scandir(folder / "hooks")), key=os.fsencode)
    digest = hashlib.sha256()
    for path in files:
        about = os.fsencode(f"{path.name}\0{_what(path)}\0")
        digest.update(about + content(path, _MOST) + b"\0")
    return digest.hexdigest()


class _Walk:
    """One way down at a time with one descriptor, so that neither depth nor number of folders costs anything.

    Without a `before` nothing is renamed, and the bare repositories are what is found.
    """

    def __init__(self, workspace: Path, before: Before | None, state: str = STATE) -> None:
        self._workspace = workspace
        self._state = state
        self._before = before
        self._way: list[_Place] = []

    def run(self) -> Iterator[Renamed]:
        """What was renamed, but for what lies in a renamed folder."""
        here = open_own(self._workspace)
        try:
            self._way.append(_Place("", _identity(here)))
            yield from self._look(here)
            while self._way:
                place = self._way[-1]
                if place.todo:
                    name, gone = place.todo.pop()
                    try:
                        below, mode = _enter(name, here)
                    except OSError:  # it is gone, or another user's
                        continue
                    os.close(here)
                    here = below
                    self._way.append(_Place(name, _identity(here), mode, gone or place.gone))
                    yield from self._look(here)
                else:
                    self._way.pop()
                    if self._way:
                        above = self._above(here)
                        if place.mode is not None:
                            os.fchmod(here, place.mode)
                        os.close(here)
                        here = above
        finally:
            os.close(here)

    def _above(self, here: int) -> int:
        """The folder above. Where somebody moved one of the way meanwhile, what was still to do there is left out, and
        the way goes on from the top."""
        with contextlib.suppress(OSError):
            above = os.open("..", _FOLDER, dir_fd=here)
            if _identity(above) == self._way[-1].identity:
                return above
            os.close(above)
        del self._way[1:]
        return open_own(self._workspace)

    def _look(self, here: int) -> Iterator[Renamed]:
        place = self._way[-1]
        names = set()
        with os.scandir(here) as entries:
            for entry in entries:
                names.add(entry.name.lower())
                if entry.is_dir(follow_symlinks=False):
                    place.todo.append((entry.name, False))
        if len(self._way) == 1:
            place.todo = [item for item in place.todo if item[0] != self._state]
        if REPOSITORY in names and (what := _named(Path(REPOSITORY), here)):
            yield from self._repository(here, what)
        if "head" in names and ({"objects", "refs"} <= names or "commondir" in names) and _what("HEAD", here):
            yield from self._bare(here)

    def _repository(self, here: int, what: str) -> Iterator[Renamed]:
        place, path = self._way[-1], self._path(REPOSITORY)
        place.todo = [item for item in place.todo if not _same(item[0], REPOSITORY, here)]
        if self._before is None or self._before.repositories.get(path) == what:
            return
        new = _rename(here, REPOSITORY)
        place.todo.append((new or REPOSITORY, True))  # work in it would still be work in a repository
        if new and not place.gone:
            yield Renamed(_short(path), _short(self._path(new)))

    def _bare(self, here: int) -> Iterator[Renamed]:
        place, new = self._way[-1], "HEAD"
        if self._before is not None:
            was = self._before.bare.get(self._path())
            if was is not None and was == _deciding(Path(f"/proc/self/fd/{here}")):
                return
            new = _rename(here, "HEAD")
        if new and not place.gone:
            yield Renamed(_short(self._path("HEAD")), _short(self._path(new)))

    def _path(self, *last: str) -> str:
        return "/".join((*(place.name for place in self._way[1:]), *last))


@dataclass(slots=True)
class _Place:
    """A folder on the way down: `identity` is its device and inode, `mode` what to give back to it, and `gone` whether
    it or one above was renamed."""

    name: str
    identity: tuple[int, int]
    mode: int | None = None
    gone: bool = False
    todo: list[tuple[str, bool]] = field(default_factory=list)


def _short(path: str) -> str:
    """Trees can be so deep that all their paths together fill the memory."""
    return path if len(path) <= _LONGEST else f"{path[: _LONGEST // 2]}{CUT}{path[-_LONGEST // 2 :]}"


def _same(name: str, other: str, folder: int) -> bool:
    """Whether two names are one: where case does not count, they may be."""
    return name == other or (name.lower() == other and _inode(name, folder) == _inode(other, folder))


def _inode(name: str, folder: int) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino


def _identity(folder: int) -> tuple[int, int]:
    about = os.fstat(folder)
    return about.st_dev, about.st_ino


def _enter(name: str, above: int) -> tuple[int, int | None]:
    """A folder's descriptor, also where its owner may not enter it, and then the mode to give back to it.

    OSError at a link, a file, another user's folder.
    """
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        mode = stat.S_IMODE(os.fstat(place).st_mode)
        if mode & 0o500 == 0o500:
            return os.open(name, _FOLDER, dir_fd=above), None
        os.chmod(f"/proc/self/fd/{place}", mode | 0o700)
        return os.open(name, _FOLDER, dir_fd=above), mode
    finally:
        os.close(place)


def _rename_below(workspace: Path, name: str) -> Renamed | None:
    """Renames the last component of a path, or the first that is a link; None if nothing was renamed."""
    parts = name.split("/")
    here = open_own(workspace)
    try:
        for depth, part in enumerate(parts):
            is_link = stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode)
            if is_link or depth == len(parts) - 1:
                new = _rename(here, part)
                return Renamed("/".join(parts[: depth + 1]), "/".join((*parts[:depth], new))) if new else None
            following, _ = _enter(part, here)
            os.close(here)
            here = following
    except OSError:  # it is gone, or another user's
        pass
    finally:
        os.close(here)
    return None


def _rename(folder: int, name: str) -> str:
    """Renames to a name that is free; the new name, "" where only another user could, who then made it."""
    stem = os.fsdecode(os.fsencode(name)[:200])
    for number in itertools.count(1):
        new = f"{stem}.{SUFFIX}" if number == 1 else f"{stem}.{SUFFIX}-{number}"
        if not _what(new, folder):
            break
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    is_closed = mode & 0o300 != 0o300
    try:
        if is_closed:
            os.fchmod(folder, mode | 0o700)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
        if is_closed:
            os.fchmod(folder, mode)
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
        return ""
    return new
