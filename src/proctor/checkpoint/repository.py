"""The checkpoint store of one workspace: what the rest of the house calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from proctor.checkpoint import contents, export, identity, kept, view
from proctor.checkpoint.back.plan import Outlook
from proctor.checkpoint.back.restore import Moved, NotRestored, Restorer
from proctor.checkpoint.contents import Pair
from proctor.checkpoint.export import Exported
from proctor.checkpoint.gitstate.repositories import Repositories
from proctor.checkpoint.identity import Bond
from proctor.checkpoint.look.quick import Quick
from proctor.checkpoint.look.snapshot import Base, WorkingTree, count_of
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.record import Change, ChangeKind, Entry, Held, Restored, Snapshot, raw, text
from proctor.checkpoint.store import borrow, packing
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.objects import REFS, Objects
from proctor.checkpoint.store.plumbing import Git
from proctor.checkpoint.verify import Verified, verify
from proctor.words import Certainty

__all__ = ["Change", "ChangeKind", "Entry", "Held", "Moved", "NotRestored", "Restored", "Snapshot", "Store", "Verified"]


class Store:
    """Working trees of one workspace in a private bare repository, which the user's own is never part of.

    `owned` are the harness's own files, relative to the workspace: they are in no checkpoint and a rollback does not
    touch them; `.proctor` and `.git` never are. Paths go in and out as `os.fsdecode` gives them. All methods block,
    may be called from any thread, and take turns with other processes. What fails raises one of: `Unrecoverable`
    (word `disk` for a full disk or a missing permission, `checkpoints` for a store that is missing or damaged,
    `workspace`), `UsageError`, `NotRestored`.

    `repository` is the session's own git repository, if there is one; `theirs` says that workers have the operator's.
    """

    def __init__(
        self,
        workspace: Path,
        gitdir: Path,
        owned: Iterable[str] = (),
        keep: Keep = DEFAULT,
        *,
        repository: Path | None = None,
        theirs: bool = False,
    ) -> None:
        self.theirs = theirs
        self._git = Git(workspace, gitdir, borrows=not theirs)
        identity.refuse(self._git.workspace)
        identity.bond(self._git)
        mine = {raw(os.path.normpath(path)) for path in (*owned, ".proctor")}
        state = os.path.relpath(self._git.gitdir.parent, self._git.workspace)
        if not state.startswith(".."):
            mine.add(raw(state))
        self._objects = Objects(self._git)
        self._repositories = Repositories(self._git, repository, theirs)
        self._tree = WorkingTree(self._git, mine, keep, self._repositories)
        self._quick = Quick(self._git, self._tree, mine)
        self._restorer = Restorer(self._git, self._objects, self._tree, mine, self._repositories)

    def snapshot(self, name: str, parent: str | None = None, meta: bytes = b"") -> Snapshot:
        """Store everything present under the ref `name` (such as `c7`), replacing what it named. `parent` is noted,
        `meta` kept with it. Durable when this returns; nothing is named when it fails. Makes the store if need be."""
        with self._git.locked(make=True):
            with Draft(self._git) as draft:
                held = self._tree.record(draft, parent or "")
                commit = draft.put_whole(name, held, meta)
                draft.admit()
            self._objects.point(name, commit)
            return _snapshot(commit, held, self._tree.files(), self.borrowed)

    def provisional(
        self, name: str, changed: Collection[str], parent: str | None = None, meta: bytes = b""
    ) -> Snapshot | None:
        """A snapshot at once: what was recorded last, with what is at the `changed` paths now. It costs what they
        cost; a path that is not listed is in it as it was. `confirm` makes it good. What was recorded last is what
        this object saw, or the checkpoint `parent` if it saw nothing yet; a store's first one begins with what the
        operator's git knows, and git itself finds what changed. None if only a look will do."""
        with self._git.locked(make=True):
            base = self._tree.last
            if base is None and parent and not self._tree.has_looked:
                held = self._objects.load(parent)[0]
                base = Base(held, held.files, self._tree.files())
            if base is None:
                return self._first(name, meta)
            with Draft(self._git, commands=False) as draft:
                paths = {raw(os.path.normpath(path)) for path in changed}
                taken = self._quick.record(draft, base, paths, parent or "")
                if taken is None:
                    return None
                commit = draft.put_whole(name, taken.held, meta)
                draft.admit()
            self._tree.last = taken
            self._objects.point(name, commit)
            return replace(_snapshot(commit, taken.held, taken.files, self.borrowed), certainty=Certainty.PROVISIONAL)

    def _first(self, name: str, meta: bytes) -> Snapshot | None:
        """A provisional checkpoint in a store that has none."""
        with Draft(self._git) as draft:
            held = self._tree.sketch(draft)
            if held is None:
                return None
            files = count_of(draft.index)
            draft.index.unlink()  # a look begins with one of its own
            commit = draft.put_whole(name, held, meta)
            draft.admit()
        self._objects.point(name, commit)
        return replace(_snapshot(commit, held, files, self.borrowed), certainty=Certainty.PROVISIONAL)

    def confirm(self, name: str, provisional: str, parent: str | None = None, meta: bytes = b"") -> Snapshot:
        """Hold a provisional commit against a look at everything present. If that bears it out the commit stands, else
        another takes its `name`."""
        with self._git.locked():
            was = self._objects.load(provisional)[0]
            with Draft(self._git) as draft:
                held, commit = self._tree.record(draft, parent or ""), provisional
                if _words(was) != _words(held):
                    commit = draft.put_whole(name, held, meta)
                draft.admit()
            if commit != provisional:
                self._objects.point(name, commit)
            return _snapshot(commit, held, self._tree.files(), self.borrowed)

    def tree_of_working_tree(self) -> Snapshot:
        """The same without a name: good for comparing until the next `gc`."""
        with self._git.locked(make=True):
            held = self._tree.look()
            return _snapshot(held.tree, held, self._tree.files(), self.borrowed)

    def restore(self, safety: str, target: str, paths: Iterable[str] = (), mine: Iterable[str] = ()) -> Restored:
        """Make the workspace equal to `target`, or the chosen files and folders of it; what is at the paths in `mine`
        stays. `safety` is a snapshot of everything present, taken just before.

        Only what differs is touched. Ignored folders and files too large to keep stay where they are; what stands in
        the way and is in no checkpoint is moved to `parked/` beside the store, and comes back when `safety` is
        restored. The result is proved by a fresh look. Raises `Moved` if something was written since the safety
        checkpoint, and `NotRestored` if the tree could not be made equal: then it is what it was. Run it again with
        the same arguments after a kill.
        """
        with self._git.locked():
            return self._restorer.restore(safety, target, paths, mine)

    def outlook(self, target: str, paths: Iterable[str] = (), mine: Iterable[str] = ()) -> Outlook:
        """What `restore` would do to what is there now, without doing it."""
        with self._git.locked():
            return self._restorer.outlook(target, paths, mine)

    def patch_of(self, outlook: Outlook) -> bytes:
        """What a rollback would do to the files, as a patch."""
        return view.patch_between(self._git, *outlook.files)

    def differing(self, pairs: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
        """The paths that differ between the two trees of each pair (ids of trees or checkpoints)."""
        return view.differing(self._git, self._objects, pairs)

    def diff(self, before: str, after: str, *, ignored: bool = False) -> tuple[Change, ...]:
        """What differs between two checkpoints, sorted by path; ignored files only if asked for."""
        return view.changes(self._git, self._objects, before, after, ignored)

    def without_ignored(self, of: Snapshot) -> str:
        """The id that a snapshot's tree would have without its ignored files: logs and caches do not change it."""
        return view.without_ignored(self._git, self._objects, of)

    def patch(self, before: str, after: str, paths: Sequence[str] = ()) -> bytes:
        """The difference of two checkpoints as a patch, with the bytes of the files."""
        return view.patch(self._git, self._objects, before, after, paths)

    def paths(self, commit: str) -> tuple[str, ...]:
        """The paths of the files of a checkpoint, sorted."""
        return view.paths(self._git, self._objects, commit)

    def entries(self, commit: str) -> tuple[Entry, ...]:
        """Every file of a checkpoint, sorted by path."""
        return view.entries(self._git, self._objects, commit)

    def held(self, commit: str) -> Held:
        """The id of a checkpoint's tree of files, and the words beside it."""
        return self._objects.load(commit)[0]

    def not_kept(self, commit: str) -> frozenset[str]:
        """Files and folders that were there when a checkpoint was taken and that it does not hold."""
        return frozenset(map(text, self.held(commit).notes.not_kept))

    @property
    def objects(self) -> Path:
        """The folder of the store's objects, for git commands that read them from elsewhere."""
        return self._git.gitdir / "objects"

    def read(self, commit: str, path: str) -> bytes:
        """The content of one file of a checkpoint. UsageError if it holds none."""
        return view.read(self._git, self._objects, commit, path)

    def materialise(self, commit: str, dest: Path, exclude: Sequence[str] = ()) -> None:
        """Write a checkpoint's tree into an empty folder, without the excluded files and folders."""
        view.materialise(self._git, self._objects, commit, dest, exclude)

    def refresh(self, commit: str, dest: Path, exclude: Sequence[str] = ()) -> None:
        """Make a folder hold a checkpoint's tree and nothing else: quick where it held a like one before."""
        kept.refresh(self._git, self._objects, commit, dest, exclude)

    def list_ignored(self) -> tuple[str, ...]:
        """The outermost ignored folders, such as `node_modules`: in no checkpoint, never touched."""
        with self._git.locked(make=True):
            return tuple(sorted(map(text, self._tree.left_folders())))

    def meta(self, commit: str) -> bytes:
        """The caller's bytes of a checkpoint."""
        return self._objects.meta(commit)

    def names(self) -> dict[str, str]:
        """The refs and the commits they keep."""
        return self._objects.refs() if self._git.exists() else {}

    def keep(self, name: str, commit: str) -> None:
        """Give a stored commit a name of its own. Durable when this returns."""
        with self._git.locked():
            self._objects.point(name, commit)

    def missing(self, oids: Collection[str]) -> tuple[str, ...]:
        """Those of these objects that the store has not."""
        return view.missing(self._git, oids)

    def blobs(self, before: str, after: str) -> dict[str, str | None]:
        """The files that differ between two checkpoints, each with the id of its content, None where it is gone."""
        return view.blobs(self._git, *self._objects.files_of(before, after))

    def pairs(
        self, before: str, after: str, wanted: Callable[[str], bool], largest: int = contents.BOUNDS.file
    ) -> tuple[list[Pair], list[str]]:
        """The wanted plain files that differ between two checkpoints or trees, with their bytes, and the names of those
        that are too many, or larger than `largest` bytes."""
        old, new = self._objects.files_of(before, after)
        return contents.pairs(self._git, old, new, wanted, contents.Bounds(file=largest))

    def mentioned(self, commit: str, words: Sequence[str], but: Collection[str], *, whole: bool = False) -> set[str]:
        """Those of some words that stand in a file of a checkpoint, the paths in `but` left out; as `whole` words."""
        return contents.mentioned(self._git, self._objects.files_of(commit)[0], words, sorted(but), whole=whole)

    def annotate(self, name: str, commit: str, meta: bytes) -> str:
        """Name what a commit holds, with other bytes of the caller's beside it; the new commit. Durable."""
        with self._git.locked():
            fresh = view.annotated(self._git, name, commit, meta)
            self._objects.point(name, fresh)
            return fresh

    def bundle(self, commit: str, file: Path, *, name: str, message: str, hidden: Collection[str] = ()) -> Exported:
        """Write a git bundle of a checkpoint's files as one commit on the branch `name`: without ignored files, and
        without the files and folders that are `hidden`. UsageError if something is at `file`."""
        return export.bundle(self._git, self.held(commit), file, name=name, message=message, hidden=hidden)

    def verify(self, names: Mapping[str, str] | None = None) -> Verified:
        """Prove that every byte of the checkpoints in `names` (name -> commit; all that refs keep, if not given) can
        be had. Slow: it reads the whole store."""
        with self._git.locked():
            return verify(self._git, self.names() | self._objects.broken() if names is None else names)

    def pack(self) -> bool:
        """Put the checkpoints' small packs together; whether there was something to do. For idle time: it gives way
        to every other call on this store."""
        with self._git.locked():
            return borrow.settle(self._git) or packing.pack(self._git)

    def give_way(self) -> None:
        """End a `pack` that another thread runs."""
        if (running := self._git.idle) is not None:
            running.end()

    @property
    def borrowed(self) -> bool:
        """Whether some objects are the operator's alone still, and would be lost if he removed them."""
        return bool(self._git.lenders)

    def settle(self) -> bool:
        """Copy what is borrowed, also what was before workers had the repository; whether there was something to do.
        `pack` does it, too."""
        with self._git.locked():
            return borrow.settle(Git(self._git.workspace, self._git.gitdir, borrows=True))

    def bond(self) -> Bond:
        """Whether the store was made for this workspace, or came here with it."""
        return identity.bond(self._git)

    def bind(self) -> None:
        """Have the store be this workspace's from here on."""
        with self._git.locked(make=True):
            identity.bind(self._git)

    def gc(self, keep: Collection[str]) -> None:
        """Drop every checkpoint but the commits in `keep`, and give their space back. Slow; for idle time."""
        with self._git.locked():
            self._repositories.forget()
            self._tree.last = None  # what no ref keeps may go
            names = self.names()
            for commit in set(keep) - set(names.values()):
                self._objects.point(f"kept-{commit}", commit)
            for name in self._objects.broken():  # over which git would stumble
                (self._git.gitdir / REFS / name).unlink()
            gone = [f"delete {REFS}{name}\n" for name, commit in names.items() if commit not in keep]
            if gone:
                self._git.run("update-ref", "--stdin", input="".join(gone).encode())
            self._tree.settle()
            borrow.settle(self._git)
            borrow.disown(self._git)
            self._git.run("repack", "-a", "-d", "-q")
            self._git.run("prune", "--expire=now")
            self._git.remove_leftovers()


def _words(held: Held) -> tuple[object, ...]:
    """All that two snapshots of one tree have in common."""
    return held.tree, held.state, held.beside, replace(held.notes, parent="", unstable=frozenset())


def _snapshot(commit: str, held: Held, files: int, borrowed: bool) -> Snapshot:
    return Snapshot(
        commit,
        held.tree,
        files,
        held.notes.words + held.partly,
        tuple(sorted(map(text, held.notes.unstable))),
        held.state,
        borrowed=borrowed,
        ignored=held.notes.ignored,
    )
