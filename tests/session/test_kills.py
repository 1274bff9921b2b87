"""Real SIGKILLs of the supervisor at each of the seven steps, seeded; everything is asserted from rows."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Dimension, SessionStatus, Step

SESSIONS, KILLS = 10, 5
"""Fifty kills: each of ten sessions is killed five times on its way."""


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(SESSIONS))
def test_a_session_killed_again_and_again_finishes_with_each_task_verified_once(
    sample: Callable[..., Workspace], seed: int
) -> None:
    chance = random.Random(seed)
    workspace = sample("csv_tool")
    for name in ("tokens", "cost", "tool_calls", "iterations", "lines_changed"):  # work that is lost is paid twice
        workspace.raise_ceiling(name, 20)
    spent: dict[Dimension, int] = {}
    kills = 0
    for number in range(KILLS):
        step = list(Step)[(seed * KILLS + number) % len(Step)]
        skip = chance.randrange(3)
        kills += killed_at(workspace, step, skip)
        wait_until(lambda: not workspace.processes(), "nothing alive", 20)
        spent = never_lower(workspace, spent)
    run = workspace.start("--yes")
    output, _ = run.communicate(timeout=180)
    assert run.returncode == 0, output
    done = Counter(e.task for e in workspace.events("task_done") if isinstance(e, ev.TaskDone))
    assert done == Counter(range(1, 6))
    never_lower(workspace, spent)
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.DONE
    assert state.reserved is None
    assert state.intent is None
    assert workspace.processes() == []
    assert kills >= 1


def killed_at(workspace: Workspace, step: Step, skip: int) -> bool:
    """SIGKILL the supervisor when it enters `step` for the `skip`-th time from now; False if the session ended."""
    run = workspace.start("--yes")
    entered: list[float] = []

    def reached() -> str | None:
        loop = workspace.live("loop")
        if loop.get("step") == step and loop["since"] not in entered:
            entered.append(loop["since"])
        if run.poll() is not None:
            return "ended"
        return "there" if len(entered) > skip else None

    found = wait_until(reached, f"{step}")
    pid = workspace.supervisor()
    if found == "ended" or pid is None:
        return False
    os.kill(pid, signal.SIGKILL)
    run.wait(timeout=30)
    return True


def never_lower(workspace: Workspace, before: dict[Dimension, int]) -> dict[Dimension, int]:
    """Spend in the rows is monotone, and no less than what was seen before."""
    highest: dict[Dimension, int] = {}
    for event in workspace.events("spent"):
        assert isinstance(event, ev.Spent)
        for dimension, figure in event.figures.items():
            assert figure.used >= highest.get(dimension, 0), dimension
            highest[dimension] = figure.used
    for dimension, used in before.items():
        assert highest.get(dimension, 0) >= used, dimension
    return highest
