"""Verbs about the work itself: what changed, and what a worker could do."""

from __future__ import annotations

import argparse
import json

from proctor.cli.read import show
from proctor.words import ExitCode


def diff(given: argparse.Namespace) -> int:
    """What changed between two checkpoints, or since one."""
    from proctor.supervisor.offline import patch

    text = patch(given.dir, given.from_, given.to)
    if given.json:
        print(json.dumps({"patch": text}))
    else:
        show(text or "nothing changed")
    return ExitCode.DONE


def sandbox(given: argparse.Namespace) -> int:
    """Run a command exactly as a worker would be run; its exit status."""
    from proctor.contract.load import load
    from proctor.errors import UsageError
    from proctor.sandbox.choose import passthrough
    from proctor.supervisor import policies, process

    process.check_workspace(given.dir)
    contract = load(given.dir)
    if not given.command:
        raise UsageError("sandbox: no command; write it after `--`")
    return passthrough(given.command, policies.base(given.dir, contract), contract.sandbox.kind)
