"""What the project does not keep: the user's ignore rules, read and never obeyed blindly, and caches of tools.

Of the user's repository nothing is read but `info/exclude` and, because git never ignores what it tracks, the names
in its index. Nothing there is written, and none of its configuration is used.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from proctor.checkpoint.look.patterns import Wishes
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.hygiene import user_ignores
from proctor.checkpoint.store.plumbing import Git, joined, split, write_file

_LIMIT = 1 << 20
CACHES = b"""\
__pycache__/
*.py[co]
.pytest_cache/
.mypy_cache/
.ruff_cache/
.tox/
.nox/
.venv/
node_modules/
.gradle/
.eslintcache
*.tsbuildinfo
"""
"""What tools make again and nobody keeps, also where no rule says so; any rule of the user's says otherwise."""
CARGO = b"/target/\n"
"""The same beside a `Cargo.toml`."""


class Ignores:
    """The ignore rules of one workspace."""

    def __init__(self, git: Git, keep: Keep = DEFAULT) -> None:
        self._git = git
        self.wishes = Wishes(git, keep)
        self._index: Path | None = None
        self._index_as: tuple[int, ...] = ()
        self._tracked: list[bytes] = []
        self._tracked_as: tuple[int, ...] = ()

    def refresh(self) -> bytes:
        """Lay the user's `info/exclude`, below the usual caches, where the store's own commands read it. What is
        returned is another as soon as one of the rules that do not lie in the tree is, or what the user's git tracks.
        """
        gitdir = _gitdir_of(self._git.workspace)
        common = gitdir and _pointed(gitdir / "commondir", gitdir, b"")
        own = _read((common or gitdir) / "info" / "exclude") if gitdir else b""
        rules = CACHES + (CARGO if (self._git.workspace / "Cargo.toml").is_file() else b"") + own
        place = self._git.gitdir / "info" / "exclude"
        if _read(place) != rules:
            write_file(place, rules)
        self._index = gitdir / "index" if gitdir else None
        state = _regular(self._index) if self._index else None
        self._index_as = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) if state else ()
        users = Path(user_ignores())
        everything = repr((rules, users, _read(users), self._index_as, self.wishes.mark)).encode()
        return hashlib.sha256(everything).digest()

    def matching(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that rules and the contract leave out."""
        asked = list(paths)
        return self.wishes.amended(self._ruled(asked), asked)

    def excluded(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that the contract leaves out, whoever tracks them."""
        return self.wishes.exclude.matching(paths)

    def wanted(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that rules would leave out and the contract does not."""
        if not self.wishes.include:
            return set()
        wanted = self._ruled(self.wishes.include.matching(paths))
        return {path for path in wanted - self.excluded(wanted) if not self.is_tracked(path)}

    def _ruled(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that rules leave out. A path of which git cannot say it, it does not leave out."""
        asked = list(paths)
        if not asked:
            return set()
        told = joined(b"./" + path for path in asked)
        try:
            said = self._git.run("check-ignore", "-z", "--stdin", "--no-index", input=told, ok=(0, 1))
        except GitFailed:  # a path that a link leads to meanwhile
            middle = len(asked) // 2
            return self._ruled(asked[:middle]) | self._ruled(asked[middle:]) if middle else set()
        return {path.removeprefix(b"./") for path in split(said)}

    def is_tracked(self, path: bytes) -> bool:
        """Whether the user's git tracks this path, whatever the rules say."""
        tracked = self._names()
        at = bisect.bisect_left(tracked, path)
        return at < len(tracked) and tracked[at] == path

    def tracked_below(self, folder: bytes) -> list[bytes]:
        """The paths in a folder that the user's git tracks."""
        tracked = self._names()
        first = bisect.bisect_left(tracked, folder + b"/")
        return tracked[first : bisect.bisect_left(tracked, folder + b"0", lo=first)]

    def _names(self) -> list[bytes]:
        """All that the user's git tracks: read when first asked about, and when its index is another."""
        if self._index_as != self._tracked_as:
            self._tracked, self._tracked_as = [], self._index_as
            if self._index_as:
                with contextlib.suppress(GitFailed):
                    env = {"GIT_INDEX_FILE": str(self._index)}
                    names = set(split(self._git.run("ls-files", "-z", env=env)))
                    self._tracked = sorted(names - self.wishes.exclude.listed(env))
        return self._tracked


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
