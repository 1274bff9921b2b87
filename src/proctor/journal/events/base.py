"""What every event is, and the facts that several of them carry."""

from __future__ import annotations

import hashlib

import msgspec

from proctor.journal.events.checks import CheckFact
from proctor.words import Dimension, Exhaustion, Source, TaskStatus

TaskId = int | str

_CERTAINTY = (Source.MEASURED, Source.REPORTED, Source.ESTIMATED, Source.UNKNOWN)


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of all events."""


class TaskFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as the task list words it; its status lives in the state."""

    id: TaskId
    task: str
    spec: str | None = None
    checks: tuple[CheckFact, ...] = ()


class CeilingFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ceiling in the dimension's unit (milliseconds, tokens, micro-dollars, bytes, counts)."""

    dimension: Dimension
    limit: int
    action: Exhaustion


class Figure(msgspec.Struct, frozen=True):
    """An amount in its dimension's unit, and where it came from."""

    used: int
    source: Source = Source.MEASURED

    def __add__(self, other: Figure) -> Figure:
        """The sum is as uncertain as the less certain of the two."""
        return Figure(self.used + other.used, max(self.source, other.source, key=_CERTAINTY.index))


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a change does to checks, by its kind (`Gaming`, or `TamperKind` of a frozen file). `line` is of the new
    file, of the old one where nothing is left of it; `why` is one line; `text` is the line itself and `hunk` has those
    around it, as the worker wrote them.
    """

    kind: str
    path: str
    line: int = 0
    why: str = ""
    text: str = ""
    hunk: str = ""
    whole: str = ""
    """The hash of the file that it stands in; "" if it is not known."""

    @property
    def where(self) -> str:
        """`path:line`, or what is known of it."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def identity(self) -> str:
        """The hash of what it shows, wherever in the file that stands."""
        return hashlib.sha256("\0".join((self.kind, self.path, self.hunk)).encode("utf-8", "replace")).hexdigest()[:20]

    @property
    def exact(self) -> str:
        """The same with the whole file: another line of it makes it another finding."""
        return f"{self.identity}:{self.whole}"


class TaskMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where one task stood at a moment: what a checkpoint remembers and a rollback restores."""

    id: TaskId
    status: TaskStatus
    verified_by: int | None = None


class Unknown(Event, frozen=True, tag="unknown"):
    """An event of a newer program, kept as it was."""

    name: str
    body: msgspec.Raw
