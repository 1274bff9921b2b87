"""What the drift lights rest on, as the state holds it: bounded, the same after a restart. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.words import Drift, Light, Phase, Verdict

USUAL: Mapping[Drift, int] = {
    Drift.PREMATURE_VICTORY: 3,
    Drift.PLAN_ROT: 1,
    Drift.STATE_POLLUTION: 1500,
    Drift.TEST_GAMING: 3,
    Drift.TUNNEL_VISION: 4,
    Drift.SILENT_REGRESSION: 1,
    Drift.BUDGET_RUNAWAY: 10,
}
"""The contract's defaults; 0 switches one off."""
DONE_WORDS = frozenset({"done", "complete", "completed", "finished", "success"})
"""Claims that say the task is done."""
CLAIMS = 10
"""Claims that are held against their verdicts."""
SURVEYS = 24
"""Iterations that are remembered."""
MOST = 50
"""Regressions, rotten tasks and answers that are remembered, of each the last."""
CONFIRMED = 5_000
"""Gone names that the operator holds to: what is forgotten is asked again."""
NO_WORD = frozenset({Verdict.INFRA, Verdict.VACUOUS, Verdict.UNSTABLE})
"""Verdicts that say nothing of a claim."""


class Claim(msgspec.Struct, frozen=True):
    """A worker said done; what the check said of it, None until it has."""

    iteration: int
    task: ev.TaskId
    verdict: Verdict | None = None


class DriftState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`claimed` counts all claims that were judged and `false` those that were wrong; `claims` has the last of them.

    `regressed` is the last regression of each task, `unstable` checks of verified tasks that failed and passed again on
    the same tree. `plan` and `base` are as in `PlanAccepted`, `rot` what a task names that is gone, `confirmed` what
    the operator holds to. `seen` is each light as it was last written down.
    """

    windows: dict[Drift, int] = {}
    at: ev.TaskId | None = None
    """The task of this iteration: what is said of another one in passing is judged by nothing."""
    said: Claim | None = None
    claims: tuple[Claim, ...] = ()
    claimed: int = 0
    false: int = 0
    surveys: tuple[ev.Surveyed, ...] = ()
    verified_in: int = 0
    regressed: tuple[ev.Regressed, ...] = ()
    again: ev.Judged | None = None
    unstable: tuple[ev.Judged, ...] = ()
    plan: str = ""
    base: str = ""
    rot: tuple[ev.PlanRotted, ...] = ()
    confirmed: tuple[str, ...] = ()
    answered: tuple[ev.DriftAnswered, ...] = ()
    seen: dict[Drift, ev.DriftSeen] = {}
    put_back: int = 0
    """What a worker did to the harness's files in this iteration, and was undone."""

    def window(self, drift: Drift) -> int:
        """The contract's figure for a light; 0 is off."""
        return self.windows.get(drift, USUAL[drift])

    def light(self, drift: Drift) -> Light:
        """A light as it was last written down."""
        return self.seen[drift].light if drift in self.seen else Light.QUIET


def after(now: DriftState, event: ev.Event) -> DriftState:
    """The state after one more event; of most it knows nothing."""
    match event:
        case ev.ContractLoaded():
            return replace(now, windows=event.drift or {})
        case ev.ClaimRecorded() if event.task == now.at and event.status.lower() in DONE_WORDS:
            return replace(now, said=Claim(event.iteration, event.task))
        case ev.IterationStarted():
            return replace(now, put_back=0, said=None, at=event.task)
        case ev.Logged() if event.room == "workspace" and "; put back" in event.text:
            return replace(now, put_back=now.put_back + 1)
        case ev.Judged():
            return _judged(now, event)
        case ev.TaskDone():
            left = tuple(one for one in now.rot if one.task != event.task)
            return replace(now, verified_in=event.iteration, rot=left)
        case ev.Regressed():
            others = (one for one in now.regressed if one.task != event.task)
            return replace(now, regressed=(*others, event)[-MOST:])
        case ev.Surveyed():
            others_in = (one for one in now.surveys if one.iteration != event.iteration)
            return replace(now, surveys=(*others_in, event)[-SURVEYS:])
        case ev.PlanAccepted() | ev.PlanRotted() | ev.PlanConfirmed():
            return _planned(now, event)
        case ev.DriftSeen():
            return replace(now, seen={**now.seen, event.drift: event})
        case ev.DriftAnswered():
            return replace(now, answered=(*now.answered, event)[-MOST:])
    return now


def _judged(now: DriftState, event: ev.Judged) -> DriftState:
    failed = event.verdict is not Verdict.PASSED
    if event.phase is Phase.REGRESSION:
        first = now.again
        if failed or first is None or (first.task, first.tree) != (event.task, event.tree):
            return replace(now, again=event if failed else None)
        return replace(now, again=None, unstable=(*now.unstable, first)[-CLAIMS:])
    said = now.said
    if event.phase is not Phase.WORK or said is None or (said.iteration, said.task) != (event.iteration, event.task):
        return now
    if event.verdict in NO_WORD:
        return replace(now, said=None)
    claims = (*now.claims, replace(said, verdict=event.verdict))[-CLAIMS:]
    return replace(now, said=None, claims=claims, claimed=now.claimed + 1, false=now.false + failed)


def _planned(now: DriftState, event: ev.PlanAccepted | ev.PlanRotted | ev.PlanConfirmed) -> DriftState:
    match event:
        case ev.PlanAccepted():
            return replace(now, plan=event.plan, base=event.checkpoint, rot=(), confirmed=())
        case ev.PlanRotted():
            rest = tuple(one for one in now.rot if one.task != event.task)
            return replace(now, rot=(*rest, event)[-MOST:] if event.gone else rest)
        case ev.PlanConfirmed():
            names = tuple(dict.fromkeys((*now.confirmed, *event.gone)))
            rot = (replace(one, gone=tuple(g for g in one.gone if g not in names)) for one in now.rot)
            return replace(now, confirmed=names[-CONFIRMED:], rot=tuple(one for one in rot if one.gone))
