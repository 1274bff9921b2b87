"""Who has changed what since a checkpoint: the operator, or a worker. Pure.

Recorded trees say it exactly: what changed between the end of one iteration and the start of the next is the
operator's. Only within an iteration the watcher decides: what it saw written while the worker stood still. Going back
to a checkpoint brings back what was known of it then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from proctor.journal import events as ev

KINDS = (
    "checkpoint_taken", "checkpoint_confirmed", "iteration_started", "iteration_ended", "operator_wrote", "rolled_back",
)  # fmt: skip
"""Rows that say it."""

OPERATOR, WORKER = 1, 2
Pair = tuple[str, str]
"""A tree and a later one."""


@dataclass(frozen=True, slots=True)
class Authors:
    """Paths that the operator alone has written, and those that a worker has too."""

    mine: frozenset[str] = frozenset()
    both: frozenset[str] = frozenset()

    def among(self, paths: Collection[str]) -> Authors:
        """What of it is among some paths."""
        return Authors(self.mine.intersection(paths), self.both.intersection(paths))


@dataclass(frozen=True, slots=True)
class Span:
    """From one recorded tree to the next: in an iteration (its number), or outside of any (0)."""

    before: str
    after: str
    iteration: int


Step = Span | str | ev.RolledBack


@dataclass(slots=True)
class Story:
    """What the rows say, in their order: spans, checkpoints by id, and rollbacks; `wrote` by iteration."""

    steps: list[Step] = field(default_factory=list)
    wrote: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def trees(self) -> set[str]:
        """Every tree that is needed to tell it."""
        return {tree for step in self.steps if isinstance(step, Span) for tree in (step.before, step.after)}


def story(rows: Iterable[ev.Row], target: str, tree: str, present: str = "") -> Story:
    """The story since the checkpoint `target`, whose tree is `tree`, up to the last row, or to the tree `present`."""
    told = Story()
    at, iteration, begun = tree, 0, False

    def step(to: str) -> None:
        nonlocal at
        if to and at and to != at:
            told.steps.append(Span(at, to, iteration))
        at = to or at

    for row in rows:
        match row.event:
            case ev.CheckpointTaken() as e:
                begun = begun or e.id == target
                if begun and e.id != target:
                    step(e.tree)
                    told.steps.append(e.id)
            case ev.CheckpointConfirmed() as e if begun and e.id != target and told.steps[-1:] == [e.id]:
                step(e.tree)
                told.steps.append(e.id)
            case ev.IterationStarted() as e:
                if begun:
                    step(e.tree)
                iteration = e.iteration
            case ev.IterationEnded() as e:
                if begun:
                    step(e.tree)
                iteration = 0
            case ev.OperatorWrote() as e if begun:
                known = told.wrote.setdefault(e.iteration, {})
                for who, paths in ((OPERATOR, e.mine), (OPERATOR | WORKER, e.both)):
                    known |= {path: known.get(path, 0) | who for path in paths}
            case ev.RolledBack() as e if begun and not e.failed:
                told.steps.append(e)
                at = e.tree
    step(present)
    return told


def authors(
    told: Story,
    differing: Callable[[Sequence[Pair]], Sequence[Collection[str]]],
    lost: Collection[str] = (),
) -> Authors:
    """Who has changed what. `differing` gives the paths that differ between the trees of pairs; `lost` trees are no
    more, so that what changed before and after them is one."""
    steps = list(_joined(told.steps, lost))
    paths = iter(differing([step.pair for step in steps if isinstance(step, _Joined)]))
    known: dict[str, int] = {}
    then: dict[str, dict[str, int]] = {}
    for step in steps:
        if isinstance(step, str):
            then[step] = known.copy()
        elif isinstance(step, ev.RolledBack):
            known = _back(known, then.get(step.target, {}), step)
        else:
            for path in next(paths):
                for iteration in step.iterations:
                    who = told.wrote.get(iteration, {}).get(path, WORKER) if iteration else OPERATOR
                    known[path] = known.get(path, 0) | who
    mine, both = (frozenset(path for path, who in known.items() if who == one) for one in (OPERATOR, OPERATOR | WORKER))
    return Authors(mine, both)


@dataclass(frozen=True, slots=True)
class _Joined:
    """One span or several, from a tree that is there to another."""

    pair: Pair
    iterations: tuple[int, ...]


def _joined(steps: Iterable[Step], lost: Collection[str]) -> Iterator[_Joined | str | ev.RolledBack]:
    start = ""
    iterations: tuple[int, ...] = ()
    for step in steps:
        if isinstance(step, Span):
            start, iterations = start or step.before, (*iterations, step.iteration)
            if step.after in lost:
                continue
            yield _Joined((start, step.after), iterations)
        else:
            yield step
        if not isinstance(step, str):
            start, iterations = "", ()


def _back(known: dict[str, int], then: dict[str, int], back: ev.RolledBack) -> dict[str, int]:
    """What is known after a rollback, given what was known at its target."""

    def returned(path: str) -> bool:
        below = not back.paths or any(path == top or path.startswith(f"{top}/") for top in back.paths)
        return below and path not in back.mine

    kept = {path: who for path, who in known.items() if not returned(path)}
    return kept | {path: who for path, who in then.items() if returned(path)}


class Hands:
    """Who touches what while one worker is up: what the watcher reports becomes rows."""

    def __init__(self, iteration: int) -> None:
        self._iteration = iteration
        self._since = ""
        self._worker: set[str] = set()
        self._operator: set[str] = set()

    def touched(self, still: Collection[str], moving: Collection[str], since: str = "") -> ev.OperatorWrote | None:
        """Paths that changed while the worker stood still, and others; a row if it says something new after the newest
        checkpoint, `since`: going back there asks for what was written later, and no earlier row tells it."""
        if since != self._since:
            self._since, self._operator, self._worker = since, set(), set()
        before = self._operator & self._worker
        new = self._operator | set(still)
        fresh = new - self._operator
        self._operator, self._worker = new, self._worker | set(moving)
        both = self._operator & self._worker
        mine = fresh - both
        if not mine and both == before:
            return None
        return ev.OperatorWrote(iteration=self._iteration, mine=tuple(sorted(mine)), both=tuple(sorted(both - before)))
