"""Making one repository what a checkpoint holds of it.

What stands there must be what the safety checkpoint has, or already what is wanted: anything else somebody wrote
meanwhile, and the repository is left as it is. In the operator's repository git moves the refs, with their old values
given, and git's own locks are taken; the session's is written here, since no git may run in it. Each step may be
repeated, so that a kill is put right by doing it again.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import ExitStack

from proctor.checkpoint.gitstate import index as indexes
from proctor.checkpoint.gitstate import places, refs
from proctor.checkpoint.gitstate.capture import MOST_INDEX, Capturer, Seen
from proctor.checkpoint.gitstate.folder import EXECUTABLE, PLAIN, GitFolder
from proctor.checkpoint.gitstate.held import Held, Shelves
from proctor.checkpoint.gitstate.lock import Left, Lock
from proctor.checkpoint.gitstate.places import Place, Role
from proctor.checkpoint.gitstate.supply import Supply, theirs
from proctor.checkpoint.record import id_of, is_inside, parents
from proctor.checkpoint.store.command import GitFailed

_KEPT_IN_A_NEW_ONE = (b"config", b"config.worktree", b"info/exclude", b"info/attributes", b"info/global-attributes")
"""What a session's repository that was made anew says by itself."""


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
        self._supply = Supply(capturer, place, target)

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
            lost = self._supply.bring(seen.common, made)
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
            if not known and self._place.role is Role.SHARED and path.startswith(b"logs/refs/"):
                continue  # of a ref that is not moved
            value = refs.value_of(body or b"") if refs.is_name(path) else None
            if value and value in (before.get(path), after.get(path)):
                continue  # a ref where the other has a file that is none
            if body is not None and id_of("blob", body) not in known:
                late.append(path)
        if late:
            named = late[0].decode("utf-8", "backslashreplace")
            raise Left(f"it was written after the safety checkpoint ({named})")

    def _is_ours(self, path: bytes) -> bool:
        """Whether a file is one that a rollback may write or remove."""
        return places.is_state(self._place.role, path) and not (
            path.startswith(b"refs/") and refs.is_name(path) and path not in self._target.files
        )

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
            self._update_refs(seen, wanted, gone, present)

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
        self, seen: Seen, wanted: Mapping[bytes, bytes], gone: Set[bytes], present: Mapping[bytes, bytes]
    ) -> None:
        """Transactions of git's: all refs from the values that the safety checkpoint has, or none. Git makes no ref in
        the place of another one's folder, or the other way round, in the transaction that removes that one."""
        links = {name: value for name, value in wanted.items() if value.startswith(b"ref: ")}
        folders = {folder for name in wanted for folder in parents(name)}
        first = {name for name in gone if name in folders or is_inside(name, wanted)}
        with ExitStack() as stack:
            self._transact([(b"delete " + name, _leads_to(name, present)) for name in sorted(first)])
            try:
                locks = [
                    stack.enter_context(self._locked(seen.common, name, value + b"\n")) for name, value in links.items()
                ]
                if any(seen.refs().get(name) != present.get(name) for name in links):
                    raise Left("its refs were moved meanwhile")
                lines: list[tuple[bytes, ...]] = []
                lines += [(b"delete " + name, _leads_to(name, present)) for name in sorted(gone - first)]
                lines += [
                    (b"update " + name, value, _leads_to(name, present) if name in present else b"0" * len(value))
                    for name, value in sorted(wanted.items())
                    if name not in links
                ]
                self._transact(lines)
            except (Left, OSError) as why:
                self._transact([(b"create " + name, _leads_to(name, present)) for name in sorted(first)])
                raise Left(str(why)) from why
            for name, lock in zip(links, locks, strict=True):
                seen.common.remove_empty(name)
                lock.put()

    def _transact(self, lines: Collection[tuple[bytes, ...]]) -> None:
        if not lines:
            return
        try:
            command = ("update-ref", "--no-deref", "-z", "--stdin")
            words = (word + b"\0" for line in lines for word in line)
            self._git.run(*command, input=b"".join(words), env=theirs(self._place))
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
        kept = {path for path, body in now.items() if body is not None}
        for path in sorted(kept - files.keys()):
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
        word = id_of("blob", name).encode() if b"/" in name else name
        note = self._cache.folder / os.fsdecode(self._place.key + b"." + word + b".lock")
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
        if self._supply.is_part:
            yield f"{name}: some of its history is in no checkpoint and gone: fetch it from where it was pushed"
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


def _leads_to(name: bytes, present: Mapping[bytes, bytes]) -> bytes:
    """The id that git holds a ref against, also one that names another; b"" if it leads nowhere."""
    return refs.commit_of(present, name).encode()


def _has_mode(found: int, mode: bytes) -> bool:
    if stat.S_ISLNK(found):
        return mode == b"120000"
    return mode == (EXECUTABLE if found & stat.S_IXUSR else PLAIN)
