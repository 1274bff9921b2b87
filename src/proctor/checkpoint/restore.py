"""Making the tree equal to a checkpoint, so that nothing is lost whatever happens on the way.

The order is the safety: everything present is in a checkpoint already; what is in none and stands in the way is
moved aside; git's two-tree merge changes only what differs and refuses when a file is not what the index says;
a fresh look proves the result, or the tree goes back to where it was. Each step may be repeated, so that a rollback
that was killed is finished by running it again.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.checkpoint.objects import Objects, temporary_index
from proctor.checkpoint.plumbing import Git, GitFailed, Trapped, disk_faults, split
from proctor.checkpoint.record import (
    Held,
    Manifest,
    Restored,
    common_mode,
    identity,
    is_below,
    is_inside,
    parents,
    raw,
    text,
)
from proctor.checkpoint.shelf import Shelf, is_folder
from proctor.checkpoint.snapshot import WorkingTree
from proctor.checkpoint.view import NOTHING, Delta, deltas, make_folders, set_modes, sizes_of
from proctor.errors import ProctorError, Unrecoverable
from proctor.text import safe_line
from proctor.units import format_size

Chosen = Callable[[bytes], bool]


class NotRestored(ProctorError):
    """The tree was not made equal to the target; it is what it was before."""


class Moved(NotRestored):
    """Files were written after the safety checkpoint was taken; they are in none. Take another and try again."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The way from `present` to `coming`: the files that differ, nested repositories that are to be there no more
    (`leaving`), what is in no checkpoint and stays where it is (`left`). `chosen` says what may come off a shelf."""

    present: Held
    coming: Held
    deltas: list[Delta]
    chosen: Chosen
    leaving: frozenset[bytes]
    left: frozenset[bytes]

    @property
    def touched(self) -> set[bytes]:
        return {delta.path for delta in self.deltas} | self.present.manifest.differing(self.coming.manifest)


class Restorer:
    """Rollbacks of one workspace. Wants the store's lock held."""

    def __init__(self, git: Git, objects: Objects, tree: WorkingTree, owned: Collection[bytes], parked: Path) -> None:
        self._git = git
        self._objects = objects
        self._tree = tree
        self._owned = frozenset(owned)
        self._parked = parked
        self._begun = git.gitdir / "restoring"

    def restore(self, safety: str, target: str, paths: Iterable[str] = ()) -> Restored:
        """Make the workspace, or the chosen paths of it, what it was at `target`; see `Store.restore`."""
        start, want = self._objects.load(safety, target)
        shelf, home = self._shelf(safety), self._shelf(target)
        tops = {raw(os.path.normpath(path)) for path in paths}

        def chosen(path: bytes) -> bool:
            return not is_below(path, self._owned) and (not tops or is_below(path, tops))

        trusted = not self._begun.exists() and self._tree.files_tree() == start.files
        present = start if trusted else self._between(start, want)
        goal = self._goal(present, want, chosen, home)
        self._check(goal)
        parked: list[bytes] = []
        touched = goal.touched
        self._begun.touch()  # until it is gone, the index may not be trusted to say what is in the tree
        try:
            with disk_faults(self._git.workspace):
                try:
                    self._go(goal, shelf, home, parked)
                except (GitFailed, Trapped) as refusal:  # something is not what the index says
                    parked += self._clear_traps(refusal, shelf)
                    goal = self._goal(self._between(start, want), want, chosen, home)
                    self._go(goal, shelf, home, parked)
                fresh = self._proved(goal)
        except (ProctorError, OSError, Trapped) as error:
            self._back(start, goal, touched, shelf)
            if isinstance(error, Unrecoverable | Moved):
                raise
            raise NotRestored(
                f"{self._git.workspace}: could not be made what it was at {target[:12]}, and is as before: {error}"
            ) from error
        self._begun.unlink()
        missing = sorted(path for path in want.notes.repositories - fresh.notes.repositories if chosen(path))
        return Restored(len(touched), tuple(map(text, parked)), fresh.tree, tuple(map(text, missing)))

    # --- deciding -----------------------------------------------------------------------------

    def _between(self, start: Held, want: Held) -> Held:
        """What is present, if each file of it is as it was or as it is to be: so a killed rollback leaves it."""
        present = self._tree.look()
        if late := self._late(present, start, want.files):
            shown = ", ".join(safe_line(path, 100) for path in sorted(late)[:3])
            raise Moved(
                f"{self._git.workspace}: {len(late)} files were written after the safety checkpoint ({shown}); "
                "nothing was rolled back, try again"
            )
        return present

    def _late(self, present: Held, start: Held, files: str) -> set[bytes]:
        """Files that are neither what they were nor what they are to be: someone else wrote them.

        A rollback that was killed may leave one file half written. What is gone is not late: nothing of it is lost.
        """
        since = {delta.path: delta for delta in deltas(self._git, present.files, start.files)}
        ahead = [delta for delta in deltas(self._git, present.files, files) if delta.path in since]
        late = {delta.path: (delta.new, since[delta.path].new) for delta in ahead if delta.old != NOTHING}
        if len(late) == 1 and self._begun.exists():
            ((path, wholes),) = late.items()
            if any(self._is_part(since[path].old, whole) for whole in wholes):
                return set()
        return set(late)

    def _is_part(self, part: str, whole: str) -> bool:
        if whole == NOTHING:
            return False
        with contextlib.suppress(GitFailed):
            start = self._git.run("cat-file", "blob", part)
            return self._git.run("cat-file", "blob", whole).startswith(start)
        return False

    def _goal(self, present: Held, want: Held, chosen: Chosen, home: Shelf) -> Goal:
        """Plan the way. What the target did not keep but left alone is left alone now."""
        differing = deltas(self._git, present.files, want.files)
        gone = (delta.path for delta in differing if delta.new == NOTHING)
        release = {path for path in gone if chosen(path) and self._left_then(path, want) and not home.holds(path)}
        if release:
            self._tree.release(release)
            present = replace(present, files=self._tree.files_tree())
            differing = [delta for delta in differing if delta.path not in release]
        wanted = [delta for delta in differing if chosen(delta.path)]
        files, manifest = want.files, present.manifest.merged(want.manifest, chosen)
        if len(wanted) != len(differing):
            files = self._overlay(present.files, wanted)
            differing = deltas(self._git, present.files, files)
            manifest = self._fitting(files, manifest)
        coming = {delta.path for delta in differing if delta.old == NOTHING} | manifest.empty
        coming |= {folder for path in coming for folder in parents(path) if not is_folder(self._place(folder))}
        return Goal(
            present,
            Held(files, identity(files, manifest)[0], manifest, want.notes),
            differing,
            chosen,
            leaving=frozenset(filter(chosen, present.notes.repositories - want.notes.repositories)),
            left=frozenset(present.notes.not_kept - coming | release),
        )

    @staticmethod
    def _left_then(path: bytes, want: Held) -> bool:
        return path in want.notes.left or is_inside(path, want.notes.closed)

    def _overlay(self, base: str, wanted: list[Delta]) -> str:
        """The tree that is `base` with some of its files changed."""
        gone = [b"0 %s\t%s\0" % (NOTHING.encode(), delta.path) for delta in wanted if delta.new == NOTHING]
        there = [
            b"%o %s\t%s\0" % (delta.new_mode, delta.new.encode(), delta.path)
            for delta in wanted
            if delta.new != NOTHING
        ]
        with temporary_index(self._git) as env:
            self._git.run("read-tree", base, env=env)
            self._git.run("update-index", "-z", "--index-info", input=b"".join(gone + there), env=env)
            return self._git.run("write-tree", env=env).decode().strip()

    def _fitting(self, files: str, manifest: Manifest) -> Manifest:
        """A manifest put together from two, without folders that would not be there or would not be empty."""
        names = split(self._git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", files))
        full = {folder for path in names for folder in parents(path)}
        empty = frozenset(folder for folder in manifest.empty if folder not in full)
        there = full | empty | {folder for path in empty for folder in parents(path)}
        return replace(
            manifest, empty=empty, folders={path: mode for path, mode in manifest.folders.items() if path in there}
        )

    def _check(self, goal: Goal) -> None:
        """Refuse before anything is touched, when the disk or the permissions will not do."""
        disk = os.statvfs(self._git.workspace)
        if disk.f_flag & os.ST_RDONLY:
            raise Unrecoverable(f"{self._git.workspace}: read-only; nothing was rolled back", "disk")
        sizes = sizes_of(self._git, [oid for delta in goal.deltas for oid in (delta.old, delta.new)])
        if lost := [delta.path for delta in goal.deltas if delta.new != NOTHING and delta.new not in sizes]:
            raise Unrecoverable(
                f"{self._git.gitdir}: {len(lost)} files of the checkpoint are missing ({safe_line(lost[0], 100)}); "
                "nothing was rolled back",
                "checkpoints",
            )
        growth = sum(sizes.get(delta.new, 0) - sizes.get(delta.old, 0) for delta in goal.deltas)
        if growth > (free := disk.f_bavail * disk.f_frsize):
            raise Unrecoverable(
                f"{self._git.workspace}: {format_size(growth)} more are needed and {format_size(free)} are free; "
                "nothing was rolled back, free some space",
                "disk",
            )
        for folder in self._closed(goal):
            if os.lstat(folder).st_uid != os.geteuid():
                raise Unrecoverable(f"{safe_line(folder)}: not writable and not yours; nothing was rolled back", "disk")

    def _closed(self, goal: Goal) -> list[bytes]:
        """Folders that must be opened for the way, as absolute paths."""
        folders = {parent for path in goal.touched | goal.leaving for parent in (*parents(path), b"")}
        folders |= goal.leaving
        places = (self._place(folder) for folder in folders)
        return [place for place in places if is_folder(place) and not os.access(place, os.W_OK | os.X_OK)]

    # --- going --------------------------------------------------------------------------------

    def _go(self, goal: Goal, shelf: Shelf, home: Shelf, parked: list[bytes]) -> None:
        """Make the tree what the goal says. Files that do not differ are not touched."""
        now, then = goal.present.manifest, goal.coming.manifest
        top, umask = self._git.top, self._git.umask
        self._tree.expect(goal.coming, goal.touched, goal.left)
        for place in self._closed(goal):
            os.chmod(place, stat.S_IMODE(os.lstat(place).st_mode) | stat.S_IRWXU)
        self._clear_way(goal, shelf, parked)
        if goal.present.files != goal.coming.files:
            self._git.run("read-tree", "-m", "-u", goal.present.files, goal.coming.files)
        make_folders(top, then.empty, umask)
        home.put_back(goal.chosen)
        files = {path: self._common(path) for path in now.modes.keys() - then.modes.keys()} | then.modes
        folders = dict.fromkeys(now.folders, 0o777 & ~umask) | then.folders
        set_modes(top, stat.S_IFREG, files)
        set_modes(top, stat.S_IFDIR, folders)

    def _clear_way(self, goal: Goal, shelf: Shelf, parked: list[bytes]) -> None:
        """Remove folders that are empty and not wanted; move aside what is in no checkpoint and in the way."""

        def park(path: bytes) -> None:
            shelf.park(path)
            parked.append(path)

        for repository in sorted(goal.leaving):
            if os.path.lexists(self._place(repository + b"/.git")):
                park(repository + b"/.git")
        for folder in sorted(goal.present.manifest.empty - goal.coming.manifest.empty, reverse=True):
            self._remove_empty(folder, goal.coming.manifest.empty)
        gone = {delta.path for delta in goal.deltas if delta.new == NOTHING}
        new = [delta.path for delta in goal.deltas if delta.old == NOTHING]
        empty = goal.coming.manifest.empty
        folders = {parent for path in (*new, *empty) for parent in parents(path)} | empty
        for path in sorted(folders - gone):
            if os.path.lexists(self._place(path)) and not is_folder(self._place(path)):
                park(path)
        for path in new:
            if self._reachable(path):
                parked += shelf.park_all_but({name for name in gone if name.startswith(path + b"/")}, path)

    def _reachable(self, path: bytes) -> bool:
        return os.path.lexists(self._place(path)) and all(is_folder(self._place(parent)) for parent in parents(path))

    def _remove_empty(self, folder: bytes, wanted: Collection[bytes]) -> None:
        """Remove a folder and those above it that it leaves empty."""
        with contextlib.suppress(OSError):
            while folder and folder not in wanted and is_folder(self._place(folder)):
                os.rmdir(self._place(folder))
                folder = folder.rpartition(b"/")[0]

    def _common(self, path: bytes) -> int:
        with contextlib.suppress(OSError):
            return common_mode(os.lstat(self._place(path)).st_mode, self._git.umask)
        return 0

    # --- afterwards ---------------------------------------------------------------------------

    def _proved(self, goal: Goal) -> Held:
        """A fresh look, if it shows what was wanted."""
        fresh = self._tree.look()
        if fresh.tree == goal.coming.tree:
            return fresh
        differing = {delta.path for delta in deltas(self._git, goal.coming.files, fresh.files)}
        differing |= goal.coming.manifest.differing(fresh.manifest)
        beside = fresh.notes.not_kept | self._owned
        above = {parent for path in beside for parent in parents(path)}
        wrong = sorted(path for path in differing if path not in above and not is_below(path, beside))
        if wrong:
            shown = ", ".join(safe_line(path, 100) for path in wrong[:3])
            raise NotRestored(f"{len(wrong)} paths are not what they should be ({shown})")
        return fresh

    def _back(self, start: Held, goal: Goal, touched: set[bytes], shelf: Shelf) -> None:
        """Undo a rollback that failed on its way, but for files that someone else has written meanwhile."""
        try:
            present = self._tree.look()
            mine = touched - self._late(present, start, goal.coming.files)
            way = self._goal(present, start, mine.__contains__, shelf)
            self._go(replace(way, chosen=lambda _: True), self._shelf("late"), shelf, [])
            self._begun.unlink()
        except (ProctorError, OSError, Trapped) as error:
            raise Unrecoverable(
                f"{self._git.workspace}: a rollback stands half way ({error}); nothing is lost, run it again", "disk"
            ) from error

    def _clear_traps(self, refusal: Exception, shelf: Shelf) -> list[bytes]:
        traps = [path.removeprefix(self._git.top + b"/") for path in getattr(refusal, "paths", ())]
        for path in traps:
            shelf.park(path)
        return traps

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path

    def _shelf(self, name: str) -> Shelf:
        return Shelf(self._parked, name, self._git.top)
