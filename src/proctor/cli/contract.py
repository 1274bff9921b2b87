"""Writing a contract and saying what it means."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from proctor.approvals.rules import Rules
from proctor.budget.dimensions import Usage
from proctor.contract import ground, lint, schema, starter
from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.contract.problems import FILE, located
from proctor.doors.gateway import prices
from proctor.errors import UsageError
from proctor.journal.events import IterationEnded, Judged
from proctor.journal.store import NoJournal
from proctor.repository import layout
from proctor.supervisor import dry, policies, rehearsal, suspension
from proctor.supervisor.client import Client
from proctor.supervisor.preflight import preflight
from proctor.supervisor.process import check_workspace
from proctor.supervisor.startup import rates
from proctor.text import safe_line
from proctor.tui.terminal import wrapped
from proctor.words import ExitCode, Phase, Verdict
from proctor.worker import find
from proctor.workspace import tasks


def init(given: argparse.Namespace) -> int:
    """Write what is missing, overwrite nothing."""
    check_workspace(given.dir)
    created = starter.init(given.dir)
    if given.json:
        print(json.dumps({"created": list(created)}))
        return ExitCode.DONE
    for name in created:
        print(f"wrote {safe_line(name)}")
    if FILE in created and (suite := ground.suite(given.dir)) and suite.lacks:
        print(f"warning: {suite.lacks}")
    if not created:
        print("everything is there already; nothing was written")
    print("next: read proctor.yaml, then `proctor check`")
    return ExitCode.DONE


def facts(workspace: Path, contract: Contract) -> lint.Facts:
    """What the session so far says about the checks, and which outward acts nobody is asked about."""
    rules = Rules(contract.approvals.allow, contract.approvals.ask, contract.approvals.deny)
    try:
        with Client(workspace) as client:
            events = [row.event for row in client.rows(kinds=("judged", "iteration_ended"))]
    except NoJournal:
        events = []
    judged = [e for e in events if isinstance(e, Judged) and e.phase is Phase.WORK]
    act = [e.active_ms / 1000 for e in events if isinstance(e, IterationEnded)]
    return lint.Facts(
        check_seconds=median(e.seconds for e in judged) if judged else None,
        act_seconds=median(act) if act else None,
        unstable=sum(e.verdict is Verdict.UNSTABLE for e in judged),
        ungated=rules.ungated(),
        repository=_repository(workspace),
        unrunnable=rehearsal.unrunnable(workspace, contract),
        kept=rehearsal.kept(workspace, contract),
        unwritten=rehearsal.unwritten(workspace, contract),
        faults=_faults(workspace, contract),
        unpriced=tuple(_unpriced(contract)),
    )


def _faults(workspace: Path, contract: Contract) -> tuple[str, ...]:
    """What is wrong with the task list, a line each."""
    try:
        tasks.read(workspace, contract.state.tasks, contract.state.plan, ())
    except UsageError as error:
        return tuple(str(error).splitlines())
    return ()


def _unpriced(contract: Contract) -> Iterator[tuple[str, str]]:
    """The models that no price is known of, where cost is capped, and the nearest of which one is."""
    gateway, worker = contract.gateway, contract.worker
    free = [one.billing == "subscription" for one in gateway.upstream.values()]
    if contract.budget.cost is None or (free and all(free) and not gateway.enforce_subscription):
        return
    known = rates(contract)
    for model in (worker.model, worker.cheaper.model if worker.cheaper else None):
        if model and prices.price(model, Usage(input=1, output=1), at=datetime.now(UTC), overrides=known) is None:
            yield model, prices.nearest(model, known)


def _repository(workspace: Path) -> str | None:
    """The top of the workspace's git repository, "" without one; None where it cannot be told, which a start says."""
    try:
        found = layout.find(workspace)
    except UsageError:
        return None
    return str(found.top) if found.git_dir else ""


def check(given: argparse.Namespace) -> int:
    """Say in plain words what was agreed; exit 2 while one of the four questions is unanswered."""
    if given.schema:
        print(json.dumps(schema.schema(), indent=2))
        return ExitCode.DONE
    contract = load(given.dir)
    said = lint.explain(contract, given.dir, facts(given.dir, contract))
    if not given.json:
        print(wrapped(str(said)))
    shown = dataclasses.asdict(said)
    if not said.unanswered:
        preflight(given.dir)
        try:
            shown |= asyncio.run(_tried(given, contract))
        except UsageError as error:
            raise UsageError(located(contract, str(error))) from error
    if given.json:
        print(json.dumps(shown, indent=2, default=str))
    elif said.unanswered:
        print("proctor: the contract is incomplete; see above", file=sys.stderr)
    return ExitCode.USAGE if said.unanswered else ExitCode.DONE


def _worker(contract: Contract) -> find.Found | None:
    """The program of a worker that is known, and its version; None for any other program."""
    worker = contract.worker
    return find.agent(worker.kind, worker.agent or "", worker.command or ()) if policies.is_agent(contract) else None


async def _tried(given: argparse.Namespace, contract: Contract) -> dict[str, Any]:
    """The worker's program, one dry call, and if asked for what an open request stops; told as each is known."""

    def tell(*lines: str) -> None:
        for line in () if given.json else lines:
            print(wrapped(line))

    found = _worker(contract)
    if found is not None:
        tell(safe_line(f"worker: {found.program} {found.version or '(version unknown)'}", 300))
        tell(*([f"warning: {safe_line(found.warning, 300)}"] if found.warning else []))
    answered = await dry.call(given.dir, contract)
    tell(f"model: {answered}" if answered else "model: no dry call; it needs gateway.upstream and worker.model")
    shown: dict[str, Any] = {
        "worker": dataclasses.asdict(found) if found else None,
        "model": dataclasses.asdict(answered) if answered else None,
    }
    if given.suspension:
        stood = await suspension.show(given.dir, contract)
        tell(*stood.lines())
        shown["suspension"] = stood.data()
    return shown
