"""A folder that holds one checkpoint after another: made once, and then only what differs is written.

Whatever runs in it meanwhile may write there as it likes. What it left goes: by its name, or because a file is not the
one that git wrote (by the time of its last change, which nobody without the system's rights can set). Of that time git
compares whole seconds: what it wrote in the second in which the index was written is compared here.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from proctor.checkpoint.back.dress import Dresser
from proctor.checkpoint.look.extras import attributes_of
from proctor.checkpoint.record import Manifest, is_below, parents, raw
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.objects import Objects, temporary_index
from proctor.checkpoint.store.plumbing import Git, disk_faults
from proctor.checkpoint.view import make_folders, read_without
from proctor.trees import remove_tree

_HEADER = struct.Struct(">4s2I")
_ENTRY = struct.Struct(">2I12xI38x")
"""Of an entry of git's index, before its path: seconds and nanoseconds of the last change, and the inode."""

_WORKERS = ("checkout.workers=4",)
SECOND = 10**9

Written = tuple[int, int]
"""The time (ns) of a file's last change, and the last 32 bits of its inode."""


def refresh(git: Git, objects: Objects, commit: str, dest: Path, exclude: Sequence[str]) -> None:
    """Make a folder hold a checkpoint's tree and nothing else. The folder and the index beside it are this function's
    alone; nothing may run in it. Without an index that can be read all of it is made anew."""
    (held,) = objects.load(commit)
    left_out = {raw(path.rstrip("/")) for path in exclude}
    wanted = held.manifest.merged(Manifest(), lambda path: is_below(path, left_out))
    top = os.fsencode(os.path.abspath(dest))
    with disk_faults(dest):
        files = _without(git, held.files, left_out) if left_out else held.files
        try:
            _lay(git, files, dest)
        except GitFailed:
            _index(dest).unlink(missing_ok=True)
            _lay(git, files, dest)
        make_folders(top, wanted.empty | wanted.folders.keys(), git.umask)
        Dresser(top, git.umask).dress(wanted, wanted.paths, {})


def _lay(git: Git, files: str, dest: Path) -> None:
    index = _index(dest)
    Path(f"{index}.lock").unlink(missing_ok=True)
    if not index.exists():
        remove_tree(dest)
    dest.mkdir(parents=True, exist_ok=True)
    env = {"GIT_INDEX_FILE": str(index)}
    if index.exists():
        since = os.stat(index).st_mtime_ns // SECOND
        _clean(os.fsencode(os.path.abspath(dest)), _written(index.read_bytes(), since), git.umask)
    git.run("read-tree", "--reset", "-u", files, env=env, work=dest, config=("core.trustctime=true", *_WORKERS))


def _index(dest: Path) -> Path:
    return dest.with_name(f"{dest.name}.index")


def _without(git: Git, files: str, left_out: Collection[bytes]) -> str:
    """The tree of files without some of them."""
    with temporary_index(git) as env:
        read_without(git, files, left_out, env)
        return git.run("write-tree", env=env).decode().strip()


def _written(index: bytes, since: int) -> dict[bytes, Written | None]:
    """The paths that git wrote; and what it knew of those that may have been written in the very second `since`, in
    which the index was. GitFailed for an index that cannot be read.

    Its form, of which a repository without extras has version 2: https://git-scm.com/docs/index-format
    """
    found, at = dict[bytes, Written | None](), _HEADER.size
    try:
        magic, version, number = _HEADER.unpack_from(index)
        if (magic, version) != (b"DIRC", 2):
            raise GitFailed(f"an index of version {version}")
        for _ in range(number):
            seconds, nanoseconds, inode = _ENTRY.unpack_from(index, at)
            start = at + _ENTRY.size
            end = index.index(b"\0", start)
            found[index[start:end]] = None if seconds < since else (seconds * SECOND + nanoseconds, inode)
            at += (end - at) // 8 * 8 + 8
    except (struct.error, ValueError) as error:
        raise GitFailed("an index that was cut short") from error
    return found


def _clean(top: bytes, written: Mapping[bytes, Written | None], umask: int) -> None:
    """Remove what git has not written, or would not see to be changed, and give every folder the common mode and no
    attributes; no link is followed."""
    folders = {name.rpartition(b"/")[0] for name in written}
    folders |= {parent for folder in folders for parent in parents(folder)}
    todo = [b""]
    while todo:
        folder = todo.pop()
        place = top + b"/" + folder if folder else top
        if stat.S_IMODE(os.lstat(place).st_mode) != 0o777 & ~umask:
            os.chmod(place, 0o777 & ~umask)
        for name, _ in attributes_of(place):
            os.removexattr(place, name)
        with os.scandir(place) as entries:
            for entry in entries:
                path = folder + b"/" + entry.name if folder else entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and path in folders:
                    todo.append(path)
                elif is_folder or path not in written or not _is_same(entry, written[path]):
                    remove_tree(os.fsdecode(entry.path))


def _is_same(entry: os.DirEntry[bytes], was: Written | None) -> bool:
    if was is None:  # a change since is of a later second than its own
        return True
    state = entry.stat(follow_symlinks=False)
    return (state.st_ctime_ns, state.st_ino & 0xFFFFFFFF) == was
