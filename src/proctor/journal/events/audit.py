"""What the audit of the checks found."""

from __future__ import annotations

import msgspec

from proctor.journal.events.base import Event, TaskId


class Unverified(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a verified change that nothing verifies: its first and last line in the verified file, both 0 where
    it is a file as a whole. `why` says it where the reason is not that the checks pass without it."""

    file: str
    lines: tuple[int, int] = (0, 0)
    why: str = ""

    @property
    def where(self) -> str:
        """`file:first-last`."""
        first, last = self.lines
        return f"{self.file}:{first}-{last}" if last > first else f"{self.file}:{first}" if first else self.file


class Audited(Event, frozen=True, tag="audited"):
    """What is known of a task's checks. Of a verified task: of `parts` of its change, `measured` were taken out, and
    the checks noticed `caught` of them; `checkpoint` is the one it was verified on. `why` says why nothing could be
    measured. `unverified` are the first ones, `more` are not named."""

    task: TaskId
    checkpoint: str = ""
    caught: int = 0
    measured: int = 0
    parts: int = 0
    flaky: bool = False
    vacuous: bool = False
    why: str = ""
    unverified: tuple[Unverified, ...] = ()
    more: int = 0
    seconds: float = 0.0
    of: str = ""
    """Names the question: the trees, the checks, what is frozen."""
