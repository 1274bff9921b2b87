"""The audit of the checks as a process: beside the loop while a supervisor is up, or by itself where none is.

Beside the loop it is a process of its own with nothing but idle time, and so is all that it starts: what the loop
judges never waits for it, and the supervisor's sandboxes are not its own. Its words are the rows that are to be
written, a line each; it ends with its supervisor, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.contract.problems import FILE
from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.journal.store import Journal, Reader, journal_path
from proctor.sandbox import kill
from proctor.sandbox.choose import choose
from proctor.sandbox.running import Running
from proctor.supervisor import process
from proctor.supervisor.auditing import BENCH, FOLDER, Auditor, Results, contradicted, is_verified
from proctor.supervisor.session import Session
from proctor.supervisor.tracking import Wrapped
from proctor.text import safe_line
from proctor.trees import remove_tree, scratch_folder

LOOK_EVERY = 1.0
"""Seconds between looks at whether there is something to measure."""
TRIES = 3
"""Times that it is started for the same tasks, where it is killed."""
GROUPED = 1.0
"""Seconds in which a sandbox's command is there."""
HANDOVER = 60.0
"""Seconds that the process of a killed supervisor has to end; with nothing but idle time that takes a while."""
PATIENCE = 5.0
"""Seconds that what it ran has to be gone."""
LONGEST = 1 << 20
"""Bytes of a row."""
FULL_BUDGET = 10 * 60.0
"""Seconds, where the contract says `never` and a person asks all the same."""
_DEATH = 1
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IDLE_CLASS = 3 << 13


class Idle(Wrapped):
    """A backend whose commands run when nothing else wants the processor. They inherit that, but for the scheduling
    group of their session, where the kernel makes such groups: each session's gets an equal share."""

    def _launched(self, running: Running) -> None:
        until = time.monotonic() + GROUPED
        while running.poll() is None and not _last(running.members()) and time.monotonic() < until:
            time.sleep(0.002)


def _last(pids: Sequence[int]) -> bool:
    """Have the scheduling groups of these processes go behind all others; whether there were any, and it was done."""
    for pid in pids:
        try:
            Path(f"/proc/{pid}/autogroup").write_text("19")
        except BlockingIOError:  # the kernel takes so many a second
            return False
        except OSError:  # it has ended, or the kernel makes no groups
            continue
    return bool(pids)


