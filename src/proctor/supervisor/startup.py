"""Opening a session: everything is checked before anything starts, and what an earlier run left is picked up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proctor.approvals.rules import Rules
from proctor.contract.model import Contract
from proctor.contract.problems import FILE
from proctor.doors.gateway.prices import Rates
from proctor.errors import UsageError, is_full
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.oracle.bench import WALLED
from proctor.oracle.frozen import Frozen
from proctor.sandbox.choose import choose
from proctor.sandbox.limits import Bounds
from proctor.supervisor import freezing, policies, process, publish, report
from proctor.supervisor.account import Account
from proctor.supervisor.covers import MOST_EXPOSED
from proctor.supervisor.desk import Desk
from proctor.supervisor.disk import Watch, release, spare
from proctor.supervisor.papers import Papers
from proctor.supervisor.session import Options, Session
from proctor.supervisor.store import opened
from proctor.supervisor.sweeping import Sweeper
from proctor.supervisor.terms import Terms
from proctor.supervisor.timeline import Timeline
from proctor.supervisor.tracking import Tracker
from proctor.supervisor.whereabouts import settle_in
from proctor.trees import remove_tree
from proctor.words import CallEnd, CheckpointKind, Dimension, ExitCode, SessionStatus, Source, TaskStatus
from proctor.workspace import files, tasks
from proctor.workspace.blast import Blast
from proctor.workspace.projection import Projection


async def open_session(
    workspace: Path, lock: process.Lock, contract: Contract, options: Options
) -> tuple[Session, Desk]:
    """Take over a workspace whose lock is held: journal, store, oracle, what was pending. Nothing runs yet."""
    folder = lock.path.parent
    process.own_folder(folder)
    remove_tree(folder / "doors")  # those of workers that a crash ended
    (folder / "doors").mkdir(mode=0o700)
    backend = Tracker(choose(contract.sandbox.kind))
    bounds = backend.selftest(policies.base(workspace, contract))
    journal = Journal(journal_path(folder))
    journal.hold(spare(folder))
    lock.name(journal.token)
    with _parked_where_full(journal, folder):
        plan = files.read_optional(workspace, contract.state.plan) or ""
        terms = Terms(contract, tasks.plan_revision(plan))
        revised = journal.state().contract not in ("", contract.hash)
        if revised and FILE in journal.state().exposed:
            what = "it was replaced while a worker ran, which could write it, and then proctor was killed"
            raise UsageError(f"{workspace / FILE}: {what}; look through it, save it anew, and take {folder} away")
        _announce(journal, workspace, terms, backend.name, bounds)
        if revised:
            _reopen(journal)
        session = _session(workspace, folder, terms, options, journal=journal, backend=backend)
        return session, await _pick_up(session)


@contextlib.contextmanager
def _parked_where_full(journal: Journal, folder: Path) -> Iterator[None]:
    """What fails here for want of room leaves a session that is parked for it."""
    try:
        yield
    except Exception as error:
        if is_full(error):
            release(folder)
            said = ev.Logged(text=str(error), room="disk")
            parked = ev.StatusChanged(status=SessionStatus.PARKED, why="disk")
            journal.append(said, parked, ev.SupervisorEnded(exit_code=ExitCode.UNRECOVERABLE))
        raise


def _session(
    workspace: Path, folder: Path, terms: Terms, options: Options, *, journal: Journal, backend: Tracker
) -> Session:
    contract, state = terms.contract, journal.state()
    names = contract.state
    store = opened(workspace, folder, names, backend.name)
    timeline = Timeline(journal, store, Papers(workspace, names).revisions)
    assert state.born is not None
    return Session(
        workspace=workspace,
        state_dir=folder,
        terms=terms,
        options=options,
        journal=journal,
        store=store,
        timeline=timeline,
        sweeper=Sweeper(journal, timeline, store, folder),
        backend=backend,
        frozen=Frozen.__new__(Frozen),
        account=Account(_used(journal), state.born, rates(contract), time.monotonic),
        executor=ThreadPoolExecutor(1, "judge"),
        projection=Projection(workspace, folder / "kept", names.tasks, names.plan, names.progress, names.rules),
        blast=_blast(journal),
        branch=publish.place(workspace, contract),
        disk=Watch(workspace, folder, contract.sandbox.limits.growth),
    )


async def _pick_up(s: Session) -> Desk:
    """Put right what an earlier run left, freeze the answer key, and have a checkpoint to go back to."""
    settle_in(s.journal, s.store, s.workspace)
    await s.timeline.resume()
    s.log("backend", s.backend.describe())
    settle_lost(s)
    state, walled = s.state, s.backend.name == WALLED
    if state.intent is not None:  # a worker was running when its supervisor died
        for line in s.projection.restore_logs() if walled else s.projection.restore():
            s.log("workspace", line)
        made = await asyncio.to_thread(freezing.made_meanwhile, s.workspace, s.state_dir, state) if walled else ()
        if made:
            s.append(ev.Exposed(iteration=state.iteration, paths=made[:MOST_EXPOSED]))
    if state.intent is None or walled:
        report.read_tasks(s)
    await freezing.freeze_anew(s, await freezing.edited(s))
    if not s.state.good:
        await s.timeline.checkpoint(CheckpointKind.START, at_once=True)
    elif said := await s.sweeper.tidy(s.terms.contract.state.checkpoint.keep):
        s.log("retention", said)
    rules = s.terms.contract.approvals
    desk = Desk(s, Rules(rules.allow, rules.ask, rules.deny, str(s.workspace), os.path.realpath))
    desk.take_orders()
    desk.withdraw("who asked is gone; what still matters is asked again")
    if s.options.reset_plateau:
        s.append(ev.PlateauReset(by="operator"))
    return desk


def settle_lost(s: Session) -> None:
    """Model calls that were in flight when a supervisor died: they cost what was reserved for them, for all we know."""
    state = s.state
    rows: list[ev.Event] = [
        ev.ModelCall(
            call=asked.call,
            iteration=asked.iteration,
            task=state.intent.task if state.intent else None,
            api=asked.api,
            model=asked.model,
            end=CallEnd.LOST,
            input=asked.prefix,
            output=asked.output,
            source=Source.ESTIMATED,
            micro=asked.micro,
            why="its supervisor died before its end was known",
        )
        for asked in state.calling.values()
    ]
    if state.limited is not None:
        rows.append(ev.ProviderLimited(upstream=state.limited.upstream, over=True))
    for row in rows:
        if isinstance(row, ev.ModelCall):
            s.account.meter(row)
    s.append(*rows)


def _announce(journal: Journal, workspace: Path, terms: Terms, sandbox: str, bounds: Bounds) -> None:
    contract = terms.contract
    rows: list[ev.Event] = []
    if not journal.state().session:
        rows.append(ev.SessionStarted(session=uuid.uuid4().hex[:12], workspace=str(workspace), goal=contract.goal))
    pid = os.getpid()
    given = contract.worker
    worker = given.model or given.agent or Path((given.command or (given.kind,))[0]).name
    rows.append(
        ev.SupervisorStarted(
            pid=pid,
            boot=process.boot_id(),
            started=process.start_time(pid) or 0,
            token=journal.token,
            sandbox=sandbox,
            worker=worker,
            bound=bounds.held,
            unbound=bounds.lacking,
        )
    )
    rows.append(
        ev.ContractLoaded(
            contract=contract.hash,
            plan=terms.plan,
            ceilings=terms.ceiling_facts(),
            alert=contract.budget.alert,
            soft=contract.budget.soft,
            drift=contract.progress.drift.windows,
        )
    )
    rows.append(ev.StatusChanged(status=SessionStatus.RUNNING))
    journal.append(*rows)


def _reopen(journal: Journal) -> None:
    """Tasks that a limit of the earlier contract set aside have a chance under the new one."""
    set_aside = (t for t in journal.state().tasks if t.status is TaskStatus.BLOCKED and t.why.startswith("budget:"))
    journal.append(*(ev.TaskMoved(task=task.id, status=TaskStatus.PENDING) for task in set_aside))


def _used(journal: Journal) -> dict[Dimension, ev.Figure]:
    """What was used so far: the rows, or the live row where it is ahead of them. Spend never falls."""
    used = dict(journal.state().used)
    for name, shown in journal.live("gauges").get("figures", {}).items():
        dimension = Dimension(name)
        if shown["used"] > used.get(dimension, ev.Figure(0)).used:
            used[dimension] = ev.Figure(shown["used"], Source(shown["source"]))
    return used


def _blast(journal: Journal) -> Blast:
    """The blast radius so far."""
    kept = journal.live("blast")
    return Blast(frozenset(kept.get("files", ())), kept.get("lines", 0), kept.get("bytes", 0))


def rates(contract: Contract) -> dict[str, Rates]:
    """The contract's own prices, by model."""
    return {
        name: Rates(price.input, price.output, price.cache_read, price.cache_write, price.cache_write_1h)
        for name, price in contract.gateway.prices.items()
    }
