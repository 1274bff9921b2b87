"""Writing a contract and saying what it means."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from proctor.contract import lint, schema, starter
from proctor.contract.load import load
from proctor.supervisor.process import check_workspace
from proctor.supervisor.startup import preflight
from proctor.text import safe_line
from proctor.words import ExitCode


def init(given: argparse.Namespace) -> int:
    """Write what is missing, overwrite nothing."""
    check_workspace(given.dir)
    created = starter.init(given.dir)
    if given.json:
        print(json.dumps({"created": list(created)}))
        return ExitCode.DONE
    for name in created:
        print(f"wrote {safe_line(name)}")
    if not created:
        print("everything is there already; nothing was written")
    print("next: read proctor.yaml, then `proctor check`")
    return ExitCode.DONE


def check(given: argparse.Namespace) -> int:
    """Say in plain words what was agreed; exit 2 while one of the four questions is unanswered."""
    if given.schema:
        print(json.dumps(schema.schema(), indent=2))
        return ExitCode.DONE
    contract = load(given.dir)
    said = lint.explain(contract, given.dir)
    if given.json:
        print(json.dumps(dataclasses.asdict(said), indent=2, default=str))
        return ExitCode.USAGE if said.unanswered else ExitCode.DONE
    print(said)
    if said.unanswered:
        print("proctor: the contract is incomplete; see above", file=sys.stderr)
        return ExitCode.USAGE
    preflight(given.dir)
    return ExitCode.DONE
