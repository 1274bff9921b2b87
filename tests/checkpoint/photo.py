"""Looking at folders and filling them, by means that have nothing to do with the code under test."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

Photograph = dict[bytes, tuple[object, ...]]


def photograph(top: Path, nested_git: bool = True) -> Photograph:
    """Everything in a folder, by means that have nothing to do with the code under test."""
    found: Photograph = {}
    root = os.fsencode(top)

    def look(folder: bytes) -> None:
        for name in os.listdir(os.path.join(root, folder)):
            path = os.path.join(folder, name) if folder else name
            if path in (b".proctor", b".git") or (name == b".git" and not nested_git):
                continue
            place = os.path.join(root, path)
            mode = os.lstat(place).st_mode
            if stat.S_ISLNK(mode):
                found[path] = ("link", os.readlink(place))
            elif stat.S_ISDIR(mode):
                found[path] = ("folder", stat.S_IMODE(mode))
                look(path)
            elif stat.S_ISREG(mode):
                with open(place, "rb") as file:
                    found[path] = ("file", stat.S_IMODE(mode), file.read())
            else:
                found[path] = ("special", stat.S_IFMT(mode))

    look(b"")
    return found


def beyond_git(top: Path) -> dict[bytes, object]:
    """What else a tree has: names of one file, permission bits of FIFOs, attributes; of paths that have any of it."""
    found: dict[bytes, object] = {}
    names: dict[int, list[bytes]] = {}
    root = os.fsencode(top)
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (b".proctor", b".git")]
        for name in (*folders, *files):
            place = os.path.join(folder, name)
            path, state = os.path.relpath(place, root), os.lstat(place)
            if stat.S_ISREG(state.st_mode) and state.st_nlink > 1:
                names.setdefault(state.st_ino, []).append(path)
            if stat.S_ISFIFO(state.st_mode):
                found[path] = stat.S_IMODE(state.st_mode)
            elif not stat.S_ISLNK(state.st_mode) and (held := os.listxattr(place)):
                found[path] = {name: os.getxattr(place, name) for name in held if name.startswith("user.")}
    return found | {b"\0".join(sorted(paths)): "one file" for paths in names.values() if len(paths) > 1}


IN_PROGRESS = re.compile(
    r"(?!FETCH_)[A-Z_]*_HEAD|MERGE_(MSG|MODE)|AUTO_MERGE|SQUASH_MSG|BISECT_\w+|(rebase|sequencer).*"
)


def repository(folder: Path, *options: str) -> dict[str, str]:
    """The state of a repository as the user's own git tells it, and what it keeps while it is in the middle of
    something. `options` come before each command."""

    def told(*words: str) -> str:
        return git(folder, *options, *words)

    gitdir = Path(told("rev-parse", "--absolute-git-dir").rstrip("\n"))
    words = {
        "refs": told("for-each-ref", "--format=%(refname) %(objectname) %(symref)"),
        "index": told("ls-files", "--stage", "-v"),
        "status": told("status", "--porcelain=v2", "--branch"),
        "stash": told("stash", "list"),
        "HEAD": (gitdir / "HEAD").read_text(),
    }
    files = {str(path.relative_to(gitdir)): path for path in sorted(gitdir.rglob("*")) if path.is_file()}
    kept = (name for name in files if name.startswith("logs/") or IN_PROGRESS.fullmatch(name))
    return words | {name: files[name].read_text("utf-8", "replace") for name in kept}


def times(top: Path) -> dict[str, tuple[int, int]]:
    """Modification time and inode of every file."""
    return {
        str(path.relative_to(top)): (path.lstat().st_mtime_ns, path.lstat().st_ino)
        for path in top.rglob("*")
        if not path.is_dir() and ".proctor" not in path.relative_to(top).parts
    }


def git(folder: Path, *args: str) -> str:
    """The user's own git, in a repository of the user's."""
    names = {"GIT_AUTHOR_NAME": "u", "GIT_AUTHOR_EMAIL": "u@x", "GIT_COMMITTER_NAME": "u", "GIT_COMMITTER_EMAIL": "u@x"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | names
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def write(path: Path, content: str | bytes = "", mode: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if mode is not None:
        path.chmod(mode)
    return path


def unlike(now: Photograph, before: Photograph, wanted: Photograph, tops: Collection[bytes]) -> set[bytes]:
    """What is not as it should be after these paths went back, or all if there are none: they are what was wanted, and
    what is beside them is what it was, unless a folder above it changed."""

    def is_right(path: bytes) -> bool:
        if not tops or any(path == top or path.startswith(top + b"/") for top in tops):
            return now.get(path) == wanted.get(path)
        above = [path[:at] for at in range(len(path)) if path[at : at + 1] == b"/"]
        leads = any(top.startswith(path + b"/") for top in tops)
        return leads or any(now.get(one) != before.get(one) for one in above) or now.get(path) == before.get(path)

    return {path for path in now.keys() | before.keys() | wanted.keys() if not is_right(path)}
