"""The frozen set of a session: taken when it is opened, and anew where only the operator can have changed something."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

from proctor.journal.state import State
from proctor.oracle import tamper
from proctor.oracle.bench import WALLED
from proctor.oracle.freeze import Frozen, freeze, load_frozen
from proctor.oracle.frozen import is_within
from proctor.oracle.toolchains import discovery, owners
from proctor.supervisor import revising
from proctor.supervisor.session import Session
from proctor.supervisor.terms import owned


async def freeze_anew(s: Session, mine: Collection[str] = ()) -> None:
    """Put a frozen set in force, and record what of it the operator changed since the last one.

    It is what stands in the protected paths, which only the operator can have changed since, and in the paths that are
    known to be `mine`, the operator's. Files that a runner would pick up and that no path protects may else be a
    worker's, and so may be those of paths that were exposed to one: of these it is what was frozen before the work.
    """

    def frozen() -> tuple[Frozen | None, Frozen]:
        earlier = _earlier(s.state_dir, s.state)
        if earlier is not None and s.backend.name != WALLED:
            return earlier, earlier
        return earlier, _present(s, earlier, s.state.exposed, mine)

    before, s.frozen = await asyncio.to_thread(frozen)
    revising.oracle(s, before)


async def edited(s: Session) -> frozenset[str]:
    """The paths that nobody but the operator can have changed since the tree was last seen: no worker ran."""
    if not s.state.oracle or s.state.intent is not None:  # the last worker may have written after the last look
        return frozenset()
    seen, present = await s.timeline.seen(), await s.timeline.present()
    if not seen or present.tree == s.state.tree:
        return frozenset()
    changes = await asyncio.to_thread(s.store.diff, seen, present.tree, ignored=True)
    return frozenset(change.path for change in changes)


async def adopt(s: Session) -> None:
    """Take what the operator changed between two workers for his, also where checks rest on it."""
    seen = await s.timeline.seen()
    taken = await s.timeline.adopt()
    if taken is None or not seen:
        return
    changes = await asyncio.to_thread(s.store.diff, seen, taken.commit, ignored=True)
    await take_over(s, frozenset(change.path for change in changes))


async def take_over(s: Session, mine: Collection[str]) -> None:
    """Let what the operator alone changed be what is frozen, where checks rest on it."""
    if any(_counts(s.frozen, path) for path in mine):
        await freeze_anew(s, mine)


def exposed(s: Session) -> tuple[str, ...]:
    """The paths exposed to a worker that are not, for all that is known, as they were frozen before."""
    paths = s.state.exposed
    if not paths:
        return ()
    frozen = _present(s)
    return tuple(path for path in paths if not s.frozen.protects(path) or _differ(s.frozen, frozen, path))


def made_meanwhile(workspace: Path, state_dir: Path, state: State) -> tuple[str, ...]:
    """Protected paths of which nothing was frozen and that are there: a worker may have made them."""
    frozen = _earlier(state_dir, state)
    roots = frozen.roots if frozen else ()
    gone = (root for root in roots if frozen and not any(is_within(item.path, (root,)) for item in frozen.items))
    return tuple(root for root in gone if os.path.lexists(workspace / root))


def _counts(frozen: Frozen, path: str) -> bool:
    if path in frozen.by_path or frozen.protects(path) or frozen.awaits(path):
        return True
    return discovery.is_discovery(path) or tamper.is_in_the_way(path, frozen)


def _earlier(state_dir: Path, state: State) -> Frozen | None:
    return load_frozen(state_dir / "oracle", state.oracle) if state.oracle else None


def _present(
    s: Session, earlier: Frozen | None = None, held: tuple[str, ...] = (), mine: Collection[str] = ()
) -> Frozen:
    """What is frozen of the workspace as it is, upon an earlier set if there is one."""
    checks, smoke = [check for task in s.state.tasks for check in task.checks], s.terms.smoke_checks()
    checks += s.terms.final_checks()
    work = owners.of_work(checks, smoke)
    checks += smoke
    runs, named = [check.run for check in checks], [path for check in checks for path in check.files.values()]
    ours = {*owned(s.terms.contract.state), *s.terms.lists()}
    named += [task.spec for task in s.state.tasks if task.spec and task.spec not in ours]
    state = s.terms.contract.state
    ignored = s.store.list_ignored()
    place = s.state_dir / "oracle"
    return freeze(
        s.workspace,
        place,
        state.protect,
        runs,
        ignored,
        named=named,
        earlier=earlier,
        held=held,
        mine=mine,
        work=work,
        entrust=state.entrust,
    )


def _differ(one: Frozen, other: Frozen, path: str) -> bool:
    """Whether two frozen sets hold something else at or below a path."""
    one_s, other_s = ([item for item in f.items if is_within(item.path, (path,))] for f in (one, other))
    return one_s != other_s
