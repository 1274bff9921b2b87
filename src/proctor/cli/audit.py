"""Whether the checks catch incomplete work: measured, or what the supervisor has measured so far."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from proctor.cli.read import print_json
from proctor.errors import UsageError
from proctor.journal import checks
from proctor.supervisor.client import Client
from proctor.text import safe_line
from proctor.units import counted, parse_duration
from proctor.words import STANDS, ExitCode, TaskStatus

MOST = 20
"""Places of one task that are named; `--json` has more."""


def audit(given: argparse.Namespace) -> int:
    """Measure, unless a supervisor does it beside its loop; then say what is known."""
    try:
        seconds = None if given.for_ is None else parse_duration(given.for_) / 1000
    except ValueError as error:
        raise UsageError(f"audit: --for: {error}") from None
    with Client(given.dir) as client:
        alive = client.alive()
    if not alive and not given.known:
        _measure(given, seconds)
    with Client(given.dir) as client:
        found = checks.report(client.state())
    if given.json:
        return print_json(found)
    print("\n".join(lines(found)))
    if alive:
        print("a supervisor is up: it measures in idle time, and this is what it has found so far")
    return ExitCode.DONE


def _measure(given: argparse.Namespace, seconds: float | None) -> None:
    """Measure here; an interrupt ends that, and what was found stays."""
    from proctor.journal.events import Audited
    from proctor.supervisor.auditor import offline

    def said(row: Audited) -> None:
        if sys.stderr.isatty():
            print(f"task {row.task}: {row.measured:,} of {row.parts:,} parts tried", end="\r", file=sys.stderr)

    try:
        offline(given.dir.resolve(), seconds, said)
    except KeyboardInterrupt:
        print("proctor: ended; `proctor audit` goes on from here", file=sys.stderr)


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The report as a table, with the places below each task."""

    total = found["caught"]
    yield (
        "checks unmeasured"
        if total is None
        else f"checks catch {checks.percent(total)} of what is taken out of verified work"
    )
    for task in found["tasks"]:
        tried = f"{task['measured']:,} of {task['parts']:,} tried" if task["parts"] else ""
        share = checks.percent(task["caught"])
        row = f"  {task['id']!s:>4} {STANDS[TaskStatus(task['status'])]:9} {safe_line(task['task'], 38):38} {share:>5}"
        yield f"{row}  {tried}".rstrip()
        yield from (f"         {remark}" for remark in remarks(task))
        for place in task["unverified"][:MOST]:
            yield f"         {where(place)}  {safe_line(place['why'], 200)}"
        more = len(task["unverified"]) - MOST + task["unverified_more"]
        if more > 0:
            yield f"         and {counted(more, 'place')} more"


def remarks(task: dict[str, Any]) -> list[str]:
    """What else is to be said of a task's check."""
    said = ["flaky"] if task["flaky"] else []
    said += ["passes before the work: it proves nothing"] if task["vacuous"] else []
    return said + ([safe_line(task["why"], 200)] if task["why"] else [])


def where(place: dict[str, Any]) -> str:
    """`file:first-last`."""
    first, last = place["lines"]
    at = f":{first}-{last}" if last > first else f":{first}" if first else ""
    return f"{safe_line(place['file'], 300)}{at}"
