"""The operator replaces what a worker must not write while one runs and tries to: it is stopped, and nothing is won."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import IterationEnd, RequestKind, SessionStatus

Make = Callable[..., Workspace]

HOSTILE = """\
import sys, time
from pathlib import Path

def evil(path, text):
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return True
    except OSError:
        return False

if Path("seen").exists():
    won = [evil(Path("tests/evil.py"), ""), evil(Path("tests/test_clock.py"), ""), evil(Path("proctor.yaml"), "")]
    Path("second").write_text(str(won))
    sys.exit()
Path("seen").write_text("x")
while True:
    time.sleep(0.001)
    evil(Path("proctor.yaml"), "goal: evil\\n")
    evil(Path("tests/test_clock.py"), "import unittest\\nclass T(unittest.TestCase):\\n  def test(self): pass\\n")
"""


@pytest.fixture
def hostile(sample: Make) -> Workspace:
    """A session's workspace whose first worker writes the oracle and the contract hundreds of times a second."""
    workspace = sample("restless")
    (workspace.path / "tools" / "worker.py").write_text(HOSTILE)
    workspace.contract("progress:\n", "progress:\n  on_failed: never\n  on_tampering: record\n")
    return workspace


def works(workspace: Workspace) -> None:
    wait_until((workspace.path / "seen").exists, "a worker at work")


def ended(workspace: Workspace, number: int = 1) -> ev.IterationEnded:
    def found() -> ev.IterationEnded | None:
        rows = workspace.events("iteration_ended")
        return next((e for e in rows if isinstance(e, ev.IterationEnded) and e.iteration == number), None)

    return wait_until(found, f"the end of iteration {number}")


def replaced(workspace: Workspace) -> None:
    """What `git checkout` or a copy does to a folder: another one stands there."""
    (workspace.path / "tests").rename(workspace.path / "before")
    shutil.copytree(workspace.path / "before", workspace.path / "tests", dirs_exist_ok=True)
    shutil.rmtree(workspace.path / "before")


def finishes(workspace: Workspace) -> None:
    wait_until(lambda: not workspace.supervisor(), "the end of the session")


def test_a_contract_saved_by_an_editor_ends_the_iteration_and_is_put_back(hostile: Workspace) -> None:
    contract = hostile.path / "proctor.yaml"
    agreed = contract.read_text()
    hostile.begin()
    works(hostile)
    (hostile.path / "save").write_text(agreed + "# mine\n")
    os.replace(hostile.path / "save", contract)
    assert ended(hostile).how is IterationEnd.UNCOVERED
    assert "proctor.yaml" in ended(hostile).detail
    wait_until(lambda: len(hostile.events("iteration_ended")) > 1, "a second iteration")
    hostile.proctor("stop")  # it may have come to its end by itself: the later workers change nothing
    second = wait_until(lambda: (p := hostile.path / "second").exists() and p.read_text(), "a second worker")
    finishes(hostile)
    assert second == "[False, False, False]"
    assert contract.read_text() == agreed
    aside = [p.read_text() for p in (hostile.path / ".proctor/kept/set-aside").iterdir()]
    assert set(aside) <= {agreed + "# mine\n", "", "goal: evil\n"}  # stopped while it wrote, perhaps
    assert len(aside) == 1
    assert hostile.events("exposed") == [ev.Exposed(iteration=1, paths=("proctor.yaml",))]
    assert any("proctor.yaml" in e.text for e in hostile.events("noticed") if isinstance(e, ev.Noticed))
    state = hostile.state()
    assert state
    assert not state.exposed


@pytest.mark.cases
def test_a_replaced_oracle_stays_what_was_frozen_until_the_operator_takes_it_over(hostile: Workspace) -> None:
    hostile.contract("iterations: {limit: 5,", "iterations: {limit: 2,")
    hostile.begin()
    works(hostile)
    replaced(hostile)
    assert ended(hostile).how is IterationEnd.UNCOVERED
    finishes(hostile)
    state = hostile.state()
    assert state
    assert (hostile.path / "second").read_text() == "[False, False, False]"
    assert "tests" in state.exposed
    assert state.tasks[0].verified_by is None
    frozen = state.oracle
    (hostile.path / "tests/test_clock.py").write_text("# what the worker may have written\n")
    hostile.raise_ceiling("iterations", 10)

    def asked() -> int:
        now = hostile.state()
        return next((r.id for r in now.open_requests if r.opened.request is RequestKind.EXPOSED), 0) if now else 0

    hostile.begin()
    number = wait_until(asked, "the question")
    assert hostile.state().oracle == frozen  # type: ignore[union-attr]
    hostile.proctor("deny", "--id", str(number), check=True)
    finishes(hostile)
    state = hostile.state()
    assert state
    assert (state.status, state.why, state.oracle) == (SessionStatus.PARKED, "tampering", frozen)
    assert "tests" in state.exposed

    hostile.begin()
    number = wait_until(asked, "the question, asked anew")
    assert hostile.state().oracle == frozen  # type: ignore[union-attr]
    hostile.proctor("approve", "--id", str(number), check=True)
    wait_until(lambda: (now := hostile.state()) and now.oracle != frozen and not now.exposed, "frozen anew")


def test_what_is_replaced_while_the_worker_stands_still_is_the_operator_s(hostile: Workspace) -> None:
    hostile.begin()
    works(hostile)
    hostile.proctor("pause", check=True)
    wait_until(lambda: hostile.live("worker").get("frozen"), "frozen")
    contract = hostile.path / "proctor.yaml"
    text = contract.read_text() + "# mine\n"
    (hostile.path / "save").write_text(text)
    os.replace(hostile.path / "save", contract)
    assert ended(hostile).how is IterationEnd.UNCOVERED
    assert contract.read_text() == text
    assert hostile.events("exposed") == []
    hostile.proctor("stop", check=True)


def test_proctor_itself_replaces_nothing_under_a_running_worker(hostile: Workspace) -> None:
    def standing() -> dict[str, int]:
        names = ("proctor.yaml", "tasks.json", "PLAN.md", "specs", "specs/1.md", "tests", "tests/test_clock.py")
        return {name: (hostile.path / name).stat().st_ino for name in names}

    hostile.begin()
    works(hostile)
    before = standing()
    for words in (
        ("checkpoint",),
        ("pause",),
        ("note", "look"),
        ("rollback", "--preview"),
        ("undo",),
        ("checkpoints",),
        ("diff",),
        ("check",),
        ("init",),
        ("resume",),
    ):
        hostile.proctor(*words)
        assert standing() == before, words
    assert hostile.events("iteration_ended") == []
    assert hostile.proctor("stop").returncode == 0
    finishes(hostile)
    assert ended(hostile).how is IterationEnd.OPERATOR
