"""Deciding what of a tree is taken in: by its kind, its name, the ignore rules, and what the contract says."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field

from proctor.checkpoint.back.shelf import is_folder
from proctor.checkpoint.look.extras import is_odd
from proctor.checkpoint.look.ignores import Ignores
from proctor.checkpoint.look.known import Known, Signature, Stamp, signature_of, stamp_of
from proctor.checkpoint.look.scan import Scan
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.record import is_below, parents
from proctor.checkpoint.store.objects import REFS
from proctor.checkpoint.store.plumbing import Git
from proctor.errors import Unrecoverable, UsageError
from proctor.text import safe_line
from proctor.units import format_size

BIG = 64 << 20
"""Bytes taken in at once, from which on it is made sure that the disk has room for them."""
SHOWN = 3
"""Files that are named where there is too much."""
_LONGEST = 4096
"""Bytes of a path from which on nobody can look at what is there."""
_SPECIAL = "a socket or device"
_CURE = "leave files out by state.checkpoint.exclude in proctor.yaml"


@dataclass(slots=True)
class Intake:
    """What one look decided: `files` to take in as they were seen, `missing` from the tree and `forced` to go out of
    the index, `fifos` kept beside it, `left` and `skipped` not kept; `over` are those of them that were too much for
    one checkpoint."""

    left: set[bytes]
    files: dict[bytes, Signature] = field(default_factory=dict)
    missing: set[bytes] = field(default_factory=set)
    forced: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    odd: set[bytes] = field(default_factory=set)
    fifos: dict[bytes, int] = field(default_factory=dict)
    ignored: set[bytes] = field(default_factory=set)
    skipped: dict[bytes, str] = field(default_factory=dict)
    over: dict[bytes, Stamp] = field(default_factory=dict)
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

    def leave_out(self, path: bytes, why: str) -> None:
        """Not take in a file after all."""
        self.over[path] = stamp_of(self.files.pop(path))
        self.skipped[path] = why
        self.odd.discard(path)
        self.ignored.discard(path)

    def moved(self) -> tuple[set[bytes], set[bytes]]:
        """What went into the index, and what went out or may be out."""
        out = self.gone | self.skipped.keys() | self.unstable | (self.forced | self.missing) - self.files.keys()
        return self.files.keys() - out, out


class Gate:
    """Decides for one workspace."""

    def __init__(self, git: Git, owned: Collection[bytes], ignores: Ignores, keep: Keep = DEFAULT) -> None:
        self._git = git
        self._owned = owned
        self._ignores = ignores
        self._keep = keep
        self._too_much = f"over the limit of {format_size(keep.max_total)} for one checkpoint"

    def decide(self, seen: Scan, known: Known, *, anew: bool = False) -> Intake:
        """Decide for every path that may differ. `anew`: the index was lost, so that all is new and no limit on what
        is added means anything. Raises UsageError where a first checkpoint would be too large, Unrecoverable where
        the disk has no room."""
        intake = Intake(left=set())
        folders: dict[bytes, bool] = {}
        candidates = seen.suspects | seen.new | seen.ignored
        excluded = self._ignores.excluded(candidates | seen.walk.special)
        wanted = self._ignores.wanted(seen.new)
        limits = dict.fromkeys(seen.ignored, self._keep.max_ignored_file)
        small = len(known.ignored - self._ignores.wanted(known.ignored))
        for path in sorted(candidates):
            found = look(self._git.top, path, folders) if path not in seen.folded else None
            kept = path in seen.suspects
            if is_below(path, self._owned) or found is None or stat.S_ISDIR(found.st_mode):
                intake.drop(path, kept, simply=found is None and path not in seen.folded and self._missing(path))
                if len(self._place(path)) >= _LONGEST:
                    intake.skipped[path] = "a path longer than the system takes"
            elif path in excluded:
                intake.drop(path, kept)
                intake.left.add(path)
            elif not kept and known.covers(path, found.st_ctime_ns):
                intake.left.add(path)
            elif not kept and known.over.get(path) == stamp_of(signature_of(found)):
                intake.over[path] = known.over[path]
                intake.skipped[path] = self._too_much
            elif why := self._refusal(path, found, limits.get(path, self._keep.max_file)):
                intake.drop(path, kept)
                if path in seen.ignored:
                    intake.left.add(path)
                else:
                    intake.skipped[path] = why
            elif path in seen.ignored and small >= self._keep.max_ignored:
                intake.left.add(path)
            else:
                small += path in seen.ignored
                is_ignored = path in seen.ignored or path in wanted
                intake.take(path, found, is_ignored, is_odd(self._place(path), found, self._git.umask))
        for path in seen.walk.special:
            self._special(path, path in excluded, intake)
        intake.skipped |= dict.fromkeys(seen.walk.unreadable, "a folder that cannot be read")
        self._limit(intake, seen, anew)
        self._make_sure(intake)
        return intake

    def _limit(self, intake: Intake, seen: Scan, anew: bool) -> None:
        """Leave out the largest new files where all of them would be too much; of a first checkpoint, say so instead.
        What was kept before is kept."""
        total = sum(signature[1] for signature in intake.files.values())
        if total <= self._keep.max_total:
            return
        new = sorted(intake.files.keys() - seen.suspects, key=lambda path: (-intake.files[path][1], path))
        if not self._git.run("for-each-ref", "--count=1", REFS):
            sizes = ((path, intake.files[path][1]) for path in new[:SHOWN])
            shown = ", ".join(f"{safe_line(path, 100)} ({format_size(size)})" for path, size in sizes)
            raise UsageError(
                f"{self._git.workspace}: {format_size(total)} in {len(intake.files)} files, {self._too_much}; the "
                f"largest are {shown}; {_CURE} or .gitignore, or raise state.checkpoint.max_total"
            )
        for path in new if not anew else ():
            if total <= self._keep.max_total:
                break
            total -= intake.files[path][1]
            intake.leave_out(path, self._too_much)

    def _make_sure(self, intake: Intake) -> None:
        """That there is room, before it is used up."""
        total = sum(signature[1] for signature in intake.files.values())
        if total >= BIG:
            disk = os.statvfs(self._git.gitdir)
            if total > (free := disk.f_bavail * disk.f_frsize):
                raise Unrecoverable(
                    f"{self._git.gitdir.parent}: a checkpoint of {format_size(total)} more, and {format_size(free)} "
                    f"are free; free some space, or {_CURE}",
                    "disk",
                )

    def _special(self, path: bytes, excluded: bool, intake: Intake) -> None:
        """A FIFO is kept as such, but for one where git would read rules from it, and wait for ever."""
        with contextlib.suppress(OSError):
            mode = os.lstat(self._place(path)).st_mode
            if excluded:
                intake.left.add(path)
            elif not stat.S_ISFIFO(mode):
                intake.skipped[path] = _SPECIAL
            elif path.rpartition(b"/")[2].startswith(b".git"):
                intake.skipped[path] = "a FIFO where git reads rules"
            else:
                intake.fifos[path] = stat.S_IMODE(mode)
                intake.skipped.pop(path, None)  # where a file was

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

    def _missing(self, path: bytes) -> bool:
        places = map(self._place, parents(path))
        return all(is_folder(place) or not os.path.lexists(place) for place in places)

    def _place(self, path: bytes) -> bytes:
        return self._git.top + b"/" + path


def look(top: bytes, path: bytes, folders: dict[bytes, bool]) -> os.stat_result | None:
    """The status of a file that can be reached without following a link. `folders` remembers what are real ones: if
    one is, so are those above it."""
    if not folders.get(path.rpartition(b"/")[0]):
        for parent in parents(path):
            if parent not in folders:
                folders[parent] = is_folder(top + b"/" + parent)
            if not folders[parent]:
                return None
    try:
        return os.lstat(top + b"/" + path)
    except OSError:
        return None
