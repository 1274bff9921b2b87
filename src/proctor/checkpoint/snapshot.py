"""Bringing the private index to what is in the tree, and the tree's identity from it.

The index is a cache and can always be made anew. Files are looked at by status first, and read only where that may
have changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from proctor.checkpoint.draft import Draft
from proctor.checkpoint.extras import is_odd, within_limit, words_of
from proctor.checkpoint.gitstate.repositories import Repositories
from proctor.checkpoint.ignores import Ignores
from proctor.checkpoint.known import Known, Signature, is_fresh, signature_of
from proctor.checkpoint.plumbing import Git, GitFailed, Trapped, joined
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.record import Held, Manifest, Notes, identity, is_below, parents
from proctor.checkpoint.scan import Scan, ignored_folders, scan
from proctor.checkpoint.shelf import Shelf
from proctor.errors import UsageError
from proctor.units import format_size

_ROUNDS = 3
_PACK_FROM = 64
_SPECIAL = "a socket or device"
_PACKED = ("core.bigFileThreshold=1",)


class WorkingTree:
    """The workspace as the store sees it. Every method wants the store's lock held."""

    def __init__(
        self, git: Git, owned: Collection[bytes], keep: Keep = DEFAULT, repositories: Repositories | None = None
    ) -> None:
        self._git = git
        self._repositories = repositories or Repositories(git)
        self._ignores = Ignores(git)
        self._owned = frozenset(owned)
        self._keep = keep
        self._index = git.gitdir / "index"
        self._memory = git.gitdir / "known"

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
            return self._record(draft, parent)

    def files_tree(self) -> str:
        """The tree of files that the index holds now, without a look at the workspace."""
        return self._git.run("write-tree").decode().strip()

    def files(self) -> int:
        """How many files the index holds."""
        with contextlib.suppress(FileNotFoundError), open(self._index, "rb") as index:
            return int.from_bytes(index.read(12)[8:], "big")
        return 0

    def left_folders(self) -> set[bytes]:
        """Ignored folders that no checkpoint holds."""
        return ignored_folders(self._git, self._ignores, self._owned)

    def expect(self, coming: Held, touched: Iterable[bytes], left: Iterable[bytes]) -> None:
        """Be prepared for an index that is about to hold other files.

        Those in `touched` will be read again at the next look; what is at the paths in `left` is not taken in until
        it is written again.
        """
        known = Known.load(self._memory) or Known()
        known.ignored |= coming.notes.ignored
        known.odd |= coming.manifest.odd_files
        known.fresh |= dict.fromkeys(touched)
        known.left |= dict.fromkeys(left, time.time_ns())
        known.save(self._memory)

    def release(self, paths: Iterable[bytes]) -> None:
        """Let files out of the index that stay in the tree."""
        gone = set(paths)
        known = Known.load(self._memory) or Known()
        known.odd -= gone
        known.save(self._memory)
        self._git.run("update-index", "-z", "--force-remove", "--stdin", input=joined(gone))

    # --- one look -----------------------------------------------------------------------------

    def _record(self, draft: Draft, parent: str) -> Held:
        now = time.time_ns()
        known = Known.load(self._memory)
        if known is None:
            draft.index.unlink(missing_ok=True)
            known = Known()
        seen, unseen = self._scan(draft, known)
        intake = self._intake(seen, known)
        intake.forced |= unseen & intake.files.keys()
        sharp = self._remember(known, seen, intake, now)
        draft.make_room(sum(signature[1] for signature in intake.files.values()))
        self._feed(intake, draft)
        files = draft.run("write-tree").decode().strip()
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
            left=frozenset(intake.left),
            skipped=intake.skipped,
            unstable=frozenset(intake.unstable),
            bare=frozenset(words.attributes.keys() | seen.walk.attributes.keys()) - attributes.keys(),
            repositories=frozenset(seen.walk.repositories),
        )
        kept = self._repositories.record(draft, notes.repositories)
        partly = tuple(f"{what}: {why}" for what, why in sorted(kept.skipped.items()))
        return Held(files, identity(files, manifest)[0], manifest, notes, kept.state, kept.beside, partly)

    def _scan(self, draft: Draft, known: Known) -> tuple[Scan, set[bytes]]:
        """What may differ from the index; also those files in it whose difference the index would not see."""
        known.left = {path: when for path, when in known.left.items() if self._exists(path)}
        untouched = {path for path in known.left if known.covers(path, os.lstat(self._place(path)).st_ctime_ns)}
        asked = {path for path in known.ignored if self._look(path, {})}
        seen = scan(self._git, self._ignores, self._owned, env=draft.env, untouched=untouched, asked=asked)
        if len(seen.new) > self._keep.max_files and not (self._git.workspace / ".git").exists():
            raise UsageError(
                f"{self._git.workspace}: {len(seen.new)} files and no git repository; "
                "is this a project? name what to leave out in .gitignore"
            )
        unseen = {path for path, signature in known.fresh.items() if signature != self._signature(path)}
        unseen -= seen.suspects
        seen.suspects |= unseen
        return seen, unseen

    def _remember(self, known: Known, seen: Scan, intake: Intake, now: int) -> Known:
        """Write down what the index will not say: too much of it before the index is there; what is to be written
        afterwards is returned."""
        known.odd |= intake.odd
        known.ignored = seen.still | intake.ignored
        known.fresh = {path: at for path, at in known.fresh.items() if at and is_fresh(at, now)}
        recent = {path: at for path, at in intake.files.items() if is_fresh(at, now)}
        sharp = replace(known, fresh={**known.fresh, **recent})
        known.fresh = known.fresh | dict.fromkeys(recent)
        known.save(self._memory)
        return sharp

    def _intake(self, seen: Scan, known: Known) -> Intake:
        """Decide for every path that may differ."""
        intake = Intake(left=set())
        folders: dict[bytes, bool] = {}
        limits = dict.fromkeys(seen.ignored, self._keep.max_ignored_file)
        candidates = seen.suspects | seen.new | seen.ignored
        for path in sorted(candidates):
            found = self._look(path, folders)
            kept = path in seen.suspects
            if is_below(path, self._owned) or found is None or stat.S_ISDIR(found.st_mode):
                intake.drop(path, kept, simply=found is None and self._missing(path))
            elif not kept and known.covers(path, found.st_ctime_ns):
                intake.left.add(path)
            elif why := self._refusal(path, found, limits.get(path, self._keep.max_file)):
                intake.drop(path, kept)
                if path in seen.ignored:
                    intake.left.add(path)
                else:
                    intake.skipped[path] = why
            elif path in seen.ignored and len(known.ignored) + len(intake.ignored) >= self._keep.max_ignored:
                intake.left.add(path)
            else:
                intake.take(path, found, path in seen.ignored, is_odd(self._place(path), found, self._git.umask))
        for path in seen.walk.special:
            self._special(path, intake)
        for folder in seen.walk.unreadable:
            intake.skipped[folder] = "a folder that cannot be read"
        return intake

    def _special(self, path: bytes, intake: Intake) -> None:
        """A FIFO is kept as such, but for one where git would read rules from it, and wait for ever."""
        with contextlib.suppress(OSError):
            mode = os.lstat(self._place(path)).st_mode
            if stat.S_ISFIFO(mode) and not path.rpartition(b"/")[2].startswith(b".git"):
                intake.fifos[path] = stat.S_IMODE(mode)
                intake.skipped.pop(path, None)  # where a file was
            else:
                intake.skipped[path] = "a FIFO where git reads rules" if stat.S_ISFIFO(mode) else _SPECIAL

    def _refusal(self, path: bytes, found: os.stat_result, limit: int) -> str:
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return _SPECIAL
        if any(part.lower() == b".git" for part in path.split(b"/")):
            return "a name that git cannot hold"
        if stat.S_ISLNK(found.st_mode):
            return "a link where git wants a file" if path.split(b"/")[-1].lower() == b".gitmodules" else ""
        if found.st_size > limit:
            return f"{format_size(found.st_size)}, over the limit of {format_size(limit)}"
        return "" if os.access(self._place(path), os.R_OK) else "not readable"

    # --- the index ----------------------------------------------------------------------------

    def _feed(self, intake: Intake, draft: Draft) -> None:
        """Take the files in. One that changes while it is read is read again, at last as it comes."""
        if intake.forced:
            draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined(intake.forced))
        waiting: dict[bytes, Signature | None] = {**intake.files, **dict.fromkeys(intake.missing)}
        for _ in range(_ROUNDS):
            if not waiting:
                return
            refused = self._update(draft, sorted(waiting))
            intake.skipped |= refused
            now = {path: self._signature(path) for path in waiting if path not in refused}
            intake.gone |= {path for path, signature in now.items() if signature is None}
            waiting = {path: signature for path, signature in now.items() if signature != waiting[path]}
        intake.unstable = set(waiting)

    def _update(self, draft: Draft, paths: list[bytes]) -> dict[bytes, str]:
        """Hash files into the index, or out of it where they are gone; those that will not go in, with git's words.

        Many go into one pack: faster and smaller than a file each.
        """
        command = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        try:
            draft.run(*command, input=joined(paths), config=_PACKED if len(paths) >= _PACK_FROM else ())
        except GitFailed:
            if len(paths) == 1:
                draft.run("update-index", "-z", "--force-remove", "--stdin", input=joined(paths))
                return {paths[0]: "could not be read"} if self._exists(paths[0]) else {}
            middle = len(paths) // 2
            return self._update(draft, paths[:middle]) | self._update(draft, paths[middle:])
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

    def _look(self, path: bytes, folders: dict[bytes, bool]) -> os.stat_result | None:
        """The status of a file that can be reached without following a link."""
        for parent in parents(path):
            if parent not in folders:
                folders[parent] = self._is_folder(parent)
            if not folders[parent]:
                return None
        try:
            return os.lstat(self._place(path))
        except OSError:
            return None

    def _signature(self, path: bytes) -> Signature | None:
        found = self._look(path, {})
        return None if found is None else signature_of(found)

    def _missing(self, path: bytes) -> bool:
        return all(self._is_folder(parent) or not self._exists(parent) for parent in parents(path))

    def _is_folder(self, path: bytes) -> bool:
        with contextlib.suppress(OSError):
            return stat.S_ISDIR(os.lstat(self._place(path)).st_mode)
        return False

    def _exists(self, path: bytes) -> bool:
        return os.path.lexists(self._place(path))

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path


@dataclass(slots=True)
class Intake:
    """What one look decided: `files` to take in as they were seen, `missing` from the tree and `forced` to go out of
    the index, `fifos` kept beside it, `left` and `skipped` not kept."""

    left: set[bytes]
    files: dict[bytes, Signature] = field(default_factory=dict)
    missing: set[bytes] = field(default_factory=set)
    forced: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    odd: set[bytes] = field(default_factory=set)
    fifos: dict[bytes, int] = field(default_factory=dict)
    ignored: set[bytes] = field(default_factory=set)
    skipped: dict[bytes, str] = field(default_factory=dict)
    unstable: set[bytes] = field(default_factory=set)

    def take(self, path: bytes, found: os.stat_result, ignored: bool, odd: bool) -> None:
        self.files[path] = signature_of(found)
        if odd:
            self.odd.add(path)
        if ignored:
            self.ignored.add(path)

    def drop(self, path: bytes, kept: bool, simply: bool = False) -> None:
        if kept:
            (self.missing if simply else self.forced).add(path)
            self.gone.add(path)
