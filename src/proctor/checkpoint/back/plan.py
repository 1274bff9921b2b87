"""What a rollback is going to do, worked out before anything is touched."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from proctor.checkpoint.back.shelf import Shelf, is_folder, reached
from proctor.checkpoint.record import Change, Held, Manifest, identity, is_below, is_inside, linked, parents
from proctor.checkpoint.store.objects import temporary_index
from proctor.checkpoint.store.plumbing import Git, joined, split
from proctor.checkpoint.view import NOTHING, Delta, deltas

Chosen = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator wants of a rollback: only what lies in `tops` (all, if none is named; with `exactly` these
    paths alone, and none if none is named), and `mine` stays."""

    tops: frozenset[bytes] = frozenset()
    exactly: bool = False
    mine: frozenset[bytes] = frozenset()

    def is_for(self, path: bytes) -> bool:
        """Whether a path is among what the operator wants back; of his own edits another word is said."""
        if self.exactly:
            return path in self.tops
        return not self.tops or is_below(path, self.tops)


@dataclass(frozen=True, slots=True)
class Goal:
    """The way from `present` to `coming`: the files that differ, nested repositories that are to be there no more
    (`leaving`), what is in no checkpoint and stays where it is (`left`), kept files that are let go of and stay
    (`released`), the operator's own edits that stay (`mine`). `chosen` says what may come off a shelf."""

    present: Held
    coming: Held
    deltas: list[Delta]
    chosen: Chosen
    leaving: frozenset[bytes] = frozenset()
    left: frozenset[bytes] = frozenset()
    released: frozenset[bytes] = frozenset()
    mine: frozenset[bytes] = frozenset()

    @property
    def touched(self) -> set[bytes]:
        return {delta.path for delta in self.deltas} | self.present.manifest.differing(self.coming.manifest)

    @property
    def gone(self) -> set[bytes]:
        """Files that are to go, and FIFOs."""
        fifos = self.present.manifest.fifos.keys() - self.coming.manifest.fifos.keys()
        return {delta.path for delta in self.deltas if delta.new == NOTHING} | fifos

    @property
    def new(self) -> list[bytes]:
        """Files that are to come where none is, and FIFOs."""
        fifos = self.coming.manifest.fifos.keys() - self.present.manifest.fifos.keys()
        return [delta.path for delta in self.deltas if delta.old == NOTHING] + sorted(fifos)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a rollback would do: files that differ (before: as they are now), paths it would move aside (`parked`), the
    operator's edits that would stay (`mine`), and lines about repositories whose refs go back, about what would stop it
    (`obstacles`), and about what needs his eye (`said`).
    `present` identifies what is there now, `files` are the trees of files now and then."""

    present: str
    files: tuple[str, str]
    changes: tuple[Change, ...]
    parked: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


EVERYTHING = Wish()


class Planner:
    """Plans for one workspace. Changes neither it nor the index."""

    def __init__(
        self, git: Git, owned: Collection[bytes], excluded: Callable[[Collection[bytes]], Collection[bytes]]
    ) -> None:
        """`excluded` says which of some paths the contract lets nobody touch."""
        self._git = git
        self._owned = frozenset(owned)
        self._excluded = excluded

    def goal(self, present: Held, want: Held, home: Shelf, wish: Wish = EVERYTHING) -> Goal:
        """The way to `want` by a wish. What the target did not keep but left alone is left alone now."""
        differing = deltas(self._git, present.files, want.files)
        kept = {delta.path for delta in differing} | present.manifest.differing(want.manifest)
        stays = self._staying(present, differing, wish)
        excluded = self._excluded(kept)
        instead = _instead(present, want, differing, wish)

        def chosen(path: bytes) -> bool:
            mine = is_below(path, wish.mine) or path in stays or path in excluded
            return not mine and not is_below(path, self._owned) and (wish.is_for(path) or path in instead)

        gone = (delta.path for delta in differing if delta.new == NOTHING)
        released = {path for path in gone if chosen(path) and _left_then(path, want) and not home.holds(path)}
        if released:
            present = replace(present, files=self._without(present.files, released))
            differing = [delta for delta in differing if delta.path not in released]
        wanted = [delta for delta in differing if chosen(delta.path)]
        files, manifest = want.files, present.manifest.merged(want.manifest, chosen)
        if len(wanted) != len(differing):
            files = self._overlay(present.files, wanted)
            differing = deltas(self._git, present.files, files)
        if wish != EVERYTHING or files != want.files:
            manifest = self._fitting(files, manifest)
        coming = {delta.path for delta in differing if delta.old == NOTHING}.union(manifest.empty, manifest.fifos)
        coming |= {folder for path in coming for folder in parents(path) if not is_folder(self._place(folder))}
        return Goal(
            present,
            Held(files, identity(files, manifest)[0], manifest, want.notes),
            differing,
            chosen,
            leaving=frozenset(filter(chosen, present.notes.repositories - want.notes.repositories)),
            left=frozenset(present.notes.not_kept - coming | released),
            released=frozenset(released),
            mine=frozenset(path for path in kept if path in wish.mine or path in stays),
        )

    def _staying(self, present: Held, differing: list[Delta], wish: Wish) -> set[bytes]:
        """Files that cannot come because a file of the operator's, which stays, is where their folder would be, or in
        the folder that is where they would be."""
        there = {delta.path for delta in differing if delta.path in wish.mine and delta.old != NOTHING}
        above = {parent for path in there for parent in parents(path)}
        coming = (delta.path for delta in differing if delta.new != NOTHING)
        return {path for path in coming if path in above or is_inside(path, there)}

    def _without(self, base: str, paths: Iterable[bytes]) -> str:
        """The tree that is `base` without some of its files."""
        with temporary_index(self._git) as env:
            self._git.run("read-tree", base, env=env)
            self._git.run("update-index", "-z", "--force-remove", "--stdin", input=joined(paths), env=env)
            return self._git.run("write-tree", env=env).decode().strip()

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
        """A manifest put together from two, without folders that would not be there or would not be empty, and without
        names of one file that would not be alike."""
        contents = contents_of(self._git, files)
        full = {folder for path in contents for folder in parents(path)}
        bare = manifest.empty.union(path.rpartition(b"/")[0] for path in manifest.fifos) - full - {b""}
        above = {folder for path in bare for folder in parents(path)}
        empty = bare - above
        there = full | empty | above
        groups: dict[tuple[bytes, bytes], list[bytes]] = {}
        for path, first in manifest.links.items():
            groups.setdefault((first, contents.get(path, path)), []).append(path)
        return replace(
            manifest,
            empty=frozenset(empty),
            folders={path: mode for path, mode in manifest.folders.items() if path in there},
            links=linked(groups.values()),
            attributes={path: held for path, held in manifest.attributes.items() if path in there or path in contents},
        )

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path


def _instead(present: Held, want: Held, differing: Iterable[Delta], wish: Wish) -> set[bytes]:
    """Files and FIFOs that stand where the folders of what is wanted are to be: they go with it, unless only some
    exact paths are wanted."""
    if wish.exactly:
        return set()
    coming = {delta.path for delta in differing if delta.new != NOTHING}
    coming |= want.manifest.empty | want.manifest.fifos.keys()
    above = {parent for path in coming if wish.is_for(path) for parent in parents(path)}
    standing = {delta.path for delta in differing if delta.new == NOTHING} | present.manifest.fifos.keys()
    return above & standing


def in_the_way(git: Git, goal: Goal) -> set[bytes]:
    """What is in no checkpoint and stands where something is to come, once empty folders are gone; folders whole
    unless a file lies in them that git takes away."""
    gone, empty = goal.gone | goal.present.manifest.fifos.keys(), goal.coming.manifest.empty
    hollow = goal.present.manifest.hollow
    found = {path + b"/.git" for path in goal.leaving if _exists(git, path + b"/.git")}
    folders = {parent for path in (*goal.new, *empty) for parent in parents(path)} | empty
    found |= {path for path in reached(git.top, folders - gone) if _exists(git, path) and not is_folder(_at(git, path))}
    for path in reached(git.top, goal.new):
        if not is_inside(path, found) and _exists(git, path):
            found |= _all_but(git, gone, hollow, path)
    return {path for path in found if not is_inside(path, found)}


def _all_but(git: Git, gone: Collection[bytes], hollow: Collection[bytes], path: bytes) -> set[bytes]:
    """What stands at a path, folders whole unless one of the files that git takes away lies in them."""
    if path in gone:
        return set()
    if not is_folder(_at(git, path)):
        return {path}
    if any(name.startswith(path + b"/") for name in gone):
        return {
            found for name in os.listdir(_at(git, path)) for found in _all_but(git, gone, hollow, path + b"/" + name)
        }
    return set() if _is_bare(git, hollow, path) else {path}


def _is_bare(git: Git, hollow: Collection[bytes], path: bytes) -> bool:
    """Whether there is nothing but empty folders that a checkpoint holds."""
    return path in hollow and all(
        is_folder(_at(git, path + b"/" + name)) and _is_bare(git, hollow, path + b"/" + name)
        for name in os.listdir(_at(git, path))
    )


def names_of(git: Git, files: str) -> list[bytes]:
    """The paths in a tree of files."""
    return split(git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", files))


def contents_of(git: Git, files: str) -> dict[bytes, bytes]:
    """The paths in a tree of files, with mode and id."""
    lines = split(git.run("ls-tree", "-r", "-z", "--full-tree", files))
    return {path: word for word, _, path in (line.partition(b"\t") for line in lines)}


def folders_of(git: Git, files: str) -> set[bytes]:
    """The folders that a tree of files has."""
    return {folder for path in names_of(git, files) for folder in parents(path)}


def _left_then(path: bytes, want: Held) -> bool:
    return path in want.notes.left or is_inside(path, want.notes.closed)


def _exists(git: Git, path: bytes) -> bool:
    return os.path.lexists(_at(git, path))


def _at(git: Git, path: bytes) -> bytes:
    return git.top + b"/" + path
