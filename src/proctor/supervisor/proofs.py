"""Passes that rest on tests which the worker wrote, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from msgspec.structs import replace

from proctor.checkpoint.record import ChangeKind
from proctor.errors import ProctorError
from proctor.oracle.bench import REASON
from proctor.oracle.check import Judgement
from proctor.oracle.gaming.change import is_test
from proctor.oracle.runners import Outcome
from proctor.oracle.toolchains.commands import named_paths
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.words import OWN_TESTS, Verdict


async def marked(s: Session, before: Judgement | None, after: Judgement, others: Collection[str]) -> Judgement:
    """A pass whose reason says so where tests that are new since the check was seen to fail are all that decides.
    `others` are paths that are not the worker's own."""
    if after.verdict is not Verdict.PASSED or before is None:
        return after
    try:
        changes = await asyncio.to_thread(s.store.diff, before.commit, after.commit, ignored=True)
    except ProctorError:  # a tree that is kept no more
        return after
    new = {one.path for one in changes if one.kind is ChangeKind.ADDED and is_test(one.path)} - set(others)
    files = own(sorted(new), before, after)
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    said = f"{after.reason}; {OWN_TESTS}: {', '.join(files[:3])}{more}"
    return replace(after, reason=safe_line(said, REASON)) if files else after


def own(new: Collection[str], before: Judgement, after: Judgement) -> tuple[str, ...]:
    """Those of the new test files that hold all which decides; none where something else does, or it is not known."""
    twins = {result.run: result for result in before.results}
    found: set[str] = set()
    moved = set(after.moved.values())  # tests of others, by the ids that they have now
    for result in after.results:
        twin = twins.get(result.run)
        if result.optional or (twin is not None and twin.verdict is Verdict.PASSED):
            continue
        known = {name for name, how in twin.tests.items() if how is Outcome.PASSED} if twin else set()
        known |= {after.moved[name] for name in known & after.moved.keys()}
        passed = {name for name, how in result.tests.items() if how is Outcome.PASSED}
        deciding = passed - known
        if moved & (deciding or passed):
            return ()
        named = set(new).intersection(named_paths(result.run))
        holders = [next((path for path in new if _holds(path, name)), "") for name in deciding] or sorted(named)[:1]
        if not all(holders) or not holders:
            return ()
        found.update(holders)
    return tuple(sorted(found))


def _holds(path: str, name: str) -> bool:
    """Whether a file of tests holds a test, by its path or by what Python calls the file from some folder on."""
    parts = path.rpartition(".")[0].split("/")
    modules = (".".join(parts[at:]) for at in range(len(parts)))
    return path in name or any(name.startswith(f"{module}.") for module in modules)
