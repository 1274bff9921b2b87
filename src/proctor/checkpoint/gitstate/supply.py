"""Bringing objects back into a repository: those of workers that a checkpoint lists, and what the store has else."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Mapping

from proctor.checkpoint.gitstate import index as indexes
from proctor.checkpoint.gitstate import refs
from proctor.checkpoint.gitstate.capture import Capturer
from proctor.checkpoint.gitstate.folder import EXECUTABLE, PLAIN, GitFolder
from proctor.checkpoint.gitstate.gathered import is_whole, loose
from proctor.checkpoint.gitstate.held import Held, Shelves
from proctor.checkpoint.gitstate.places import Place, Role
from proctor.checkpoint.store.command import GitFailed

_SHA1 = 40
"""Digits of an id. Of a repository with longer ones no objects are kept."""


def theirs(place: Place) -> dict[str, str]:
    """What makes a command work in the operator's repository. Never for the session's."""
    return {
        "GIT_DIR": str(place.git),
        "GIT_OBJECT_DIRECTORY": str(place.common / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    }


class Supply:
    """The objects of one repository as a checkpoint holds it."""

    def __init__(self, capturer: Capturer, place: Place, target: Held) -> None:
        self._capturer = capturer
        self._git = capturer.git
        self._cache = capturer.cache
        self._shelves = Shelves(capturer.git)
        self._place = place
        self._target = target
        self.is_part = False
        """Whether not all of the history could be brought back."""

    def bring(self, common: GitFolder, made: bool) -> set[str]:
        """Put what is missing of the objects into the folder that worktrees share; the ids that refs and index name
        and that are nowhere. `made`: the repository was laid out just now."""
        listed = self._shelves.listed(self._target.objects)
        others = [oid for oid, (mode, _) in listed.items() if mode == EXECUTABLE]
        uncached = [oid for oid in others if not (self._cache.objects / oid[:2] / oid[2:]).exists()]
        for oid, whole in self._stored({oid: listed[oid] for oid in uncached}):
            self._cache.add(oid, whole)
        packed = packed_ids(common)
        gone = {oid: kept for oid, kept in listed.items() if oid not in packed and not _is_there(common, oid)}
        for oid, whole in self._stored(gone):
            common.write(b"objects/%s/%s" % (oid[:2].encode(), oid[2:].encode()), zlib.compress(whole, 1))
        named = refs.ids(self._target.refs)
        if self._target.about.get("index") == "difference":
            named |= indexes.ids(indexes.Difference.decode(self._shelves.blob(self._target.index)).entries.values())
            named |= {base} if (base := self._target.about.get("base", "")) else set()
        named = {oid for oid in named if len(oid) == _SHA1}
        if self._place.role is Role.SHARED:
            return self._missing_there(named, made)
        return self._cache.missing(named, self._capturer.env(self._place)) - listed.keys()

    def _stored(self, wanted: Mapping[str, tuple[bytes, str]]) -> Iterator[tuple[str, bytes]]:
        """Objects with their heads, as checkpoints keep them."""
        if wanted:
            by_blob = {kept: (oid, mode) for oid, (mode, kept) in wanted.items()}
            for kept, whole in self._cache.read(list(by_blob), {}):
                oid, mode = by_blob[kept]
                yield oid, whole if mode == PLAIN else whole.partition(b"\0")[2]

    def _missing_there(self, named: set[str], made: bool) -> set[str]:
        """What the operator's repository lacks still, after a pack from the store brought what it could. One that was
        just laid out has nothing of its own: it gets all that refs, index and reflogs lead to."""
        there, ours = theirs(self._place), self._cache.env()
        lost = self._cache.missing(named, there)
        wanted = named | self._logged() if made else lost
        if found := wanted - self._cache.missing(wanted, ours):
            known = set() if made else refs.ids(self._target.refs) - lost
            asked = [*sorted(found), *(f"^{oid}" for oid in sorted(known)), ""]
            with contextlib.suppress(GitFailed):
                command = ("pack-objects", "-q", "--revs", "--stdout", "--missing=allow-any")
                pack = self._git.run(*command, input="\n".join(asked).encode(), env=ours)
                self._git.run("index-pack", "--stdin", input=pack, env=there)
                lost = self._cache.missing(named, there)
        if made:
            try:
                tips = "\n".join([*sorted(named - lost), ""]).encode()
                self._git.run("rev-list", "--objects", "--quiet", "--stdin", input=tips, env=there)
            except GitFailed:
                self.is_part = True
        return lost

    def _logged(self) -> set[str]:
        """The commits that reflogs name."""
        logs = (self._shelves.blob(oid) for path, (_, oid) in self._target.files.items() if path.startswith(b"logs/"))
        return {word.decode() for log in logs for line in log.splitlines() for word in line.split(b" ")[:2]}


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
