"""Whether the checks can start at all: asked of the very programs that they start, in the sandbox in which they run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from proctor.contract.model import Contract
from proctor.errors import UsageError
from proctor.journal.events import CheckFact
from proctor.oracle import commands, runners
from proctor.sandbox.choose import choose
from proctor.sandbox.run import run
from proctor.supervisor import policies
from proctor.supervisor.terms import Terms
from proctor.text import safe_line
from proctor.trees import scratch_folder
from proctor.workspace import tasks

SECONDS = 30.0
MOST_OUTPUT = 1 << 16


def unrunnable(workspace: Path, contract: Contract) -> tuple[str, ...]:
    """The required checks that could not start, a line each: its key, the command, why, and what to do.

    One that is not there is left to the check before the work if it lies in the workspace: an earlier check may make
    it. Unrecoverable where there is no sandbox. Blocks for as long as the programs take to say their version.
    """
    backend = choose(contract.sandbox.kind)
    policy = replace(policies.for_check(workspace, contract), writable=False)
    asked: dict[tuple[str, ...], str] = {}
    found: dict[str, None] = {}
    with scratch_folder("proctor-") as scratch:
        output = scratch / "output"
        for key, check in _required(workspace, contract):
            program = check.run[0]
            if "/" in program and not (workspace / program).exists():
                continue
            trial = commands.trial(check.run)
            if trial not in asked:
                ended = run(backend, trial, policy, SECONDS, output, MOST_OUTPUT)
                said = runners.last_words(output.read_bytes())
                if not ended.exit.ran or ended.exit.code in (126, 127):
                    said = f"{program} was not found or cannot be started"
                asked[trial] = "" if ended.exit.code == 0 else said or f"{program} does not start"
            if why := asked[trial]:
                found[safe_line(f"{key}: `{shlex.join(check.run)}` cannot run in the sandbox: {why}; {_MEND}", 600)] = (
                    None
                )
    return tuple(found)


_MEND = "install it there, or name a program that has it by its path"


def _required(workspace: Path, contract: Contract) -> Iterator[tuple[str, CheckFact]]:
    terms = Terms(contract, "")
    default = terms.default_checks()
    yield from (("progress.checks", check) for check in default if not check.optional)
    yield from (("progress.smoke", check) for check in terms.smoke_checks())
    yield from (("termination.final", check) for check in terms.final_checks())
    try:
        listed = tasks.read(workspace, contract.state.tasks, contract.state.plan, ())
    except UsageError:  # said elsewhere
        return
    yield from ((f"task {task.id}", check) for task in listed for check in task.checks if not check.optional)
