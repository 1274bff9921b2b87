"""The seven lights of drift: each quiet, suspect or firing, with why and on what evidence. Pure: a state in.

All of it rests on the folded state alone, so a screen, a command line and the supervisor see the same, and so does a
supervisor after a restart. The figure of each light is the contract's; 0 switches a light off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

import msgspec

from proctor.journal import events as ev
from proctor.journal.costs import dear
from proctor.journal.state import State, TaskState
from proctor.units import counted, format_amount, format_count, format_duration
from proctor.words import Dimension, Drift, Light, Response, TaskStatus, Verdict

LATELY = 3
"""Iterations over which the log is looked at."""
CONTRADICTED, STALE = 2, 3
"""Contradicted lines of these iterations, and gone paths that the end of the log names, that say something."""
FLOOD = 4
"""Times its figure at which growth alone fires."""
VERIFIED = 3
"""Verified tasks before their median says anything."""
LEAST = {Dimension.WALL_CLOCK: 10 * 60_000}
"""What a task has to use of a dimension before it is dear at all."""
SPENDS = (Dimension.COST, Dimension.TOKENS, Dimension.WALL_CLOCK)
"""What is held against the median: the first of which the verified tasks used any."""
CHARACTERS = 4
"""Of a token, about."""


class Reading(msgspec.Struct, frozen=True):
    """One light: why it is what it is, in a line; the evidence, one line each; the task that it is about, if one; and
    what the next worker is told."""

    drift: Drift
    light: Light = Light.QUIET
    why: str = ""
    evidence: tuple[str, ...] = ()
    task: ev.TaskId | None = None
    told: str = ""


def lights(state: State) -> tuple[Reading, ...]:
    """All seven, in their order."""
    return tuple(reading(state, drift) for drift in Drift)


def reading(state: State, drift: Drift) -> Reading:
    """One of them."""
    window = state.drift.window(drift)
    if not window:
        return Reading(drift, why="switched off by the contract")
    return Reading(drift, *_LOOKS[drift](state, window))


def signal_cost(state: State) -> str:
    """Whether the checks cost more than the work that they judge, in a line; "" where they do not."""
    found = dear(state.costs)
    if found is None:
        return ""
    check, act = (format_duration(round(1000 * seconds)) for seconds in found)
    return f"the signal costs more than the work: {check} of checks, {act} of work over the last tasks"


class _Said(NamedTuple):
    light: Light
    why: str
    evidence: tuple[str, ...] = ()
    task: ev.TaskId | None = None
    told: str = ""


def _victory(state: State, window: int) -> _Said:
    """Claims against verdicts: the last one was false; firing at so many false ones among the last ten, at least half
    of them."""
    seen = state.drift
    if not seen.claimed:
        return _Said(Light.QUIET, "no worker has claimed anything yet")
    share = f"{seen.false} of {counted(seen.claimed, 'claim')} false ({100 * seen.false // seen.claimed} %)"
    false = [claim for claim in seen.claims if claim.verdict is not Verdict.PASSED]
    many = len(false) >= window and 2 * len(false) >= len(seen.claims)
    last = seen.claims[-1]
    if not many and last.verdict is Verdict.PASSED:
        return _Said(Light.QUIET, f"{share}; the last one was true" if seen.false else share)
    evidence = tuple(
        f"iteration {one.iteration}: task {one.task} said done, the check said {one.verdict}" for one in false
    )
    told = (
        "Workers before you said done and were wrong. Run the check yourself, read what it says, and only then claim."
    )
    return _Said(Light.FIRING if many else Light.SUSPECT, share, evidence, last.task, told)


def _rot(state: State, _: int) -> _Said:
    """What a task that is not verified is told about was there when the plan was accepted, and is gone."""
    rotten = [one for one in state.drift.rot if (task := state.task(one.task)) and task.status is not TaskStatus.DONE]
    if not rotten:
        held = (
            f"; you hold to {counted(len(state.drift.confirmed), 'name')} that are gone"
            if state.drift.confirmed
            else ""
        )
        return _Said(Light.QUIET, f"what the plan names is there{held}")
    first = rotten[0]
    more = f" and {len(first.gone) - 1} more" if len(first.gone) > 1 else ""
    lines = tuple(f"task {one.task}: {name}" for one in rotten for name in one.gone)
    return _Said(Light.FIRING, f"{first.gone[0]}{more} gone, and task {first.task} names it", lines, first.task, "")


def _pollution(state: State, window: int) -> _Said:
    """The log grows by so many tokens an iteration, or is contradicted by verdicts, or names what is gone. Two of
    these, or growth by four times as many, fire."""
    lately = state.drift.surveys[-LATELY:]
    if not lately:
        return _Said(Light.QUIET, "nothing was written yet")
    grown = sum(one.grown for one in lately) // CHARACTERS // len(lately)
    wrong = sum(one.contradicted for one in lately)
    undone = sum(one.undone for one in lately)
    stale = lately[-1].stale
    growing = len(lately) > 1 and grown > window
    signs = [f"the log grows by {format_count(grown)} tokens an iteration"] if growing else []
    signs += [f"{counted(wrong, 'line')} of the log contradicted by verdicts"] if wrong >= CONTRADICTED else []
    signs += (
        [f"the harness's files were written to in {counted(undone, 'iteration')}"] if undone >= CONTRADICTED else []
    )
    signs += [f"the end of the log names {counted(len(stale), 'path')} that are gone"] if len(stale) >= STALE else []
    if not signs:
        return _Said(Light.QUIET, f"the log grows by {format_count(grown)} tokens an iteration")
    fires = len(signs) > 1 or (growing and grown > FLOOD * window)
    told = (
        "Hold to the harness's own record above, not to what the log says; write few lines, and only what is measured."
    )
    evidence = (*signs[1:], *(f"gone: {path}" for path in stale if len(stale) >= STALE))
    return _Said(Light.FIRING if fires else Light.SUSPECT, signs[0], evidence, None, told)


def _gaming(state: State, window: int) -> _Said:
    """Tampering in the last so many iterations fires; what was only suspected there is suspect."""
    counts = [(state.tampered, "tampered with in"), (state.suspected, "suspicious in")]
    said = ", ".join(f"{word} {counted(count, 'iteration')}" for count, word in counts if count)
    whens = ((Light.FIRING, state.tampered_in, state.findings), (Light.SUSPECT, state.suspected_in, state.suspicions))
    for light, when, findings in whens:
        if when and state.iteration - when < window:
            evidence = tuple(f"{one.where}: {one.why or one.kind}" for one in findings)
            told = "What was done to the checks counts for nothing, and you are seen. Do the work; leave checks alone."
            return _Said(light, f"checks were {said}, last in iteration {when}", evidence, None, told)
    return _Said(Light.QUIET, f"checks were {said}, not lately" if said else "no change touched the checks")


def _tunnel(state: State, window: int) -> _Said:
    """The last so many iterations that changed anything stayed in one folder, nothing was verified in them, and open
    tasks or rules name what lies elsewhere; twice as many fire."""
    since = [one for one in state.drift.surveys if one.iteration > state.drift.verified_in and one.files]
    folder = ""
    run: list[ev.Surveyed] = []
    for one in reversed(since):
        common = _common(folder, one.folder) if run else one.folder
        if not common:
            break
        folder, run = common, [one, *run]
    if len(run) < window:
        return _Said(Light.QUIET, "changes are not stuck in one place")
    done = {str(task.id) for task in state.tasks if task.status is TaskStatus.DONE}
    away = [one for one in run[-1].named if not _within(one.path, folder) and one.by.removeprefix("task ") not in done]
    why = f"{counted(len(run), 'iteration')} in {folder}/ and nothing verified"
    if not away:
        return _Said(Light.QUIET, f"{why}, but nothing elsewhere is named")
    evidence = (f"iterations {', '.join(str(one.iteration) for one in run)}", *(f"{a.by}: {a.path}" for a in away))
    told = (
        f"The last {len(run)} workers changed {folder}/ only, and nothing was verified: look whether the cause lies "
        "elsewhere. The rules at the end hold for the whole project."
    )
    light = Light.FIRING if len(run) >= 2 * window else Light.SUSPECT
    return _Said(light, f"{why}; {away[0].by} names {away[0].path}", evidence, run[-1].task, told)


def _regression(state: State, window: int) -> _Said:
    """So many tasks that were verified fail again, twice in a row on one tree. One that failed and then passed on the
    same tree is suspect: its check may be unstable."""
    lost = [
        one for one in state.drift.regressed if (task := state.task(one.task)) and task.status is not TaskStatus.DONE
    ]
    if lost:
        one = lost[-1]
        back = (
            f"; it passed last at {one.checkpoint}: `proctor rollback --to {one.checkpoint}`" if one.checkpoint else ""
        )
        evidence = tuple(f"task {r.task}: {r.verdict} in iteration {r.iteration}: {r.reason}" for r in lost)
        light = Light.FIRING if len(lost) >= window else Light.SUSPECT
        return _Said(
            light,
            f"task {one.task} was verified and fails again since iteration {one.iteration}{back}",
            evidence,
            one.task,
            "",
        )
    lately = [one for one in state.drift.unstable if state.iteration - one.iteration < LATELY]
    if lately:
        one_of = lately[-1]
        why = f"the check of task {one_of.task} failed and passed again on the same tree: it may be unstable"
        evidence = tuple(f"task {u.task} in iteration {u.iteration}: {u.reason}" for u in lately)
        return _Said(Light.SUSPECT, why, evidence, one_of.task, "")
    again = sum(task.regressions for task in state.tasks)
    return _Said(Light.QUIET, f"{counted(again, 'regression')}, mended" if again else "what was verified still passes")


def _runaway(state: State, window: int) -> _Said:
    """Spend a verified task: an open one has used half of so many times the median, or the last three rose to twice the
    median of all."""
    found = _median(state)
    if found is None:
        return _Said(Light.QUIET, f"fewer than {VERIFIED} verified tasks to compare with")
    dimension, spent, middle = found
    task = _dearest(state, dimension)
    used = task.spent.get(dimension, 0) if task else 0
    times = used / middle
    figures = tuple(f"{format_amount(dimension, one)} a verified task" for one in spent[-5:])
    if task is not None and 2 * times >= window and used >= LEAST.get(dimension, 0):
        why = (
            f"task {task.id} has used {format_amount(dimension, used)} of {dimension}, {times:.1f} times the median of "
            f"{len(spent)} verified tasks"
        )
        told = "This task has used many times what others did. Find the smallest change that its check accepts."
        return _Said(Light.FIRING, why, figures, task.id, told)
    last = spent[-3:]
    if all(one < two for one, two in pairwise(last)) and last[-1] >= 2 * middle and last[-1] >= LEAST.get(dimension, 0):
        rising = " < ".join(format_amount(dimension, one) for one in last)
        why = f"a verified task costs more each time: {rising} of {dimension}"
        return _Said(Light.SUSPECT, why, figures, None, "")
    return _Said(Light.QUIET, f"{format_amount(dimension, round(middle))} of {dimension} a verified task")


_LOOKS: dict[Drift, Callable[[State, int], _Said]] = {
    Drift.PREMATURE_VICTORY: _victory,
    Drift.PLAN_ROT: _rot,
    Drift.STATE_POLLUTION: _pollution,
    Drift.TEST_GAMING: _gaming,
    Drift.TUNNEL_VISION: _tunnel,
    Drift.SILENT_REGRESSION: _regression,
    Drift.BUDGET_RUNAWAY: _runaway,
}


# --- what follows ---------------------------------------------------------------------------------


def runaway(state: State) -> Response | None:
    """What a task that runs away with the budget is answered: `narrow` once, then `park` at so many times the median,
    and at as many more for each time that the operator let it go on."""
    window = state.drift.window(Drift.BUDGET_RUNAWAY)
    found = _median(state) if window else None
    task = state.task(state.settled_task)
    if found is None or task is None or task.status not in (TaskStatus.PENDING, TaskStatus.FAILED):
        return None
    dimension, _, middle = found
    used = task.spent.get(dimension, 0)
    if used < LEAST.get(dimension, 0):
        return None
    mine = [one for one in state.drift.answered if one.task == task.id and one.iteration != state.settled]
    parks = sum(one.response is Response.PARK for one in mine)
    if used >= window * (parks + 1) * middle:
        return Response.PARK
    narrowed = any(one.response is Response.NARROW for one in mine)
    return Response.NARROW if 2 * used >= window * middle and not narrowed else None


def told(found: Iterable[Reading], task: ev.TaskId) -> tuple[str, ...]:
    """What the next worker on a task hears of the lights that are not quiet."""
    about_others = (Drift.BUDGET_RUNAWAY,)
    lit = (one for one in found if one.light is not Light.QUIET and one.told)
    return tuple(one.told for one in lit if one.drift not in about_others or one.task == task)


def _median(state: State) -> tuple[Dimension, list[int], float] | None:
    """The dimension that is looked at, what each verified task used of it in their order, and the median."""
    done = [task for task in state.tasks if task.status is TaskStatus.DONE and task.spent]
    done.sort(key=lambda task: task.verified_by or 0)
    for dimension in SPENDS:
        spent = [task.spent.get(dimension, 0) for task in done]
        if len(spent) >= VERIFIED and (middle := median(spent)):
            return dimension, spent, float(middle)
    return None


def _dearest(state: State, dimension: Dimension) -> TaskState | None:
    """The open task that has used most."""
    return max(state.open_tasks, key=lambda task: task.spent.get(dimension, 0), default=None)


def _common(one: str, other: str) -> str:
    """The deepest folder that holds both; "" for the workspace itself."""
    parts: Sequence[tuple[str, str]] = list(zip(one.split("/"), other.split("/"), strict=False))
    return "/".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], parts))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
