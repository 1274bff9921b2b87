"""Objects of the operator's repository in the store, so that they outlive whatever he does to his own.

Packs are hard-linked, each with a `.keep` beside it that has git leave it alone; where that cannot be, they are
copied. Loose objects are copied into one pack. Where that would take long, the store reads them where they are for
the time being: then it is `borrowed`, until `settle` has copied what is needed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.draft import adopt
from proctor.checkpoint.store.packs import flush_folder
from proctor.checkpoint.store.plumbing import ALTERNATES, BORROWED, NOTHING_MORE, Git, disk_faults, listed, write_file
from proctor.trees import remove_tree

LOOSE = 2_000
"""Loose objects that are copied while somebody waits."""
COPIED = 1 << 30
"""Bytes of one pack, or of files' objects in a pack that is not taken in, which are copied while somebody waits."""
_MARK = b"of the operator's repository\n"
_PACK = re.compile(r"pack-[0-9a-f]{40}\.idx")
_TRIES = 3


def link_packs(git: Git, folders: Iterable[Path]) -> bool:
    """Have the packs of folders of objects in the store, too; whether all of them are. Wants the store's lock held."""
    taken = [_link_packs(git, folder / "pack") for folder in folders]
    return all(taken)


def _link_packs(git: Git, source: Path) -> bool:
    place = git.gitdir / "objects" / "pack"
    with disk_faults(place):
        for _ in range(_TRIES):
            names = [name for name in _names(source) if not (place / name).exists()]
            try:
                taken = [_link_pack(source / name, place / name, git.borrows) for name in names]
            except FileNotFoundError:  # packed anew meanwhile
                continue
            flush_folder(place)
            return all(taken)
    return False


def _names(source: Path) -> list[str]:
    try:
        return [name for name in os.listdir(source) if _PACK.fullmatch(name)]
    except OSError:
        return []


def _link_pack(index: Path, place: Path, shared: bool) -> bool:
    """Take in one pack; it counts once its index is there, which comes last. False for one that is left."""
    keep = place.with_suffix(".keep")
    keep.write_bytes(_MARK)
    is_taken = False
    try:
        for suffix in (".pack", ".rev", ".idx"):
            source = index.with_suffix(suffix)
            if (suffix != ".rev" or source.exists()) and not _link(source, place.with_suffix(suffix), shared):
                return False
        is_taken = True
    finally:
        for suffix in (".idx", ".rev", ".pack", ".keep") if not is_taken else ():
            place.with_suffix(suffix).unlink(missing_ok=True)
    return True


def _link(source: Path, place: Path, shared: bool) -> bool:
    """Link or copy one file. False if it is none, or would have to be copied and is too large for that."""
    place.unlink(missing_ok=True)  # what a killed attempt left
    source = Path(os.path.realpath(source))
    state = source.stat()
    if not stat.S_ISREG(state.st_mode):
        return False
    if shared:
        try:
            os.link(source, place)
            return True
        except FileNotFoundError:
            raise
        except OSError:  # another file system, or another's file
            pass
    free = os.statvfs(place.parent)
    if state.st_size > min(COPIED, free.f_bavail * free.f_frsize // 2):
        return False
    aside = place.with_name(f"tmp_{place.name}.copy")
    try:
        shutil.copyfile(source, aside)
        aside.chmod(0o444)
        adopt(aside, place)
    finally:
        aside.unlink(missing_ok=True)
    return True


def missing(git: Git, oids: Collection[str], env: Mapping[str, str] = NOTHING_MORE) -> set[str]:
    """Those of the objects that cannot be read."""
    if not oids:
        return set()
    told = "\n".join([*sorted(oids), ""]).encode()
    out = git.run("cat-file", "--buffer", "--batch-check=%(objectname)", input=told, env=env)
    return {line.split()[0].decode() for line in out.splitlines() if line.endswith(b" missing")}


def copy(git: Git, oids: Collection[str], lenders: Iterable[Path]) -> set[str]:
    """Copy objects into the store, proved to be what their names say; those that are not there or not that. Wants the
    store's lock held."""
    wanted, lenders = sorted(oids), list(lenders)
    if not wanted:
        return set()
    try:
        _copy(git, wanted, lenders)
    except GitFailed:
        middle = len(wanted) // 2
        if not middle:
            return set(wanted)
        return copy(git, wanted[:middle], lenders) | copy(git, wanted[middle:], lenders)
    return set()


def _copy(git: Git, oids: list[str], lenders: list[Path]) -> None:
    aside, place = git.gitdir / "copied", git.gitdir / "objects" / "pack"
    remove_tree(aside)
    aside.mkdir()
    try:
        told = "\n".join([*oids, ""]).encode()
        env = {ALTERNATES: listed(lenders)}
        git.run("pack-objects", "-q", "--window=0", str(aside / "pack"), input=told, env=env)
        for pack in aside.glob("*.pack"):
            git.run("verify-pack", str(pack.with_suffix(".idx")))
            for suffix in (".pack", ".idx"):  # a pack counts once its index is there
                adopt(pack.with_suffix(suffix), place / pack.with_suffix(suffix).name)
        flush_folder(place)
    finally:
        remove_tree(aside)


def lend(git: Git, folders: Iterable[Path]) -> None:
    """Have the store read these folders of objects, too."""
    write_file(git.gitdir / BORROWED, json.dumps([os.fsdecode(folder) for folder in folders]).encode())


def settle(git: Git) -> bool:
    """Copy what the store borrows and needs, and borrow no more; whether it did. Wants the store's lock held.

    What is gone already is not in the store's index afterwards either, so that it is read from the tree again.
    """
    lenders = git.lenders
    if not lenders:
        return False
    wanted = missing(git, _needed(git), {ALTERNATES: ""})
    gone = missing(git, wanted)
    gone |= copy(git, wanted - gone, lenders)
    if gone:
        (git.gitdir / "index").unlink(missing_ok=True)
    (git.gitdir / BORROWED).unlink()
    return True


def _needed(git: Git) -> set[str]:
    """The objects that checkpoints and the index need, as far as it can be read which."""

    def below(*what: str) -> set[str]:
        said = git.run("rev-list", "--objects", "--no-object-names", "--missing=print", *what)
        return {line.removeprefix("?") for line in said.decode().splitlines()}

    try:
        return below("--all", "--indexed-objects")
    except GitFailed:  # one is damaged
        found = set()
        for what in ("--indexed-objects", *git.run("for-each-ref", "--format=%(refname)").decode().splitlines()):
            with contextlib.suppress(GitFailed):
                found |= below(what)
        return found


def disown(git: Git) -> None:
    """Treat packs that nobody else has any more as the store's own, so that packing anew frees what nothing needs."""
    for keep in (git.gitdir / "objects" / "pack").glob("*.keep"):
        with contextlib.suppress(OSError):
            if keep.read_bytes() == _MARK and keep.with_suffix(".pack").stat().st_nlink == 1:
                keep.unlink()
