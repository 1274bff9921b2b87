"""Detectors over recorded trajectories: ours as a session runs them, and the public ones, written anew from what is
known of them and not weakened.

`alarm(trajectory)` of each says where it would first have stopped the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import msgspec

from proctor.approvals import requests
from proctor.contract.progress import Plateau
from proctor.journal import events as ev
from proctor.progress import fingerprint, loops
from proctor.progress.memory import Memory, observe
from proctor.progress.plateau import Spent, rows, standing
from proctor.words import Dimension, IterationEnd, Light, LoopRule, Phase, Rule, TaskStatus, Verdict
from proctor.worker import tools
from trajectories.form import Call, Header, Iteration, Trajectory

DEFAULT = Plateau()


class Alarm(NamedTuple):
    """Where a detector fires: the iteration, after how many of its calls (None: when it was over), and why."""

    iteration: int
    calls: int | None
    why: str


class Detector(NamedTuple):
    name: str
    alarm: Callable[[Trajectory], Alarm | None]


# --- ours -----------------------------------------------------------------------------------------


def ours(trajectory: Trajectory) -> Alarm | None:
    """The first firing of the rules over iterations or of those inside one."""
    return next((alarm for alarm, light in signals(trajectory) if light is Light.FIRING), None)


def signals(trajectory: Trajectory) -> Iterator[tuple[Alarm, Light]]:
    """All that the rules say of a run, had it gone on regardless: every circle and every standing that is not quiet."""
    windows = _windows(trajectory.header)
    limits = {Dimension(name): limit for name, limit in trajectory.header.limits.items() if name in set(Dimension)}
    memory = Memory()
    used: dict[Dimension, int] = {}
    for one in trajectory.iterations:
        yield from _circles(one, {rule: windows[rule] for rule in LoopRule})
        memory = reduce(observe, events(one), memory)
        for dimension in limits:
            used[dimension] = used.get(dimension, 0) + round(one.spend.of(dimension))
        if one.verified:
            used = {}
        spent = {name: Spent(used[name], round(limit)) for name, limit in limits.items()} if used else {}
        found = standing(memory, {rule: windows[rule] for rule in Rule}, one.iteration, spent)
        memory = reduce(observe, rows(found, one.iteration), memory)
        if found.light is not Light.QUIET:
            said = f"{' and '.join(signal.rule for signal in found.signals)}: {found.why}"
            yield Alarm(one.iteration, None, said), found.light
        memory = reduce(observe, _afterwards(one), memory)
        if one.reset:
            used = {}


def events(one: Iteration) -> Iterator[ev.Event]:
    """The rows of the journal that an iteration stands for, as the loop writes them."""
    for verdict in one.verdicts:
        if verdict.phase == "baseline":
            yield _judged(one, verdict)
    number, task = one.iteration, one.task
    yield ev.IterationStarted(iteration=number, task=task, key="", tree=one.before)
    how = IterationEnd(one.how) if one.how in set(IterationEnd) else IterationEnd.EXITED
    yield ev.IterationEnded(
        iteration=number,
        task=task,
        how=how,
        files=one.files or 0,
        lines=one.lines,
        tree=one.tree,
        hindered=one.hindered,
    )
    for verdict in one.verdicts:
        if verdict.phase != "baseline":
            yield _judged(one, verdict)
    if one.verified:
        yield ev.TaskDone(task=task, iteration=number, checkpoint="")


def _judged(one: Iteration, said: Any) -> ev.Judged:
    verdict = Verdict(said.verdict) if said.verdict in set(Verdict) else Verdict.FAILED
    phase = Phase(said.phase) if said.phase in set(Phase) else Phase.WORK
    return ev.Judged(
        iteration=one.iteration,
        task=one.task if said.task is None else said.task,
        phase=phase,
        verdict=verdict,
        check=said.check,
        failing=said.failing,
        failures=said.failures or len(said.failing),
        digest=said.digest or fingerprint.failure(said.check, verdict, said.failing, said.message),
    )


def _afterwards(one: Iteration) -> Iterator[ev.Event]:
    for aside in one.aside:
        status = TaskStatus.REVIEW if aside.status == "review" else TaskStatus.BLOCKED
        yield ev.TaskMoved(task=aside.task, status=status, why=aside.why)
    if one.reset:
        yield ev.PlateauReset(by="operator")


def _circles(one: Iteration, times: Mapping[LoopRule, int]) -> Iterator[tuple[Alarm, Light]]:
    """Each rule inside an iteration once at each light, as the watch over a running worker tells it."""
    circles, told = loops.NONE, set[tuple[LoopRule, Light]]()
    for at, call in enumerate(one.events, 1):
        if call.denied:
            request = requests.digest(call.tool, call.input)
            circles = circles.after_denial(request, call.tool)
        else:
            circles = circles.after(_call(call))
        found = loops.judge(circles, times)
        if found is not None and (found.rule, found.light) not in told:
            told.add((found.rule, found.light))
            yield Alarm(one.iteration, at, f"{found.rule}: {found.evidence[0]}"), found.light


def _call(call: Call) -> loops.Call:
    name = tools.NAMES.get(call.tool, call.tool)
    given = tools.canonical_input(call.input)
    return loops.call(
        name, given, call.said, ok=not call.failed, ms=round(call.ms), batch=call.batch, digest=call.digest
    )


def _windows(header: Header) -> dict[Rule | LoopRule, int]:
    named: dict[Rule | LoopRule, int] = {**DEFAULT.windows, **DEFAULT.loops}
    return {rule: header.windows.get(rule, window) for rule, window in named.items()}


# --- the public ones ------------------------------------------------------------------------------


class Pair(NamedTuple):
    """An action and its observation, as agents compare them: all but ids and times."""

    action: str
    observation: str
    error: bool

    @property
    def loosely(self) -> Pair:
        """A command's output left out: of two of them, only whether they failed is compared."""
        return self._replace(observation=self.observation.split()[0]) if self.action.startswith("shell ") else self


