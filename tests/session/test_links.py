"""Files with a second name: few are copied and told, many are asked about before any worker starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import PATIENCE, Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import ExitCode, RequestKind, SessionStatus

Make = Callable[..., Workspace]


@pytest.fixture
def store(sample: Make, tmp_path: Path) -> Workspace:
    """A workspace whose dependencies are names of files of a store outside, as some package managers have it."""
    workspace = sample("restless")
    shelf = tmp_path / "store"
    shelf.mkdir()
    (workspace.path / "node_modules").mkdir()
    for number in range(1_001):
        (shelf / str(number)).write_text("shared")
        os.link(shelf / str(number), workspace.path / "node_modules" / str(number))
    return workspace


def shared(workspace: Workspace) -> int:
    return sum(entry.stat().st_nlink > 1 for entry in os.scandir(workspace.path / "node_modules"))


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_many_are_asked_about_and_no_worker_starts_before_the_answer(store: Workspace, answer: str) -> None:
    store.begin()
    wait_until(lambda: (s := store.state()) and s.status is SessionStatus.ASKING and s.open_requests, "the question")
    state = store.state()
    assert state
    [request] = state.open_requests
    assert request.opened.request is RequestKind.LINKS
    assert "1,001 files" in request.opened.what
    assert "node_modules/0" in request.opened.why
    assert store.events("worker_started") == []
    assert shared(store) == 1_001
    store.proctor(answer, "--id", str(request.id), check=True)
    if answer == "deny":
        assert store.supervisors[-1].wait(PATIENCE) == ExitCode.REQUEST_OPEN
        state = store.state()
        assert state
        assert (state.status, state.why) == (SessionStatus.PARKED, "links")
        assert store.events("worker_started") == []
        assert shared(store) == 1_001
    else:
        wait_until(lambda: store.events("worker_started"), "a worker")
        assert shared(store) == 0
        store.proctor("stop", check=True)


def test_a_flag_grants_it_on_record(store: Workspace) -> None:
    store.begin("--yes")
    wait_until(lambda: store.events("worker_started"), "a worker")
    assert [e.by for e in store.events("request_closed") if isinstance(e, ev.RequestClosed)] == ["flag --yes"]
    assert shared(store) == 0
    store.proctor("stop", check=True)


def test_a_single_command_needs_the_flag_for_many(store: Workspace) -> None:
    refused = store.proctor("sandbox", "--", "true")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (ExitCode.USAGE, 1)
    assert refused.stderr.startswith("proctor: sandbox: copy 1,001 files")
    assert "--yes" in refused.stderr
    assert shared(store) == 1_001
    assert store.proctor("sandbox", "--yes", "--", "true", check=True).stdout == ""
    assert shared(store) == 0
