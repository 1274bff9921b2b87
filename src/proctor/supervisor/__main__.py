"""The supervisor process: takes the lock, runs the loop with the pulse beside it, and says how it ended."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from proctor.checkpoint.record import raw
from proctor.errors import ProctorError, Unrecoverable
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


async def supervise(workspace: Path, lock: process.Lock, options: Options) -> int:
    """Run one session to its end; the exit code of `run --headless`."""
    contract = preflight(workspace)
    s, desk = await startup.open_session(workspace, lock, contract, options)
    asyncio.get_running_loop().run_in_executor(None, act.load, briefing.model(s))
    beside = {asyncio.create_task(pulse(s, desk)), asyncio.create_task(watch(s))}
    beside |= {asyncio.create_task(watch_repositories(s)), asyncio.create_task(tidy(s))}
    beside |= {asyncio.create_task(auditor.beside(s))}
    looping = asyncio.create_task(loop.run(s, desk))
    stop = inbox.new_order("stop", s.state.session, s.journal.token, "SIGTERM", {})
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, s.interrupt, stop)
    trouble = ""
    try:
        done, _ = await asyncio.wait({*beside, looping}, return_when=asyncio.FIRST_COMPLETED)
        if looping not in done:
            looping.cancel()
            await asyncio.wait({looping})
            done.pop().result()
        ending = looping.result()
    except Fenced:
        raise
    except ProctorError as error:
        with contextlib.suppress(OSError):
            traceback.print_exc()
            print(f"proctor: {error}", file=sys.stderr)
        word = error.word if isinstance(error, Unrecoverable) else "workspace"
        ending, trouble = Ending(SessionStatus.FAILED, f"error:{word}"), str(error)
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        with contextlib.suppress(OSError):
            traceback.print_exc()
        trouble = f"a fault of proctor: {type(error).__name__}: {error}; see supervisor.log"
        ending = Ending(SessionStatus.FAILED, "error:disk" if full else FAULT)
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


async def end(s: Session, desk: Desk, ending: Ending, trouble: str) -> int:
    """The last rows: the log's entry, the status, one notice, the exit code."""
    if trouble:
        s.log("supervisor", trouble)
    s.paused = False
    desk.withdraw("the session has ended")
    s.rest(ending.status, ending.why)
    s.spend(force=True)
    report.ended(s, ending)
    why = f": {ending.why}" if ending.why else ""
    s.notice(f"{ending.status}{why}", ending.why or ending.status, "high")
    await s.notices_sent()
    if said := await s.sweeper.tidy(s.terms.contract.state.checkpoint.keep):
        s.log("retention", said)
    s.append(ev.SupervisorEnded(exit_code=ending.code))
    s.journal.snapshot()
    return ending.code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the detached process; its own words go to the supervisor's log."""
    parser = argparse.ArgumentParser(prog="proctor-supervisor")
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
            return asyncio.run(supervise(workspace, lock, options))
        return ExitCode.OPERATOR
    except ProctorError as error:
        with contextlib.suppress(OSError):
            print(f"proctor: {error}", file=sys.stderr)
        return error.exit_code
    except Exception:
        traceback.print_exc()
        return ExitCode.FAULT


if __name__ == "__main__":
    sys.exit(main())
