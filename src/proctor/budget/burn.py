"""How fast a budget goes, and how long it lasts at that rate.

A sample is a session total at a moment of a clock: the active clock, or the calendar for `ELAPSED`. Samples
are in the order of that clock; the present is passed in, so a budget that stands still is seen to slow down.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MINUTE = 60_000
WINDOW = 10 * MINUTE
"""Default window in milliseconds: long enough to smooth single calls, short enough to show a change."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The total `used` (in the dimension's unit) at `at` milliseconds."""

    at: int
    used: int


def rate(samples: Sequence[Sample], now: int, window: int = WINDOW) -> float | None:
    """Units a minute over the window that ends now, or over the time since the first sample if that is less.

    None while no time has passed since the first sample: nothing is known yet, which is not a rate of 0.
    """
    if not samples or now <= samples[0].at:
        return None
    begin = max(now - window, samples[0].at)
    return (_used(samples, now) - _used(samples, begin)) * MINUTE / (now - begin)


def time_left(used: int, limit: int, per_minute: float | None) -> int | None:
    """Milliseconds of the samples' clock until the limit; 0 when it is reached, None when nothing moves."""
    if used >= limit:
        return 0
    if per_minute is None or per_minute <= 0:
        return None
    return round((limit - used) * MINUTE / per_minute)


def sparkline(samples: Sequence[Sample], now: int, bars: int, window: int = WINDOW) -> list[int]:
    """What was used in each of `bars` equal stretches of the window, the oldest first."""
    edges = [now - window + window * bar // bars for bar in range(bars + 1)]
    totals = [_used(samples, edge) for edge in edges]
    return [after - before for before, after in pairwise(totals)]


def recent(samples: Sequence[Sample], now: int, window: int = WINDOW) -> tuple[Sample, ...]:
    """The samples that still matter: those in the window and the last one before it."""
    first = bisect_right(samples, now - window, key=lambda sample: sample.at)
    return tuple(samples[max(0, first - 1) :])


def _used(samples: Sequence[Sample], at: int) -> int:
    """The total as it was known at a moment; before the first sample nothing is known to have moved."""
    position = bisect_right(samples, at, key=lambda sample: sample.at)
    return samples[max(0, position - 1)].used if samples else 0
