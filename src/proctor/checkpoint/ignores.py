"""What the project does not keep: the user's ignore rules, read and never obeyed blindly.

Of the user's repository nothing is read but `info/exclude` and, because git never ignores what it tracks, the names
in its index. Nothing there is written, and none of its configuration is used.
"""

from __future__ import annotations

import bisect
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from proctor.checkpoint.plumbing import Git, GitFailed, joined, split, write_file

_LIMIT = 1 << 20


class Ignores:
    """The ignore rules of one workspace."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._tracked: list[bytes] = []
        self._tracked_as: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Lay the user's `info/exclude` where the store's own commands read it."""
        gitdir = _gitdir_of(self._git.workspace)
        common = gitdir and _pointed(gitdir / "commondir", gitdir, b"")
        rules = _read((common or gitdir) / "info" / "exclude") if gitdir else b""
        place = self._git.gitdir / "info" / "exclude"
        if _read(place) != rules:
            write_file(place, rules)
        self._read_tracked(gitdir)

    def matching(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that rules leave out. A path of which git cannot say it, it does not leave out."""
        asked = list(paths)
        if not asked:
            return set()
        told = joined(b"./" + path for path in asked)
        try:
            said = self._git.run("check-ignore", "-z", "--stdin", "--no-index", input=told, ok=(0, 1))
        except GitFailed:  # a path that a link leads to meanwhile
            middle = len(asked) // 2
            return self.matching(asked[:middle]) | self.matching(asked[middle:]) if middle else set()
        return {path.removeprefix(b"./") for path in split(said)}

    def is_tracked(self, path: bytes) -> bool:
        """Whether the user's git tracks this path, whatever the rules say."""
        at = bisect.bisect_left(self._tracked, path)
        return at < len(self._tracked) and self._tracked[at] == path

    def tracked_below(self, folder: bytes) -> list[bytes]:
        """The paths in a folder that the user's git tracks."""
        first = bisect.bisect_left(self._tracked, folder + b"/")
        return self._tracked[first : bisect.bisect_left(self._tracked, folder + b"0", lo=first)]

    def _read_tracked(self, gitdir: Path | None) -> None:
        index = gitdir / "index" if gitdir else None
        state = _regular(index) if index else None
        seen = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) if state else ()
        if seen == self._tracked_as:
            return
        self._tracked, self._tracked_as = [], seen
        if state:
            try:
                self._tracked = sorted(split(self._git.run("ls-files", "-z", env={"GIT_INDEX_FILE": str(index)})))
            except GitFailed:
                return


def _gitdir_of(workspace: Path) -> Path | None:
    """The folder behind the workspace's `.git`, whether that is a folder or a pointer to one."""
    place = workspace / ".git"
    return place if place.is_dir() else _pointed(place, workspace, b"gitdir: ")


def _pointed(pointer: Path, base: Path, prefix: bytes) -> Path | None:
    line = _read(pointer).strip()
    return base / os.fsdecode(line.removeprefix(prefix)) if line.startswith(prefix) and line else None


def _regular(path: Path) -> os.stat_result | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _read(path: Path) -> bytes:
    """A small plain file's bytes; nothing for anything else, which might block or never end."""
    if _regular(path) is None:
        return b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            return file.read(_LIMIT)
    except OSError:
        return b""
