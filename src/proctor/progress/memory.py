"""What the plateau rules remember of a session: a fold of journal events, the same after a restart. Pure.

What an iteration ended by itself counts, whatever its exit code (`exited`, `died`, `idle`, `lingered`), and so does
one that was ended because it ran in circles (`looping`). What was done to it does not: ends by the operator, an
interruption or a failed start, models that could not be reached, a check that could not be run (`infra`), any wait.
Such an iteration neither adds to a count nor breaks one, but a change of the oracle in it is a change all the same.
One that a budget cut short (`budget`) was not completed, so that what it left says nothing; that it was spent in vain
does: it counts for the run as a whole (`stalled`), or else a worker that is cut each time would go on for ever unseen.

Counts begin anew when a task is verified and when the operator resets them, and by nothing else; iterations of a task
that is no longer selected (`blocked`, `review`) leave with it. Nothing that a worker says is looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from proctor.journal.events import (
    Event,
    IterationEnded,
    IterationStarted,
    Judged,
    PlateauReset,
    PlateauSignal,
    TaskDone,
    TaskId,
    TaskMoved,
)
from proctor.testids import holds
from proctor.words import IterationEnd, Phase, Rule, TaskStatus, Verdict

KINDS = (
    "iteration_started",
    "iteration_ended",
    "judged",
    "task_done",
    "task_moved",
    "plateau_signal",
    "plateau_reset",
)
"""The kinds of row that the fold looks at."""

COUNTED = frozenset(
    {IterationEnd.EXITED, IterationEnd.DIED, IterationEnd.IDLE, IterationEnd.LINGERED, IterationEnd.LOOPING}
)
"""Ends that say something about the worker."""

SPENT = COUNTED | {IterationEnd.BUDGET}
"""Ends of iterations that were the worker's to use."""

NO_FAILURE = frozenset({Verdict.PASSED, Verdict.INFRA})
"""Verdicts without a failure class; a pass moves the oracle only by the `task_done` that follows it."""

RING = 8
"""How many different verdicts of a task are remembered, so that going to and fro between failures is no change."""

_MET = 200
_EXAMPLES = 3
_SET_ASIDE = ("plateau:", "budget:")
"""Why a task is blocked that could not be done; one that the operator drops says nothing about the run."""


class Iteration(msgspec.Struct, frozen=True):
    """What one iteration left behind. `failures` is the number of failing ids, 0 if unknown; `files` and `lines` what
    changed; `before` and `tree` what the worker found and left beside ignored files, empty if unknown; `check` the one
    that failed.

    `new`: its verdict was not among the task's last ones; `fewer`: fewer ids failed than ever before.
    """

    number: int
    task: TaskId
    how: IterationEnd | None = None
    files: int = 0
    lines: int = 0
    verdict: Verdict | None = None
    digest: str = ""
    failures: int = 0
    examples: tuple[str, ...] = ()
    new: bool = False
    fewer: bool = False
    before: str = ""
    tree: str = ""
    check: str = ""
    hindered: bool = False

    @property
    def counts(self) -> bool:
        """Whether it was completed and judged, and nothing but the worker is to be blamed."""
        return self.how in COUNTED and self.spent

    @property
    def spent(self) -> bool:
        """Whether it counts, or would if a budget had not cut it short."""
        judged = self.verdict is not None and self.verdict is not Verdict.INFRA
        return self.how in SPENT and judged and not self.hindered

    @property
    def changed(self) -> bool:
        """Whether the worker left another tree than it found; by what changed where a tree is not known."""
        return self.before != self.tree if self.before and self.tree else bool(self.files or self.lines)

    def __str__(self) -> str:
        more = ", …" if self.failures > _EXAMPLES else ""
        failing = f" {self.failures} ({', '.join(self.examples)}{more})" if self.failures else ""
        seen = "a new verdict" if self.new else "seen before"
        return f"iteration {self.number}, task {self.task}: {self.verdict}{failing}, {seen}, {self.lines} lines changed"


class Verdicts(msgspec.Struct, frozen=True):
    """What checks said about one task so far: the last digests, the fewest failing ids (`more`: those without a
    name; none: never known), and the last of all that ever failed."""

    task: TaskId
    digests: tuple[str, ...] = ()
    fewest: tuple[str, ...] = ()
    more: int = 0
    met: tuple[str, ...] = ()


class SetAside(msgspec.Struct, frozen=True):
    """A task that could not be done, and why it was set aside."""

    task: TaskId
    why: str


class Nudge(msgspec.Struct, frozen=True):
    """A rule that held after an iteration; the task's next brief says so."""

    rule: Rule
    task: TaskId
    iteration: int


