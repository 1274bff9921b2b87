"""The checkpoint store of a session, as its contract has it."""

from __future__ import annotations

from pathlib import Path

from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store
from proctor.contract.state import State
from proctor.contract.values import SandboxKind
from proctor.supervisor.terms import owned


def keeping(names: State) -> Keep:
    """What checkpoints hold of a workspace."""
    terms = names.checkpoint
    total = max(terms.max_total, terms.max_file)
    return Keep(include=terms.include, exclude=terms.exclude, max_file=terms.max_file, max_total=total)


def opened(workspace: Path, folder: Path, names: State, sandbox: str) -> Store:
    """The checkpoint store of a session whose state is in `folder`, and whose workers are in this kind of sandbox."""
    theirs = sandbox != SandboxKind.BWRAP
    repository = folder / "session.git"
    place = folder / "checkpoints.git"
    return Store(workspace, place, owned(names), keeping(names), repository=repository, theirs=theirs)
