"""The supervisor process: takes the lock, runs the loop with the pulse beside it, and says how it ended."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Set
from pathlib import Path

from proctor.checkpoint.record import raw
from proctor.contract.model import Contract
from proctor.errors import ProctorError, Unrecoverable, is_full
from proctor.journal import events as ev
from proctor.journal.store import Fenced
from proctor.repository import aside
from proctor.supervisor import act, auditor, briefing, inbox, judging, loop, process, report, startup
from proctor.supervisor.desk import Desk
from proctor.supervisor.ending import FAULT, Ending
from proctor.supervisor.preflight import preflight, state_dir
from proctor.supervisor.running import Running, is_later
from proctor.supervisor.session import Options, Session
from proctor.supervisor.watching import (
    count_output,
    flush_stream,
    show,
    watch_limits,
    watch_repositories,
    watch_signs,
)
from proctor.trees import sweep
from proctor.words import ExitCode, SessionStatus, Source
from proctor.workspace.tree import Touch
from proctor.workspace.watch import Watcher

FEED = 5
"""Changed paths of one moment that are named in the log."""
BEAT = 0.1
"""Seconds between looks at the inbox, the clocks and the budgets."""
TIDY_EVERY = 20.0
"""Seconds between looks at whether the store's packs have become many."""
SIGNS_EVERY = 20
"""Beats between looks at the worker's signs of life."""


async def pulse(s: Session, desk: Desk) -> None:
    """What goes on while the steps of the loop work or wait."""
    beats = 0
    while True:
        beats += 1
        desk.take_orders()
        await desk.do_chores()
        desk.expire()
        await count_output(s)
        s.check_budget()
        s.spend()
        show(s)
        flush_stream(s)
        watch_limits(s)
        if beats % SIGNS_EVERY == 0:
            watch_signs(s)
        await asyncio.sleep(BEAT)


async def tidy(s: Session) -> None:
    """Take away what killed supervisors left; then put the store's small packs together while nothing wants it."""
    await asyncio.to_thread(sweep)
    while True:
        await asyncio.sleep(TIDY_EVERY)
        try:
            await s.timeline.pack()
        except ProctorError as error:
            s.log_once("checkpoint", f"what is stored could not be packed: {error}")


async def watch(s: Session) -> None:
    """Follow the workspace: signs of life, the live blast radius, lines for the log. A hint, never the truth."""
    owned = {*s.terms.contract.state.owned}
    async with Watcher(s.workspace) as feed:
        s.timeline.touched.begin(lambda: feed.alive and not feed.behind)
        why = feed.reason
        async for group in feed:
            if feed.reason != why:
                why = feed.reason
                s.log("watch", f"the watcher is down, the folder is walked instead: {why}" if why else "watching again")
            touches = [touch for touch in group if touch.path not in owned]
            s.timeline.touched.add(touch.path for touch in touches)
            if s.running is not None:
                seen(s, s.running, touches)


def seen(s: Session, running: Running, touches: Iterable[Touch]) -> None:
    """What was touched since the worker was started; a rollback before it may be told only now."""
    since = [(touch, changed_at(s.workspace / touch.path)) for touch in touches]
    since = [(touch, changed) for touch, changed in since if is_later(changed, running.since)]
    if not since:
        return
    running.touched = True
    running.last_sign = time.monotonic()
    running.live.touch(t for t, _ in since if not aside.is_live(s.workspace, raw(t.path)))
    blast = running.live.upon(s.blast)
    s.account.blast(len(blast.files), blast.lines, blast.bytes, Source.ESTIMATED)
    stood = running.worker.running.stood_at
    still = {touch.path for touch, changed in since if changed is not None and stood(changed)}
    more = f" and {len(since) - FEED} more" if len(since) > FEED else ""
    for place, (touch, _) in enumerate(since[:FEED]):
        whose = " while the worker stood still" if touch.path in still else ""
        running.stream.add("watch", f"{touch.kind} {touch.path}{whose}{'' if place else more}")
    attribute(s, running, still, {touch.path for touch, _ in since} - still)
    s.check_budget()


def attribute(s: Session, running: Running, still: set[str], moving: set[str]) -> None:
    """Write down what changed while the worker stood still: that is the operator's."""
    newest = s.state.checkpoints[-1].id if s.state.checkpoints else ""
    if (row := running.hands.touched(still, moving, newest)) is not None:
        s.append(row)


def changed_at(path: Path) -> int | None:
    """When a file changed last, or one went from its folder (ns since the epoch); no program can say otherwise."""
    for place in (path, path.parent):
        with contextlib.suppress(OSError):
            return place.lstat().st_ctime_ns
    return None


