"""Making one repository what a checkpoint holds of it.

What stands there must be what the safety checkpoint has, or already what is wanted: anything else somebody wrote
meanwhile, and the repository is left as it is. In the operator's repository git moves the refs, with their old values
given, and git's own locks are taken; the session's is written here, since no git may run in it. Each step may be
repeated, so that a kill is put right by doing it again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.checkpoint.gitstate import index as indexes
from proctor.checkpoint.gitstate import places, refs
from proctor.checkpoint.gitstate.capture import MOST_INDEX, Capturer, Seen, unescaped
from proctor.checkpoint.gitstate.folder import EXECUTABLE, PLAIN, GitFolder
from proctor.checkpoint.gitstate.gathered import is_whole, loose
from proctor.checkpoint.gitstate.places import Place, Role
from proctor.checkpoint.plumbing import Git, GitFailed, write_file
from proctor.checkpoint.record import id_of, raw, tree_entries

_KEPT_IN_A_NEW_ONE = (b"config", b"config.worktree", b"info/exclude", b"info/attributes", b"info/global-attributes")
"""What a session's repository that was made anew says by itself."""
_ZERO = b"0" * 40


class Left(Exception):
    """A repository that is not touched; `str()` says why."""


@dataclass(slots=True)
class Held:
    """One repository as a checkpoint holds it; `files` by path with mode and the id of the blob."""

    about: dict[str, Any] = field(default_factory=dict)
    refs: dict[bytes, bytes] = field(default_factory=dict)
    files: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    index: str = ""
    apart: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    beside: dict[str, Any] = field(default_factory=dict)
    all_refs: dict[bytes, bytes] = field(default_factory=dict)
    objects: str = ""


class Shelves:
    """Reads what checkpoints hold of repositories."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def entries(self, tree: str) -> dict[bytes, tuple[bytes, str]]:
        """A tree's entries; {} for none."""
        return tree_entries(self._git.run("cat-file", "tree", tree)) if tree else {}

    def blob(self, oid: str) -> bytes:
        return self._git.run("cat-file", "blob", oid) if oid else b""

    def held(self, state: str, beside: str) -> Held:
        """One repository, from its two trees."""
        found, apart = self.entries(state), self.entries(beside)

        def text(entries: Mapping[bytes, tuple[bytes, str]], name: bytes) -> bytes:
            return self.blob(entries[name][1]) if name in entries else b""

        def files(entries: Mapping[bytes, tuple[bytes, str]]) -> dict[bytes, tuple[bytes, str]]:
            listed = self.entries(entries[b"files"][1]) if b"files" in entries else {}
            return {unescaped(name): kept for name, kept in listed.items()}

        return Held(
            json.loads(text(found, b"about") or b"{}"),
            refs.decode(text(found, b"refs")),
            files(found),
            found.get(b"index", (b"", ""))[1],
            files(apart),
            json.loads(text(apart, b"about") or b"{}"),
            refs.decode(text(apart, b"refs")),
            apart.get(b"objects", (b"", ""))[1],
        )

    def listed(self, objects: str) -> dict[str, tuple[bytes, str]]:
        """The objects of workers that a checkpoint lists."""
        found = {}
        for fan, (_, tree) in self.entries(objects).items():
            for name, kept in self.entries(tree).items():
                found[(fan + name).decode()] = kept
        return found


class Lock:
    """Git's lock on one file. What it is to become is written first, so that the lock appears whole; its inode is
    noted, so that our own is known after a kill."""

    def __init__(self, note: Path, folder: GitFolder, name: bytes, body: bytes, is_real: bool) -> None:
        self._note = note
        self._folder = folder
        self._name = name
        self._body = body
        self._path = name + b".lock" if is_real else b".proctor-" + name

    def take(self) -> None:
        """Left if another holds it."""
        folder, draft = self._folder, b".proctor-draft"
        found = folder.signature(self._path)
        if found is not None and places.content(self._note).decode("utf-8", "replace") == self._mark(found[4]):
            folder.remove(self._path)
        folder.write(draft, self._body)
        about = folder.signature(draft)
        assert about is not None
        write_file(self._note, self._mark(about[4]).encode())
        try:
            folder.link(draft, self._path)
        except FileExistsError:
            raise Left(f"{folder.path}/{os.fsdecode(self._path)} is there: git is at work, or was killed") from None
        finally:
            folder.remove(draft)

    def put(self) -> None:
        """Make it the file."""
        self._folder.rename(self._path, self._name)
        self._path = b""

    def drop(self) -> None:
        if self._path:
            self._folder.remove(self._path)

    def _mark(self, inode: int) -> str:
        return f"{self._folder.path} {inode}"


