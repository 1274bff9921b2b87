"""Events of the session as a whole: its birth, its supervisors, its terms, its tasks."""

from __future__ import annotations

from proctor.journal.events.base import CeilingFact, Event, TaskFact
from proctor.words import Drift, SessionStatus


class SessionStarted(Event, frozen=True, tag="session_started"):
    """The session's birth: once per journal."""

    session: str
    workspace: str
    goal: str


class Rebound(Event, frozen=True, tag="rebound"):
    """The workspace is elsewhere than it `was`: moved, or a copy, which has a `session` of its own from here on."""

    workspace: str
    was: str
    session: str = ""


class SupervisorStarted(Event, frozen=True, tag="supervisor_started"):
    """A supervisor took the lock. `started` is the process's start time in clock ticks since boot."""

    pid: int
    boot: str
    started: int
    token: int
    sandbox: str = "bwrap"
    worker: str = ""
    note: str = ""
    bound: tuple[str, ...] = ()
    """What binds a sandbox as a whole, in words; `unbound` is what nothing binds."""
    unbound: tuple[str, ...] = ()


class SupervisorEnded(Event, frozen=True, tag="supervisor_ended"):
    """The supervisor let go by itself; `exit_code` is that of `run --headless`."""

    exit_code: int


class ContractLoaded(Event, frozen=True, tag="contract_loaded"):
    """The terms in force from here on: hash of `proctor.yaml`, revision of the plan, ceilings, levels (per cent),
    and the figure of each light of drift."""

    contract: str
    plan: str
    ceilings: tuple[CeilingFact, ...] = ()
    alert: int = 50
    soft: int = 70
    drift: dict[Drift, int] | None = None


class StatusChanged(Event, frozen=True, tag="status_changed"):
    status: SessionStatus
    why: str | None = None


class PlanRevised(Event, frozen=True, tag="plan_revised"):
    """What is asked for, as it stands from here on: tasks, checks, what is protected, the plan. `changed` names the
    parts that are other than `was`, `diff` shows them (`more` lines of it are left out); none in a session's first."""

    rev: str
    was: str = ""
    by: str = ""
    changed: tuple[str, ...] = ()
    diff: str = ""
    more: int = 0


class OracleFrozen(Event, frozen=True, tag="oracle_frozen"):
    """What the checks rest on, from here on; `rev` names its content, `files` counts it. `changed`, `diff` and `more`:
    what the operator changed of it since it was frozen before."""

    rev: str
    files: int = 0
    changed: tuple[str, ...] = ()
    diff: str = ""
    more: int = 0


class TasksLoaded(Event, frozen=True, tag="tasks_loaded"):
    """The task list as read; statuses of known tasks stay what the journal says."""

    tasks: tuple[TaskFact, ...]