def be_idle() -> None:
    """Have this process, and all that it will start, run only when nothing else wants the processor or the disk."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")
    if (call := _IOPRIO_SET.get(platform.machine())) is not None:
        ctypes.CDLL(None).syscall(call, 1, 0, _IDLE_CLASS)


# --- beside the loop ------------------------------------------------------------------------------


async def beside(s: Session) -> None:
    """Measure each task that is verified, for as long as the session lasts. Never ends by itself."""
    measured: object = None
    code = 0
    await asyncio.to_thread(remove_tree, s.state_dir / FOLDER / BENCH)  # what a killed one left
    while True:
        await asyncio.sleep(LOOK_EVERY)
        done = {(task.id, task.checkpoint or "") for task in s.state.tasks if is_verified(task)}
        wanted = s.options.audit and s.terms.contract.progress.audit and not s.disk.said
        told = {(one.task, one.checkpoint) for one in s.state.audited}
        missed = code == 0 and not done <= told  # a rollback, and its undo, may have come while it ran
        if wanted and done and (done != measured or missed):
            measured, code = done, await _tried(s)


async def _tried(s: Session) -> int:
    """Run the process, anew where it is killed; the exit code of the last, 1 where there was none."""
    code = 1
    try:
        for _ in range(TRIES):
            if (code := await _measure(s)) >= 0:
                return code
        _failed(s, f"its process was killed {TRIES} times")
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        _failed(s, str(error))
    return code


def _failed(s: Session, why: str) -> None:
    goes_on = "; the session goes on with the contract that it began with" if FILE in why else ""
    s.log_once("audit", f"the checks could not be measured: {safe_line(why, 300)}{goes_on}")


async def _measure(s: Session) -> int:
    """Run the process and write its rows; whatever ends this ends it, and takes its copies away. Its exit code, below 0
    if it was killed."""
    with scratch_folder("proctor-audit-") as scratch:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "proctor.supervisor.auditor", str(s.workspace), str(os.getpid()), str(scratch)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LONGEST,
            cwd="/",
        )
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            while line := await child.stdout.readline():
                take(s.append, s.state, msgspec.json.decode(line, type=ev.Audited))
            said = (await child.stderr.read(LONGEST)).decode("utf-8", "replace").strip().splitlines()
            if await child.wait() > 0:
                _failed(s, said[-1] if said else f"exit code {child.returncode}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()  # with nothing but idle time it could take long to end by itself
            await child.wait()
            await asyncio.to_thread(_end_checks)
            await asyncio.to_thread(remove_tree, s.state_dir / FOLDER / BENCH)
        return child.returncode or 0


def _end_checks() -> None:
    """What it ran dies with it; on a busy machine that takes a moment."""
    until = time.monotonic() + PATIENCE
    while kill.end_orphans() and time.monotonic() < until:
        time.sleep(0.01)


def take(append: Callable[[ev.Audited], object], state: State, row: ev.Audited) -> None:
    """Write a row where it says something new."""
    known = next((one for one in state.audited if one.task == row.task), None)
    if known != row:
        append(row)


def main(arguments: list[str]) -> int:
    """The process beside the loop: `WORKSPACE PID SCRATCH`, of the supervisor that it belongs to, and of its copies."""
    workspace, supervisor, tempfile.tempdir = Path(arguments[0]), int(arguments[1]), arguments[2]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ctypes.CDLL(None).prctl(_DEATH, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != supervisor:
        return 0
    be_idle()
    process.keep_to_itself()

    def said(row: ev.Audited) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")
        sys.stdout.buffer.flush()

    try:
        contract = load(workspace)
        with contextlib.suppress(BrokenPipeError):
            measure(workspace, contract, None, said, idle=True)
    except ProctorError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        remove_tree(tempfile.tempdir)  # where the supervisor is gone, nobody else does
    return 0


# --- where no supervisor is up --------------------------------------------------------------------


def offline(workspace: Path, seconds: float | None, said: Callable[[ev.Audited], None]) -> None:
    """Take the workspace's lock, measure for so long (as the contract says if None), and write the rows."""
    contract = load(workspace)
    with process.Lock(process.state_dir_of(workspace)) as lock:
        journal = Journal(journal_path(lock.path.parent))
        lock.name(journal.token)

        def row(one: ev.Audited) -> None:
            take(journal.append, journal.state(), one)
            said(one)

        try:
            budget = (contract.progress.audit or FULL_BUDGET * 1000) / 1000
            measure(workspace, contract, budget if seconds is None else seconds, row, idle=False)
        finally:
            journal.close()


def measure(
    workspace: Path, contract: Contract, seconds: float | None, said: Callable[[ev.Audited], None], *, idle: bool
) -> None:
    """Measure what is not measured yet, for so long; with None for what is left of the contract's time."""
    folder = process.state_dir_of(workspace)
    with Reader(journal_path(folder)) as reader:
        state = reader.state()
        unsteady = contradicted(reader.rows(kinds=("judged",)))
    if contract.hash != state.contract:  # a worker may have written it, and it says what walls there are
        raise UsageError(f"{workspace / FILE}: it is not what the session ran by; `proctor run` takes it in first")
    results = Results(folder / FOLDER, HANDOVER if idle else 0.0)
    try:
        backend = choose(contract.sandbox.kind)
        auditor = Auditor(
            workspace, folder, contract, state, Idle(backend) if idle else backend, results, said, unsteady
        )
        left = (contract.progress.audit or 0) / 1000 - results.seconds
        auditor.run(left if seconds is None else seconds)
    finally:
        results.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
