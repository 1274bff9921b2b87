"""Is the session still moving? Three rules over the iterations since the last verified task.

The memory is a fold of journal events (`observe`), so it is the same after a restart; the rules (`signals`)
read it when an iteration is over. What an iteration ended by itself counts, whatever its exit code: `exited`,
`died`, `idle`, `lingered`. What was done to it does not: ends by the operator, a budget, an interruption or
a failed start, a check that could not be run (`infra`), any wait. Such an iteration neither adds to a count
nor breaks one, but a change of the oracle in it is a change all the same.

Counts begin anew when a task is verified and when the operator resets them, and by nothing else; iterations
of a task that is no longer selected (`blocked`, `review`) leave with it. Nothing that a worker says, and no
tool call, is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from proctor.journal.events import Event, IterationEnded, Judged, PlateauReset, TaskDone, TaskId, TaskMoved
from proctor.words import IterationEnd, Phase, Rule, TaskStatus, Verdict

COUNTED = frozenset({IterationEnd.EXITED, IterationEnd.DIED, IterationEnd.IDLE, IterationEnd.LINGERED})
"""Ends that say something about the worker."""

NO_FAILURE = frozenset({Verdict.PASSED, Verdict.INFRA})
"""Verdicts without a failure class; a pass moves the oracle only by the `task_done` that follows it."""

SEEN = 8
"""How many verdict digests of a task are remembered, so that going to and fro between failures is no change."""

PATIENCE = 2
"""How many windows failures that are only ever new ones may last."""

_EXAMPLES = 3


class Iteration(msgspec.Struct, frozen=True):
    """What one iteration left behind. `failures` is the number of failing ids, 0 if unknown; `lines` changed lines.

    `new`: its verdict was not among the task's last ones; `fewer`: fewer ids failed than ever before.
    """

    number: int
    task: TaskId
    how: IterationEnd | None = None
    lines: int = 0
    verdict: Verdict | None = None
    digest: str = ""
    failures: int = 0
    examples: tuple[str, ...] = ()
    new: bool = False
    fewer: bool = False

    @property
    def counts(self) -> bool:
        """Whether it was completed and judged."""
        return self.how in COUNTED and self.verdict is not None and self.verdict is not Verdict.INFRA

    def __str__(self) -> str:
        more = ", …" if self.failures > _EXAMPLES else ""
        failing = f" {self.failures} ({', '.join(self.examples)}{more})" if self.failures else ""
        seen = "a new verdict" if self.new else "seen before"
        return f"iteration {self.number}, task {self.task}: {self.verdict}{failing}, {seen}, {self.lines} lines changed"


class Verdicts(msgspec.Struct, frozen=True):
    """What checks said about one task so far: the last digests, the fewest failing ids (None: never known)."""

    task: TaskId
    digests: tuple[str, ...] = ()
    fewest: int | None = None


class Memory(msgspec.Struct, frozen=True):
    """The iterations since the counts began, oldest first, and what is known of the tasks that are not verified."""

    iterations: tuple[Iteration, ...] = ()
    tasks: tuple[Verdicts, ...] = ()


class Signal(msgspec.Struct, frozen=True):
    """A rule that holds: over how many iterations, on what evidence (one line each), for which task if one."""

    rule: Rule
    window: int
    evidence: tuple[str, ...]
    task: TaskId | None = None


def memory_from(events: Iterable[Event]) -> Memory:
    """The memory after these events."""
    return reduce(observe, events, Memory())


def observe(memory: Memory, event: Event) -> Memory:
    """The memory after one more event; most events leave it as it is."""
    match event:
        case Judged(task=task, phase=Phase.BASELINE | Phase.WORK) if task is not None:
            return _judged(memory, event, task)
        case IterationEnded():
            ended = _iteration(memory, event.iteration, event.task)
            return _with(memory, replace(ended, how=event.how, lines=event.lines))
        case TaskDone():
            return Memory(tasks=tuple(one for one in memory.tasks if one.task != event.task))
        case TaskMoved(status=TaskStatus.BLOCKED | TaskStatus.REVIEW):
            return replace(memory, iterations=tuple(one for one in memory.iterations if one.task != event.task))
        case PlateauReset():
            return replace(memory, iterations=())
    return memory


def signals(memory: Memory, windows: Mapping[Rule, int], iteration: int) -> list[Signal]:
    """The rules that hold now that `iteration` is over; none if that iteration does not count. A window of 0 is off."""
    counted = [one for one in memory.iterations if one.counts]
    if not counted or counted[-1].number != iteration:
        return []
    same_task = [one for one in counted if one.task == counted[-1].task]
    found = (
        no_change(memory.iterations, windows.get(Rule.NO_CHANGE, 0)),
        shrinking(same_task, windows.get(Rule.SHRINKING, 0)),
        same_failure(same_task, windows.get(Rule.SAME_FAILURE, 0)),
    )
    return [signal for signal in found if signal is not None]


def no_change(iterations: Iterable[Iteration], window: int) -> Signal | None:
    """`window` counted iterations in a row, of whatever tasks, in which the oracle did not move.

    It moves when a task is verified, when fewer ids of a task fail than ever before, or when the verdict is
    none of the task's last eight (the baseline's among them). The last of these cannot go on for ever: over
    twice the window, in which nothing was verified and never fewer ids failed, new failures are no advance.
    """
    still: list[Iteration] = []
    unsolved: list[Iteration] = []
    for one in iterations:
        if one.fewer:
            still, unsolved = [], []
        elif one.new:
            still = []
        if one.counts and not one.fewer:
            unsolved.append(one)
            if not one.new:
                still.append(one)
    for run, length in ((still, window), (unsolved, PATIENCE * window)):
        if window > 0 and len(run) >= length:
            return _signal(Rule.NO_CHANGE, run[-length:], "no task verified, never fewer failures")
    return None


def shrinking(iterations: list[Iteration], window: int) -> Signal | None:
    """The last `window` counted iterations of one task changed fewer lines each time, the last at most five
    or a quarter of the first, and after the first of them never fewer ids failed: the changes run dry."""
    run = iterations[-window:]
    if not 1 < window == len(run) or any(one.fewer for one in run[1:]):
        return None
    lines = [one.lines for one in run]
    falls = all(before > after for before, after in pairwise(lines))
    if not falls or lines[-1] > max(5, lines[0] / 4):
        return None
    return _signal(Rule.SHRINKING, run, f"{' > '.join(map(str, lines))} lines changed, nothing verified", run[-1].task)


def same_failure(iterations: list[Iteration], window: int) -> Signal | None:
    """The last `window` counted iterations of one task ended in one failure class, whatever they changed."""
    run = iterations[-window:]
    if not 0 < window == len(run) or not run[-1].digest or len({one.digest for one in run}) > 1:
        return None
    return _signal(Rule.SAME_FAILURE, run, f"the same failure {run[-1].digest} each time", run[-1].task)


def _judged(memory: Memory, event: Judged, task: TaskId) -> Memory:
    judged = _iteration(memory, event.iteration, task)
    known = next((one for one in memory.tasks if one.task == task), Verdicts(task))
    if event.verdict in NO_FAILURE:
        if event.phase is Phase.BASELINE or judged.digest:
            return memory
        return _with(memory, replace(judged, verdict=event.verdict))
    count = len(event.failing)
    after = Verdicts(
        task,
        digests=(*(one for one in known.digests if one != event.digest), event.digest)[-SEEN:],
        fewest=min(filter(None, (known.fewest, count)), default=None),
    )
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
        fewer=judged.fewer or (known.fewest is not None and 0 < count < known.fewest),
    )
    return _with(memory, judged)


def _iteration(memory: Memory, number: int, task: TaskId) -> Iteration:
    return next((one for one in memory.iterations if one.number == number), Iteration(number, task))


def _with(memory: Memory, iteration: Iteration) -> Memory:
    others = [one for one in memory.iterations if one.number != iteration.number]
    return replace(memory, iterations=tuple(sorted([*others, iteration], key=lambda one: one.number)))


def _signal(rule: Rule, run: list[Iteration], what: str, task: TaskId | None = None) -> Signal:
    numbers = ", ".join(str(one.number) for one in run)
    return Signal(rule, len(run), (f"iterations {numbers}: {what}", *map(str, run)), task)
