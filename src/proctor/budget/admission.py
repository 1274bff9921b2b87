"""Whether one more model call fits, and how much it may generate. Pure.

A call is admitted only if all it may cost fits into what every ceiling leaves, what other calls in flight have
reserved taken off. Its prefix is what it is; what it may generate can be lowered to what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proctor.budget.dimensions import Ceiling
from proctor.budget.thresholds import Scope
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion

USUAL_OUTPUT = 4_096
"""Tokens that a call is taken to generate at most where it names no limit."""
LEAST_OUTPUT = 1_024
"""Tokens below which a call's limit is not lowered: less would cut most answers off."""

NOTHING = Figure(0)

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


CALLS = (
    Dimension.TOKENS,
    Dimension.PREFIX_TOKENS,
    Dimension.GENERATED_TOKENS,
    Dimension.COST,
    Dimension.TOOL_CALLS,
)
"""What a call of a model moves."""


class _Room(NamedTuple):
    """What a limit leaves."""

    dimension: Dimension
    scope: Scope
    left: int
    limit: int
    action: Exhaustion | None


def fit(call: Call, ceilings: Iterable[Ceiling], spent: Spent, *, cheaper: bool) -> Fits | Exhausted | Unpriced:
    """Whether the call fits. `cheaper`: it goes to the cheaper model, which may use the reserve of `degrade`."""
    rooms = [room for ceiling in ceilings for room in _rooms(ceiling, spent, cheaper)]
    wanted = USUAL_OUTPUT if call.most_output is None else call.most_output
    price = call.price(wanted)
    if price is None and any(room.dimension is Dimension.COST for room in rooms):
        return Unpriced()
    needs = _needs(call, wanted, price)
    if all(needs.get(room.dimension, 1) <= room.left for room in rooms):
        return Fits(needs)
    return _lowered(call, wanted, rooms)


def _lowered(call: Call, wanted: int, rooms: Iterable[_Room]) -> Fits | Exhausted:
    """The call with as much output as fits."""
    least, output = min(wanted, LEAST_OUTPUT), wanted
    for room in rooms:
        most = _most_output(call, room, output)
        if most < least:
            lacks = _needs(call, least, call.price(least)).get(room.dimension, 1)
            return Exhausted(room.dimension, room.scope, lacks, max(0, room.left), room.limit, room.action)
        output = min(output, most)
    return Fits(_needs(call, output, call.price(output)), output)


def _rooms(ceiling: Ceiling, spent: Spent, cheaper: bool) -> Iterable[_Room]:
    dimension = ceiling.dimension
    if dimension not in CALLS:
        return
    held = spent.reserved.get(dimension, 0)
    limit = ceiling.end if cheaper else ceiling.limit
    yield _Room(
        dimension, Scope.SESSION, limit - spent.session.get(dimension, NOTHING).used - held, limit, ceiling.action
    )
    for scope, share, own in (
        (Scope.TASK, ceiling.per_task, spent.task),
        (Scope.ITERATION, ceiling.per_iteration, spent.iteration),
    ):
        if share is not None:
            yield _Room(dimension, scope, share - own.get(dimension, 0) - held, share, None)


def _needs(call: Call, output: int, price: int | None) -> dict[Dimension, int]:
    """What is reserved for the call if it generates so much."""
    return {
        Dimension.TOKENS: call.prefix + output,
        Dimension.PREFIX_TOKENS: call.prefix,
        Dimension.GENERATED_TOKENS: output,
        Dimension.COST: price or 0,
    }


def _most_output(call: Call, room: _Room, output: int) -> int:
    """The most that the call may generate in this room, up to `output`; -1 where not even its prefix fits."""
    if _fits(call, room, output):
        return output
    low, high = -1, output
    while high - low > 1:  # what a call needs never falls when it may generate more
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(call, room, middle) else (low, middle)
    return low


def _fits(call: Call, room: _Room, output: int) -> bool:
    return _needs(call, output, call.price(output)).get(room.dimension, 1) <= room.left
