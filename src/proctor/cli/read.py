"""Verbs that only read: they import neither textual nor pydantic nor yaml."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import ProctorError, UsageError
from proctor.journal import findings
from proctor.journal.events import Row, Suspected, Tampered, kind_of
from proctor.journal.state import RequestState, State, TaskState
from proctor.journal.store import NoJournal
from proctor.supervisor import sessions
from proctor.supervisor.client import Client
from proctor.supervisor.process import check_workspace
from proctor.supervisor.status import status_of
from proctor.text import safe_block, safe_line
from proctor.units import counted, format_amount
from proctor.words import DROPPED, OWN_TESTS, Dimension, ExitCode, Level, SessionStatus, TaskStatus

POLL = 0.1
NEWEST = 20
"""Workspaces that are looked at for a session that is up."""
MOST_PARTS = 12
"""Pieces of one request that are listed."""
_RENAMED = "renamed: your git would have obeyed it"
_CAREFUL = "careful: your tools run these by themselves; look before you open the folder"


def too_little(state: State) -> str:
    """Why a session rests whose ceiling is not reached: what is left of it is too little; "" for any other."""
    kind, _, word = (state.why or "").partition(":")
    if kind != "budget" or word not in set(Dimension) or word in state.raised:
        return ""
    dimension = Dimension(word)
    figure, limit = state.used.get(dimension), state.limit(dimension)
    if figure is None or limit is None or figure.used >= limit:
        return ""
    from proctor.tui.format import LABEL

    spent = f"{format_amount(dimension, figure.used)} of {format_amount(dimension, limit)} used"
    return f": {LABEL[dimension]} {spent}, too little left to go on"


def status(given: argparse.Namespace) -> int:
    """Where the session stands."""
    try:
        with Client(given.dir) as client:
            state, gauges, alive = client.state(), client.live("gauges"), client.alive()
            seen = [row.event for row in client.rows(0, findings.KINDS)]
    except NoJournal:
        must_be_a_project(given.dir)
        state, gauges, alive, seen = State(workspace=str(given.dir)), {}, False, []
    found = status_of(state, gauges, alive)
    if given.json:
        return print_json(found)
    from proctor.tui.wording import because, nothing_left, seen_by

    where = f"{safe_line(found['workspace'])}   iteration {found['iteration']}   {found['sandbox']}"
    print(f"{found['status']}{too_little(state) or because(found['why'])}   {where}")
    for task in state.tasks:
        print("\n".join(_task(task)))
    if state.session and not alive and state.status is not SessionStatus.DONE and (left := nothing_left(state)):
        print(f"  {left}")
    for name, figure in found["budget"].items():
        dimension = Dimension(name)
        limit = f" of {format_amount(dimension, figure['limit'])}" if figure["limit"] is not None else ""
        level = "" if figure["level"] == Level.OK else f"  {figure['level'].upper()}"
        source = "" if figure["source"] == "measured" else f"  {figure['source']}"
        used = "?" if figure["source"] == "unknown" else format_amount(dimension, figure["used"])
        print(f"  {name:16} {used}{limit}{level}{source}")
    for request in found["requests"]:
        print(f"  waits: #{request['id']} {safe_line(request['what'], 100)}")
    plateau = found["plateau"]
    if plateau["state"] != "quiet":
        said = safe_line("; ".join(plateau["evidence"]))
        print(f"  plateau {plateau['state']}: {seen_by(plateau['rule'] or '')}: {said}")
        if plateau["advice"]:
            print(f"    {safe_line(plateau['advice'])}")
    _drift(found["drift"])
    _tampering(state, [event for event in seen if isinstance(event, findings.Found)])
    for paths, said in ((found["quarantined"], _RENAMED), (found["autorun"], _CAREFUL)):
        if paths:
            print(f"  {said}")
            for path in paths:
                print(f"       {safe_line(path, 4096)}")
    if found["session"] is None:
        print("  no session yet: begin with `proctor run`")
    return ExitCode.DONE


def must_be_a_project(workspace: Path) -> None:
    """Raises UsageError for a folder with neither a session nor a contract."""
    check_workspace(workspace)
    if not (workspace / "proctor.yaml").exists():
        raise UsageError(f"{workspace}: no session and no contract here; `proctor init` writes one{elsewhere()}")


def elsewhere() -> str:
    """Which sessions are up, to follow what is said of a folder that has none; "" where none is."""
    found = []
    for workspace in sessions.known()[:NEWEST]:
        with contextlib.suppress(ProctorError, OSError), Client(workspace) as client:
            found += [shlex.quote(safe_line(str(workspace), 4096))] if client.alive() else []
    more = f" (and {len(found) - 1} more: `proctor list`)" if len(found) > 1 else ""
    return f"; a session is up elsewhere: `proctor attach {found[0]}`{more}" if found else ""


def _task(task: TaskState) -> Iterator[str]:
    """Where a task stands, and why it is not done, with where to read on."""
    from proctor.tui.wording import reason, stands

    claim = f"   claimed {safe_line(task.claim, 40)}" if task.claim else ""
    yield f"  {task.id!s:>4} {stands(task):10} {safe_line(task.task, 60):60}{claim}".rstrip()
    why = reason(task.why) if task.why else task.last.reason if task.last else ""
    if (task.status is not TaskStatus.DONE and why not in ("", DROPPED)) or OWN_TESTS in why:
        log = f" ({safe_line(task.last.log, 200)})" if task.last and task.last.log else ""
        yield f"       {safe_line(why, 200)}{log}"


def _drift(found: dict[str, Any]) -> None:
    """The lights that are lit; `proctor drift` has all."""
    for name, one in found["lights"].items():
        if one["light"] != "quiet":
            print(f"  drift: {name.replace('_', ' ')} {one['light']}: {safe_line(one['why'], 300)}")


def _tampering(state: State, seen: list[findings.Found]) -> None:
    """How often, and all that was found, the newest first, each change with its lines once."""
    of_kinds = ((Tampered, state.tampered, "tampering"), (Suspected, state.suspected, "suspicious changes"))
    for kind, count, said in of_kinds:
        told = findings.told(state, [event for event in seen if isinstance(event, kind)])
        if count:
            print(f"  {said} in {counted(count, 'iteration')}, {counted(len(told), 'different change')}:")
        for one in told:
            print(f"       {safe_line(one.where, 400)}")
            for line in safe_block(one.hunk, lines=12, limit=160).splitlines():
                print(f"         {line}")


def list_sessions(given: argparse.Namespace) -> int:
    """The sessions that were started on this machine, as far as they can be found."""
    found = []
    for workspace in sessions.known():
        try:
            with Client(workspace) as client:
                state = client.state()
                found.append(
                    {"workspace": str(workspace), "status": state.status, "why": state.why, "alive": client.alive()}
                )
        except (NoJournal, OSError):
            continue
    if given.json:
        return print_json(found)
    from proctor.tui.wording import because

    for one in found:
        why = f"  ({because(str(one['why'])).lstrip(': ')})" if one["why"] else ""
        print(f"{one['status']:12} {safe_line(str(one['workspace']), 200)}{why}")
    if not found:
        print("no sessions; start one with `proctor run` in a project, or try `proctor demo`")
    return ExitCode.DONE


def approvals(given: argparse.Namespace) -> int:
    """What waits for the operator, and what is asked later."""
    from proctor.tui.wording import ASKED_LATER, reason

    with Client(given.dir) as client:
        state = client.state()
    waiting = state.open_requests
    if given.json:
        return print_json([msgspec.to_builtins(request) for request in waiting])
    for one in waiting:
        print(f"#{one.id}  {safe_line(one.opened.what, 200)}  {safe_line(one.opened.why, 200)}".rstrip())
        for line in asked(one, given.dir, state):
            print(line)
    if not waiting:
        print("nothing waits for you")
        for task in (one for one in state.tasks if one.status is TaskStatus.REVIEW):
            print(f"  task {safe_line(str(task.id), 20)} needs you, {ASKED_LATER}: {safe_line(reason(task.why), 200)}")
    return ExitCode.DONE


def asked(request: RequestState, workspace: Path, state: State) -> Iterator[str]:
    """What goes below a request, in lines: what it is about, by whom it is asked, what it comes to, and the commands
    that answer it."""
    from proctor.approvals.requests import parts

    opened = request.opened
    if not opened.tool and (task := state.task(opened.task)):
        yield f"    task {safe_line(str(task.id), 20)} is: {safe_line(task.task, 200)}"
    if isinstance(hunk := opened.input.get("hunk"), str) and not opened.tool:
        yield from (f"    {line}" for line in safe_block(hunk, lines=20, limit=160).splitlines())
    if opened.agent:
        yield f"    asked by the sub-agent {safe_line(opened.agent, 100)}"
    found = parts(opened.tool, opened.input) if opened.tool else ()
    for part in found[:MOST_PARTS] if len(found) > 1 else ():
        yield f"    - {safe_line(part, 200)}"
    if len(found) > MOST_PARTS:
        yield f"    and {len(found) - MOST_PARTS:,} more; all of it: proctor approvals --json"
    where = "" if workspace == Path.cwd() else f"{shlex.quote(str(workspace))} "
    yield f"    proctor approve {where}--id {request.id}   or   proctor deny {where}--id {request.id} --reason …"


def watch(given: argparse.Namespace) -> int:
    """One line per event: those there are, then those that come."""
    with Client(given.dir) as client:
        follow(client, after=0, as_json=given.json, stop=lambda state: given.no_follow or resting(state, client))
    return ExitCode.DONE


def resting(state: State, client: Client) -> bool:
    """Whether nothing more will be written until somebody starts the session again."""
    return not client.alive() and state.status is not SessionStatus.RUNNING


def follow(client: Client, after: int, as_json: bool, stop: Any) -> int:
    """Print rows from `after` on until `stop(state)` is true; the last row printed."""
    seen = -1
    while True:
        version = client.version()
        if version != seen:
            seen = version
            for row in client.rows(after):
                print_row(row, as_json)
                after = row.seq
            sys.stdout.flush()
        if stop(client.state()) and client.version() == seen:
            return after
        time.sleep(POLL)


def print_row(row: Row, as_json: bool) -> None:
    """One row as one line."""
    if as_json:
        fact = {"seq": row.seq, "at": row.at, "kind": kind_of(row.event), **dict(msgspec.to_builtins(row.event))}
        print(json.dumps(msgspec.to_builtins(fact)))
        return
    from proctor.tui.rows import from_row

    entry = from_row(row)
    if entry is not None:
        print(f"{row.at.astimezone():%H:%M:%S}  {entry.word:8} {entry.text}")


def show(text: str) -> None:
    """Print a patch: as it is into a file or a pipe, made safe on a terminal."""
    print(safe_block(text, lines=100_000) if sys.stdout.isatty() else text.rstrip("\n"))


def print_json(data: object) -> int:
    """Print data, and be done."""
    print(json.dumps(msgspec.to_builtins(data), indent=2, ensure_ascii=True))
    return ExitCode.DONE
