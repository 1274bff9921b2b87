"""A checkpoint from the list of what changed: only the listed paths are looked at, so that it costs what they cost.

The list is a hint, and what it lacks stays what it was in the tree recorded last: stale then, but whole. The private
index is left behind; the next look, which needs no list, catches up. Rules are those of a look: both decide by the
same code.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from proctor.checkpoint.look.extras import attributes_of, within_limit, words_of
from proctor.checkpoint.look.folders import Folder, Survey, below
from proctor.checkpoint.look.intake import Intake
from proctor.checkpoint.look.known import Signature, signature_of
from proctor.checkpoint.look.scan import Scan
from proctor.checkpoint.look.snapshot import Base, WorkingTree
from proctor.checkpoint.record import (
    FILE,
    FOLDER,
    Manifest,
    Notes,
    id_of,
    identity,
    is_below,
    is_inside,
    parents,
)
from proctor.checkpoint.store.command import Trapped
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.packs import IN_ONE
from proctor.checkpoint.store.plumbing import Git
from proctor.checkpoint.store.treeobjects import Entry, Unread

MOST = 20_000
"""Paths from which on a look is as quick."""
_ROUNDS = 3
_RUN, _LINK = b"100755", b"120000"
T = TypeVar("T")


class TooWide(Exception):
    """The listed changes are about more than the listed paths: a look is needed."""


class Quick:
    """Takes listed changes into a recorded tree. Wants the store's lock held."""

    def __init__(self, git: Git, tree: WorkingTree, owned: Collection[bytes]) -> None:
        self.git, self.tree, self.owned = git, tree, owned

    def record(self, draft: Draft, base: Base, changed: Collection[bytes], parent: str) -> Base | None:
        """Write the tree that `base` becomes with what is at the listed paths now; None if that takes a look."""
        if len(changed) > MOST or base.held.notes.bare:
            return None
        try:
            return _Listed(self, base, draft).taken(changed, parent)
        except (TooWide, Trapped, Unread):
            return None


