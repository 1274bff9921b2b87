"""What a task sets aside before its worker starts, so that a session never starts what it cannot pay for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from proctor.budget.dimensions import Ceiling
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """The task may not start: it wants more of a dimension than is left.

    `action` is `escalate` if the ceiling says so, else `park`: the work stays resumable.
    """

    dimension: Dimension
    wanted: int
    left: int
    action: Exhaustion


def reserve(
    ceilings: Iterable[Ceiling],
    used: Mapping[Dimension, Figure],
    open_tasks: int,
    verified: Sequence[Mapping[Dimension, int]],
    task_used: Mapping[Dimension, int] | None = None,
) -> dict[Dimension, int] | DoesNotFit:
    """The next iteration's share of every ceiling, or the first ceiling in which it does not fit.

    A share is what remains of the contract's `per_task` (`task_used` is what the task had before), else the
    median of what the verified tasks cost, else what is left divided by the open tasks; never more than
    `per_iteration`, and at least 1, so that nothing starts where nothing is left. Of iterations it is one.

    `verified` holds the settled amounts of each verified task, summed over its iterations. What is left
    includes the reserve of `degrade`: a task may begin before the limit and end inside the reserve.
    """
    shares: dict[Dimension, int] = {}
    for ceiling in ceilings:
        dimension = ceiling.dimension
        left = max(0, ceiling.end - used.get(dimension, Figure(0)).used)
        known = [amounts[dimension] for amounts in verified if dimension in amounts]
        if dimension is Dimension.ITERATIONS:
            wanted = 1
        elif ceiling.per_task is not None:
            wanted = ceiling.per_task - (task_used or {}).get(dimension, 0)
        elif known:
            wanted = ceil(median(known))
        else:
            wanted = left // max(1, open_tasks)
        if ceiling.per_iteration is not None:
            wanted = min(wanted, ceiling.per_iteration)
        wanted = max(1, wanted)
        if wanted > left:
            action = ceiling.action if ceiling.action is Exhaustion.ESCALATE else Exhaustion.PARK
            return DoesNotFit(dimension, wanted, left, action)
        shares[dimension] = wanted
    return shares
