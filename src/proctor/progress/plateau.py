"""Is the session still moving? Six rules over the iterations since the last verified task, and what they amount to.

`standing` reads a `Memory` (see `memory.py`) when an iteration is over. One rule alone is `suspect`: the next brief
gets a nudge. `firing` are two rules together, one that holds again after its nudge, and `no_op` and `stalled` at once.

A recorded run is replayed as the session goes: fold the iteration's events, ask, fold what that leaves behind.

    memory = Memory()
    for number, events in recorded:      # IterationStarted(tree), IterationEnded(tree, lines, how), Judged, TaskDone …
        memory = reduce(observe, events, memory)
        found = standing(memory, windows, number, spent)     # found.light, found.signals, found.why
        memory = reduce(observe, rows(found, number), memory)

A baseline is a `Judged` row of that phase before the task's first iteration; `spent` may stay empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from proctor.journal.events import PlateauSignal, TaskId
from proctor.progress.memory import Iteration, Memory, SetAside
from proctor.words import RULES, Dimension, Light, Rule

AT_ONCE = frozenset({Rule.NO_OP, Rule.STALLED})
"""Rules that fire without a second one and without a nudge."""

ASIDE = 2
"""Tasks set aside in a row that make a stalled run."""

TRIES = 2
"""Iterations in vain before half of a budget says anything: one alone may simply be dear."""

PERIODS = (2, 3, 4)
"""Lengths of a pattern of failures that comes back."""

SMALL = 5
"""Changed lines that are few whatever there was before."""

_CHANGE = "the worker did not get further this way: give a note with another approach, or look at the spec"
_EVALUATOR = (
    "look at the evaluator, {check}: it may ask for things that exclude each other, or its answer may not depend on "
    "the work alone; going back to a checkpoint does not cure oscillation"
)
_ADVICE: Mapping[Rule, str] = {
    Rule.NO_OP: "the worker does nothing: see whether it may write what the task needs, and what it said last",
    Rule.STALLED: "look at the plan and the checks before more is spent: nothing is verified any more",
    Rule.SHRINKING: "the ideas of the worker run dry: give a note with another approach, or a smaller task",
}


class Spent(NamedTuple):
    """What was used of a budget since the counts began, and its limit."""

    used: int
    limit: int


class Signal(msgspec.Struct, frozen=True):
    """A rule that holds: over how many iterations, on what evidence (one line each), for which task if one, and what
    could help."""

    rule: Rule
    window: int
    evidence: tuple[str, ...]
    task: TaskId | None = None
    advice: str = ""


class Standing(msgspec.Struct, frozen=True):
    """How the session stands after an iteration. `signals` are the rules that hold, the one that decides first; `why`
    says in a line why the light is what it is. `counted`: whether the iteration says anything at all."""

    light: Light = Light.QUIET
    signals: tuple[Signal, ...] = ()
    why: str = "no rule holds"
    counted: bool = False


NOTHING = Standing()


def standing(
    memory: Memory, windows: Mapping[Rule, int], iteration: int, spent: Mapping[Dimension, Spent] | None = None
) -> Standing:
    """The light after `iteration`; quiet, and not counted, if that iteration does not count."""
    last = memory.iteration(iteration)
    if last is None or not last.spent:
        return Standing(why="the iteration does not count")
    found = signals(memory, windows, iteration, spent)
    if not found:
        return Standing(counted=last.counts)
    repeated = {x.rule: n.iteration for x in found if (n := memory.nudged(x.rule, last.task, iteration))}
    found.sort(key=lambda signal: (signal.rule not in AT_ONCE, signal.rule not in repeated))
    first = found[0].rule
    light = Light.FIRING
    if first in AT_ONCE:
        why = f"{first} fires by itself"
    elif first in repeated:
        why = f"{first} holds again after the nudge that followed iteration {repeated[first]}"
    elif len(found) > 1:
        why = f"{' and '.join(signal.rule for signal in found)} hold together"
    else:
        light, why = Light.SUSPECT, f"{first} alone; the next brief says so"
    return Standing(light, tuple(found), why, counted=True)


def rows(found: Standing, iteration: int) -> list[PlateauSignal]:
    """What a standing leaves in the journal: a row for each rule that holds."""
    return [
        PlateauSignal(
            rule=x.rule, window=x.window, evidence=x.evidence, task=x.task, iteration=iteration, advice=x.advice
        )
        for x in found.signals
    ]


def signals(
    memory: Memory, windows: Mapping[Rule, int], iteration: int, spent: Mapping[Dimension, Spent] | None = None
) -> list[Signal]:
    """The rules that hold now that `iteration` is over, the one that says most first; none if that iteration does not
    count, and of one that a budget cut short no more than `stalled`. A window of 0 is off."""
    in_vain = [one for one in memory.iterations if one.spent]
    if not in_vain or in_vain[-1].number != iteration:
        return []
    run = stalled(in_vain, memory.aside, windows.get(Rule.STALLED, 0), spent or {})
    if not in_vain[-1].counts:
        return [run] if run else []
    counted = [one for one in in_vain if one.counts]
    task = counted[-1].task
    same_task = [one for one in counted if one.task == task]
    every = [one for one in memory.iterations if one.task == task]
    found = (
        no_op(same_task, windows.get(Rule.NO_OP, 0)),
        run,
        revisit(every, windows.get(Rule.REVISIT, 0)),
        same_failure(same_task, windows.get(Rule.SAME_FAILURE, 0)),
        no_change(memory.iterations, windows.get(Rule.NO_CHANGE, 0)),
        shrinking(same_task, windows.get(Rule.SHRINKING, 0)),
    )
    return [signal for signal in found if signal is not None]


def no_change(iterations: Iterable[Iteration], window: int) -> Signal | None:
    """`window` counted iterations in a row, of whatever tasks, in which the oracle did not move: no task verified,
    never fewer ids of a task failing than before, every verdict among its task's last eight, the baseline's included.
    """
    still: list[Iteration] = []
    for one in iterations:
        if one.fewer or one.new:
            still = []
        elif one.counts:
            still.append(one)
    if not 0 < window <= len(still):
        return None
    return _signal(Rule.NO_CHANGE, still[-window:], "no task verified, no verdict that is new")


def shrinking(iterations: Sequence[Iteration], window: int) -> Signal | None:
    """The last `window` counted iterations of one task changed fewer lines each time, the last at most five or a
    quarter of the first, and nothing was verified in between: neither the task nor an id more of its check."""
    run = iterations[-window:]
    if not 1 < window == len(run) or any(one.fewer for one in run[1:]):
        return None
    lines = [one.lines for one in run]
    falls = all(before > after for before, after in pairwise(lines))
    if not falls or lines[-1] > max(SMALL, lines[0] / 4):
        return None
    return _signal(Rule.SHRINKING, run, f"{' > '.join(map(str, lines))} lines changed, nothing verified", run[-1].task)


def same_failure(iterations: Sequence[Iteration], window: int) -> Signal | None:
    """`window` of one task's last `window + 1` counted iterations ended in one failure class, the last of all among
    them, whatever they changed."""
    if window <= 0 or not iterations or not iterations[-1].digest:
        return None
    digest = iterations[-1].digest
    run = [one for one in iterations[-window - 1 :] if one.digest == digest][-window:]
    if len(run) < window:
        return None
    return _signal(Rule.SAME_FAILURE, run, "the same failure each time", run[-1].task)


def revisit(iterations: Sequence[Iteration], window: int) -> Signal | None:
    """A worker left a tree that was there before and had changed since, `window` times; or a pattern of two to four
    failures came `window + 1` times. `iterations` are all of one task, those that do not count too."""
    if window <= 0:
        return None
    seen: set[str] = set()
    back: list[Iteration] = []
    for one in iterations:
        seen.add(one.before)
        if one.counts and one.tree and one.changed and one.tree in seen:
            back.append(one)
        seen.add(one.tree)
    counted = [one for one in iterations if one.counts]
    if len(back) >= window and back[-1] is counted[-1]:
        what = "the files are as they were before, and had changed since"
        return _oscillates(back[-window:], what)
    for period in PERIODS:
        run = counted[-period * (window + 1) :]
        digests = [one.digest for one in run]
        once = digests[:period]
        if len(run) == period * (window + 1) and len(set(once)) > 1 and digests == once * (window + 1):
            return _oscillates(run, f"the same {period} failures in the same order, {window + 1} times")
    return None


def no_op(iterations: Sequence[Iteration], window: int) -> Signal | None:
    """The last `window` counted iterations of one task left the tree as they found it and brought no new verdict."""
    run = iterations[-window:]
    if not 0 < window == len(run) or any(one.changed or one.new or one.fewer for one in run):
        return None
    return _signal(Rule.NO_OP, run, "nothing changed, no new verdict", run[-1].task)


def stalled(
    iterations: Sequence[Iteration], aside: Sequence[SetAside], window: int, spent: Mapping[Dimension, Spent]
) -> Signal | None:
    """The run as a whole stands: two tasks in a row set aside, or nothing verified in `window` counted iterations or
    by half of any budget. An id more that passes than ever before is something verified, as long as it is news."""
    if window <= 0 or not iterations:
        return None
    if (found := in_a_row(aside, window)) is not None:
        return found
    since = max((at + 1 for at, one in enumerate(iterations) if one.fewer), default=0)
    run = iterations[since:]
    task = run[-1].task if len({one.task for one in run}) == 1 else None
    if len(run) >= window:
        return _signal(Rule.STALLED, run[-window:], "nothing verified", task)
    halves = [(name, spend) for name, spend in spent.items() if 0 < spend.limit <= 2 * spend.used]
    if halves and len(run) >= TRIES:
        name, spend = max(halves, key=lambda half: half[1].used / half[1].limit)
        per_cent = 100 * spend.used // spend.limit
        return _signal(Rule.STALLED, list(run), f"{per_cent} % of {name} used and nothing verified")
    return None


def would_stall(memory: Memory, task: TaskId, windows: Mapping[Rule, int]) -> Signal | None:
    """What `stalled` would say if this task were set aside now."""
    return in_a_row((*memory.aside, SetAside(task, "")), windows.get(Rule.STALLED, 0))


def in_a_row(aside: Sequence[SetAside], window: int) -> Signal | None:
    """Whether so many tasks were set aside in a row that the run is stalled; `window` of 0 switches it off. One without
    a reason is about to be."""
    if not window or len(aside) < ASIDE:
        return None
    lines = tuple(map(_told, aside[-ASIDE:]))
    what = f"{ASIDE} tasks in a row could not be done, none verified in between"
    return Signal(Rule.STALLED, ASIDE, (what, *lines), advice=_ADVICE[Rule.STALLED])


def _told(aside: SetAside) -> str:
    """A task that was set aside, and why, in words."""
    kind, _, word = aside.why.partition(":")
    known = {"plateau": {str(rule): said for rule, said in RULES.items()}, "budget": {word: f"its {word} is used up"}}
    why = known.get(kind, {}).get(word, aside.why).replace("_", " ")
    return f"task {aside.task} was set aside: {why}" if why else f"task {aside.task} was about to be set aside"


def _oscillates(run: list[Iteration], what: str) -> Signal:
    check = run[-1].check or "the check"
    found = _signal(Rule.REVISIT, run, what, run[-1].task)
    return msgspec.structs.replace(found, advice=_EVALUATOR.format(check=check))


def _signal(rule: Rule, run: Sequence[Iteration], what: str, task: TaskId | None = None) -> Signal:
    numbers = ", ".join(str(one.number) for one in run)
    evidence = (f"iterations {numbers}: {what}", *map(str, run))
    return Signal(rule, len(run), evidence, task, _ADVICE.get(rule, _CHANGE))
