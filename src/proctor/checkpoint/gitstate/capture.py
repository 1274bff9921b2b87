"""The state of one repository as objects of a checkpoint: what a rollback restores, and what is kept beside it.

`state` is a tree of `about`, `refs`, `files` and `index`; equal ids, equal states. `beside` holds what is no part of
that: settings and hooks of the operator's, the worker's objects, what could not be kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.checkpoint.gitstate import index as indexes
from proctor.checkpoint.gitstate import places, refs
from proctor.checkpoint.gitstate.folder import EXECUTABLE, LINK, PLAIN, GitFolder
from proctor.checkpoint.gitstate.gathered import Cache, Gathered
from proctor.checkpoint.gitstate.places import Place, Role
from proctor.checkpoint.look.known import FRESH
from proctor.checkpoint.record import FILE, FOLDER, id_of, tree_body
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git, split

MOST_INDEX = 512 << 20
SMALL_OBJECTS = 16 << 20
"""Bytes of a nested repository's objects up to which all of them are kept, not only what comes later."""
_SMALL = 1 << 16
_SHA1 = 40
RESTING = b"HEAD.quarantined"
_MODULE = "160000"
_FOLDERS = (b"refs", b"refs/heads", b"refs/tags", b"refs/remotes")


@dataclass(slots=True)
class Captured:
    """What one look at a repository gave; the ids are "" for nothing."""

    state: str = ""
    beside: str = ""
    skipped: dict[str, str] = field(default_factory=dict)
    is_known: bool = False
    """Whether nothing looks different from the look before."""


