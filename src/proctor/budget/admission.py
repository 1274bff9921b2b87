"""Whether one more model call fits, and how much it may generate. Pure.

A call is admitted only if all it may cost fits into what every ceiling leaves, what other calls in flight have
reserved taken off. Its prefix is what it is; what it may generate can be lowered to what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proctor.budget.dimensions import Ceiling
from proctor.budget.thresholds import Scope
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion

USUAL_OUTPUT = 4_096
"""Tokens that a call is taken to generate at most where it names no limit."""
LEAST_OUTPUT = 1_024
"""Tokens below which a call's limit is not lowered: less would cut most answers off."""

Price = Callable[[int], int | None]
"""Micro-dollars of the call if it generates so many tokens; None where the model has no price."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be: tokens of its prefix, the client's own limit of output if it names one, its price."""

    prefix: int
    most_output: int | None
    price: Price


@dataclass(frozen=True, slots=True)
class Fits:
    """It may go. `amounts` are reserved; `most_output` is a lower limit than the client's own, or None."""

    amounts: Mapping[Dimension, int]
    most_output: int | None = None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """It may not go: of this dimension, in this scope, `left` is too little for the `wanted`."""

    dimension: Dimension
    scope: Scope
    wanted: int
    left: int
    limit: int
    action: Exhaustion | None


@dataclass(frozen=True, slots=True)
class Unpriced:
    """It may not go: cost is capped, and nothing says what the model costs."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What is used and reserved: by the session, by the task over its iterations, by the iteration alone."""

    session: Mapping[Dimension, Figure]
    task: Mapping[Dimension, int]
    iteration: Mapping[Dimension, int]
    reserved: Mapping[Dimension, int]


@dataclass(frozen=True, slots=True)
class _Left:
    dimension: Dimension
    scope: Scope
    amount: int
    limit: int
    action: Exhaustion | None


def fit(call: Call, ceilings: Iterable[Ceiling], spent: Spent, *, cheaper: bool) -> Fits | Exhausted | Unpriced:
    """Whether the call fits. `cheaper`: it goes to the cheaper model, which may use the reserve of `degrade`."""
    rooms = [room for ceiling in ceilings for room in _rooms(ceiling, spent, cheaper)]
    if any(room.dimension is Dimension.COST for room in rooms) and call.price(0) is None:
        return Unpriced()
    wanted = USUAL_OUTPUT if call.most_output is None else call.most_output
    output = wanted
    for room in rooms:
        most = _most_output(call, room, output)
        if most < min(wanted, LEAST_OUTPUT):
            least = _needs(call, room.dimension, min(wanted, LEAST_OUTPUT))
            return Exhausted(room.dimension, room.scope, least, max(0, room.amount), room.limit, room.action)
        output = min(output, most)
    moved = (Dimension.TOKENS, Dimension.PREFIX_TOKENS, Dimension.GENERATED_TOKENS, Dimension.COST)
    amounts = {dimension: _needs(call, dimension, output) for dimension in moved}
    return Fits(amounts, output if output < wanted else None)


def _rooms(ceiling: Ceiling, spent: Spent, cheaper: bool) -> Iterable[_Left]:
    dimension = ceiling.dimension
    held = spent.reserved.get(dimension, 0)
    limit = ceiling.end if cheaper else ceiling.limit
    used = spent.session.get(dimension, Figure(0)).used
    if dimension in CALLS:
        yield _Left(dimension, Scope.SESSION, limit - used - held, limit, ceiling.action)
        for scope, share, own in (
            (Scope.TASK, ceiling.per_task, spent.task),
            (Scope.ITERATION, ceiling.per_iteration, spent.iteration),
        ):
            if share is not None:
                yield _Left(dimension, scope, share - own.get(dimension, 0) - held, share, None)


CALLS = (
    Dimension.TOKENS,
    Dimension.PREFIX_TOKENS,
    Dimension.GENERATED_TOKENS,
    Dimension.COST,
    Dimension.TOOL_CALLS,
)
"""What a call of a model moves."""


def _needs(call: Call, dimension: Dimension, output: int) -> int:
    match dimension:
        case Dimension.TOKENS:
            return call.prefix + output
        case Dimension.PREFIX_TOKENS:
            return call.prefix
        case Dimension.GENERATED_TOKENS:
            return output
        case Dimension.COST:
            return call.price(output) or 0
    return 1


def _most_output(call: Call, room: _Left, output: int) -> int:
    """The most that the call may generate in this room, up to `output`; -1 where not even its prefix fits."""
    if _needs(call, room.dimension, output) <= room.amount:
        return output
    low, high = -1, output
    while high - low > 1:  # what a call needs never falls when it may generate more
        middle = (low + high) // 2
        low, high = (middle, high) if _needs(call, room.dimension, middle) <= room.amount else (low, middle)
    return low
