"""The repositories of a workspace: what a checkpoint holds of them, and putting that back."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from proctor.checkpoint.gitstate import places, refs
from proctor.checkpoint.gitstate.capture import RESTING, Captured, Capturer
from proctor.checkpoint.gitstate.gathered import Cache
from proctor.checkpoint.gitstate.held import Held, Shelves, lay_out
from proctor.checkpoint.gitstate.lock import Left
from proctor.checkpoint.gitstate.places import Place, Role
from proctor.checkpoint.gitstate.putback import PutBack
from proctor.checkpoint.record import FOLDER, raw, tree_body
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git, disk_faults, write_file
from proctor.errors import ProctorError
from proctor.text import safe_line
from proctor.trees import remove_tree

_TRIES = 3
_FORMAT = 1
_MOVED = 5
"""Refs of one repository that are named."""
_ODD = (errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""What is said of a folder where a file is to be, of a link, and the like."""
_LOST = "what is there is in no checkpoint"
_HOME = "home.since"
"""Notes where the workspace's own repository was before any worker had it, if that is elsewhere."""
_ASIDE = "aside.git"
"""A session's repository that a rollback took away. The safety checkpoint holds all of it that is kept."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a look at all repositories gave: ids of two trees, "" for none, and what is not kept, with the reason.

    Equal `state`, equal repositories, as far as a rollback restores them. `beside` is what else is kept of them."""

    state: str = ""
    beside: str = ""
    skipped: dict[str, str] = field(default_factory=dict)


