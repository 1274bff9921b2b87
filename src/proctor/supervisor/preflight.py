"""What is refused before anything starts. Light to load: a verb that starts a supervisor waits for it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path, PurePosixPath

from proctor.contract.lint import no_upstream
from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.contract.problems import located
from proctor.contract.wrong import nearest
from proctor.errors import UsageError
from proctor.journal.store import journal_path
from proctor.sandbox import host
from proctor.supervisor import policies, process, publish
from proctor.supervisor.disk import refuse_full, written_to
from proctor.supervisor.terms import Terms
from proctor.worker import find
from proctor.workspace import tasks

_INTERPRETERS = (
    (re.compile(r"(ba|da|k|z)?sh"), re.compile(r"-[efuvx]+")),
    (re.compile(r"python[\d.]*"), re.compile(r"-[bBdEiIOPqsSuvx]+")),
    (re.compile(r"node"), re.compile(r"(?!)")),
)
"""Programs that run a script, with those of their options that have no value and leave the script where it is."""
_OF_NODE = (".js", ".mjs", ".cjs")
"""Names that node takes as they are; to others it may add one of these."""


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
    """Refuse a worker whose program does not exist, or the script that an interpreter is to run."""
    worker = contract.worker
    if policies.is_agent(contract):
        find.locate(worker.kind, worker.agent or "", worker.command or ())
        return
    command = contract.worker.command or ("",)
    program, path = command[0], host.environment()["PATH"]
    named = "/" in program
    if named and (workspace / program).is_file() and not os.access(workspace / program, os.X_OK):
        raise UsageError(f"worker.command: {program!r} may not be executed; `chmod +x` it")
    if not ((workspace / program).is_file() if named else shutil.which(program, path=path)):
        raise UsageError(f"worker.command: {program!r} was not found; install it or name its path")
    script = handed(command)
    if script is None or (workspace / script).exists():
        return
    if "/" in script or not any(Path(folder, script).exists() for folder in path.split(os.pathsep)):
        near = _beside(workspace / script)
        hint = f"; nearest: {Path(script).with_name(near)}" if near else "; mend the path"
        raise UsageError(f"worker.command: {program} is to run {script!r}, which is not there{hint}")


def handed(command: Sequence[str]) -> str | None:
    """The script that a command hands to a shell, to Python or to node; None where that cannot be known."""
    name = PurePosixPath(command[0]).name
    flags = next((flags for interpreter, flags in _INTERPRETERS if interpreter.fullmatch(name)), None)
    words = [*dropwhile(lambda word: flags is not None and flags.fullmatch(word), command[1:])]
    if flags is None or not words or words[0].startswith("-"):
        return None
    return None if name == "node" and not words[0].endswith(_OF_NODE) else words[0]


def _beside(path: Path) -> str | None:
    """The name nearest to a file's among those that are where it would be."""
    try:
        return nearest(path.name, os.listdir(path.parent))
    except OSError:
        return None


def state_dir(workspace: Path, contract: Contract) -> Path:
    """Where this contract's session keeps its state: out of the worker's reach. One session, one place."""
    outside = contract.sandbox.kind == "weak"
    place = process.state_dir_of(workspace, outside=outside)
    other = process.state_dir_of(workspace, outside=not outside)
    if journal_path(other).exists():
        what = f"this session began under another sandbox.kind, and its state is in {other}"
        raise UsageError(f"{workspace}: {what}; change the kind back, or move that folder to {place}")
    return place
