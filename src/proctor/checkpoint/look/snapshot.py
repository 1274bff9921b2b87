"""Bringing the private index to what is in the tree, and the tree's identity from it.

The index is a cache and can always be made anew. Files are looked at by status first, and read only where that may
have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.checkpoint.back.shelf import Shelf
from proctor.checkpoint.gitstate.repositories import Repositories
from proctor.checkpoint.look.extras import within_limit, words_of
from proctor.checkpoint.look.folders import UNKNOWN, Remembered, mark_of
from proctor.checkpoint.look.ignores import Ignores
from proctor.checkpoint.look.intake import Gate, Intake, look
from proctor.checkpoint.look.known import Known, Signature, is_fresh, signature_of
from proctor.checkpoint.look.scan import Scan, ignored_folders, scan
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.record import Held, Manifest, Notes, identity, tree_entries
from proctor.checkpoint.seed.seed import Seeding, seed
from proctor.checkpoint.store.borrow import missing
from proctor.checkpoint.store.command import GitFailed, Trapped
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git, joined, split
from proctor.checkpoint.store.treeobjects import Entry, TreeObjects, Unread
from proctor.checkpoint.view import NOTHING, Delta, raw_deltas
from proctor.errors import UsageError

_ROUNDS = 3
_PACK_FROM = 64
_FEW = 1_000
"""Files that differ, up to which their folders are rewritten here; of more, git itself is quicker."""
_FORCED = 200
"""Paths that one command line may name."""
_PACKED = ("core.bigFileThreshold=1",)


@dataclass(frozen=True, slots=True)
class Base:
    """The tree recorded last and how many files it has; `indexed` is the tree of files that the index holds."""

    held: Held
    indexed: str
    files: int


class WorkingTree:
    """The workspace as the store sees it. Every method wants the store's lock held."""

    def __init__(
        self, git: Git, owned: Collection[bytes], keep: Keep = DEFAULT, repositories: Repositories | None = None
    ) -> None:
        self._git = git
        self._repositories = repositories or Repositories(git)
        self.ignores = Ignores(git, keep)
        self._owned = frozenset(owned)
        self.trees = TreeObjects(git)
        self._gate = Gate(git, self._owned, self.ignores, keep)
        self._keep = keep
        self._index = git.gitdir / "index"
        self._memory = git.gitdir / "known"
        self.last: Base | None = None
        """What this process recorded last, None once that is not what the index holds, or may not be whole."""
        self.has_looked = False
        self._folders = Remembered(git.gitdir / "folders", self._owned)
        self._written = (UNKNOWN, "")
        """The mark of the index that was admitted last, and its tree of files."""

    # --- the whole ----------------------------------------------------------------------------

    def look(self) -> Held:
        """Take everything that is to be kept into the store, without a name."""
        with Draft(self._git) as draft:
            held = self.record(draft)
            draft.put_tree(held)  # so that it can be compared with later
            draft.admit()
            return held

    def record(self, draft: Draft, parent: str = "") -> Held:
        """Write everything that is to be kept into a draft; the tree and its words. Touches nothing in the workspace.

        An index that cannot be used is made anew, once.
        """
        try:
            return self._record(draft, parent)
        except Trapped as traps:
            shelf = Shelf(self._git.gitdir.parent / "parked", "special", self._git.top)
            moved = [path.removeprefix(self._git.top + b"/") for path in traps.paths]
            for path in moved:
                shelf.park(path)
            held = self._record(draft, parent)
            why = dict.fromkeys(moved, "a special file where git reads rules, moved aside")
            return replace(held, notes=replace(held.notes, skipped=held.notes.skipped | why))
        except GitFailed:
            draft.index.unlink(missing_ok=True)
            return self._record(draft, parent, cold=True)

    def sketch(self, draft: Draft) -> Held | None:
        """What git itself finds beside an index made from the operator's, before any folder is looked at: a look adds
        what git cannot say, ignored files and repositories. None where an index is there, or none can be made. The
        draft's index is not to be admitted: a look begins with one of its own."""
        if draft.index.exists():
            return None
        seeding = seed(self._git, draft, self._owned, self._keep.max_file, oddities=False)
        if seeding is None:
            return None
        self.ignores.refresh()
        with (
            self._git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all", env=draft.env) as differing,
            self._git.start("ls-files", "-z", "-o", "--exclude-standard", env=draft.env) as others,
        ):
            doubtful = seeding.doubtful()
            new = {path for path in split(others.output()) if not path.endswith(b"/")}
            suspects = doubtful.union(split(differing.output()))
        intake = self._gate.decide(Scan(suspects=suspects, unseen=doubtful, new=new), Known(), anew=True)
        intake.forced |= doubtful & intake.files.keys()
        draft.make_room(sum(signature[1] for signature in intake.files.values()))
        self._feed(intake, draft)
        files, manifest = self._tree_of(draft), Manifest()
        notes = Notes(skipped=intake.skipped, unstable=frozenset(intake.unstable))
        return Held(files, identity(files, manifest)[0], manifest, notes)

    def files_tree(self) -> str:
        """The tree of files that the index holds now, without a look at the workspace."""
        return self._known_tree(self._index) or self._git.run("write-tree").decode().strip()

    def files(self) -> int:
        """How many files the index holds."""
        return count_of(self._index)

    def left_folders(self) -> set[bytes]:
        """Ignored folders that no checkpoint holds."""
        return ignored_folders(self._git, self.ignores, self._owned, self._folders.load(), time.time_ns())

    def expect(self, coming: Held, touched: Iterable[bytes], new: Iterable[bytes], left: Iterable[bytes]) -> None:
        """Be prepared for a tree that is about to hold other files.

        Those in `touched` will be read again at the next look, and the `new` ones of them taken in whatever rules say;
        what is at the paths in `left` is not taken in until it is written again.
        """
        self.last = None
        known = Known.load(self._memory) or Known()
        known.ignored |= coming.notes.ignored
        known.odd |= coming.manifest.odd_files
        known.fresh |= dict.fromkeys(touched)
        known.coming.update(new)
        left = set(left)
        known.left |= dict.fromkeys(left - self.ignores.excluded(left), time.time_ns())
        known.save(self._memory)

    def release(self, paths: Iterable[bytes]) -> None:
        """Let files out of the index, whatever stands in the tree."""
        gone = set(paths)
        self.last = None
        known = Known.load(self._memory) or Known()
        known.odd -= gone
        known.save(self._memory)
        self._git.run("update-index", "-z", "--force-remove", "--stdin", input=joined(gone))

    def settle(self) -> None:
        """Have git know the tree of the index, so that a prune drops nothing of it: the next look rests on it."""
        with contextlib.suppress(GitFailed):
            self._git.run("write-tree")

    def decide(self, seen: Scan) -> Intake:
        """What a look would decide about paths that were found without one. Writes nothing."""
        return self._gate.decide(seen, Known.load(self._memory) or Known())

    # --- one look -----------------------------------------------------------------------------

    def _record(self, draft: Draft, parent: str, cold: bool = False) -> Held:
        now = time.time_ns()
        known = Known.load(self._memory)
        is_lost = not self._is_sound(draft.index)
        before = "" if known is None or is_lost else self._known_tree(draft.index)
        mark = mark_of(draft.index)
        seeding: Seeding | None = None
        if known is None or is_lost:
            draft.index.unlink(missing_ok=True)
            known = known or Known()
            if not cold:
                seeding = seed(self._git, draft, self._owned, self._keep.max_file)
        seen = self._scan(draft, known, now, is_lost)
        if seeding:
            doubtful = seeding.doubtful()
            seen.suspects |= doubtful
            seen.unseen |= doubtful
        intake = self._gate.decide(seen, known, anew=is_lost)
        intake.forced |= seen.unseen & intake.files.keys()
        if seeding:
            known.odd |= seeding.odd()
        sharp = self._remember(known, seen, intake, now)
        draft.make_room(sum(signature[1] for signature in intake.files.values()))
        self._feed(intake, draft)
        files = before if before and mark == mark_of(draft.index) else self._tree_of(draft, before)
        self._folders.save(seen.settled(draft.index, files, *intake.moved()))
        odd = known.odd - intake.gone - intake.left - intake.skipped.keys()
        words = words_of(self._git.top, odd, self._git.umask)
        sharp.odd = words.odd
        draft.afterwards.append(lambda: sharp.save(self._memory))
        attributes = within_limit(words.attributes | seen.walk.attributes)
        manifest = Manifest(
            words.modes, seen.walk.odd, self._empty(seen, intake), words.links, intake.fifos, attributes
        )
        notes = Notes(
            parent=parent,
            ignored=frozenset(known.ignored - intake.left - intake.skipped.keys()),
            closed=frozenset(seen.closed),
            stirs=seen.stirs,
            left=frozenset(intake.left),
            skipped=intake.skipped,
            unstable=frozenset(intake.unstable),
            bare=frozenset(words.attributes.keys() | seen.walk.attributes.keys()) - attributes.keys(),
            repositories=frozenset(seen.walk.repositories),
        )
        kept = self._repositories.record(draft, notes.repositories)
        partly = tuple(f"{what}: {why}" for what, why in sorted(kept.skipped.items()))
        held = Held(files, identity(files, manifest)[0], manifest, notes, kept.state, kept.beside, partly)
        draft.afterwards.append(lambda: self._recorded(held))
        return held

    def _is_sound(self, index: Path) -> bool:
        """Whether an index is there and is as it was written. Git does not look at the sum at its end; it is looked at
        once, and again when another process has written it."""
        if (mark := mark_of(index)) in (UNKNOWN, self._written[0]):
            return index.exists()
        body = memoryview(index.read_bytes())
        return hashlib.sha1(body[:-20], usedforsecurity=False).digest() == mark

    def _known_tree(self, index: Path) -> str:
        """The tree of files that an index holds, "" unless it is the one that was recorded last."""
        memory, mark = self._folders.load(), mark_of(index)
        known = {memory.index: memory.tree, self._written[0]: self._written[1]}
        return "" if mark == UNKNOWN else known.get(mark, "")

    def _tree_of(self, draft: Draft, base: str = "") -> str:
        """The tree of files that the draft's index holds; `base` is one of which it differs little, if that is known.

        Git writes an index anew when it is asked for its tree: here only what differs is written, if that is little.
        """
        if base:
            with contextlib.suppress(GitFailed, Unread):
                command = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base)
                changes = raw_deltas(split(draft.run(*command)))
                if len(changes) <= _FEW:
                    return self._rewritten(draft, base, changes)
        return draft.run("write-tree").decode().strip()

    def _rewritten(self, draft: Draft, base: str, changes: Iterable[Delta]) -> str:
        """The tree `base` with changes. Raises `Unread` if an object is lost that a folder on the way names: git, too,
        would notice."""
        written, named = set[str](), set[str]()

        def write(body: bytes) -> str:
            written.add(oid := draft.put("tree", body))
            named.update(inner for _, inner in tree_entries(body).values())
            return oid

        edits: dict[bytes, Entry | None] = {
            delta.path: None if delta.new == NOTHING else (b"%o" % delta.new_mode, delta.new) for delta in changes
        }
        files = self.trees.rewritten(base, edits, write)[0] or draft.put("tree", b"")
        if missing(self._git, named - written, draft.env):
            raise Unread(files)
        return files

    def _recorded(self, held: Held) -> None:
        self.last, self.has_looked = Base(held, held.files, self.files()), True
        self._written = mark_of(self._index), held.files

    def _scan(self, draft: Draft, known: Known, now: int, is_lost: bool) -> Scan:
        """What may differ from the index; also those files in it whose difference the index would not see."""
        known.left = {path: when for path, when in known.left.items() if self._exists(path)}
        folders: dict[bytes, bool] = {}
        asked = {path for path in known.ignored if look(self._git.top, path, folders)}
        seen = scan(
            self._git,
            self.ignores,
            self._owned,
            self._folders.load(),
            now,
            env=draft.env,
            untouched={path for path in known.left if known.covers(path, os.lstat(self._place(path)).st_ctime_ns)},
            asked=asked,
            unseen={path for path, at in known.fresh.items() if at != self._signature(path, folders)},
            coming=known.coming,
        )
        if len(seen.new) > self._keep.max_files and not (self._git.workspace / ".git").exists():
            raise UsageError(
                f"{self._git.workspace}: {len(seen.new)} files and no git repository; is this a project? If it is, "
                "`git init` there, or name what to leave out in .gitignore or as state.checkpoint.exclude"
            )
        seen.still |= self.ignores.wanted(asked)
        if is_lost or known.terms != self.ignores.wishes.mark:
            excluded = self.ignores.wishes.exclude.listed(draft.env)
            seen.suspects |= excluded
            seen.unseen |= excluded
            known.over, known.terms = {}, self.ignores.wishes.mark
        return seen

    def _remember(self, known: Known, seen: Scan, intake: Intake, now: int) -> Known:
        """Write down what the index will not say: too much of it before the index is there; what is to be written
        afterwards is returned."""
        known.odd |= intake.odd
        known.ignored = seen.still | intake.ignored
        known.over = intake.over
        known.fresh = {path: at for path, at in known.fresh.items() if at and is_fresh(at, now)}
        recent = {path: at for path, at in intake.files.items() if is_fresh(at, now)}
        silent = dict.fromkeys(seen.mapped & intake.files.keys())
        sharp = replace(known, fresh=known.fresh | recent | silent, coming=set())
        known.fresh = known.fresh | dict.fromkeys(recent) | silent
        known.save(self._memory)
        return sharp

    # --- the index ----------------------------------------------------------------------------

    def _feed(self, intake: Intake, draft: Draft) -> None:
        """Take the files in. One that changes while it is read is read again, at last as it comes."""
        waiting: dict[bytes, Signature | None] = {**intake.files, **dict.fromkeys(intake.missing)}
        forced = sorted(intake.forced)
        if forced and (not waiting or len(forced) > _FORCED):
            draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined(forced))
            forced = []
        for _ in range(_ROUNDS):
            if not waiting:
                return
            refused = self._update(draft, sorted(waiting), forced)
            forced = []
            intake.skipped |= refused
            folders: dict[bytes, bool] = {}
            now = {path: self._signature(path, folders) for path in waiting if path not in refused}
            intake.gone |= {path for path, signature in now.items() if signature is None}
            waiting = {path: signature for path, signature in now.items() if signature != waiting[path]}
        intake.unstable = set(waiting)

    def _update(self, draft: Draft, paths: list[bytes], forced: Sequence[bytes] = ()) -> dict[bytes, str]:
        """Hash files into the index, or out of it where they are gone; those that will not go in, with git's words.
        The `forced` go out before, so that their content is read whatever their status says.

        Many go into one pack: faster and smaller than a file each.
        """
        out = ("--force-remove", *(os.fsdecode(b"./" + path) for path in forced), "--no-force-remove") if forced else ()
        command = ("update-index", *out, "-z", "--add", "--remove", "--replace", "--stdin")
        try:
            draft.run(*command, input=joined(paths), config=_PACKED if len(paths) >= _PACK_FROM else ())
        except GitFailed:
            if len(paths) == 1:
                draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined([*forced, *paths]))
                return {paths[0]: "could not be read"} if self._exists(paths[0]) else {}
            middle = len(paths) // 2
            return self._update(draft, paths[:middle], forced) | self._update(draft, paths[middle:])
        return {}

    # --- words --------------------------------------------------------------------------------

    def _empty(self, seen: Scan, intake: Intake) -> frozenset[bytes]:
        """Folders that hold nothing that is kept."""
        children = seen.walk.children
        for path in intake.left | intake.skipped.keys():
            folder = path.rpartition(b"/")[0]
            if path not in seen.walk.special and path not in seen.walk.unreadable and folder in children:
                children[folder] -= 1
        return frozenset(folder for folder, count in children.items() if folder and count <= 0)

    # --- small things -------------------------------------------------------------------------

    def _signature(self, path: bytes, folders: dict[bytes, bool]) -> Signature | None:
        found = look(self._git.top, path, folders)
        return None if found is None else signature_of(found)

    def _exists(self, path: bytes) -> bool:
        return os.path.lexists(self._place(path))

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path


def count_of(index: Path) -> int:
    """How many files an index holds."""
    with contextlib.suppress(FileNotFoundError), index.open("rb") as file:
        return int.from_bytes(file.read(12)[8:], "big")
    return 0
