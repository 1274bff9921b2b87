"""Decide: what the loop does after an iteration. Pure: facts in, one move out.

The order of the questions is the policy. What was verified is never undone by what comes after it; a ceiling that ends
or suspends the session comes first, and whatever else there was to ask is asked when the session goes on. A budget
binds before a plateau, because money spent on thinking about a plateau is money too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor.budget.thresholds import Binding, Scope
from proctor.progress.plateau import NOTHING, Signal, Standing
from proctor.words import Exhaustion, Light, Response, Rule

START_FAILURES = 3
"""Starts that may fail in a row before the session fails."""


INFRA_VERDICTS = 3
"""Verdicts in a row that a check could not give before the session fails."""


RUNAWAY = "drift:budget_runaway"
"""Why a task that uses many times what others did is narrowed, or parks the session."""


CONFLICT = "conflict"
"""What a worker claims of a check that it holds to be wrong."""


_BUDGET = "budget:"
_SUSPENDING = frozenset({Exhaustion.STOP, Exhaustion.PARK, Exhaustion.ESCALATE})


class Move(StrEnum):
    """The loop's next move. `narrow` and `block` go on with less; the others end or suspend the session."""

    GO_ON = "go_on"
    NARROW = "narrow"
    BLOCK = "block"
    DEGRADE = "degrade"
    ESCALATE = "escalate"
    PARK = "park"
    STOP = "stop"
    FAIL = "fail"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known after an iteration."""

    open_tasks: int
    start_failures: int = 0
    infra: int = 0
    tampering: Response | None = None
    """What the contract answers to tampering, where there was some."""
    conflict: bool = False
    """The worker calls the check of an open task wrong."""
    binding: Binding | None = None
    unpriced: bool = False
    runaway: Response | None = None
    """What a task that runs away with the budget is answered."""
    standing: Standing = NOTHING
    on_plateau: Sequence[Response] = (Response.PARK,)
    responses: int = 0
    narrowed: bool = False
    second_aside: Signal | None = None
    """What the rules would say if the task were set aside as well, where one was already."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A move and its reason, as `why` words it. `signal` is the one that fired, `response` the contract's answer."""

    move: Move
    why: str | None = None
    signal: Signal | None = None
    response: Response | None = None

    @property
    def for_now(self) -> bool:
        """Whether it ends or suspends the session at a ceiling: when that goes on, it is decided again."""
        return (self.why or "").startswith(_BUDGET) and self.move.value in _SUSPENDING


def decide(facts: Facts) -> Decision:
    """The move that the contract asks for."""
    if facts.open_tasks == 0:  # nothing more is spent, so that no ceiling has a say
        return _on_tampering(facts.tampering) if facts.tampering else Decision(Move.FINISH)
    if facts.start_failures >= START_FAILURES:
        return Decision(Move.FAIL, "error:start")
    if facts.infra >= INFRA_VERDICTS:
        return Decision(Move.FAIL, "error:oracle")
    if facts.binding is not None and facts.binding.action in _SUSPENDING:
        return _at_ceiling(facts.binding)
    if facts.conflict:
        return Decision(Move.ESCALATE, CONFLICT)
    if facts.tampering is not None:
        return _on_tampering(facts.tampering)
    if facts.binding is not None:
        return _at_ceiling(facts.binding)
    if facts.unpriced:
        return Decision(Move.PARK, "unpriced")
    if facts.runaway is Response.PARK:
        return Decision(Move.PARK, RUNAWAY)
    if facts.standing.light is Light.FIRING:
        return _on_plateau(facts)
    if facts.runaway is Response.NARROW:
        return Decision(Move.NARROW, RUNAWAY)
    return Decision(Move.GO_ON)


def _on_tampering(response: Response) -> Decision:
    return Decision(Move(response.value), "tampering")


def _at_ceiling(binding: Binding) -> Decision:
    why = f"{_BUDGET}{binding.dimension}"
    if binding.action is not None:
        return Decision(Move(binding.action.value), why)
    return Decision(Move.BLOCK if binding.scope is Scope.TASK else Move.GO_ON, why)


def _on_plateau(facts: Facts) -> Decision:
    """The contract's next response that still can help; the last one repeats. A second task in a row that would be
    set aside is more than that task: the run is stalled, and the response after `block` follows."""
    signal = facts.standing.signals[0]
    response = _response(facts, signal)
    if response is Response.BLOCK and facts.second_aside is not None:
        signal = facts.second_aside
        response = _response(facts, signal)
    return Decision(Move(response.value), f"plateau:{signal.rule}", signal, response)


def _response(facts: Facts, signal: Signal) -> Response:
    place = min(facts.responses, len(facts.on_plateau) - 1)
    pointless = {Response.NARROW} if facts.narrowed else set()
    if facts.open_tasks == 1:
        pointless.add(Response.BLOCK)  # there is nothing to go on with
    if signal.rule is Rule.STALLED and signal.task is None:
        pointless |= {Response.NARROW, Response.BLOCK}  # it is not this task alone
    return next((r for r in facts.on_plateau[place:] if r not in pointless), Response.PARK)
