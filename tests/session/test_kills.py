"""Real SIGKILLs of the supervisor at each of the seven steps, seeded; everything is asserted from rows."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import pytest

from harness import PATIENCE, Workspace, wait_until
from proctor.journal import events as ev
from proctor.supervisor.client import Client
from proctor.words import Dimension, SessionStatus, Step

ALL, PER_SESSION, MOST_SESSIONS = 50, 5, 30
"""Kills altogether, kills of one session, sessions in which they must have come about."""


@pytest.mark.kills
def test_fifty_kills_lose_no_task_and_verify_none_twice(sample: Callable[..., Workspace]) -> None:
    killed: Counter[Step] = Counter(dict.fromkeys(Step, 0))
    for seed in range(MOST_SESSIONS):
        if killed.total() >= ALL:
            break
        one_session(sample("csv_tool", into=f"w{seed}"), random.Random(seed), killed)
    assert killed.total() >= ALL, killed
    assert min(killed.values()) >= ALL // len(Step) // 2, killed


def one_session(workspace: Workspace, chance: random.Random, killed: Counter[Step]) -> None:
    """Kill one session again and again, each time at the step that was hit least, then let it finish."""
    for name in ("tokens", "cost", "tool_calls", "iterations", "lines_changed"):  # work that is lost is paid twice
        workspace.raise_ceiling(name, 20)
    spent: dict[Dimension, int] = {}
    for _ in range(PER_SESSION):
        step = min(Step, key=lambda step: (killed[step], chance.random()))
        jitter = chance.choice((0.0, 0.0, 0.005, 0.02, 0.1))
        if not killed_at(workspace, step, jitter):
            break
        killed[step] += 1
        wait_until(lambda: not workspace.processes(), "nothing alive")
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
    assert (state.reserved, state.intent, state.rollback) == (None, None, None)
    assert workspace.processes() == []


def killed_at(workspace: Workspace, step: Step, jitter: float) -> bool:
    """SIGKILL the supervisor `jitter` seconds after it enters a step; False if the session ended before."""
    before = workspace.live("loop").get("since", 0.0)
    run = workspace.start("--yes")
    pid = wait_until(lambda: workspace.supervisor() or run.poll() is not None, "a supervisor")
    with Client(workspace.path) as client:
        loop = client.live("loop")
        while loop.get("step") != step or loop["since"] <= before:  # no pause: some steps last a millisecond
            if run.poll() is not None:
                output, _ = run.communicate()
                assert run.returncode == 0, output
                return False
            loop = client.live("loop")
    time.sleep(jitter)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    run.wait(timeout=PATIENCE)
    return workspace.status()["status"] == "interrupted"


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