class PutBack:
    """One repository on its way from `safety` to `target`."""

    def __init__(self, capturer: Capturer, place: Place, safety: Held, target: Held) -> None:
        self._git = capturer.git
        self._cache = capturer.cache
        self._capturer = capturer
        self._shelves = Shelves(capturer.git)
        self._place = place
        self._safety = safety
        self._target = target

    def run(self, again: bool, made: bool = False) -> list[str]:
        """Go; what is worth saying. `again`: an earlier run may have been interrupted. `made`: the repository was laid
        out just now. Left if nothing is done."""
        with ExitStack() as stack:
            seen = Seen(self._place, stack)
            present = seen.refs()
            is_session = self._place.role is Role.SESSION
            is_new = is_session and not made and self._safety.beside.get("made") != self._target.beside.get("made")
            files = self._wanted_files(is_new)
            if not made:
                self._refuse_late(seen, present, files, again)
            lost = self._objects(seen)
            index, mark = self._wanted_index(seen), seen.index_mark()
            with self._locked(seen.git, b"index", index) as lock:
                if seen.index_mark() != mark:
                    raise Left("its index was written meanwhile")
                self._move_refs(seen, present, lost)
                self._move_files(seen, files)
                self._move_head(seen)
                if index is not None:
                    lock.put()
                elif self._target.about.get("index") == "none":
                    seen.git.remove(b"index")
            return list(self._said(is_new, lost))

    # --- before -------------------------------------------------------------------------------

    def _wanted_files(self, is_new: bool) -> dict[bytes, tuple[bytes, str]]:
        if not is_new:
            return self._target.files
        kept = {path: found for path, found in self._safety.files.items() if path in _KEPT_IN_A_NEW_ONE}
        return {path: found for path, found in self._target.files.items() if path not in _KEPT_IN_A_NEW_ONE} | kept

    def _refuse_late(
        self, seen: Seen, present: Mapping[bytes, bytes], files: Mapping[bytes, tuple[bytes, str]], again: bool
    ) -> None:
        before, after = self._safety.refs, self._target.refs
        late = [
            name
            for name, value in seen.moved(present).items()
            if value not in (before.get(name), after.get(name)) and (before or name in after)
        ]
        for path in seen.survey.files:
            if not self._is_ours(path) or (again and path.startswith(b"logs/")):
                continue
            body = seen.home(path).read(path)
            known = [held[path][1] for held in (self._safety.files, files) if path in held]
            if body is not None and known and id_of("blob", body) not in known:
                late.append(path)
        if late:
            named = late[0].decode("utf-8", "backslashreplace")
            raise Left(f"it was written after the safety checkpoint ({named})")

    def _is_ours(self, path: bytes) -> bool:
        """Whether a file is one that a rollback may write or remove."""
        return places.is_state(self._place.role, path) and not (
            path.startswith(b"refs/") and refs.is_name(path) and path not in self._target.files
        )

    # --- objects ------------------------------------------------------------------------------

    def _objects(self, seen: Seen) -> set[str]:
        """Bring back what is missing of the objects; the ids that refs and index name and that are nowhere."""
        listed = self._shelves.listed(self._target.objects)
        others = [oid for oid, (mode, _) in listed.items() if mode == EXECUTABLE]
        uncached = [oid for oid in others if not (self._cache.objects / oid[:2] / oid[2:]).exists()]
        for oid, whole in self._stored({oid: listed[oid] for oid in uncached}):
            self._cache.add(oid, whole)
        packed = packed_ids(seen.common)
        gone = {oid: kept for oid, kept in listed.items() if oid not in packed and not _is_there(seen.common, oid)}
        for oid, whole in self._stored(gone):
            seen.common.write(b"objects/%s/%s" % (oid[:2].encode(), oid[2:].encode()), zlib.compress(whole, 1))
        named = refs.ids(self._target.refs)
        if self._target.about.get("index") == "difference":
            named |= indexes.ids(indexes.Difference.decode(self._shelves.blob(self._target.index)).entries.values())
            named |= {base} if (base := self._target.about.get("base", "")) else set()
        if self._place.role is Role.SHARED:
            return self._missing_there(named)
        return self._cache.missing(named, self._capturer.env(self._place)) - listed.keys()

    def _stored(self, wanted: Mapping[str, tuple[bytes, str]]) -> Iterator[tuple[str, bytes]]:
        """Objects with their heads, as checkpoints keep them."""
        if wanted:
            by_blob = {kept: (oid, mode) for oid, (mode, kept) in wanted.items()}
            for kept, whole in self._cache.read(list(by_blob), {}):
                oid, mode = by_blob[kept]
                yield oid, whole if mode == PLAIN else whole.partition(b"\0")[2]

    def _missing_there(self, named: set[str]) -> set[str]:
        """What the operator's repository lacks still, after packs from the store brought what they could."""
        there = self._theirs_env()
        lost = self._cache.missing(named, there)
        have = self._cache.missing(lost, {})
        if tips := lost - have:
            asked = "".join(f"{oid}\n" for oid in sorted(tips)) + "".join(f"^{oid}\n" for oid in sorted(named - lost))
            with contextlib.suppress(GitFailed):
                command = ("pack-objects", "-q", "--revs", "--stdout", "--missing=allow-any")
                pack = self._git.run(*command, input=asked.encode(), env=self._cache.env())
                self._git.run("index-pack", "--stdin", input=pack, env=there)
                lost = self._cache.missing(named, there)
        return lost

    def _theirs_env(self) -> dict[str, str]:
        return {
            "GIT_DIR": str(self._place.git),
            "GIT_OBJECT_DIRECTORY": str(self._place.common / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        }

    # --- refs ---------------------------------------------------------------------------------

    def _move_refs(self, seen: Seen, present: Mapping[bytes, bytes], lost: Collection[str]) -> None:
        wanted = {name: value for name, value in self._target.refs.items() if name != refs.HEAD}
        movable = {name for name in seen.moved(present) if name != refs.HEAD}
        gone = set() if self._place.is_linked else movable - wanted.keys()
        wanted = {
            name: value
            for name, value in wanted.items()
            if present.get(name) != value and value.decode() not in lost and self._may_move(name)
        }
        if self._place.role is Role.SESSION:
            self._write_refs(seen, wanted, gone)
        elif wanted or gone:
            self._update_refs(wanted, gone, present)

    def _may_move(self, name: bytes) -> bool:
        branches = {refs.branch_of(self._target.refs)}
        return places.is_moved(self._place, name, branches, places.elsewhere(self._place))

    def _write_refs(self, seen: Seen, wanted: Mapping[bytes, bytes], gone: Collection[bytes]) -> None:
        packed = seen.git.read(refs.PACKED) or b""
        if gone & refs.packed(packed).keys():
            seen.git.write(refs.PACKED, refs.without(packed, gone.__contains__))
        for name in sorted(gone):
            seen.git.remove(name)
        for name, value in sorted(wanted.items()):
            seen.git.write(name, value + b"\n")

    def _update_refs(
        self, wanted: Mapping[bytes, bytes], gone: Collection[bytes], present: Mapping[bytes, bytes]
    ) -> None:
        """One transaction of git's: all of them from the values that the safety checkpoint has, or none."""
        lines = []
        for name in sorted(gone):
            lines += [b"delete " + name, present[name]]
        for name, value in sorted(wanted.items()):
            if not value.startswith(b"ref: "):
                lines += [b"update " + name, value, present.get(name, _ZERO)]
        try:
            command = ("update-ref", "--no-deref", "-z", "--stdin")
            self._git.run(*command, input=b"".join(line + b"\0" for line in lines), env=self._theirs_env())
        except GitFailed as why:
            raise Left(str(why)) from why

    def _move_head(self, seen: Seen) -> None:
        value = self._target.refs.get(refs.HEAD)
        present = seen.refs().get(refs.HEAD)
        if value is None or value == present:
            return
        if self._place.role is Role.SESSION:
            seen.git.write(seen.head_name, value + b"\n")
            return
        with self._locked(seen.git, b"HEAD", value + b"\n") as lock:
            if seen.refs().get(refs.HEAD) != present:
                raise Left("its HEAD was moved meanwhile")
            lock.put()

    # --- files and index ----------------------------------------------------------------------

    def _move_files(self, seen: Seen, files: Mapping[bytes, tuple[bytes, str]]) -> None:
        now = {}
        survey = seen.git.survey(lambda path: places.wanted(self._place.role, path))
        for path in {**survey.files, **seen.survey.files}:
            if self._is_ours(path) and self._is_logged(path, files):
                now[path] = seen.home(path).read(path)
        for path in sorted(now.keys() - files.keys()):
            seen.home(path).remove(path)
            top = path.partition(b"/")[0]
            if top not in (path, b"refs", b"logs", b"hooks", b"info"):
                seen.git.remove_empty(top)
        for path, (mode, oid) in sorted(files.items()):
            folder, body = seen.home(path), now.get(path)
            about = folder.signature(path) if body is not None else None
            if about is None or body is None or id_of("blob", body) != oid or not _has_mode(about[0], mode):
                folder.write(path, self._shelves.blob(oid), mode)

    def _is_logged(self, path: bytes, files: Mapping[bytes, tuple[bytes, str]]) -> bool:
        """Whether a reflog is one of a ref that is moved; of others it stays."""
        if self._place.role is Role.SESSION or not path.startswith(b"logs/refs/"):
            return True
        return path in files or path in self._safety.files

    def _wanted_index(self, seen: Seen) -> bytes | None:
        """What the index is to be; None if it is that, or is to go, or cannot be told."""
        kind, oid, base = (
            self._target.about.get("index", "none"),
            self._target.index,
            self._target.about.get("base", ""),
        )
        if kind == "none":
            return None
        body = self._shelves.blob(oid)
        if kind == "bytes":
            return None if seen.git.read(b"index", MOST_INDEX) == body else body
        try:
            tree = self._capturer.tree(base, self._place)
        except GitFailed:  # its commit is among the lost
            return None
        present, written = _present(seen.git)
        if present is not None and id_of("blob", indexes.difference(present, tree).encode()) == oid:
            return None
        return indexes.rebuilt(indexes.Difference.decode(body), tree, present, written)

    # --- locks --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self, folder: GitFolder, name: bytes, body: bytes | None) -> Iterator[Lock]:
        """Hold git's lock on a file, which holds what the file is to become. The session's needs none: there is no
        git at work but a worker's, and what that leaves of locks is the worker's."""
        note = self._cache.folder / os.fsdecode(self._place.key + b"." + name + b".lock")
        lock = Lock(note, folder, name, body or b"", self._place.role is Role.SHARED)
        lock.take()
        try:
            yield lock
        finally:
            lock.drop()

    # --- words --------------------------------------------------------------------------------

    def _said(self, is_new: bool, lost: Collection[str]) -> Iterator[str]:
        name = self._place.name
        moved = refs.moved(self._safety.refs, self._target.refs)
        if self._place.role is Role.SHARED and moved:
            yield f"{name}: {', '.join(moved[:5])}" + (f" and {len(moved) - 5} more" if len(moved) > 5 else "")
        if self._place.role is Role.SHARED:
            yield from self._pushed()
        if is_new:
            yield f"{name} was made anew since; what it holds is put back, its settings stay as they are"
        if lost:
            yield f"{name}: {len(lost)} objects are in no checkpoint and gone; what names them stays as it is"

    def _pushed(self) -> Iterator[str]:
        """Branches of which commits leave that a remote has."""
        for name, value in self._safety.refs.items():
            if not name.startswith(b"refs/heads/") or self._target.refs.get(name) == value or b"ref: " in value:
                continue
            branch = name.removeprefix(b"refs/heads/")
            tracking = [remote for remote in self._safety.all_refs if remote.startswith(b"refs/remotes/")]
            if any(remote.endswith(b"/" + branch) and self._safety.all_refs[remote] == value for remote in tracking):
                said = branch.decode("utf-8", "backslashreplace")
                yield f"{self._place.name}: commits of {said} that leave it were pushed; the remote keeps them"


def _present(folder: GitFolder) -> tuple[indexes.Index | None, int]:
    """The index that stands there, and when it was written; None for one that cannot be taken apart."""
    about, body = folder.signature(b"index"), folder.read(b"index", MOST_INDEX)
    if about is None or not body:
        return None, 0
    try:
        return indexes.parse(body, stats=True), about[2]
    except indexes.Unreadable:
        return None, 0


def packed_ids(folder: GitFolder) -> set[str]:
    """The objects that the packs in a git folder say they hold."""
    found: set[str] = set()
    names = set(folder.children(b"objects/pack"))
    for name in names:
        if name.endswith(b".idx") and name[:-4] + b".pack" in names:
            body = folder.read(b"objects/pack/" + name, 256 << 20) or b""
            if body[:8] == b"\xfftOc\0\0\0\2" and len(body) > 1032:
                count = int.from_bytes(body[1028:1032], "big")
                ids = body[1032 : 1032 + 20 * count]
                found.update(ids[at : at + 20].hex() for at in range(0, len(ids), 20))
    return found


def _is_there(folder: GitFolder, oid: str) -> bool:
    whole = loose(folder, b"objects/%s/%s" % (oid[:2].encode(), oid[2:].encode()))
    return whole is not None and is_whole(oid, whole)


def _has_mode(found: int, mode: bytes) -> bool:
    if stat.S_ISLNK(found):
        return mode == b"120000"
    return mode == (EXECUTABLE if found & stat.S_IXUSR else PLAIN)


def lay_out(place: Path, shelves: Shelves, held: Held) -> None:
    """Make a git folder that is gone, with what a rollback does not move: settings, hooks, remote-tracking refs."""
    for inner in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info", "modules"):
        (place / inner).mkdir(parents=True, exist_ok=True)
    with GitFolder(place) as folder:
        if borrows := held.beside.get("borrows", ""):
            folder.write(b"objects/info/alternates", raw(borrows))
        for path, (mode, oid) in held.apart.items():
            folder.write(path, shelves.blob(oid), mode)
        for name, value in held.all_refs.items():
            if name not in held.refs and name != refs.HEAD:
                folder.write(name, value + b"\n")
        folder.write(b"HEAD", held.refs.get(refs.HEAD, b"ref: refs/heads/main") + b"\n")
