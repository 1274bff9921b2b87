"""Reading checkpoints: what differs between two, what one holds, a copy of one."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint.back.dress import Dresser
from proctor.checkpoint.record import (
    META,
    Change,
    ChangeKind,
    Entry,
    Held,
    Manifest,
    Snapshot,
    common_mode,
    id_of,
    identity,
    is_below,
    parents,
    raw,
    text,
)
from proctor.checkpoint.store.objects import Objects, temporary_index
from proctor.checkpoint.store.plumbing import Git, disk_faults, joined, split
from proctor.checkpoint.store.treeobjects import TreeObjects
from proctor.errors import UsageError

NOTHING = "0" * 40

_KINDS = {
    "A": ChangeKind.ADDED,
    "D": ChangeKind.DELETED,
    "M": ChangeKind.MODIFIED,
    "T": ChangeKind.RETYPED,
}


@dataclass(frozen=True, slots=True)
class Delta:
    """How one file differs between two trees; mode 0 and `NOTHING` stand for no file."""

    path: bytes
    old_mode: int
    new_mode: int
    old: str
    new: str
    status: str


def deltas(git: Git, before: str, after: str) -> list[Delta]:
    """The files that differ between two trees of files."""
    return raw_deltas(split(git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)))


def changes(git: Git, objects: Objects, before: str, after: str, ignored: bool) -> tuple[Change, ...]:
    """What differs between two checkpoints, sorted by path."""
    return changes_between(git, *objects.load(before, after), ignored=ignored)


def changes_between(git: Git, old: Held, new: Held, *, ignored: bool) -> tuple[Change, ...]:
    """What differs between two trees, sorted by path."""
    command = ("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-abbrev")
    fields = split(git.run(*command, old.files, new.files))
    differing = raw_deltas(fields)
    counts = dict(_counts(fields[2 * len(differing) :]))
    sizes = sizes_of(git, [delta.new for delta in differing])
    found = {}
    for delta in differing:
        hidden = delta.path in (old if delta.new == NOTHING else new).notes.ignored
        if ignored or not hidden:
            added, removed = counts.get(delta.path, (0, 0))
            kind = ChangeKind.MODE if delta.old == delta.new else _KINDS[delta.status]
            found[delta.path] = Change(
                text(delta.path),
                kind,
                max(added, 0),
                max(removed, 0),
                added < 0,
                sizes.get(delta.new, 0),
                hidden,
            )
    was, now = ({*held.manifest.empty, *held.manifest.fifos} for held in (old, new))
    for path in old.manifest.differing(new.manifest) - {delta.path for delta in differing}:
        if ignored or path not in new.notes.ignored:
            kind = ChangeKind.MODE
            if path in was ^ now:
                kind = ChangeKind.ADDED if path in now else ChangeKind.DELETED
            found[path] = Change(text(path), kind, ignored=path in new.notes.ignored)
    return tuple(found[path] for path in sorted(found))


def without_ignored(git: Git, objects: Objects, of: Snapshot) -> str:
    """The id that a snapshot's tree would have without its ignored files. Nothing is written."""
    if not of.ignored:
        return of.tree
    (held,) = objects.load(of.commit)
    files, _ = TreeObjects(git).rewritten(held.files, dict.fromkeys(of.ignored), lambda body: id_of("tree", body))
    return identity(files or id_of("tree", b""), held.manifest.merged(Manifest(), of.ignored.__contains__))[0]


