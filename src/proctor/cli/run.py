"""Starting a session, following it without a screen, and attaching a screen to it."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import stat
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.cli import order
from proctor.cli.read import POLL, asked, elsewhere, print_row, too_little
from proctor.errors import ProctorError, UsageError
from proctor.journal import checks
from proctor.journal.events import IterationEnded, Judged, Logged, RequestOpened, SupervisorEnded
from proctor.journal.state import State
from proctor.journal.store import Damaged, NoJournal
from proctor.supervisor.client import Client
from proctor.supervisor.launch import Launch, launch
from proctor.text import safe_line
from proctor.tui.terminal import on_terminal
from proctor.tui.wording import because, left_out, nothing_left
from proctor.units import counted, parse_duration
from proctor.words import ExitCode, IterationEnd, RequestKind, SessionStatus, TaskStatus, Verdict

if TYPE_CHECKING:
    from proctor.supervisor.toll import Toll

AT_ONCE = {
    RequestKind.EXTENSION: ExitCode.BUDGET,
    RequestKind.PLATEAU: ExitCode.PLATEAU,
    RequestKind.REVIEW: ExitCode.REQUEST_OPEN,
}
"""Requests that end a headless run at once: a person is needed, the supervisor stays up."""


def run(given: argparse.Namespace) -> int:
    """Start a session or go on with it."""
    return start(given.dir, given, flags(given))


def resume(given: argparse.Namespace) -> int:
    """Go on: thaw what is paused, or start again what was parked."""
    try:
        with Client(given.dir) as client:
            alive = client.alive()
    except NoJournal:
        raise UsageError(f"{given.dir}: no session to resume; `proctor run` starts one") from None
    except Damaged:
        alive = False  # the start says what follows
    if alive:
        return go_on(given.dir, given)
    return start(given.dir, given, [*flags(given), *(["--reset-plateau"] if given.reset_plateau else [])])


def attach(given: argparse.Namespace) -> int:
    """The screen of a session."""
    try:
        Client(given.dir).close()
    except NoJournal as error:
        raise UsageError(f"{error}{elsewhere()}") from None
    if not on_terminal():
        raise UsageError("attach: no terminal here; `proctor watch` prints one line per event")
    return screen(given.dir, given)


def flags(given: argparse.Namespace) -> list[str]:
    """The flags that the supervisor itself needs."""
    wanted = (("--once", given.once), ("--yes", given.yes), ("--no-audit", getattr(given, "no_audit", False)))
    return [flag for flag, on in wanted if on]


def go_on(workspace: Path, given: argparse.Namespace) -> int:
    """Have the supervisor that is up go on; follow it if `--headless` says so."""
    if given.once or given.yes:
        flag = "--once" if given.once else "--yes"
        raise UsageError(f"resume: {flag} is for a session that is started, and this one is up; leave it out")
    if not given.headless:
        return order.send(workspace, "resume", reset_plateau=given.reset_plateau)
    wait = waits(given)
    refuse_own_log(workspace)
    with Client(workspace) as client:
        before = client.state().seq
    told = sys.stderr if given.json else sys.stdout
    with contextlib.redirect_stdout(told):
        code = order.send(workspace, "resume", reset_plateau=given.reset_plateau)
    return code or follow(workspace, given, wait, before)


def start(workspace: Path, given: argparse.Namespace, arguments: list[str]) -> int:
    """Check, start the supervisor, then follow it: with a screen, or line by line."""
    wait = waits(given)
    refuse_own_log(workspace)
    started = launch(workspace, arguments)
    if not is_headless(given):
        return screen(workspace, given, started)
    started.wait()
    return follow(workspace, given, wait, started.before, started)


def waits(given: argparse.Namespace) -> float | None:
    """Seconds that a headless run waits for an answer, if it is told."""
    try:
        return parse_duration(given.wait) / 1000 if given.wait else None
    except ValueError as error:
        raise UsageError(f"--wait: {error}") from None


def follow(
    workspace: Path, given: argparse.Namespace, wait: float | None, after: int, started: Launch | None = None
) -> int:
    """Follow a session line by line from a row on, and say where it stands then; the reason's exit code."""
    with Client(workspace) as client:
        code = follow_to_end(client, started, after, as_json=given.json, wait=wait)
        if said := trouble(client):  # a worker's words, maybe, which have no place in the last line
            print(f"proctor: {said}", file=sys.stderr)
        print(last_line(client), file=sys.stderr)
        return code


def last_line(client: Client) -> str:
    """Where the session stands, and the command that comes next."""
    state = client.state()
    done = sum(task.status is TaskStatus.DONE for task in state.tasks)
    where = shlex.quote(str(client.workspace))
    following = f"`proctor resume {where}` goes on"
    if state.open_requests:
        request = state.open_requests[0]
        what = f"#{request.id} {safe_line(request.opened.what, 120)}"
        following = f"waits: {what}; `proctor approve {where} --id {request.id}`, or deny"
    elif state.status is SessionStatus.DONE:
        shown = f"`proctor diff {where}` shows what changed"
        following = "; ".join(filter(None, (shown, checks.hint(state, where))))
    elif trouble(client):
        following = f"see the line above; {following}, once that is mended"
    elif state.why == "disk":
        following = f"make room, then {following}"
    elif (state.why or "").startswith("budget:"):
        following = (
            f"`proctor extend {where} --dimension {(state.why or '')[7:]} --by N`, then `proctor resume {where}`"
        )
    elif (state.why or "").startswith("plateau:"):
        following = f"`proctor note {where} …`, then `proctor resume {where} --reset-plateau`"
    elif (state.why or "").startswith("plan_rot:"):
        following = f"revise the plan, then {following}"
    elif left := nothing_left(state):
        following = left
    verified = ", ".join((f"{done} of {counted(len(state.tasks), 'task')} verified", *left_out(state)))
    return f"proctor: {state.status}{too_little(state) or because(state.why)}; {verified}; {following}"


