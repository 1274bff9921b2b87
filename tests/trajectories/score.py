"""How good a detector is on labelled trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean

from trajectories.form import Trajectory
from trajectories.rules import OURS, PUBLIC, Alarm, Detector


@dataclass
class Score:
    """`found`: stuck runs whose first alarm came once they were stuck. `false`: alarms on healthy runs, or on stuck
    ones before they were. `waits` are iterations from the first stuck one to the alarm, both counted; `saved` tokens
    spent after the alarm, `lost` all that were spent from the first stuck iteration on."""

    name: str
    found: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    saved: float = 0.0
    lost: float = 0.0

    @property
    def precision(self) -> float | None:
        """Of its alarms, the share that was right; None for one that never fired."""
        alarms = len(self.found) + len(self.false)
        return len(self.found) / alarms if alarms else None

    @property
    def recall(self) -> float:
        stuck = len(self.found) + len(self.missed)
        return len(self.found) / stuck if stuck else 1.0

    @property
    def to_detection(self) -> float | None:
        return mean(self.waits) if self.waits else None

    @property
    def share_saved(self) -> float:
        return self.saved / self.lost if self.lost else 0.0


def score(detector: Detector, trajectories: Iterable[Trajectory]) -> Score:
    """Run a detector over all."""
    made = Score(detector.name)
    for one in trajectories:
        alarm = detector.alarm(one)
        early = alarm is not None and one.is_stuck and alarm.iteration < one.stuck_from
        if alarm is not None and (early or not one.is_stuck):
            made.false.append(f"{one.header.name} at {alarm.iteration}: {alarm.why}")
        if not one.is_stuck:
            continue
        made.lost += sum(x.spend.tokens for x in one.iterations if x.iteration >= one.stuck_from)
        if alarm is None or early:
            made.missed.append(one.header.name)
            continue
        made.found.append(one.header.name)
        made.waits.append(alarm.iteration - one.stuck_from + 1)
        made.saved += left(one, alarm)
    return made


def left(trajectory: Trajectory, alarm: Alarm) -> float:
    """Tokens that were spent after an alarm; inside an iteration, by the share of its calls that came later."""
    later = sum(one.spend.tokens for one in trajectory.iterations if one.iteration > alarm.iteration)
    here = next(one for one in trajectory.iterations if one.iteration == alarm.iteration)
    if alarm.calls is None or not here.events:
        return later
    return later + here.spend.tokens * (1 - alarm.calls / len(here.events))


def not_beaten(own: Score, other: Score) -> str:
    """Why a public rule is not beaten, or nothing: our precision is never lower, our recall strictly higher."""
    if other.precision is not None and (own.precision or 0.0) < other.precision:
        return f"precision {own.precision} is lower than {other.precision}"
    if own.recall <= other.recall:
        return f"recall {own.recall} is not higher than {other.recall}"
    return ""


def scores(trajectories: Sequence[Trajectory]) -> tuple[Score, list[Score]]:
    """Ours, and those of the public rules."""
    return score(OURS, trajectories), [score(rule, trajectories) for rule in PUBLIC]