class _Listed:
    """One list, taken in. `files` and `folders` are not in the index; `anew` are paths of which, and of all below
    them, nothing holds any more that the base says."""

    def __init__(self, quick: Quick, base: Base, draft: Draft) -> None:
        self._git, self._tree, self._ignores = quick.git, quick.tree, quick.tree.ignores
        self._owned, self._trees = quick.owned, quick.tree.trees
        self._base = base
        self._draft = draft
        self._survey = Survey(self._git.top, self._owned, {}, indexed=lambda _: (), now=time.time_ns())
        self._edits: dict[bytes, Entry | None] = {}
        self._seen = Scan()
        self._files: set[bytes] = set()
        self._folders: set[bytes] = set()
        self._hollow: set[bytes] = set()
        self._anew: set[bytes] = set()
        self._above: set[bytes] = set()
        self._shared: set[bytes] = set()
        self._repositories: set[bytes] = set()

    def taken(self, changed: Collection[bytes], parent: str) -> Base:
        """The base with all that is listed."""
        for path in sorted(self._with_links(changed)):
            self._list(path)
        self._sort()
        for path, folder in self._survey.folders.items():
            self._seen.walk.special.update(below(path, folder.special))
        walk = self._seen.walk
        walk.special = {path for path in walk.special if not is_inside(path, self._hollow)}
        intake = self._tree.decide(self._seen)
        self._edits |= dict.fromkeys(intake.gone)
        self._read(intake)
        files, more = self._trees.rewritten(self._base.held.files, self._edits, lambda body: self._put("tree", body))
        files = files or self._put("tree", b"")
        notes = self._notes(intake, parent)
        manifest = self._manifest(intake, notes, files)
        held = replace(self._base.held, files=files, tree=identity(files, manifest)[0], manifest=manifest, notes=notes)
        return Base(held, self._base.indexed, self._base.files + more)

    # --- what is where ------------------------------------------------------------------------

    def _with_links(self, changed: Collection[bytes]) -> set[bytes]:
        """The listed paths, and the other names of the files that they are names of."""
        links = self._base.held.manifest.links
        firsts = {links[path] for path in changed if path in links}
        return {*changed, *(path for path, first in links.items() if first in firsts)} if firsts else set(changed)

    def _list(self, path: bytes) -> None:
        names = path.split(b"/")
        if names[0] in (b"", b".", b"..") or names[-1] == b".gitignore":
            raise TooWide
        if (
            is_below(path, self._owned)
            or names[0] == b".git"
            or any(self._is_hollow(above, self._base.held.notes.closed) for above in parents(path))
        ):
            return
        if b".git" in names:
            path = b"/".join(names[: names.index(b".git")])
            self._repositories.add(path)
            if self._trees.find(self._base.indexed, path):
                return
        for above in parents(path):
            found = self._stat(above)
            if found is None or not stat.S_ISDIR(found.st_mode):
                path = above
                break
            self._above.add(above)
        else:
            found = self._stat(path)
        before = self._trees.find(self._base.indexed, path)
        if found is None:
            self._forget(path)
        elif stat.S_ISDIR(found.st_mode):
            self._above.add(path)
            self._folder(path, before)
        else:
            self._file(path, found, before)

    def _file(self, path: bytes, found: os.stat_result, before: Entry | None) -> None:
        self._anew.add(path)
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            self._seen.walk.special.add(path)
        if before and before[0] != FOLDER:
            self._seen.suspects.add(path)
            return
        if before:
            self._forget(path)
        if path not in self._seen.walk.special:
            self._beside(path, self._files)

    def _folder(self, path: bytes, before: Entry | None) -> None:
        self._anew.add(path)
        if before is None:
            self._beside(path, self._folders)
        elif before[0] != FOLDER:
            self._seen.suspects.add(path)
            self._folders.add(path)
        else:
            self._through(path)

    def _through(self, top: bytes) -> None:
        """A folder that the index knows, with all that is in it."""
        todo = [top]
        while todo:
            path = todo.pop()
            folder = self._enter(path)
            there = set()
            for child in (*below(path, folder.files), *below(path, folder.beside), *below(path, folder.special)):
                there.add(child)
                found = self._stat(child)
                if found is None:
                    raise TooWide
                self._file(child, found, self._trees.find(self._base.indexed, child))
            for child in below(path, folder.folders):
                there.add(child)
                before = self._trees.find(self._base.indexed, child)
                if before and before[0] == FOLDER:
                    todo.append(child)
                else:
                    self._folder(child, before)
            held = self._trees.find(self._base.held.files, path)
            for name in self._trees.entries(held[1]) if held and held[0] == FOLDER else ():
                if path + b"/" + name not in there:
                    self._forget(path + b"/" + name)

    def _beside(self, path: bytes, kind: set[bytes]) -> None:
        """Something that is not in the index: git says of a folder that has nothing there no more than its name."""
        for above in parents(path):
            if self._trees.find(self._base.indexed, above) is None:
                if above not in self._folders:
                    self._folders.add(above)
                    self._forget(above)
                return
        if kind is self._folders:
            self._forget(path)
        kind.add(path)

    def _forget(self, path: bytes) -> None:
        self._anew.add(path)
        self._edits[path] = None

    def _is_hollow(self, folder: bytes, closed: Collection[bytes]) -> bool:
        """Whether a folder is ignored and holds nothing that is kept all the same."""
        return folder in closed and self._trees.find(self._base.indexed, folder) is None

    # --- rules --------------------------------------------------------------------------------

    def _sort(self) -> None:
        """Sort what is not in the index by the ignore rules, level by level: ignored folders are not entered."""
        files, folders = self._files, self._folders
        if not files and not folders:
            return
        ignores, seen = self._ignores, self._seen
        ignores.refresh()
        above = {parent for path in (*files, *folders) for parent in parents(path)}
        named = ignores.matching({*files, *folders, *above})
        seen.closed = {folder for folder in above & named if not is_inside(folder, named)}
        while files or folders:
            for path in files:
                if path not in named or ignores.is_tracked(path):
                    seen.new.add(path)
                elif not is_inside(path, seen.closed):
                    seen.ignored.add(path)
            entered = [path for path in folders if not is_inside(path, seen.closed) and path not in named]
            self._hollow |= {path for path in folders if path in named and not is_inside(path, seen.closed)}
            seen.closed |= self._hollow
            files, folders = set(), set()
            for path in entered:
                folder = self._enter(path)
                files.update(below(path, folder.files), below(path, folder.beside))
                folders.update(below(path, folder.folders))
            named = ignores.matching({*files, *folders})
        if any(map(ignores.tracked_below, self._hollow)):
            raise TooWide

    # --- reading ------------------------------------------------------------------------------

    def _read(self, intake: Intake) -> None:
        """Read the files that are taken in. One that changes meanwhile is read again, at last as it comes."""
        for path, signature in intake.files.items():
            before: Signature | None = signature
            for _ in range(_ROUNDS):
                self._edits[path] = None if before is None else self._entry(path, before[1])
                after = None if (found := self._stat(path)) is None else signature_of(found)
                if after == before and (before is None or self._edits[path]):
                    break
                before = after
            else:
                intake.unstable.add(path)
                if before is not None and self._edits[path] is None:
                    raise TooWide

    def _entry(self, path: bytes, size: int) -> Entry | None:
        """A file's mode and content, None for one that is not what was said."""
        place = self._place(path)
        before = self._trees.find(self._base.held.files, path)
        known = before[1] if before and before[0] != FOLDER else ""
        try:
            state = os.lstat(place)
            mode = state.st_mode
            if state.st_nlink > 1:
                self._shared.add(path)
            if stat.S_ISLNK(mode):
                return _LINK, self._put("blob", os.readlink(place), known)
            fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with open(fd, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            if size > IN_ONE:
                oid = self._draft.pack.add_file(fd, size, known)
            else:
                oid = self._put("blob", file.read(size + 1), known)
        return (_RUN if mode & stat.S_IXUSR else FILE, oid) if oid else None

    def _put(self, kind: str, body: bytes, known: str = "") -> str:
        return known if known and id_of(kind, body) == known else self._draft.put(kind, body)

    # --- words --------------------------------------------------------------------------------

    def _manifest(self, intake: Intake, notes: Notes, files: str) -> Manifest:
        old = self._base.held.manifest
        words = words_of(self._git.top, [path for path, entry in self._edits.items() if entry], self._git.umask)
        attributes = self._kept(old.attributes) | words.attributes
        folders, empty = self._kept(old.folders), set(self._kept_of(old.empty))
        for path in self._open():
            folders.pop(path, None)
            attributes.pop(path, None)
            empty.discard(path)
            if (state := self._stat(path)) is None:
                raise TooWide
            if said := attributes_of(self._place(path)):
                attributes[path] = said
            if stat.S_IMODE(state.st_mode) != 0o777 & ~self._git.umask:
                folders[path] = stat.S_IMODE(state.st_mode)
            if self._is_empty(path, files, notes):
                empty.add(path)
        if within_limit(attributes) != attributes:
            raise TooWide
        modes, fifos = self._kept_files(old.modes) | words.modes, self._kept(old.fifos) | intake.fifos
        links = self._links()
        return replace(
            old, modes=modes, folders=folders, empty=frozenset(empty), links=links, fifos=fifos, attributes=attributes
        )

    def _links(self) -> dict[bytes, bytes]:
        """Which files are names of one; looked at anew only if one of them is concerned."""
        old = self._base.held.manifest.links
        others = self._kept(old)
        if not self._shared and len(others) == len(old):
            return old
        return words_of(self._git.top, self._shared.union(others), self._git.umask).links

    def _is_empty(self, folder: bytes, files: str, notes: Notes) -> bool:
        """Whether a folder holds nothing that is kept."""
        if self._trees.find(files, folder) is not None:
            return False
        here = self._enter(folder)
        names = {*below(folder, here.files), *below(folder, here.beside)} - notes.left - notes.skipped.keys()
        inner = (path for path in below(folder, here.folders) if not self._is_hollow(path, notes.closed))
        return not names and not any(True for _ in inner)

    def _open(self) -> list[bytes]:
        """The folders that were looked at and that a checkpoint holds."""
        met = {*self._above, *self._survey.folders}
        return [path for path in sorted(met) if path and not is_below(path, self._hollow)]

    def _notes(self, intake: Intake, parent: str) -> Notes:
        old = self._base.held.notes
        still = {path for path in old.ignored & self._anew if os.path.lexists(self._place(path))}
        still -= intake.left | intake.skipped.keys()
        found = {path for path, folder in self._survey.folders.items() if folder.is_repository}
        found |= {path for path in self._repositories if os.path.lexists(self._place(path + b"/.git"))}
        return replace(
            old,
            parent=parent,
            ignored=frozenset(self._kept_files(dict.fromkeys(old.ignored))) | intake.ignored | still,
            closed=self._kept_of(old.closed) | self._seen.closed,
            stirs=self._kept(old.stirs),
            left=self._kept_of(old.left) | intake.left,
            skipped=self._kept(old.skipped) | intake.skipped,
            unstable=frozenset(intake.unstable),
            repositories=(self._kept_of(old.repositories) - self._repositories) | found,
        )

    def _kept(self, words: Mapping[bytes, T]) -> dict[bytes, T]:
        """What the base says that still holds."""
        return {path: word for path, word in words.items() if not is_below(path, self._anew)}

    def _kept_of(self, paths: Collection[bytes]) -> frozenset[bytes]:
        return frozenset(path for path in paths if not is_below(path, self._anew))

    def _kept_files(self, words: Mapping[bytes, T]) -> dict[bytes, T]:
        """The same of words about kept files, which may be many."""
        before = ((path, self._trees.find(self._base.held.files, path)) for path in self._anew)
        tops = {path for path, entry in before if entry and entry[0] == FOLDER}
        kept = {path: word for path, word in words.items() if not is_below(path, tops)} if tops else dict(words)
        for path in self._anew:
            kept.pop(path, None)
        return kept

    # --- small things -------------------------------------------------------------------------

    def _enter(self, path: bytes) -> Folder:
        folder = self._survey.enter(path)
        if folder is None:
            raise TooWide
        return folder

    def _stat(self, path: bytes) -> os.stat_result | None:
        try:
            return os.lstat(self._place(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TooWide from error

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path
