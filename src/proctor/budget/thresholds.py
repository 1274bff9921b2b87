"""Where spending stands against the ceilings: levels, the crossings to announce, the ceilings that bind.

Two questions are kept apart. `crossings` is about notices: a level fires once per session and dimension,
whatever happens later; raising a ceiling does not make it fire again. `bindings` is about admission: it looks
at the present only, so a raised ceiling lets go at once and binds again at its new limit, without a second
notice of the level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from proctor.budget.dimensions import Ceiling
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion, Level, Source

ALERT, SOFT = 50, 70
"""Default levels, per cent of the limit; the hard ceiling is always 100."""

_ASCENDING = tuple(Level)
_STRICTEST_FIRST = (Exhaustion.STOP, Exhaustion.PARK, Exhaustion.ESCALATE, None, Exhaustion.DEGRADE)


class Scope(StrEnum):
    """Whose limit it is."""

    SESSION = "session"
    TASK = "task"
    ITERATION = "iteration"


@dataclass(frozen=True, slots=True)
class Crossing:
    """A level reached for the first time in the session; the fields of a `LevelCrossed`."""

    dimension: Dimension
    level: Level
    used: int
    limit: int
    source: Source


@dataclass(frozen=True, slots=True)
class Binding:
    """A limit that is reached now.

    `action` is what the contract declares for the session; None when only the iteration has to end
    (scope `ITERATION`), or the iteration and any further work on this task (scope `TASK`).
    """

    dimension: Dimension
    scope: Scope
    used: int
    limit: int
    action: Exhaustion | None

    @property
    def overshoot(self) -> int:
        """How far beyond the limit it came to rest, in the dimension's unit."""
        return self.used - self.limit


def level_of(used: int, limit: int, alert: int = ALERT, soft: int = SOFT) -> Level:
    """The level of an amount; reaching a level's share of the limit is enough. A limit of 0 is always reached."""
    if used >= limit:
        return Level.HARD
    if used * 100 >= limit * soft:
        return Level.SOFT
    if used * 100 >= limit * alert:
        return Level.ALERT
    return Level.OK


def crossings(
    used: Mapping[Dimension, Figure],
    ceilings: Iterable[Ceiling],
    fired: Collection[tuple[Dimension, Level]],
    alert: int = ALERT,
    soft: int = SOFT,
) -> list[Crossing]:
    """Every level that is reached and has not fired yet: ceiling by ceiling in their order, each from below.

    A jump over several levels reports all of them. A dimension that is not in `used` stands at 0; a figure
    of unknown source is a lower bound, and a lower bound beyond a level is beyond it.
    """
    found = []
    for ceiling in ceilings:
        figure = used.get(ceiling.dimension, Figure(0))
        reached = _ASCENDING.index(level_of(figure.used, ceiling.limit, alert, soft))
        for level in _ASCENDING[1 : reached + 1]:
            if (ceiling.dimension, level) not in fired:
                found.append(Crossing(ceiling.dimension, level, figure.used, ceiling.limit, figure.source))
    return found


def bindings(
    used: Mapping[Dimension, Figure],
    ceilings: Iterable[Ceiling],
    *,
    task: Mapping[Dimension, int] | None = None,
    iteration: Mapping[Dimension, int] | None = None,
) -> list[Binding]:
    """All limits reached now, the strictest first: stop, park, escalate, end the task, end the iteration, degrade.

    `task` and `iteration` are what the running task and iteration used by themselves. Under `degrade` the
    action is `degrade` from the limit to the end of the reserve, and `park` from there on.
    """
    found = []
    for ceiling in ceilings:
        dimension, amount = ceiling.dimension, used.get(ceiling.dimension, Figure(0)).used
        if amount >= ceiling.limit:
            spent_reserve = ceiling.action is Exhaustion.DEGRADE and amount >= ceiling.end
            action = Exhaustion.PARK if spent_reserve else ceiling.action
            found.append(Binding(dimension, Scope.SESSION, amount, ceiling.limit, action))
        for scope, limit, share in (
            (Scope.TASK, ceiling.per_task, task),
            (Scope.ITERATION, ceiling.per_iteration, iteration),
        ):
            own = (share or {}).get(dimension, 0)
            if limit is not None and own >= limit:
                found.append(Binding(dimension, scope, own, limit, None))
    scopes = tuple(Scope)
    return sorted(found, key=lambda one: (_STRICTEST_FIRST.index(one.action), scopes.index(one.scope)))


def binding(
    used: Mapping[Dimension, Figure],
    ceilings: Iterable[Ceiling],
    *,
    task: Mapping[Dimension, int] | None = None,
    iteration: Mapping[Dimension, int] | None = None,
) -> Binding | None:
    """The strictest of `bindings`, or None while work may go on."""
    return next(iter(bindings(used, ceilings, task=task, iteration=iteration)), None)
