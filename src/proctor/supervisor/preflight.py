"""What is refused before anything starts. Light to load: a verb that starts a supervisor waits for it."""

from __future__ import annotations

import shutil
from pathlib import Path

from proctor.contract.lint import no_upstream
from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.contract.problems import located
from proctor.errors import UsageError
from proctor.journal.store import journal_path
from proctor.sandbox import host
from proctor.supervisor import policies, process, publish
from proctor.supervisor.disk import refuse_full, written_to
from proctor.supervisor.terms import Terms
from proctor.worker import find
from proctor.workspace import tasks


def preflight(workspace: Path) -> Contract:
    """All that can be refused without touching anything: raises one clear line, or a line for each problem."""
    process.check_workspace(workspace)
    contract = load(workspace)
    try:
        _usable(workspace, contract)
    except UsageError as error:
        raise UsageError("\n".join(located(contract, line) for line in str(error).splitlines())) from error
    refuse_full(*written_to(workspace, state_dir(workspace, contract)))
    return contract


def _usable(workspace: Path, contract: Contract) -> None:
    """UsageError where the contract names what is not there; each line of it begins with a key, or with a file."""
    names = contract.state
    tasks.read(workspace, names.tasks, names.plan, Terms(contract, "").default_checks())
    publish.place(workspace, contract)
    if ways := Terms(contract, "").open_notices(workspace):
        raise UsageError("\n".join(f"notify: {way}" for way in ways))
    find_program(workspace, contract)
    if missing := no_upstream(contract):
        raise UsageError(missing)
    policies.upstreams(workspace, contract)


def find_program(workspace: Path, contract: Contract) -> None:
    """Refuse a worker whose program does not exist."""
    worker = contract.worker
    if policies.is_agent(contract):
        find.locate(worker.kind, worker.agent or "", worker.command or ())
        return
    program = (contract.worker.command or ("",))[0]
    path = host.environment()["PATH"]
    found = (workspace / program).exists() if "/" in program else shutil.which(program, path=path)
    if not found:
        raise UsageError(f"worker.command: {program!r} was not found; install it or name its path")


def state_dir(workspace: Path, contract: Contract) -> Path:
    """Where this contract's session keeps its state: out of the worker's reach. One session, one place."""
    outside = contract.sandbox.kind == "weak"
    place = process.state_dir_of(workspace, outside=outside)
    other = process.state_dir_of(workspace, outside=not outside)
    if journal_path(other).exists():
        what = f"this session began under another sandbox.kind, and its state is in {other}"
        raise UsageError(f"{workspace}: {what}; change the kind back, or move that folder to {place}")
    return place
