"""Folders that somebody else has filled, removed and walked. Standard library only: a sandbox's keeper loads it.

What a worker or a check leaves may be of any depth, closed to its owner, or full of links that lead elsewhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import AnyStr

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OURS, _SCRATCH = "proctor-", ".scratch"
"""How scratch folders begin and end: no folder of a person's is taken for one."""
_PASSES = 8
"""How often what would not go is tried anew: a full disk, or a folder that takes no more, may have room by then."""


@contextlib.contextmanager
def scratch_folder(prefix: str = _OURS, parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder for its owner only, below `parent` or the system's folder for temporary files; gone at the end.
    Its lock is held meanwhile, and so is not once its owner was killed."""
    folder = Path(tempfile.mkdtemp(_SCRATCH, prefix, parent))
    held = os.open(folder, _FOLDER)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        remove_tree(folder)
        os.close(held)


def sweep(age: float = 60.0) -> None:
    """Remove the scratch folders that processes of this user left in the system's folder for temporary files when they
    were killed, where nothing was made for so many seconds."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_OURS) and entry.name.endswith(_SCRATCH):
                with contextlib.suppress(OSError):
                    _sweep(entry.path, age)


def _sweep(path: str, age: float) -> None:
    folder = os.open(path, _FOLDER)
    try:
        status = os.fstat(folder)
        if status.st_uid == os.geteuid() and time.time() - status.st_ctime >= age:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(path)
    finally:
        os.close(folder)


def remove_tree(path: str | Path) -> list[str]:
    """Remove a file, a link or a whole folder, of any depth; the names below it that would not go. Never raises.

    No link is followed, and nothing but folders of this tree has its mode changed. Folders in folders are moved up
    to the top before they are emptied, so that neither a path nor the number of open files grows with the depth:
    what is left may have another name. Only the way to `path` itself has to be out of others' reach.
    """
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return []
        top = _open(path)
    except FileNotFoundError:
        return []
    except OSError:
        return [os.fspath(path)]
    try:
        for _ in range(_PASSES):
            if not _pass(top):
                break
        left = _names(top)
    finally:
        os.close(top)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return []
    except OSError:
        return left or [os.fspath(path)]
    return []


def walk(top: AnyStr) -> Iterator[tuple[AnyStr, list[AnyStr], list[AnyStr]]]:
    """What `os.walk` gives from the top down, which up to Python 3.11 calls itself for each level."""
    queue = [top]
    while queue:
        folder = queue.pop()
        folders: list[AnyStr] = []
        names: list[AnyStr] = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                (folders if _is_folder(entry) else names).append(entry.name)
        yield folder, folders, names
        below = [os.path.join(folder, name) for name in reversed(folders)]
        queue += [path for path in below if not os.path.islink(path)]


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`; empty if unknown."""
    best, kind = "", ""
    real = os.path.realpath(path)
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in mounts:
        _, point, fs, *_ = line.split(" ")
        point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fs
    return kind


def _is_folder(entry: os.DirEntry[AnyStr]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _pass(top: int) -> bool:
    """Remove what can be; whether it is worth to try again."""
    mark = f"{secrets.token_hex(8)}-"
    moved = 0
    is_done = is_left = False
    names = _names(top)
    while names:
        name = names.pop()
        if _unlinked(top, name):
            is_done = True
            continue
        try:
            folder = _open(name, top)
        except OSError:
            is_left |= _exists(top, name)
            continue
        try:
            for inner in _names(folder):
                if _unlinked(folder, inner):
                    is_done = True
                    continue
                try:
                    os.close(_open(inner, folder))  # a folder that is moved has to be writable
                    os.rename(inner, f"{mark}{moved}", src_dir_fd=folder, dst_dir_fd=top)
                except OSError:
                    continue
                is_done = True
                names.append(f"{mark}{moved}")
                moved += 1
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=top)
        except OSError:
            is_left |= _exists(top, name)
        else:
            is_done = True
    return is_done and is_left


def _open(name: str | Path, folder: int | None = None) -> int:
    """A folder, opened to be read and changed; its mode is repaired where it forbids that."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(name, flags | os.O_PATH, dir_fd=folder)
    try:
        mode = os.fstat(found).st_mode
        if mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{found}", 0o700)  # the open folder itself: no name is looked up
        return os.open(".", flags | os.O_RDONLY, dir_fd=found)
    finally:
        os.close(found)


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _unlinked(folder: int, name: str) -> bool:
    """Whether it is gone; a folder never is."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
