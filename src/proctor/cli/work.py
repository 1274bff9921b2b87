"""What a worker could do: the sandbox as a verb."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.cli.read import show
from proctor.text import safe_line
from proctor.trees import scratch_folder
from proctor.words import ExitCode

if TYPE_CHECKING:
    from proctor.sandbox.policy import Policy

_ONLY_IN_A_SESSION = (
    "the gateway, the door, and the variables of both are what a worker of a session gets (the door is a folder of "
    "the session then); a command that `sandbox` runs has none of them"
)


def sandbox(given: argparse.Namespace) -> int:
    """Run a command exactly as a worker would be run; its exit status. Or say what one could do."""
    from proctor.contract.load import load
    from proctor.errors import Unrecoverable, UsageError
    from proctor.repository.planted import MOST_NAMED
    from proctor.sandbox.alone import alone
    from proctor.sandbox.choose import choose, passthrough
    from proctor.supervisor import disk, enclosure, policies, process

    if not given.command and not given.dir.exists():
        raise UsageError(f"sandbox: there is no folder {given.dir.name!r}; a command comes after `--`")
    process.check_workspace(given.dir)
    contract = load(given.dir)
    if not given.command and not given.explain:
        raise UsageError("sandbox: no command; write it after `--`, or ask with --explain what it could do")
    choose(contract.sandbox.kind)  # where there is no sandbox, nothing else is worth saying
    with contextlib.ExitStack() as held:
        if not given.explain:
            held.enter_context(alone(given.dir))
            _stand_apart(given.dir, contract.sandbox.kind, given.yes)
        scratch = held.enter_context(scratch_folder("proctor-"))
        policy = policies.base(given.dir, contract)
        repository = scratch / "session.git"
        notes: list[str] = []
        enclosed = enclosure.enclose(policy, contract, repository, notes.append)
        if given.explain:
            (door := scratch / "door").mkdir()
            notes.append(_ONLY_IN_A_SESSION)
            shown = policies.in_session(enclosed.policy, door, 1, contract.worker.model)
            return _explain(shown, contract.sandbox.kind, notes, given.json)
        watch = disk.Watch(given.dir, scratch, 0, "then run it again")
        code = passthrough(given.command, enclosed.policy, contract.sandbox.kind, watch.over)
        renamed = enclosure.lift(given.dir, enclosed.before, repository)
    for path, now in renamed[:MOST_NAMED]:
        said = "appeared, and your git would obey it: it is now"
        print(f"proctor: {safe_line(path)} {said} {safe_line(now)}", file=sys.stderr)
    if len(renamed) > MOST_NAMED:
        print(
            f"proctor: and {len(renamed) - MOST_NAMED:,} more, each with .quarantined after its name", file=sys.stderr
        )
    if watch.said:
        raise Unrecoverable(watch.said, "disk")
    return code


def _explain(policy: Policy, kind: str, notes: list[str], as_json: bool) -> int:
    from proctor.sandbox import explain
    from proctor.sandbox.choose import choose

    backend = choose(kind)
    if as_json:
        print(json.dumps(explain.facts(policy, backend, notes)))
    else:
        show("\n".join(explain.lines(policy, backend, notes)))
    return ExitCode.DONE


def _stand_apart(workspace: Path, kind: str, yes: bool) -> None:
    """Give files with a second name one of their own; UsageError if --yes is wanted for it, or a session is at work."""
    from proctor.errors import UsageError
    from proctor.journal.store import NoJournal
    from proctor.sandbox.links import asks, separate
    from proctor.sandbox.survey import survey
    from proctor.supervisor.client import Client
    from proctor.units import counted

    if kind == "none":
        return
    seen = survey(workspace, links=True)
    seen.must_be_whole(workspace)
    if not seen.linked.files:
        return
    question = asks(seen.linked)
    if question is not None and not yes:
        raise UsageError(f"sandbox: {question.what} {question.why}; `--yes` says yes")
    try:
        with Client(workspace) as client:
            alive = client.alive()
    except NoJournal:
        alive = False
    if alive:
        what = f"{counted(seen.linked.files, 'file')} with a second name cannot be copied while a session is at work"
        raise UsageError(f"sandbox: {what}: pause is not enough, `proctor stop` it first")
    separate(workspace, seen.linked)