class Repositories:
    """The repositories of one workspace. Wants the store's lock held.

    `session` is the session's own, which workers write, where there is one; `theirs` says that workers have the
    operator's own. The operator's are only watched otherwise.
    """

    def __init__(self, git: Git, session: Path | None = None, theirs: bool = False) -> None:
        self._git = git
        self._session = session
        self._theirs = theirs
        self._cache = Cache(git, git.gitdir / "gitstate")
        self._memory = self._cache.folder / "known"
        self._begun = self._cache.folder / "restoring"

    def record(self, draft: Draft, nested: Collection[bytes]) -> Kept:
        """Take in the state of all repositories. `nested` are the folders with a `.git`. Touches nothing of them."""
        memory = self._remembered()
        before = json.dumps(memory)
        capturer = self._capturer(memory)
        state: dict[bytes, tuple[bytes, str]] = {}
        beside: dict[bytes, tuple[bytes, str]] = {}
        skipped: dict[str, str] = {}
        self._note_home()
        for place in self._places(nested):
            try:
                found = self._captured(capturer, place, draft)
            except (OSError, GitFailed) as error:
                skipped[place.name] = f"it cannot be read: {error}"
                continue
            skipped |= found.skipped
            for trees, oid in ((state, found.state), (beside, found.beside)):
                if oid:
                    trees[place.key] = FOLDER, oid
        if json.dumps(memory) != before:
            draft.afterwards.append(lambda: self._remember(memory))
        ids = [draft.put("tree", tree_body(trees)) if trees else "" for trees in (state, beside)]
        return Kept(ids[0], ids[1], skipped)

    @staticmethod
    def _captured(capturer: Capturer, place: Place, draft: Draft) -> Captured:
        """One look, again if something was written meanwhile."""
        for _ in range(_TRIES):
            found = capturer.capture(place, draft)
            if found.is_known or capturer.is_still(place):
                return found
        return Captured(found.state, found.beside, found.skipped | {place.name: "it was written while it was read"})

    def restore(
        self,
        safety: tuple[str, str],
        target: tuple[str, str],
        nested: Collection[bytes] = (),
        tops: Collection[bytes] = (),
    ) -> tuple[str, ...]:
        """Make the repositories what they were at `target`; both are the ids of `state` and `beside`. Lines about
        what was done to the operator's, and what was not done and why.

        Call it once the tree is what it was then. `nested` are the folders with a `.git` that the target has. With
        `tops` only repositories whose folders these are. Run it again after a kill. Raises `Unrecoverable` when the
        disk will not do; the repositories are then as before, as far as that is possible.
        """
        if safety == target and not self._begun.exists():
            return ()
        shelves = Shelves(self._git)
        before, after = self._both(shelves, safety), self._both(shelves, target)
        memory = self._remembered()
        capturer = self._capturer(memory)
        again = self._begun.exists()
        lines: list[str] = []
        done: list[tuple[Place, Held, Held]] = []
        with disk_faults(self._git.workspace):
            self._cache.folder.mkdir(parents=True, exist_ok=True)
            self._begun.touch()
            made = self._make_again(shelves, after, tops, again)
            lines += filter(None, made.values())
            present = self._places(nested)
            for place in present:
                was, then = before.get(place.key, ("", "")), after.get(place.key, ("", ""))
                if tops and place.where.removesuffix(b"/.git") not in tops:
                    continue
                is_new = place.key in made or (again and not was[0])
                is_lost = place.role is not Role.WATCHED and not was[0] and not is_new
                if then[0] and (why := self._unlike(place, shelves.held(*then)) or (_LOST if is_lost else "")):
                    lines.append(f"{place.name} is left as it is: {why}")
                    continue
                if place.role is Role.WATCHED:
                    lines += self._changed(place, shelves, was[1], then[1])
                    continue
                if not then[0] or (was[0] == then[0] and not (again or is_new)):
                    continue
                old, new = shelves.held(*was), shelves.held(*then)
                done.append((place, old, new))
                try:
                    lines += self._put_back(capturer, done[-1], again, is_new)
                except Left as why:
                    lines.append(f"{place.name} is left as it is: {why}")
                except (OSError, ProctorError):
                    self._back(capturer, done)
                    raise
                else:
                    lines += self._proved(capturer, place, then[0])
            if not tops:
                self._put_aside(before, after)
                lines += self._hidden(shelves, after, {place.key for place in present})
        self._begun.unlink(missing_ok=True)
        return tuple(lines)

    def outlook(
        self,
        now: tuple[str, str],
        target: tuple[str, str],
        nested: Collection[bytes] = (),
        tops: Collection[bytes] = (),
    ) -> tuple[str, ...]:
        """Lines about what `restore` would put back; nothing is touched."""
        shelves = Shelves(self._git)
        before, after = self._both(shelves, now), self._both(shelves, target)
        lines = []
        for place in self._places(nested):
            was, then = before.get(place.key, ("", "")), after.get(place.key, ("", ""))
            left = place.role is Role.WATCHED or not then[0] or was[0] == then[0]
            left = left or bool(self._unlike(place, shelves.held(*then)))
            if left or (tops and place.where.removesuffix(b"/.git") not in tops):
                continue
            moved = refs.moved(shelves.held(*was).refs, shelves.held(*then).refs)
            words = moved[:_MOVED] + ([f"{len(moved) - _MOVED} more"] if len(moved) > _MOVED else [])
            lines.append(f"{place.name}: {', '.join(words) or 'its index, or what was in progress'}")
        return tuple(lines)

    def forget(self) -> None:
        """Drop what is only remembered. Call it before objects of the store are dropped."""
        self._cache.forget()

    # --- the parts ----------------------------------------------------------------------------

    def _places(self, nested: Collection[bytes]) -> list[Place]:
        found = places.find(self._git.workspace, self._session, self._theirs, nested)
        return [replace(place, role=Role.WATCHED) if self._is_foreign(place) else place for place in found]

    def _is_foreign(self, place: Place) -> bool:
        """Whether a worker had the workspace's `.git` lead out of it, to a repository that no worker may write."""
        if place.role is not Role.SHARED or places.is_inside(place, self._git.workspace):
            return False
        note = self._cache.folder / _HOME
        return note.exists() and note.read_text() != json.dumps(places.home_of(place, self._git.workspace))

    def _note_home(self) -> None:
        note = self._cache.folder / _HOME
        if self._theirs and not note.exists():
            found = places.find(self._git.workspace, None, True, ())
            homes = [places.home_of(place, self._git.workspace) for place in found if place.role is Role.SHARED]
            note.parent.mkdir(parents=True, exist_ok=True)
            write_file(note, json.dumps(homes[0] if homes else []).encode())

    def _unlike(self, place: Place, then: Held) -> str:
        """Why a repository is not the one that a checkpoint holds, "" if it is."""
        home = then.beside.get("home")
        return "" if home in (None, places.home_of(place, self._git.workspace)) else "it is another one now"

    def _put_back(self, capturer: Capturer, way: tuple[Place, Held, Held], again: bool, made: bool) -> list[str]:
        """Put one repository back. The session's is made anew where something odd is in the way; another is left."""
        place, old, new = way
        try:
            return PutBack(capturer, place, old, new).run(again, made)
        except (OSError, GitFailed) as why:
            if isinstance(why, OSError) and why.errno not in _ODD:
                raise
            if place.role is not Role.SESSION:
                with contextlib.suppress(OSError, ProctorError, Left):
                    PutBack(capturer, place, new, old).run(again=True)
                raise Left(str(why)) from why
            if made or isinstance(why, GitFailed):
                raise
        lay_out(place.git, Shelves(self._git), new, self._move_aside())
        return [f"{place.name} was damaged, and is made again", *PutBack(capturer, place, old, new).run(True, True)]

    def _capturer(self, memory: dict[str, Any]) -> Capturer:
        own = next((place for place in self._places(()) if place.role is not Role.SESSION), None)
        return Capturer(self._git, self._cache, memory, own.common if own else None)

    def _both(self, shelves: Shelves, ids: tuple[str, str]) -> dict[bytes, tuple[str, str]]:
        state, beside = (shelves.entries(oid) for oid in ids)
        return {
            key: (state.get(key, (b"", ""))[1], beside.get(key, (b"", ""))[1]) for key in state.keys() | beside.keys()
        }

    def _proved(self, capturer: Capturer, place: Place, wanted: str) -> list[str]:
        """A fresh look; a line if it does not show what was wanted."""
        with Draft(self._git) as draft:
            found = capturer.capture(place, draft)
            draft.admit()
        if found.state == wanted:
            return []
        return [f"{place.name} is not in all what it was: compare its refs and index before you go on"]

    def _back(self, capturer: Capturer, done: list[tuple[Place, Held, Held]]) -> None:
        for place, old, new in reversed(done):
            with contextlib.suppress(OSError, ProctorError, Left):
                PutBack(capturer, place, new, old).run(again=True)
        with contextlib.suppress(OSError):
            self._begun.unlink()

    def _changed(self, place: Place, shelves: Shelves, was: str, then: str) -> list[str]:
        """What the operator did in a repository of his own since."""
        if was == then or not then:
            return []
        now, old = shelves.entries(was), shelves.entries(then)
        if not now:
            return [f"{place.name} is another one now; left as it is"]
        moved = refs.moved(*(refs.decode(shelves.blob(entries[b"refs"][1])) for entries in (old, now)))
        staged = [json.loads(shelves.blob(entries[b"about"][1])).get("staged") for entries in (old, now)]
        words = moved[:_MOVED] + ([f"{len(moved) - _MOVED} more"] if len(moved) > _MOVED else [])
        words += ["what is staged"] if None not in staged and staged[0] != staged[1] else []
        return [f"{place.name} changed since, and is left as it is: {', '.join(words)}"] if words else []

    def _hidden(self, shelves: Shelves, after: dict[bytes, tuple[str, str]], present: Set[bytes]) -> Iterator[str]:
        """Lines about the repositories that another thing stands in the place of."""
        for key in after.keys() - present:
            held = shelves.held(*after[key])
            where = raw(held.about.get("where", ""))
            if (
                self._theirs
                and held.about.get("role") == Role.SHARED
                and os.path.lexists(self._git.workspace / os.fsdecode(where))
            ):
                name = Place(Role.SHARED, where, Path(), Path()).name
                yield f"{name} cannot be put back: what stands at {safe_line(where, 200)} is none that git would read"

    def _make_again(
        self, shelves: Shelves, after: dict[bytes, tuple[str, str]], tops: Collection[bytes], again: bool
    ) -> dict[bytes, str]:
        """Lay out repositories anew that are gone since, or damaged, where a rollback may write them; a line for
        each by key, empty for what was only put aside. What was begun `again` has no HEAD as yet."""
        made = {}
        for key, ids in after.items():
            held = shelves.held(*ids) if ids[0] else Held()
            where = raw(held.about.get("where", ""))
            if held.about.get("role") == Role.SESSION and self._session and not tops:
                place = Place(Role.SESSION, where, self._session, self._session)
            elif held.about.get("role") == Role.SHARED and self._theirs and held.beside.get("git"):
                place = Place(Role.SHARED, where, *[self._git.workspace / held.beside["git"]] * 2)
            else:
                continue
            entry = place.git if place.role is Role.SESSION else self._git.workspace / os.fsdecode(where)
            is_chosen = not tops or where.removesuffix(b"/.git") in tops
            is_there, head = places.is_repository(place.git) or self._rests(place.git), refs.HEAD
            was = "gone" if not os.path.lexists(place.git) else "damaged"
            if place.role is Role.SESSION and not self._is_sound(place, held):
                is_there, head = False, self._move_aside()
            if not is_chosen or not entry.parent.is_dir() or (os.path.lexists(entry) and (is_there or not again)):
                continue
            if not is_there:
                lay_out(place.git, shelves, held, head)
            if held.beside.get("pointer"):
                entry.write_bytes(raw(held.beside["pointer"]))
            # The session's own is put aside where there was none yet: that it comes back is no news.
            put_aside = place.role is Role.SESSION and was == "gone"
            made[key] = "" if put_aside else f"{place.name} was {was}, and is made again"
        return made

    @staticmethod
    def _is_sound(place: Place, held: Held) -> bool:
        is_same = places.made_from(place) == held.beside.get("made")
        return places.is_sound(place.git, raw(held.beside.get("borrows", "")) if is_same else None)

    def _put_aside(self, before: Collection[bytes], after: Collection[bytes]) -> None:
        """Take the session's repository out of the way where there was none yet: the next start makes one anew."""
        if self._session and b"session" in before and b"session" not in after and self._session.is_dir():
            self._move_aside()

    def _move_aside(self) -> bytes:
        """Move away what stands where the session's repository is to be, whatever it is; how its HEAD was called."""
        aside, head = self._cache.folder / _ASIDE, refs.HEAD
        if self._session is not None and os.path.lexists(self._session):
            remove_tree(aside)
            self._cache.folder.mkdir(parents=True, exist_ok=True)
            os.rename(self._session, aside)
            head = RESTING if self._rests(aside) else head
        return head

    @staticmethod
    def _rests(session: Path) -> bool:
        return os.path.lexists(session / os.fsdecode(RESTING)) and not os.path.lexists(session / "HEAD")

    # --- memory -------------------------------------------------------------------------------

    def _remembered(self) -> dict[str, Any]:
        try:
            found = json.loads(self._memory.read_bytes())
        except (OSError, ValueError):
            return {}
        return found["repositories"] if isinstance(found, dict) and found.get("format") == _FORMAT else {}

    def _remember(self, memory: dict[str, Any]) -> None:
        self._cache.folder.mkdir(parents=True, exist_ok=True)
        write_file(self._memory, json.dumps({"format": _FORMAT, "repositories": memory}).encode(), durable=False)
