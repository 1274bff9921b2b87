"""Making the tree equal to a checkpoint, so that nothing is lost whatever happens on the way.

The order is the safety: everything present is in a checkpoint already; what is in none and stands in the way is
moved aside; only files that differ are changed, and none that is not what it was then;
a fresh look proves the result, or the tree goes back to where it was. Each step may be repeated, so that a rollback
that was killed is finished by running it again.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import replace

from proctor.checkpoint.back.dress import Dresser, Unlike, is_fifo
from proctor.checkpoint.back.files import bring
from proctor.checkpoint.back.holders import holders
from proctor.checkpoint.back.obstacles import changing_hands, closed, obstacles
from proctor.checkpoint.back.plan import Goal, Outlook, Planner, Wish, in_the_way
from proctor.checkpoint.back.shelf import Shelf, is_folder
from proctor.checkpoint.gitstate.repositories import Repositories
from proctor.checkpoint.look.snapshot import WorkingTree
from proctor.checkpoint.record import Held, Restored, is_below, parents, raw, text
from proctor.checkpoint.store.command import GitFailed, Trapped
from proctor.checkpoint.store.objects import Objects
from proctor.checkpoint.store.plumbing import Git, disk_faults
from proctor.checkpoint.view import NOTHING, changes_between, deltas, make_folders, sizes_of
from proctor.errors import ProctorError, Unrecoverable
from proctor.text import safe_line
from proctor.units import format_size

MOST = 5
"""Paths that are named in one refusal; a preview names all."""


class NotRestored(ProctorError):
    """The tree was not made equal to the target; it is what it was before."""


class Moved(NotRestored):
    """Files were written after the safety checkpoint was taken; they are in none. Take another and try again."""


class Restorer:
    """Rollbacks of one workspace. Wants the store's lock held."""

    def __init__(
        self,
        git: Git,
        objects: Objects,
        tree: WorkingTree,
        owned: Collection[bytes],
        repositories: Repositories,
    ) -> None:
        self._repositories = repositories
        self._git = git
        self._objects = objects
        self._tree = tree
        self._owned = frozenset(owned)
        self._planner = Planner(git, owned, tree.ignores.excluded)
        self._parked = git.gitdir.parent / "parked"
        self._begun = git.gitdir / "restoring"

    def restore(self, safety: str, target: str, paths: Iterable[str] = (), mine: Iterable[str] = ()) -> Restored:
        """Make the workspace, or the chosen paths of it, what it was at `target`; see `Store.restore`."""
        start, want = self._objects.load(safety, target)
        shelf, home, wish = self._shelf(safety), self._shelf(target), _wish(paths, mine)
        trusted = not self._begun.exists() and self._tree.files_tree() == start.files
        present = start if trusted else self._between(start, want)
        goal = self._planner.goal(present, want, home, wish)
        self._check(goal)
        said = [*holders(self._git.top, goal.touched), *changing_hands(self._git, goal)]
        parked: list[bytes] = []
        touched = goal.touched
        self._begun.touch()  # until it is gone, the index may not be trusted to say what is in the tree
        try:
            with disk_faults(self._git.workspace):
                try:
                    self._go(goal, shelf, home, parked)
                except (GitFailed, Trapped, Unlike) as refusal:  # something is not what it was said to be
                    parked += self._clear_traps(refusal, shelf)
                    goal = self._planner.goal(self._between(start, want), want, home, wish)
                    self._go(goal, shelf, home, parked)
                fresh = self._proved(goal)
                nested = want.notes.repositories | fresh.notes.repositories
                before, after = (start.state, start.beside), (want.state, want.beside)
                said += self._repositories.restore(before, after, nested, wish.tops)
        except (ProctorError, OSError, Trapped) as error:
            self._back(start, goal, touched, shelf)
            if isinstance(error, Unrecoverable | Moved):
                raise
            raise NotRestored(
                f"{self._git.workspace}: could not be made what it was at {target[:12]}, and is as before: {error}"
            ) from error
        self._begun.unlink()
        missing = filter(goal.chosen, want.notes.repositories - fresh.notes.repositories)
        return Restored(
            len(touched), _texts(parked), fresh.tree, _texts(missing), mine=_texts(goal.mine), said=tuple(said)
        )

    def outlook(self, target: str, paths: Iterable[str] = (), mine: Iterable[str] = ()) -> Outlook:
        """What `restore` would do to what is there now; changes nothing but the store."""
        (want,) = self._objects.load(target)
        present = self._tree.look()
        wish = _wish(paths, mine)
        goal = self._planner.goal(present, want, self._shelf(target), wish)
        nested = want.notes.repositories | present.notes.repositories
        now, then = (present.state, present.beside), (want.state, want.beside)
        return Outlook(
            present.tree,
            (goal.present.files, goal.coming.files),
            changes_between(self._git, goal.present, goal.coming, ignored=True),
            _texts(in_the_way(self._git, goal)),
            _texts(goal.mine),
            tuple(obstacles(self._git, goal, self._owned)),
            (*holders(self._git.top, goal.touched), *changing_hands(self._git, goal)),
            self._repositories.outlook(now, then, nested, wish.tops),
        )

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
        if found := obstacles(self._git, goal, self._owned):
            shown = "; ".join(found[:MOST]) + (f"; and {len(found) - MOST} more" if len(found) > MOST else "")
            raise Unrecoverable(f"{self._git.workspace}: nothing was rolled back: {shown}", "disk")

    # --- going --------------------------------------------------------------------------------

    def _go(self, goal: Goal, shelf: Shelf, home: Shelf, parked: list[bytes]) -> None:
        """Make the tree what the goal says. Files that do not differ are not touched."""
        now, then = goal.present.manifest, goal.coming.manifest
        top, umask = self._git.top, self._git.umask
        self._tree.expect(goal.coming, goal.touched, goal.new, goal.left)
        if goal.released:
            self._tree.release(goal.released)
        opened = {path: stat.S_IMODE(os.lstat(self._place(path)).st_mode) for path in closed(self._git, goal)}
        for path, mode in opened.items():
            os.chmod(self._place(path), mode | stat.S_IRWXU)
        for path in now.fifos.keys() - then.fifos.keys():
            if is_fifo(self._place(path)):
                os.unlink(self._place(path))
        self._clear_way(goal, shelf, parked)
        if goal.present.files != goal.coming.files:
            bring(self._git, goal.deltas, then.modes, then.hollow)
        if gone := {path for path in goal.gone if home.holds(path)}:
            self._tree.release(gone)  # what comes back to their places is in no checkpoint
        make_folders(top, then.empty, umask)
        home.put_back(goal.chosen)
        made = {delta.path: delta.new_mode for delta in goal.deltas if delta.new != NOTHING}
        paths = goal.touched.union(opened, *map(parents, goal.new)) - {b""}
        Dresser(top, umask).dress(then, paths, made)
        if b"" in opened:
            os.chmod(top, opened[b""])

    def _clear_way(self, goal: Goal, shelf: Shelf, parked: list[bytes]) -> None:
        """Remove folders that are empty and not wanted; move aside what is in no checkpoint and in the way."""

        wanted = goal.coming.manifest.hollow
        for path in sorted(in_the_way(self._git, goal)):
            shelf.park(path)
            parked.append(path)
            self._remove_empty(path.rpartition(b"/")[0], wanted)
        for folder in sorted(goal.present.manifest.empty - wanted, reverse=True):
            self._remove_empty(folder, wanted)

    def _remove_empty(self, folder: bytes, wanted: Collection[bytes]) -> None:
        """Remove a folder and those above it that it leaves empty."""
        with contextlib.suppress(OSError):
            while folder and folder not in wanted and is_folder(self._place(folder)):
                os.rmdir(self._place(folder))
                folder = folder.rpartition(b"/")[0]

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
            way = self._planner.goal(present, start, shelf, Wish(tops=frozenset(mine), exactly=True))
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


def _wish(paths: Iterable[str], mine: Iterable[str]) -> Wish:
    return Wish(tops=frozenset(raw(os.path.normpath(path)) for path in paths), mine=frozenset(map(raw, mine)))


def _texts(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(map(text, sorted(paths)))