def differing(git: Git, objects: Objects, pairs: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
    """The paths that differ between the two trees of each pair. One command for all of them."""
    oids = sorted({oid for pair in pairs for oid in pair})
    held = dict(zip(oids, objects.load(*oids), strict=True))
    asked = [(held[before], held[after]) for before, after in pairs]
    waiting = [f"{old.files} {new.files}\n".encode() for old, new in asked if old.files != new.files]
    command = ("diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames")
    found: dict[bytes, set[bytes]] = {pair: set() for pair in waiting}
    at = b""
    for field in split(git.run(*command, input=b"".join(waiting))):
        if waiting and field.startswith(waiting[0]):
            at = waiting.pop(0)
        found[at].add(field.removeprefix(at))
    files = [found.get(f"{old.files} {new.files}\n".encode(), set()) for old, new in asked]
    beside = [old.manifest.differing(new.manifest) for old, new in asked]
    return [frozenset(map(text, one | other)) for one, other in zip(files, beside, strict=True)]


def patch(git: Git, objects: Objects, before: str, after: str, paths: Sequence[str]) -> bytes:
    """The difference as a patch, file contents as they are."""
    return patch_between(git, *objects.files_of(before, after), paths=paths)


def patch_between(git: Git, before: str, after: str, *, paths: Sequence[str] = ()) -> bytes:
    """The difference of two trees of files as a patch."""
    command = ("--literal-pathspecs", "diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv")
    return git.run(*command, before, after, "--", *paths)


def entries(git: Git, objects: Objects, commit: str) -> tuple[Entry, ...]:
    """Every file of a checkpoint."""
    (held,) = objects.load(commit)
    found = []
    for line in split(git.run("ls-tree", "-r", "-z", "--full-tree", held.files)):
        head, path = line.split(b"\t", 1)
        mode, _, oid = head.split(b" ")
        found.append(Entry(text(path), mode_of(path, int(mode, 8), held.manifest, git.umask), oid.decode()))
    return tuple(found)


def paths(git: Git, objects: Objects, commit: str) -> tuple[str, ...]:
    """The paths of the files of a checkpoint."""
    names = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", *objects.files_of(commit))
    return tuple(map(text, split(names)))


def read(git: Git, objects: Objects, commit: str, path: str) -> bytes:
    """The content of one file of a checkpoint (of a symlink: its target)."""
    line = git.run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", *objects.files_of(commit), "--", path)
    if not line.startswith(b"1"):
        raise UsageError(f"{path}: no such file in checkpoint {commit[:12]}")
    return git.run("cat-file", "blob", line.split(b"\t", 1)[0].split(b" ")[2].decode())


def materialise(git: Git, objects: Objects, commit: str, dest: Path, exclude: Sequence[str]) -> None:
    """Write a checkpoint's tree into an empty folder, which is made if need be."""
    (held,) = objects.load(commit)
    with disk_faults(dest), temporary_index(git) as env:
        dest.mkdir(parents=True, exist_ok=True)
        if any(dest.iterdir()):
            raise UsageError(f"{dest}: not empty")
        left_out = {raw(path.rstrip("/")) for path in exclude}
        read_without(git, held.files, left_out, env)
        git.run("checkout-index", "-a", "-f", "-q", env=env, work=dest, config=("checkout.workers=4",))
        wanted = held.manifest.merged(Manifest(), lambda path: is_below(path, left_out))
        top = os.fsencode(os.path.abspath(dest))
        make_folders(top, wanted.empty | wanted.folders.keys(), git.umask)
        Dresser(top, git.umask).dress(wanted, wanted.paths, {})


def read_without(git: Git, files: str, left_out: Collection[bytes], env: Mapping[str, str]) -> None:
    """Read a tree of files into the index of `env`, without some of them."""
    git.run("read-tree", files, env=env)
    if left_out:
        names = [path for path in split(git.run("ls-files", "-z", env=env)) if is_below(path, left_out)]
        git.run("update-index", "-z", "--force-remove", "--stdin", env=env, input=joined(names))


def missing(git: Git, oids: Collection[str]) -> tuple[str, ...]:
    """Those of these objects that are not there."""
    if not oids:
        return ()
    out = git.run("cat-file", "--batch-check=%(objectname)", input="\n".join([*sorted(oids), ""]).encode())
    return tuple(line.split(" ")[0] for line in out.decode().splitlines() if line.endswith(" missing"))


def blobs(git: Git, before: str, after: str) -> dict[str, str | None]:
    """The files that differ between two trees of files: the ids of their contents, None where they are gone."""
    return {text(delta.path): None if delta.new == NOTHING else delta.new for delta in deltas(git, before, after)}


def annotated(git: Git, name: str, commit: str, meta: bytes) -> str:
    """Write a commit that holds what another one holds, but for the caller's bytes."""
    blob = git.run("hash-object", "-w", "--stdin", input=meta).strip()
    lines = [line for line in split(git.run("ls-tree", "-z", commit)) if not line.endswith(b"\t" + META)]
    tree = git.run("mktree", "-z", input=joined([*lines, b"100644 blob %s\t%s" % (blob, META)])).decode().strip()
    return git.run("commit-tree", tree, input=f"{name}\n".encode()).decode().strip()


def mode_of(path: bytes, mode: int, manifest: Manifest, umask: int) -> int:
    """The full mode of a file, from git's and the manifest's word."""
    if not stat.S_ISREG(mode):
        return mode
    return stat.S_IFREG | manifest.modes.get(path, common_mode(mode, umask))


def make_folders(top: bytes, folders: Collection[bytes], umask: int) -> None:
    """Make folders where they are missing, with the common mode."""
    for folder in sorted(folders):
        for path in (*parents(folder), folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(top + b"/" + path)
                os.chmod(top + b"/" + path, 0o777 & ~umask)


def sizes_of(git: Git, oids: Collection[str]) -> dict[str, int]:
    """The sizes of blobs, in bytes."""
    wanted = sorted({oid for oid in oids if oid != NOTHING})
    if not wanted:
        return {}
    out = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", input="\n".join([*wanted, ""]).encode())
    return {oid: int(size) for oid, size in (line.split() for line in out.decode().splitlines()) if size != "missing"}


def raw_deltas(fields: list[bytes]) -> list[Delta]:
    """What git's raw lines say, up to the first that is none."""
    found = []
    for at in range(0, len(fields) - 1, 2):
        if not fields[at].startswith(b":"):
            break
        old_mode, new_mode, old, new, status = fields[at][1:].decode().split(" ")
        found.append(Delta(fields[at + 1], int(old_mode, 8), int(new_mode, 8), old, new, status[0]))
    return found


def _counts(fields: list[bytes]) -> list[tuple[bytes, tuple[int, int]]]:
    found = []
    for field in fields:
        added, removed, path = field.split(b"\t", 2)
        found.append((path, (-1, -1) if added == b"-" else (int(added), int(removed))))
    return found
