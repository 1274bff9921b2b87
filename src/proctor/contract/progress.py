"""What proves progress and that it is over: the contract's `progress` and `termination`, as frozen values."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from proctor import units
from proctor.contract.check import Check
from proctor.contract.section import Section
from proctor.contract.values import Amount, Duration, OneOrMany, OnFailed, OnTampering, Share, never
from proctor.journal.drift import CLAIMS, MOST, SURVEYS, USUAL
from proctor.words import Drift, LoopRule, Response, Rule

CALLS = 64
"""Tool calls of an iteration that the rules inside it look at."""


def _times(least: int, most: int = 1000) -> Amount:
    return Amount(units.parse_count, str(least), f"{most:,}", off=True)


class Plateau(Section):
    """Windows of the rules, in iterations; 0 switches a rule off. Those that compare need two."""

    no_change: Annotated[int, _times(1)] = 3
    shrinking: Annotated[int, _times(2)] = 3
    same_failure: Annotated[int, _times(1)] = 3
    revisit: Annotated[int, _times(1)] = 2
    no_op: Annotated[int, _times(1)] = 2
    stalled: Annotated[int, _times(1)] = 6
    same_call: Annotated[int, _times(2, CALLS)] = 4
    """Inside an iteration, where it ends the iteration: the same tool, input and result so many times."""
    same_error: Annotated[int, _times(2, CALLS)] = 4
    """Inside an iteration: the same error; one time less warns."""
    cycle: Annotated[int, _times(2, CALLS // 4)] = 3
    """Inside an iteration: so many times the same two to four calls in a row."""
    same_denial: Annotated[int, _times(1)] = 2
    """Inside an iteration: the same request denied."""
    on_plateau: Annotated[tuple[Response, ...], Field(min_length=1), OneOrMany()] = (
        Response.NARROW,
        Response.BLOCK,
        Response.ESCALATE,
        Response.PARK,
    )
    """The answers to a firing, in order."""

    @property
    def windows(self) -> dict[Rule, int]:
        """The rules that are on, with their windows."""
        found = ((rule, int(getattr(self, rule))) for rule in Rule)
        return {rule: window for rule, window in found if window}

    @property
    def loops(self) -> dict[LoopRule, int]:
        """The rules inside an iteration that are on, with their counts."""
        found = ((rule, int(getattr(self, rule))) for rule in LoopRule)
        return {rule: times for rule, times in found if times}


class DriftLights(Section):
    """The figure of each light; 0 switches it off."""

    premature_victory: Annotated[int, _times(1, CLAIMS)] = USUAL[Drift.PREMATURE_VICTORY]
    """False claims among the last ten, at least half of them."""
    plan_rot: Annotated[int, _times(1, 1)] = USUAL[Drift.PLAN_ROT]
    """1: a task that names what is gone waits for you."""
    state_pollution: Annotated[int, _times(1, 1_000_000)] = USUAL[Drift.STATE_POLLUTION]
    """Tokens an iteration that workers may add to the log."""
    test_gaming: Annotated[int, _times(1)] = USUAL[Drift.TEST_GAMING]
    """Iterations for which what was done to the checks stays lit."""
    tunnel_vision: Annotated[int, _times(1, SURVEYS // 2)] = USUAL[Drift.TUNNEL_VISION]
    """Iterations in one folder without a verified task, while others are open elsewhere."""
    silent_regression: Annotated[int, _times(1, MOST)] = USUAL[Drift.SILENT_REGRESSION]
    """Verified tasks that fail again."""
    budget_runaway: Annotated[int, _times(2)] = USUAL[Drift.BUDGET_RUNAWAY]
    """Times the median of a verified task at which a task parks the session; at half of them it is narrowed."""

    @property
    def windows(self) -> dict[Drift, int]:
        """All of them."""
        return {drift: int(getattr(self, drift)) for drift in Drift}


class Progress(Section):
    checks: tuple[Check, ...] = ()
    """For tasks that name none of their own; all of them must pass."""
    smoke: Check | None = None
    """Runs before a worker starts, on a tree that is not known to pass it; while it fails, to mend that comes first."""
    regression: Share = 25
    """Per cent of an iteration's active time that checks of verified tasks may take after a pass, one check at the
    least; 0: only after the last task, when all of them run again."""
    audit: Annotated[Duration | None, BeforeValidator(never)] = 10 * 60_000
    """How long the audit of the checks may run by itself in one session, in idle time; `never`: only `proctor audit`
    measures them."""
    on_failed: OnFailed = OnFailed.KEEP
    on_tampering: OnTampering = OnTampering.ESCALATE
    on_suspicion: OnTampering = OnTampering.RECORD
    """A change that looks as if it were made for the check; it is shown in any case."""
    plateau: Plateau = Plateau()
    drift: DriftLights = DriftLights()


class Termination(Section):
    final: Check | None = None
    """Runs on a clean checkout after the last task."""