async def supervise(workspace: Path, lock: process.Lock, contract: Contract, options: Options) -> int:
    """Run one session to its end; the exit code of `run --headless`."""
    s, desk = await startup.open_session(workspace, lock, contract, options)
    asyncio.get_running_loop().run_in_executor(None, act.load, briefing.model(s))
    others = (pulse(s, desk), watch(s), watch_repositories(s), tidy(s), auditor.beside(s))
    beside = {asyncio.create_task(one) for one in others}
    looping = asyncio.create_task(loop.run(s, desk))
    stop = inbox.new_order("stop", s.state.session, s.journal.token, "SIGTERM", {})
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, s.interrupt, stop)
    trouble = ""
    try:
        ending = await first_to_end(looping, beside)
    except Fenced:
        raise
    except Exception as error:
        ending, trouble = broken(error)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        s.backend.kill_all()
        s.executor.shutdown()
        short = bool(trouble) and s.disk.short()  # whatever broke, it broke for want of room
        judging.clear(s)
        s.disk.release()
    if short:
        ending, trouble = Ending(SessionStatus.PARKED, "disk"), f"{trouble}: {s.disk.said}"
        s.notice(s.disk.said, "disk", "high")
    return await end(s, desk, ending, trouble)


async def first_to_end(looping: asyncio.Task[Ending], beside: Set[asyncio.Task[None]]) -> Ending:
    """The end that the loop comes to. Raises what breaks it, or what runs beside it."""
    done, _ = await asyncio.wait({*beside, looping}, return_when=asyncio.FIRST_COMPLETED)
    if looping not in done:
        looping.cancel()
        await asyncio.wait({looping})
        done.pop().result()
    return looping.result()


def broken(error: Exception) -> tuple[Ending, str]:
    """How a session ends that something broke, and what is said of it."""
    with contextlib.suppress(OSError):
        traceback.print_exception(error)
        if isinstance(error, ProctorError):
            print(f"proctor: {error}", file=sys.stderr)
    if is_full(error):
        return Ending(SessionStatus.PARKED, "disk"), str(error)
    if isinstance(error, ProctorError):
        word = error.word if isinstance(error, Unrecoverable) else "workspace"
        return Ending(SessionStatus.FAILED, f"error:{word}"), str(error)
    said = f"a fault of proctor: {type(error).__name__}: {error}; see supervisor.log"
    return Ending(SessionStatus.FAILED, FAULT), said


async def end(s: Session, desk: Desk, ending: Ending, trouble: str) -> int:
    """The last rows: the log's entry, the status, one notice, the exit code."""
    if trouble:
        s.log("supervisor", trouble)
    s.paused = False
    desk.withdraw("the session has ended")
    s.rest(ending.status, ending.why)
    s.spend(force=True)
    try:
        report.ended(s, ending)
    except (OSError, Unrecoverable) as error:
        s.log("workspace", f"its last entry is not in the log: {error}")
    why = f": {ending.why}" if ending.why else ""
    s.notice(f"{ending.status}{why}", ending.why or ending.status, "high")
    await s.notices_sent()
    if said := await s.sweeper.tidy(s.terms.contract.state.checkpoint.keep):
        s.log("retention", said)
    s.append(ev.SupervisorEnded(exit_code=ending.code))
    s.journal.snapshot()
    if ending.why != "disk":  # who opens a closed journal needs room to read it
        s.journal.close()
    return ending.code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the detached process; its own words go to the supervisor's log."""
    parser = argparse.ArgumentParser(prog="proctor-supervisor", allow_abbrev=False)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--reset-plateau", action="store_true")
    parser.add_argument("--thawed", action="store_true")
    parser.add_argument("--no-audit", action="store_true")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    process.keep_to_itself()
    options = Options(given.once, given.yes, given.reset_plateau, audit=not given.no_audit, thawed=given.thawed)
    workspace = given.workspace.resolve()
    try:
        contract = preflight(workspace)
        with process.Lock(state_dir(workspace, contract)) as lock, contextlib.suppress(KeyboardInterrupt):
            return asyncio.run(supervise(workspace, lock, contract, options))
        return ExitCode.OPERATOR
    except ProctorError as error:
        with contextlib.suppress(OSError):
            print(f"proctor: {error}", file=sys.stderr)
        return error.exit_code
    except Exception as error:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return ExitCode.UNRECOVERABLE if is_full(error) else ExitCode.FAULT


if __name__ == "__main__":
    sys.exit(main())