class Memory(msgspec.Struct, frozen=True):
    """The iterations since the counts began, oldest first, what is known of the tasks that are not verified, those
    set aside in a row, and what was nudged about."""

    iterations: tuple[Iteration, ...] = ()
    tasks: tuple[Verdicts, ...] = ()
    aside: tuple[SetAside, ...] = ()
    nudges: tuple[Nudge, ...] = ()

    def iteration(self, number: int) -> Iteration | None:
        """The iteration with this number, if it is remembered."""
        return next((one for one in self.iterations if one.number == number), None)

    def nudged(self, rule: Rule, task: TaskId, before: int) -> Nudge | None:
        """The first nudge about this rule and task that an iteration of this number was told of."""
        return next((n for n in self.nudges if (n.rule, n.task) == (rule, task) and n.iteration < before), None)


def in_vain(memory: Memory, task: TaskId, but: Collection[IterationEnd]) -> int:
    """How many of a task's iterations failed since the last one after which fewer of its tests failed than ever before;
    those that ended in one of the ways of `but` do not count."""
    since = takewhile(lambda one: not one.fewer, reversed([one for one in memory.iterations if one.task == task]))
    return sum(one.verdict not in (None, *NO_FAILURE) and one.how not in but for one in since)


def memory_from(events: Iterable[Event]) -> Memory:
    """The memory after these events."""
    return reduce(observe, events, Memory())


def observe(memory: Memory, event: Event) -> Memory:
    """The memory after one more event; most events leave it as it is."""
    match event:
        case Judged(task=task, phase=Phase.BASELINE | Phase.WORK) if task is not None:
            return _judged(memory, event, task)
        case IterationStarted():
            begun = _iteration(memory, event.iteration, event.task)
            return _with(memory, replace(begun, before=event.work or event.tree))
        case IterationEnded():
            ended = _iteration(memory, event.iteration, event.task)
            facts = {"how": event.how, "files": event.files, "lines": event.lines, "tree": event.work or event.tree}
            return _with(memory, replace(ended, hindered=bool(event.hindered), **facts))
        case PlateauSignal():
            return _nudged(memory, event)
        case TaskDone():
            return Memory(tasks=tuple(one for one in memory.tasks if one.task != event.task))
        case TaskMoved():
            return _moved(memory, event)
        case PlateauReset():
            return Memory(tasks=memory.tasks)
    return memory


def _judged(memory: Memory, event: Judged, task: TaskId) -> Memory:
    judged = _iteration(memory, event.iteration, task)
    known = next((one for one in memory.tasks if one.task == task), Verdicts(task))
    if event.verdict in NO_FAILURE:
        if event.phase is Phase.BASELINE or judged.digest:
            return memory
        return _with(memory, replace(judged, verdict=event.verdict))
    count = event.failures or len(event.failing)
    met = tuple(dict.fromkeys((*known.met, *event.failing)))[-_MET:]
    more = count - len(event.failing)
    first = not (known.fewest or known.more)
    fewer = bool(count) and not first and _size(event.failing, more, met) < _size(known.fewest, known.more, met)
    digests = (*(one for one in known.digests if one != event.digest), event.digest)[-RING:]
    after = replace(known, digests=digests, met=met)
    if fewer or first:
        after = replace(after, fewest=event.failing, more=more)
    memory = replace(memory, tasks=(*(one for one in memory.tasks if one.task != task), after))
    if event.phase is Phase.BASELINE:
        return memory
    judged = replace(
        judged,
        verdict=event.verdict,
        digest=event.digest,
        failures=count,
        examples=event.failing[:_EXAMPLES],
        new=judged.new or event.digest not in known.digests,
        fewer=judged.fewer or fewer,
        check=event.check,
    )
    return _with(memory, judged)


def _size(failing: Sequence[str], more: int, met: Sequence[str]) -> int:
    """How many tests fail, as far as is known: a module that cannot be loaded stands for its tests that ever failed."""
    held = (sum(one in name and name != one and holds(one, name) for name in met) for one in failing)
    return more + sum(max(1, count) for count in held)


def _nudged(memory: Memory, event: PlateauSignal) -> Memory:
    of = memory.iteration(event.iteration)
    if of is None or memory.nudged(event.rule, of.task, event.iteration + 1):
        return memory
    return replace(memory, nudges=(*memory.nudges, Nudge(event.rule, of.task, event.iteration)))


def _moved(memory: Memory, event: TaskMoved) -> Memory:
    aside = tuple(one for one in memory.aside if one.task != event.task)
    if event.status is TaskStatus.BLOCKED and event.why.startswith(_SET_ASIDE):
        aside = (*aside, SetAside(event.task, event.why))
    memory = replace(memory, aside=aside)
    if event.status not in (TaskStatus.BLOCKED, TaskStatus.REVIEW):
        return memory
    return replace(
        memory,
        iterations=tuple(one for one in memory.iterations if one.task != event.task),
        nudges=tuple(one for one in memory.nudges if one.task != event.task),
    )


def _iteration(memory: Memory, number: int, task: TaskId) -> Iteration:
    return memory.iteration(number) or Iteration(number, task)


def _with(memory: Memory, iteration: Iteration) -> Memory:
    others = [one for one in memory.iterations if one.number != iteration.number]
    return replace(memory, iterations=tuple(sorted([*others, iteration], key=lambda one: one.number)))
