"""What survives: the contract's `state`, a frozen value in base units (milliseconds, bytes)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from proctor.contract.section import Section
from proctor.contract.values import (
    Areas,
    Argv,
    Commits,
    Duration,
    OneFile,
    Patterns,
    Size,
    Variables,
    Words,
    never,
)


class Checkpoint(Section):
    """What is kept of the workspace. `exclude` weighs more than `include`, and that more than ignore rules."""

    include: Patterns = ()
    """Ignored files and folders that are kept all the same; into a folder that is ignored as a whole a pattern reaches
    that names the way, such as `build/reports/`."""
    exclude: Patterns = ()
    """Files and folders that no checkpoint holds and no rollback touches, whoever tracks them."""
    max_file: Size = 64 << 20
    """A larger file is named and left alone."""
    max_total: Size = 2 << 30
    """What one checkpoint may add; never less than `max_file`. At a session's start more is refused; later the
    largest new files are named and left out."""
    keep: Annotated[Duration | None, BeforeValidator(never)] = 30 * 24 * 3600 * 1000
    """How long checkpoints that nothing needs stay, and the raw output of iterations; None for ever."""


class Environment(Section):
    tools: Words = ()
    """Programs that the work needs: `proctor check` looks for them."""
    variables: Variables = ()
    """Names of variables that the worker gets from the operator's environment."""
    secrets: Variables = ()
    setup: Argv | None = None


class State(Section):
    """What survives a restart, a context reset, a new sandbox. Paths are relative to the workspace."""

    tasks: OneFile = "tasks.json"
    plan: OneFile = "PLAN.md"
    progress: OneFile = "PROGRESS.md"
    rules: OneFile = "RULES.md"
    protect: Areas = ()
    """Files and folders that the worker can read and not write: what the checks rest on."""
    entrust: Areas = ()
    """Files and folders that the worker may change although checks rest on them: the work is in them."""
    hide: Areas = ()
    """Files and folders that the worker cannot even read."""
    commits: Commits | None = None
    """A commit for each verified task on `proctor/SESSION`. Left out: in a git repository under `bwrap`, else none."""
    checkpoint: Checkpoint = Checkpoint()
    environment: Environment = Environment()

    @property
    def owned(self) -> tuple[str, ...]:
        """The files that the harness writes: no part of a tree's identity."""
        return (self.tasks, self.progress, self.rules)
