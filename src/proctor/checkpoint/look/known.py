"""What is remembered beside the index, because the index cannot say it.

It is written before the index is, and then too wide rather than too narrow, so that a kill in between does no harm.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from proctor.checkpoint.record import parents, raw, text
from proctor.checkpoint.store.plumbing import write_file

FRESH = 2_000_000_000
"""Nanoseconds in which a second change may look like none to an index that compares seconds."""

Signature = tuple[int, int, int, int, int]
Stamp = tuple[int, int, int]
"""What stays of a file that is moved: size, time of its content, inode."""


@dataclass(slots=True)
class Known:
    """What is remembered between looks. `odd`: kept files whose mode may be uncommon. `ignored`: kept files that
    ignore rules leave out. `fresh`: files that changed so shortly before they were read that the index, which knows
    seconds, might not see another change; how they looked, None if that is not known. `left`: what was not kept when
    a rollback changed the rules, and when that was (ns): it stays that way until it is written again. `over`: what was
    too much for one checkpoint, likewise. `coming`: files that a rollback brings, to
    the next look as good as in the index, whatever rules say. `terms`: the mark of the contract's word on what is
    kept."""

    odd: set[bytes] = field(default_factory=set)
    ignored: set[bytes] = field(default_factory=set)
    fresh: dict[bytes, Signature | None] = field(default_factory=dict)
    left: dict[bytes, int] = field(default_factory=dict)
    over: dict[bytes, Stamp] = field(default_factory=dict)
    coming: set[bytes] = field(default_factory=set)
    terms: str = ""

    def covers(self, path: bytes, changed_ns: int) -> bool:
        """Whether a path is still what a rollback left alone."""
        return any(changed_ns <= self.left.get(top, -1) for top in (path, *parents(path)))

    @classmethod
    def load(cls, place: Path) -> Known | None:
        """What was saved; None if there is nothing, or nothing that can be read."""
        try:
            data = json.loads(place.read_bytes())
            return cls(
                odd=set(map(raw, data["odd"])),
                ignored=set(map(raw, data["ignored"])),
                fresh={raw(path): at and _signature(at) for path, at in data["fresh"].items()},
                left={raw(path): int(when) for path, when in data["left"].items()},
                over={raw(path): tuple(stamp) for path, stamp in data.get("over", {}).items()},
                coming=set(map(raw, data.get("coming", ()))),
                terms=data.get("terms", ""),
            )
        except (FileNotFoundError, ValueError, KeyError, AttributeError, TypeError):
            return None

    def save(self, place: Path) -> None:
        """Write it down, if it differs from what is there."""
        body = json.dumps(
            {
                "odd": sorted(map(text, self.odd)),
                "ignored": sorted(map(text, self.ignored)),
                "fresh": {text(path): at for path, at in sorted(self.fresh.items())},
                "left": {text(path): when for path, when in sorted(self.left.items())},
                "over": {text(path): stamp for path, stamp in sorted(self.over.items())},
                "coming": sorted(map(text, self.coming)),
                "terms": self.terms,
            }
        ).encode()
        if not place.exists() or place.read_bytes() != body:
            write_file(place, body, durable=False)


def _signature(numbers: list[int]) -> Signature:
    mode, size, written, changed, inode = map(int, numbers)
    return mode, size, written, changed, inode


def signature_of(found: os.stat_result) -> Signature:
    """What is compared of a file: mode, size, times, inode."""
    return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def stamp_of(signature: Signature) -> Stamp:
    """What is compared of a file that may have been moved aside and back."""
    return signature[1], signature[2], signature[4]


def is_fresh(signature: Signature, now: int) -> bool:
    """Whether a file changed shortly before `now` (ns), or after."""
    return signature[3] > now - FRESH
