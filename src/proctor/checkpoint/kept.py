"""A folder that holds one checkpoint after another: made once, and then only what differs is written.

Whatever runs in it meanwhile may write there as it likes. What it left goes: by its name, or because a file is not the
one that git wrote (by inode, size and times, one of which nobody without the system's rights can set).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence, Set
from pathlib import Path

from proctor.checkpoint.back.dress import Dresser
from proctor.checkpoint.look.extras import attributes_of
from proctor.checkpoint.record import Manifest, is_below, parents, raw
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.objects import Objects, temporary_index
from proctor.checkpoint.store.plumbing import Git, disk_faults, split
from proctor.checkpoint.view import make_folders, read_without
from proctor.trees import remove_tree


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
        _clean(os.fsencode(os.path.abspath(dest)), set(split(git.run("ls-files", "-z", env=env))), git.umask)
    git.run("read-tree", "--reset", "-u", files, env=env, work=dest, config=("checkout.workers=4",))


def _index(dest: Path) -> Path:
    return dest.with_name(f"{dest.name}.index")


def _without(git: Git, files: str, left_out: Collection[bytes]) -> str:
    """The tree of files without some of them."""
    with temporary_index(git) as env:
        read_without(git, files, left_out, env)
        return git.run("write-tree", env=env).decode().strip()


def _clean(top: bytes, names: Set[bytes], umask: int) -> None:
    """Remove what has none of these names, or what git would not see to be changed, and give every folder the common
    mode and no attributes; no link is followed."""
    folders = {name.rpartition(b"/")[0] for name in names}
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
                if entry.is_dir(follow_symlinks=False):
                    if path in folders:
                        todo.append(path)
                        continue
                elif path in names and _is_plain(entry, umask):
                    continue
                remove_tree(os.fsdecode(entry.path))


def _is_plain(entry: os.DirEntry[bytes], umask: int) -> bool:
    """Whether a file is a link, or has one name and a mode that git gives: of times, git reads whole seconds."""
    state = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(state.st_mode):
        return stat.S_ISLNK(state.st_mode)
    return state.st_nlink == 1 and stat.S_IMODE(state.st_mode) in (0o666 & ~umask, 0o777 & ~umask)