def trouble(client: Client) -> str:
    """What a session failed for, and where to look: the last that was said of it; "" where it did not fail."""
    said = ""
    if not (client.state().why or "").startswith("error:"):
        return said
    for row in client.rows(kinds=("logged", "iteration_ended", "judged")):
        match row.event:
            case Logged(room="supervisor", text=text):
                said = text
            case IterationEnded(how=IterationEnd.START_FAILED, detail=detail) if detail:
                said = f"the worker could not start: {detail}"
            case IterationEnded(detail=detail) if detail:
                said = detail
            case Judged(verdict=Verdict.INFRA, reason=reason, log=log):
                said = f"the check gives no verdict: {reason}" + (f"; see {log}" if log else "")
    return safe_line(said, 500)


def refuse_own_log(workspace: Path) -> None:
    """Output that goes to a file in the workspace would be taken for the work, and taken back with it."""
    for fd in (1, 2):
        if stat.S_ISREG(os.fstat(fd).st_mode):
            target = Path(os.readlink(f"/proc/self/fd/{fd}"))
            if target.is_relative_to(workspace):
                raise UsageError(f"{target}: the output would go into the workspace; send it somewhere else")


def is_headless(given: argparse.Namespace) -> bool:
    """Whether there is no screen: it was asked for, or there is no terminal."""
    return bool(given.headless) or not on_terminal()


def follow_to_end(client: Client, started: Launch | None, after: int, *, as_json: bool, wait: float | None) -> int:
    """Print events until the session ends or needs a person; the exit code. Ctrl-C stops the session."""
    try:
        return _follow(client, started, after, as_json=as_json, wait=wait)
    except KeyboardInterrupt:
        if client.alive():
            client.order("stop")
            return _follow(client, started, client.state().seq, as_json=as_json, wait=wait)
        return ExitCode.OPERATOR


def _follow(client: Client, started: Launch | None, after: int, *, as_json: bool, wait: float | None) -> int:
    seen = -1
    while True:
        version = client.version()
        if version != seen:
            seen = version
            for row in client.rows(after):
                after = row.seq
                print_row(row, as_json)
                if isinstance(row.event, RequestOpened) and not as_json:
                    print_question(client, row.event.id)
                if isinstance(row.event, SupervisorEnded):
                    client.wait_until_gone()
                    return row.event.exit_code
            sys.stdout.flush()
        code = needs_a_person(client.state(), wait)
        if code is not None:
            return code
        if not client.alive() and client.version() == seen:
            print("proctor: the supervisor is gone; `proctor run` goes on from here", file=sys.stderr)
            if started and (started.process.poll() or 0) > 0 and (failure := started.failure()):
                raise failure
            return ExitCode.FAULT
        time.sleep(POLL)


def print_question(client: Client, number: int) -> None:
    """Why a request that waits is asked, and the commands that answer it."""
    state = client.state()
    request = state.request(number)
    if request is None or request.outcome is not None:
        return
    why = [f"    {safe_line(request.opened.why, 300)}"] if request.opened.why else []
    print("\n".join((*why, *asked(request, client.workspace, state))))


def needs_a_person(state: State, wait: float | None) -> ExitCode | None:
    """The exit code of a headless run that cannot go on by itself; None while it can."""
    now = datetime.now(UTC)
    for request in state.open_requests:
        if request.opened.request in AT_ONCE:
            return AT_ONCE[request.opened.request]
        if wait is not None and (now - request.at).total_seconds() >= wait:
            return ExitCode.REQUEST_OPEN
    return None


def screen(workspace: Path, given: argparse.Namespace, started: Launch | None = None) -> int:
    """The screen, of a session whose supervisor is up or was just `started`; leaving it leaves the session as it is."""
    with started.unless_interrupted() if started else contextlib.nullcontext():
        from proctor.tui import app  # takes about as long to load as a supervisor to start

    quiet = ["--no-audit"] if getattr(given, "no_audit", False) else []

    def begin() -> None:
        with contextlib.suppress(NoJournal), Client(workspace) as client:
            if (client.state().why or "").startswith("plateau:"):
                launch(workspace, ["--reset-plateau", *quiet]).wait()
                return
        launch(workspace, quiet).wait()

    # What the contract's reader needs takes longer to load than the screen, and only these keys need it.
    def carry_out(verb: str, args: dict[str, object]) -> str:
        from proctor.supervisor import offline

        return offline.carry_out(workspace, verb, args)

    def diff() -> str:
        from proctor.supervisor import past

        return past.patch(workspace)

    def preview() -> Toll:
        from proctor.supervisor import offline

        return offline.preview(workspace)

    code = app.run(
        workspace,
        offline=carry_out,
        start=begin,
        diff=diff,
        preview=preview,
        started=started,
        theme=given.theme,
        mouse=not given.no_mouse,
    )
    with contextlib.suppress(ProctorError), Client(workspace) as client:
        if said := trouble(client):
            print(f"proctor: {said}", file=sys.stderr)
    return code
