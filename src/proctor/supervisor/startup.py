"""Opening a session: everything is checked before anything starts, and what an earlier run left is picked up."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proctor.approvals.rules import Rules
from proctor.contract.model import Contract
from proctor.contract.problems import FILE
from proctor.doors.gateway.prices import Rates
from proctor.errors import UsageError
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
from proctor.supervisor.disk import Watch
from proctor.supervisor.papers import Papers
from proctor.supervisor.session import Options, Session
from proctor.supervisor.store import opened
from proctor.supervisor.sweeping import Sweeper
from proctor.supervisor.terms import Terms
from proctor.supervisor.timeline import Timeline
from proctor.supervisor.tracking import Tracker
from proctor.supervisor.whereabouts import settle_in
from proctor.trees import remove_tree
from proctor.words import CallEnd, CheckpointKind, Dimension, SessionStatus, Source, TaskStatus
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
    lock.name(journal.token)
    plan = files.read_optional(workspace, contract.state.plan) or ""
    terms = Terms(contract, tasks.plan_revision(plan))
    revised = journal.state().contract not in ("", contract.hash)
    if revised and FILE in journal.state().exposed:
        what = "it was replaced while a worker ran, which could write it, and then proctor was killed"
        raise UsageError(f"{workspace / FILE}: {what}; look through it, save it anew, and take {folder} away")
    _announce(journal, workspace, terms, backend.name, bounds)
    if revised:
        _reopen(journal)
    store = opened(workspace, folder, contract.state, backend.name)
    settle_in(journal, store, workspace)
    timeline = Timeline(journal, store, Papers(workspace, contract.state).revisions)
    await timeline.resume()
    names = contract.state
    projection = Projection(workspace, folder / "kept", names.tasks, names.plan, names.progress, names.rules)
    state = journal.state()
    assert state.born is not None
    session = Session(
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
        projection=projection,
        blast=_blast(journal),
        branch=publish.place(workspace, contract),
        disk=Watch(workspace, folder, contract.sandbox.limits.growth),
    )
    session.log("backend", backend.describe())
    settle_lost(session)
    if state.intent is not None:  # a worker was running when its supervisor died
        walled = backend.name == WALLED
        for line in projection.restore_logs() if walled else projection.restore():
            session.log("workspace", line)
        made = await asyncio.to_thread(freezing.made_meanwhile, workspace, folder, state) if walled else ()
        if made:
            session.append(ev.Exposed(iteration=state.iteration, paths=made[:MOST_EXPOSED]))
    if state.intent is None or backend.name == WALLED:
        report.read_tasks(session)
    await freezing.freeze_anew(session, await freezing.edited(session))
    if not session.state.good:
        await timeline.checkpoint(CheckpointKind.START, at_once=True)
    elif said := await session.sweeper.tidy(names.checkpoint.keep):
        session.log("retention", said)
    rules = contract.approvals
    desk = Desk(session, Rules(rules.allow, rules.ask, rules.deny, str(workspace), os.path.realpath))
    desk.take_orders()
    desk.withdraw("who asked is gone; what still matters is asked again")
    if options.reset_plateau:
        session.append(ev.PlateauReset(by="operator"))
    return session, desk


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