class Seen:
    """One repository as it stands now, open for reading."""

    def __init__(self, place: Place, stack: ExitStack) -> None:
        self.place = place
        self.git = stack.enter_context(GitFolder(place.git))
        self.common = stack.enter_context(GitFolder(place.common)) if place.is_linked else self.git
        self.survey = self.git.survey(lambda path: places.wanted(place.role, path) and not self._is_elsewhere(path))
        if place.is_linked:
            shared = self.common.survey(lambda path: path in (b"refs", b"logs", b"logs/refs") or _is_kept_there(path))
            self.survey.files |= shared.files
            self.survey.skipped |= shared.skipped

    def _is_elsewhere(self, path: bytes) -> bool:
        return self.place.is_linked and places.is_shared(path)

    def home(self, path: bytes) -> GitFolder:
        """The folder that a file lies in."""
        return self.common if places.is_shared(path) else self.git

    @property
    def head_name(self) -> bytes:
        """HEAD's name, which is another while the session's repository rests."""
        rests = self.place.role is Role.SESSION and self.git.signature(b"HEAD") is None
        return RESTING if rests and self.git.signature(RESTING) else b"HEAD"

    def refs(self) -> dict[bytes, bytes]:
        """All refs and HEAD."""
        found = refs.packed(self.home(refs.PACKED).read(refs.PACKED) or b"")
        for path, signature in self.survey.files.items():
            if path.startswith(b"refs/") and refs.is_name(path):
                value = refs.value_of(self.home(path).read(path) or b"", stat.S_ISLNK(signature[0]))
                found.pop(path, None)  # for git a broken one hides what is packed
                if value is not None:
                    found[path] = value
        name = self.head_name
        about = self.git.signature(name)
        head = refs.value_of(self.git.read(name) or b"", about is not None and stat.S_ISLNK(about[0]))
        return found | ({refs.HEAD: head} if head else {})

    def moved(self, found: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Those of the refs that a rollback may move."""
        elsewhere, branches = places.elsewhere(self.place), {refs.branch_of(found)}
        return {
            name: value
            for name, value in found.items()
            if name == refs.HEAD or places.is_moved(self.place, name, branches, elsewhere)
        }

    def digest(self) -> str:
        """Changes when anything of the repository looks different."""
        marks: list[object] = [str(self.place), sorted(self.survey.files.items()), sorted(self.survey.skipped.items())]
        marks += [self.git.signature(self.head_name), self.home(refs.PACKED).signature(refs.PACKED), self.index_mark()]
        marks += [sorted(self.common.children(name).items()) for name in (b"objects", b"objects/pack")]
        marks.append(sorted(places.elsewhere(self.place)))
        return hashlib.sha256(repr(marks).encode()).hexdigest()

    def index_mark(self) -> list[object]:
        """How the index looks, and the checksum at its end."""
        about = self.git.signature(b"index")
        return [about and list(about), self.git.tail(b"index", 20).hex()]

    def newest(self) -> int:
        """When anything changed last, in ns."""
        times = [signature[3] for signature in self.survey.files.values()]
        for path, folder in ((self.head_name, self.git), (refs.PACKED, self.home(refs.PACKED))):
            about = folder.signature(path)
            times.append(about[3] if about else 0)
        return max(times, default=0)


def _is_kept_there(path: bytes) -> bool:
    return places.is_shared(path) and path.startswith((b"refs/", b"logs/refs/")) and not path.endswith(b".lock")


class Capturer:
    """Looks at repositories, and remembers between looks what did not change."""

    def __init__(self, git: Git, cache: Cache, memory: dict[str, Any], theirs: Path | None) -> None:
        self.git = self._git = git
        self.cache = self._cache = cache
        self._memory = memory
        self._theirs = theirs

    def env(self, place: Place) -> dict[str, str]:
        """What makes a command read all that a repository's commits are made of."""
        source = self._theirs if place.role is Role.SESSION else place.common
        return self._cache.env(places.objects_of(source) if source else ())

    def capture(self, place: Place, draft: Draft) -> Captured:
        """The state of a repository, written into a draft. OSError if it cannot be opened."""
        now = time.time_ns()
        with ExitStack() as stack:
            seen = Seen(place, stack)
            digest = seen.digest()
            known = self._memory.get(place.key.decode(), {})
            if known.get("digest") == digest and known.get("settled"):
                return Captured(known["state"], known["beside"], known["skipped"], is_known=True)
            remembered: dict[str, Any] = {"digest": digest, "settled": seen.newest() < now - FRESH}
            if place.role is Role.WATCHED:
                found = self._watched(seen, known, remembered, draft)
            else:
                found = self._held(seen, known, remembered, draft, now)
            remembered |= {"state": found.state, "beside": found.beside, "skipped": found.skipped}
            self._memory[place.key.decode()] = remembered
            return found

    def is_still(self, place: Place) -> bool:
        """Whether a repository looks as it did when it was captured."""
        with ExitStack() as stack:
            return bool(Seen(place, stack).digest() == self._memory[place.key.decode()]["digest"])

    def _watched(self, seen: Seen, known: Mapping[str, Any], remembered: dict[str, Any], draft: Draft) -> Captured:
        mark = seen.index_mark()
        told = known.get("staged", "") if known.get("mark") == mark else _staged(seen.git.read(b"index", MOST_INDEX))
        remembered |= {"mark": mark, "staged": told}
        entries = {
            b"about": (FILE, draft.put("blob", _json({"where": _text(seen.place.where), "staged": told}))),
            b"refs": (FILE, draft.put("blob", refs.encode(seen.moved(seen.refs())))),
        }
        return Captured("", draft.put("tree", tree_body(entries)))

    def _held(
        self, seen: Seen, known: Mapping[str, Any], remembered: dict[str, Any], draft: Draft, now: int
    ) -> Captured:
        place, skipped = seen.place, dict(seen.survey.skipped)
        all_refs = seen.refs()
        found = seen.moved(all_refs)
        gathered = Gathered(self._cache, place.key)
        if gathered.since is None and place.role is Role.SHARED:
            gathered.since = now if place.where == b".git" or _weight(seen.common) > SMALL_OBJECTS else 0
            self._cache.note_since(place.key, gathered.since)
        if any(len(oid) > _SHA1 for oid in refs.ids(all_refs)):
            skipped[b"objects"] = "a repository with sha256 ids"
        else:
            skipped |= gathered.look(seen.common, now, draft)
            remembered["settled"] &= gathered.is_all
        remembered |= self._index(seen, refs.commit_of(all_refs), known, draft)
        about = {"role": place.role, "where": _text(place.where), "linked": place.is_linked}
        about |= remembered["index_about"]
        state, beside = self._files(seen, found, skipped, draft)
        if about.get("index") == "bytes":
            state |= self._shared_indexes(seen, draft)
        entries = {
            b"about": (FILE, draft.put("blob", _json(about))),
            b"refs": (FILE, draft.put("blob", refs.encode(found))),
            b"files": (FOLDER, draft.put("tree", tree_body(state))),
        }
        if remembered["index"]:
            entries[b"index"] = FILE, remembered["index"]
        tips = {oid for oid in refs.ids(found) if len(oid) == _SHA1}.union(remembered["blobs"])
        lost = self._cache.missing(tips, self.env(place)) if tips else set()
        lost -= {oid for oid, (mode, _) in gathered.listed.items() if mode == PLAIN}
        told = {"skipped": {_text(path): why for path, why in sorted(skipped.items())}, "missing": sorted(lost)[:100]}
        kept = {
            b"about": (FILE, draft.put("blob", _json(told | self._place_of(seen)))),
            b"files": (FOLDER, draft.put("tree", tree_body(beside))),
            b"refs": (FILE, draft.put("blob", refs.encode(all_refs))),
        }
        if objects := gathered.tree(draft):
            kept[b"objects"] = FOLDER, objects
        said = {f"{place.name}: {_text(path)}": why for path, why in skipped.items()}
        if lost:
            said[f"{place.name}"] = f"{len(lost)} objects that it names are missing in it"
        return Captured(
            draft.put("tree", tree_body(entries)),
            draft.put("tree", tree_body(kept)),
            said,
        )

    def _place_of(self, seen: Seen) -> dict[str, Any]:
        """Where a repository stands, so that it can be made again; what the session's was made from, so that another
        one is known, and what it borrows."""
        place = seen.place
        if place.role is Role.SESSION:
            borrows = seen.git.read(b"objects/info/alternates", _SMALL) or b""
            return {"made": places.made_from(place), "borrows": _text(borrows)}
        entry = self._git.workspace / os.fsdecode(place.where)
        inside = place.git.is_relative_to(self._git.workspace) and not place.is_linked
        git = os.path.relpath(place.git, self._git.workspace) if inside else ""
        home = places.home_of(place, self._git.workspace)
        return {"home": home, "git": git, "pointer": _text(places.content(entry)) if entry.is_file() else ""}

    def _files(
        self, seen: Seen, moved: Mapping[bytes, bytes], skipped: dict[bytes, str], draft: Draft
    ) -> tuple[dict[bytes, tuple[bytes, str]], dict[bytes, tuple[bytes, str]]]:
        """The raw files that are a part of the state, and those that are not, under escaped names."""
        state: dict[bytes, tuple[bytes, str]] = {}
        beside: dict[bytes, tuple[bytes, str]] = {}
        for path, signature in seen.survey.files.items():
            if path in _FOLDERS:
                skipped[path] = "not the folder that git has there"
                continue
            is_state = places.is_state(seen.place.role, path)
            if path.startswith(b"logs/refs/"):
                is_state = is_state and path.removeprefix(b"logs/") in moved
            body = seen.home(path).read(path)
            if body is None:
                skipped[path] = "it cannot be read, or is too large"
                continue
            is_link = stat.S_ISLNK(signature[0])
            if path.startswith(b"refs/") and refs.is_name(path) and refs.value_of(body, is_link) is not None:
                continue
            mode = LINK if is_link else EXECUTABLE if signature[0] & stat.S_IXUSR else PLAIN
            (state if is_state else beside)[escaped(path)] = mode, draft.put("blob", body)
        return state, beside

    def _index(self, seen: Seen, head: str, known: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
        """The blob of the index, "" if there is none, the objects it names, and what is to be said of it."""
        mark = [*seen.index_mark(), head]
        if known.get("mark") == mark and "index" in known:
            return {name: known[name] for name in ("mark", "index", "index_about", "blobs")}
        body = seen.git.read(b"index", MOST_INDEX)
        said: dict[str, Any] = {"index": "none"}
        blobs: set[str] = set()
        oid = ""
        if body:
            try:
                parsed = indexes.parse(body)
                different = indexes.difference(parsed, self.tree(head, seen.place))
                said = {"index": "difference", "base": head}
                blobs = indexes.ids(different.entries.values())
                body = different.encode()
            except (indexes.Unreadable, GitFailed) as why:
                said = {"index": "bytes", "why": str(why)[:200]}
            oid = draft.put("blob", body)
        return {"mark": mark, "index": oid, "index_about": said, "blobs": sorted(blobs)}

    def _shared_indexes(self, seen: Seen, draft: Draft) -> dict[bytes, tuple[bytes, str]]:
        """The files that a split index names: others are of earlier ones."""
        index = seen.git.read(b"index", MOST_INDEX) or b""
        found = {}
        for name in seen.git.names(b""):
            start, _, digest = name.partition(b".")
            with contextlib.suppress(ValueError):
                named = start == b"sharedindex" and bytes.fromhex(digest.decode("ascii", "replace")) in index
                body = seen.git.read(name, MOST_INDEX) if named else None
                if body is not None:
                    found[escaped(name)] = PLAIN, draft.put("blob", body)
        return found

    def tree(self, commit: str, place: Place) -> dict[bytes, bytes]:
        """The files of a commit: packed mode and id by path. GitFailed if it is not there."""
        if not commit:
            return {}
        listed = split(self._git.run("ls-tree", "-r", "-z", "--full-tree", commit, env=self.env(place)))
        found = {}
        for line in listed:
            head, _, path = line.partition(b"\t")
            found[path] = indexes.packed(head[:6], head[-40:])
        return found


def escaped(path: bytes) -> bytes:
    """A path as one name of a tree."""
    name = urllib.parse.quote_from_bytes(path, safe=" @#+,=")
    return (name if name.lower() not in (".", "..", ".git") else name.replace(".", "%2E")).encode()


def unescaped(name: bytes) -> bytes:
    return urllib.parse.unquote_to_bytes(name)


def _weight(folder: GitFolder) -> int:
    """Bytes of a repository's objects."""
    return sum(signature[1] for signature in folder.survey(lambda _: True, b"objects").files.values())


def _staged(body: bytes | None) -> str:
    """A digest of what an index says, whatever git remembers of the files."""
    if not body:
        return ""
    with contextlib.suppress(indexes.Unreadable):
        parsed = indexes.parse(body)
        digest = hashlib.sha256(repr(sorted(parsed.odd.items())).encode())
        for path, both in parsed.plain.items():
            digest.update(path + b"\0" + both)
        return digest.hexdigest()
    return id_of("blob", body)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _json(data: object) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
