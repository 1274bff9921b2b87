"""What the next worker is told, gathered from durable state only."""

from __future__ import annotations

import asyncio
from functools import partial

from proctor.contract.starter import without_template
from proctor.doors.gateway import tokens
from proctor.journal.state import TaskState
from proctor.progress import drift
from proctor.supervisor.session import Session
from proctor.words import AtSoft, Drift, Light
from proctor.workspace import brief, files

BRIEF_TOKENS = 12_000
"""The brief's token ceiling: a cold start reads, it does not study."""
LOG_TAIL = {Light.SUSPECT: 2_000, Light.FIRING: 0}
"""Characters of a polluted log that a brief holds."""


def model(s: Session) -> str | None:
    """The model of the next worker: the cheaper one once the session is degraded."""
    worker = s.terms.contract.worker
    if s.state.degraded and s.degrading:
        return s.state.degraded
    if worker.cheaper is not None and s.at_soft(AtSoft.CHEAPER_MODEL):
        return worker.cheaper.model
    return worker.model


async def build(s: Session, task: TaskState) -> str:
    """The brief of one task, as of now."""
    state = s.state
    names = s.terms.contract.state
    lit = {one.drift: one for one in drift.lights(state) if one.light is not Light.QUIET}
    inputs = brief.BriefInputs(
        goal=s.terms.contract.goal,
        plan=without_template(files.read_optional(s.workspace, names.plan) or ""),
        tasks=state.tasks,
        log=files.read_optional(s.workspace, names.progress, files.LOG_LIMIT) or "",
        rules=files.read_optional(s.workspace, names.rules) or "",
        task=task,
        spec=(files.read_optional(s.workspace, task.spec) or "") if task.spec else "",
        notes=state.notes,
        narrow=s.at_soft(AtSoft.NARROW),
        stuck=state.plateau,
        broken=state.broken,
        drift=drift.told(lit.values(), task.id),
        log_tail=LOG_TAIL[lit[Drift.STATE_POLLUTION].light] if Drift.STATE_POLLUTION in lit else None,
        rules_again=Drift.TUNNEL_VISION in lit,
        tasks_file=names.tasks,
        progress_file=names.progress,
    )
    count = partial(tokens.count_tokens, model=model(s))
    return (await asyncio.to_thread(brief.build, inputs, BRIEF_TOKENS, count)).text
