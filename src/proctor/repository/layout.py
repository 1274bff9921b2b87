"""Which git repository a workspace belongs to, found as git finds it, but by looking at files: nothing of it is run."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from proctor.checkpoint.store.hygiene import git_program
from proctor.errors import UsageError

REPOSITORY = ".git"
_MOST = 1 << 16
"""More bytes than a `.git` file, a HEAD or a `commondir` can hold in earnest."""


class Kind(Enum):
    """Where a workspace's repository stands."""

    FOLDER = auto()
    """`.git` in the workspace is a folder."""
    FILE = auto()
    """`.git` in the workspace is a file that names a folder elsewhere: a linked worktree, a submodule."""
    ABOVE = auto()
    """The workspace lies below the top of its repository."""
    NONE = auto()
    """There is none that could be used."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What was found. `workspace` is its real path.

    `git_dir` holds what is this worktree's own (HEAD, index); `common` what the worktrees of a repository share
    (objects, refs, config). Both are real paths, and None without a repository; `reason` then says why in words,
    where something is there that is not used. `prefix` is the workspace relative to the repository's top, "" at it.
    """

    kind: Kind
    workspace: Path
    git_dir: Path | None = None
    common: Path | None = None
    prefix: str = ""
    reason: str = ""

    @property
    def top(self) -> Path:
        """The top of the repository's files; the workspace without a repository."""
        return Path(str(self.workspace).removesuffix(f"/{self.prefix}")) if self.prefix else self.workspace


def find(workspace: Path) -> Layout:
    """The layout of a workspace. UsageError for a `.git` that is a link, or a file that leads to no repository.

    Like git, looks upward within one file system, passes over folders named `.git` that are no repositories, and
    takes nothing that is bare. Variables of the parent's (`GIT_DIR`, …) are not obeyed.
    """
    workspace = workspace.resolve()
    passed = ""
    for folder in _upward(workspace):
        entry = folder / REPOSITORY
        git_dir = _named(entry, of_the_workspace=folder == workspace)
        if git_dir is not None:
            return _layout(workspace, folder, git_dir)
        if os.path.lexists(entry):
            passed = passed or f"{entry} is no git repository"
        if is_repository(folder):
            return Layout(Kind.NONE, workspace, reason=f"{folder} is a bare git repository, without files of its own")
    return Layout(Kind.NONE, workspace, reason=passed)


def is_repository(folder: Path) -> bool:
    """Whether git would take the folder itself for a repository."""
    if not _is_head(folder / "HEAD"):
        return False
    common = common_of(folder)
    return os.path.isdir(common / "objects") and os.path.isdir(common / "refs")


def common_of(git_dir: Path) -> Path:
    """The folder that this worktree's git folder shares with others: itself, if it names none."""
    named = content(git_dir / "commondir")
    return Path(os.path.realpath(git_dir / os.fsdecode(named.strip()))) if named.strip() else git_dir


def pointed(file: Path) -> Path | None:
    """Where a `.git` file points to, with links as they are; None if it is no such file."""
    text = content(file)
    if not text.startswith(b"gitdir: "):
        return None
    return file.parent / os.fsdecode(text[len(b"gitdir: ") :].rstrip(b"\r\n"))


def settings(file: Path) -> dict[str, list[str]]:
    """A config file's keys with all their values, in order; what it includes is not followed. {} if unreadable."""
    if not file.is_file():
        return {}
    ask = [git_program(), "config", "--file", str(file), "--no-includes", "--null", "--list"]
    env = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": os.devnull}
    said = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False)
    found: dict[str, list[str]] = {}
    for item in os.fsdecode(said.stdout).split("\0"):
        key, given, value = item.partition("\n")
        if key:
            found.setdefault(key, []).append(value if given else "true")
    return found


def _upward(workspace: Path) -> Iterator[Path]:
    device = os.stat(workspace).st_dev
    for folder in (workspace, *workspace.parents):
        try:
            if os.stat(folder).st_dev != device:
                return
        except OSError:
            return
        yield folder


def _named(entry: Path, of_the_workspace: bool) -> Path | None:
    """The git folder that a `.git` is or names, None if git would look on above."""
    try:
        mode = os.lstat(entry).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        if of_the_workspace:
            raise UsageError(
                f"{entry} is a symbolic link, which a sandbox cannot stand in for: replace it by a file that holds "
                f"`gitdir: {os.path.realpath(entry)}`"
            )
        if not os.path.exists(entry):
            return None
        mode = os.stat(entry).st_mode
    if stat.S_ISDIR(mode):
        real = Path(os.path.realpath(entry))
        return real if is_repository(real) else None
    target = pointed(entry) if stat.S_ISREG(mode) else None
    if target is None:
        raise UsageError(f"{entry} is neither a repository nor a file that names one: remove it, or repair it")
    if not is_repository(target):
        raise UsageError(
            f"{entry} names {target}, where no repository is: mend it with `git worktree repair`, or remove it"
        )
    return Path(os.path.realpath(target))


def _layout(workspace: Path, top: Path, git_dir: Path) -> Layout:
    common = common_of(git_dir)
    config = settings(git_dir / "config") if common == git_dir else {}
    if config.get("extensions.worktreeconfig", [""])[-1].lower() in ("true", "yes", "on", "1"):
        config |= settings(git_dir / "config.worktree")
    named = config.get("core.worktree", [""])[-1]
    if named and Path(os.path.realpath(git_dir / named)) != top:
        return Layout(Kind.NONE, workspace, reason=f"the files of the repository {git_dir} are elsewhere: {named}")
    if not named and config.get("core.bare", [""])[-1].lower() in ("true", "yes", "on", "1"):
        return Layout(Kind.NONE, workspace, reason=f"{git_dir} is a bare git repository, without files of its own")
    prefix = "" if workspace == top else str(workspace.relative_to(top))
    here = Kind.FOLDER if git_dir == top / REPOSITORY else Kind.FILE
    return Layout(Kind.ABOVE if prefix else here, workspace, git_dir, common, prefix)


def _is_head(file: Path) -> bool:
    if os.path.islink(file):
        return os.readlink(file).startswith("refs/")
    return re.match(rb"ref:\s*refs/|[0-9a-fA-F]{40}", content(file)) is not None


def content(file: Path, most: int = _MOST) -> bytes:
    """The beginning of a plain file, b"" if it is none; never waits, as on a FIFO."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):  # a name made of a file's noise may hold a NUL
        return b""
    try:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
