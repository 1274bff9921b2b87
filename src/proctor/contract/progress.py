"""What proves progress and that it is over: the contract's `progress` and `termination`, as frozen values."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from proctor.contract.check import Check
from proctor.contract.section import Section
from proctor.contract.values import Count, Duration, OneOrMany, OnFailed, OnTampering, Share, never
from proctor.journal.drift import USUAL
from proctor.words import Drift, LoopRule, Response, Rule


class Plateau(Section):
    """Windows of the rules, in iterations; 0 switches a rule off."""

    no_change: Count = 3
    shrinking: Count = 3
    same_failure: Count = 3
    revisit: Count = 2
    no_op: Count = 2
    stalled: Count = 6
    same_call: Count = 4
    """Inside an iteration, where it ends the iteration: the same tool, input and result so many times."""
    same_error: Count = 4
    """Inside an iteration: the same error; one time less warns."""
    cycle: Count = 3
    """Inside an iteration: so many times the same two to four calls in a row."""
    same_denial: Count = 2
    """Inside an iteration: the same request denied."""
    on_plateau: Annotated[tuple[Response, ...], Field(min_length=1), OneOrMany()] = (
        Response.NARROW,
        Response.BLOCK,
        Response.ESCALATE,
        Response.PARK,
    )
    """The answers to a firing, in order."""

    @model_validator(mode="after")
    def _compare(self) -> Plateau:
        for name in ("shrinking", "same_call", "same_error", "cycle"):
            if getattr(self, name) == 1:
                raise ValueError(f"{name} compares at least 2; 0 switches it off")
        return self

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

    premature_victory: Count = USUAL[Drift.PREMATURE_VICTORY]
    """False claims among the last ten, at least half of them."""
    plan_rot: Count = USUAL[Drift.PLAN_ROT]
    """Any number but 0: a task that names what is gone waits for you."""
    state_pollution: Count = USUAL[Drift.STATE_POLLUTION]
    """Tokens an iteration that workers may add to the log."""
    test_gaming: Count = USUAL[Drift.TEST_GAMING]
    """Iterations for which what was done to the checks stays lit."""
    tunnel_vision: Count = USUAL[Drift.TUNNEL_VISION]
    """Iterations in one folder without a verified task, while others are open elsewhere."""
    silent_regression: Count = USUAL[Drift.SILENT_REGRESSION]
    """Verified tasks that fail again."""
    budget_runaway: Count = USUAL[Drift.BUDGET_RUNAWAY]
    """Times the median of a verified task at which a task parks the session; at half of them it is narrowed."""

    @model_validator(mode="after")
    def _claims(self) -> DriftLights:
        if self.premature_victory > 10:
            raise ValueError("premature_victory counts among the last ten claims; 0 switches it off")
        return self

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