def pair(call: Call) -> Pair:
    action = f"{call.tool} {msgspec.json.encode(call.input, order='sorted').decode()}"
    return Pair(action, f"{call.failed} {call.digest or call.said}", call.failed and call.tool != "shell")


def _watch(trajectory: Trajectory, holds: Callable[[list[Pair]], str], across: bool) -> Alarm | None:
    """Ask after each call of one worker; `across` goes on over the borders of workers, as if they were one."""
    seen: list[Pair] = []
    for one in trajectory.iterations:
        seen = seen if across else []
        for at, call in enumerate(one.events, 1):
            seen.append(pair(call))
            if why := holds(seen):
                return Alarm(one.iteration, at, why)
    return None


def four_pairs(seen: list[Pair]) -> str:
    """Four identical pairs of action and observation in a row (OpenHands)."""
    last = seen[-4:]
    return "four identical pairs" if len(last) == 4 and len(set(last)) == 1 else ""


def openhands(seen: list[Pair]) -> str:
    """All of OpenHands' patterns over tool calls: four identical pairs; three times one action that ends in an error,
    in whatever words (a command that fails is no error of its tool); six steps that alternate between two pairs."""
    if why := four_pairs(seen):
        return why
    last = seen[-3:]
    if len(last) == 3 and len({one.action for one in last}) == 1 and all(one.error for one in last):
        return "three errors of one action"
    last = seen[-6:]
    if len(last) == 6 and all(last[at] == last[at + 2] for at in range(4)):
        return "six steps alternate"
    return ""


def openhands_loosely(seen: list[Pair]) -> str:
    """The same as in releases that compared commands by their exit code, whatever they printed."""
    return openhands([one.loosely for one in seen[-6:]])


def five_hashes(seen: list[Pair]) -> str:
    """Five identical calls in a row, by name and arguments alone (Gemini CLI)."""
    last = [one.action for one in seen[-5:]]
    return "five identical calls" if len(last) == 5 and len(set(last)) == 1 else ""


def three_idle_loops(trajectory: Trajectory) -> Alarm | None:
    """Three loops in a row in which no file changed (the circuit breaker of Ralph loops). A verified task is progress
    to it as well."""
    idle = 0
    for one in trajectory.iterations:
        idle = 0 if one.changed or one.verified else idle + 1
        if idle == 3:
            return Alarm(one.iteration, None, "three loops without a change")
    return None


def circuit_breaker(trajectory: Trajectory) -> Alarm | None:
    """The whole breaker: three loops without a change, or five in a row in whose failed calls one line that speaks of
    an error comes again."""
    alarms = [alarm for alarm in (three_idle_loops(trajectory), _same_error(trajectory)) if alarm]
    return min(alarms, key=lambda alarm: alarm.iteration, default=None)


_ERROR = re.compile("error|exception|fatal|failed|refused|denied|no such|not found", re.IGNORECASE)


def _same_error(trajectory: Trajectory) -> Alarm | None:
    run: list[set[str]] = []
    for one in trajectory.iterations:
        said = (line for call in one.events if call.failed for line in (call.said or "").splitlines())
        errors = {line.strip() for line in said if _ERROR.search(line)}
        run = [*run[-4:], errors]
        if len(run) == 5 and set.intersection(*run):
            return Alarm(one.iteration, None, "five loops with one error")
    return None


def _over_calls(name: str, holds: Callable[[list[Pair]], str]) -> Iterable[Detector]:
    yield Detector(name, lambda trajectory: _watch(trajectory, holds, across=False))
    yield Detector(f"{name}, across workers", lambda trajectory: _watch(trajectory, holds, across=True))


OURS = Detector("proctor", ours)
PUBLIC = (
    *_over_calls("four identical pairs", four_pairs),
    *_over_calls("openhands, all patterns", openhands),
    *_over_calls("openhands, output ignored", openhands_loosely),
    *_over_calls("five identical calls", five_hashes),
    Detector("three loops without change", three_idle_loops),
    Detector("circuit breaker, whole", circuit_breaker),
)
