"""The contract's walls as sandbox policies: one for workers, one for checks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.contract.model import Contract
from proctor.doors.door import Door
from proctor.journal import events as ev
from proctor.sandbox import agents
from proctor.sandbox.policy import DOOR, GATEWAY, Limits, Policy
from proctor.supervisor.terms import Terms

if TYPE_CHECKING:  # `proctor sandbox` needs neither, and a server takes half of its time to load
    from proctor.doors.gateway.port import Upstream
    from proctor.supervisor.session import Session

TOKEN = "placeholder"  # noqa: S105
"""Stands where a key would, and is none."""


def base(workspace: Path, contract: Contract) -> Policy:
    """What every worker of this contract may see and do, whatever the workspace holds; `proctor sandbox` too."""
    state = contract.state
    limits = contract.sandbox.limits
    commands = (contract.worker.command, *(check.run for check in contract.progress.checks))
    granted = {name: os.environ[name] for name in state.environment.variables if name in os.environ}
    return Policy(
        workspace=workspace,
        protect=Terms(contract, "").protected(workspace),
        hide=state.hide,
        programs=tuple(dict.fromkeys(command[0] for command in commands if command)),
        unix_sockets=contract.sandbox.unix_sockets,
        environment={**agents.ENVIRONMENT, **granted},
        limits=Limits(limits.memory, limits.processes, limits.file_size, limits.open_files, limits.scratch),
    )


def for_worker(s: Session, door: Door, intent: ev.IterationStarted) -> Policy:
    """The policy of one iteration's worker, whatever the workspace holds."""
    policy = base(s.workspace, s.terms.contract)
    specs = tuple(task.spec for task in s.state.tasks if task.spec)
    return in_session(replace(policy, protect=(*policy.protect, *specs)), door.folder, intent.task, intent.model)


def in_session(policy: Policy, door: Path, task: ev.TaskId, model: str | None) -> Policy:
    """The policy with what only a worker of a session gets: its door, the gateway, and what tells it of them."""
    told = {
        "PROCTOR_TASK": str(task),
        "PROCTOR_BRIEF": f"{DOOR}/brief.md",
        "PROCTOR_ANSWERS": f"{DOOR}/answers",
        "ANTHROPIC_BASE_URL": f"http://{GATEWAY}",
        "OPENAI_BASE_URL": f"http://{GATEWAY}/v1",
        "ANTHROPIC_API_KEY": TOKEN,
        "OPENAI_API_KEY": TOKEN,
    }
    if model:
        told["PROCTOR_MODEL"] = model
    return replace(policy, environment={**policy.environment, **told}, door=door, listen=True)


def for_check(s: Session) -> Policy:
    """The walls of a check: no door, no variables of the operator."""
    return replace(base(s.workspace, s.terms.contract), protect=(), environment={})


def upstream(contract: Contract) -> Upstream | None:
    """Where the gateway passes model calls to: the contract's first upstream, with its key from the environment."""
    from proctor.doors.gateway.port import Upstream

    for name, given in contract.gateway.upstream.items():
        variable = (given.key or "").removeprefix("env:")
        return Upstream(name, given.base_url, os.environ.get(variable) if variable else None)
    return None
