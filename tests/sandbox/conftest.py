from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import Completed, run
from proctor.sandbox.running import Backend

Shell = Callable[..., tuple[int | None, str]]


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come"
        time.sleep(0.005)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project with an oracle at two depths, a repository, a secret and proctor's own folder."""
    place = tmp_path / "outside" / "project"
    for name in (
        "tests/check.py",
        "deep/a/oracle/check.py",
        "src/app.py",
        ".git/config",
        ".proctor/journal.db",
        "secrets/key",
    ):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")
    return place


@pytest.fixture
def policy(workspace: Path) -> Policy:
    return Policy(workspace, protect=("tests/", "deep/a/oracle"), hide=("secrets",))


@pytest.fixture
def bwrap() -> Backend:
    return choose("bwrap")


@pytest.fixture(params=["bwrap", "weak", "none"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return choose(request.param)


@pytest.fixture
def attempt(tmp_path: Path) -> Callable[..., Completed]:
    """Runs a command to its end; its output is in the file `said` of the test's folder."""

    def go(backend: Backend, policy: Policy, *argv: str, timeout: float = PATIENCE, limit: int = 1 << 20) -> Completed:
        return run(backend, argv, policy, timeout, tmp_path / "said", limit)

    return go


@pytest.fixture
def shell(bwrap: Backend, policy: Policy, attempt: Callable[..., Completed], tmp_path: Path) -> Shell:
    """Runs a shell script inside, under the test's policy with changes; its exit code and what it said."""

    def go(script: str, **changes: object) -> tuple[int | None, str]:
        done = attempt(bwrap, replace(policy, **changes), "sh", "-c", textwrap.dedent(script))  # type: ignore[arg-type]
        return done.exit.code, (tmp_path / "said").read_text(errors="replace")

    return go


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for the operator, with a secret in it."""
    place = tmp_path / "people" / "operator"
    (place / ".ssh").mkdir(parents=True)
    (place / ".ssh" / "id").write_text("SECRET")
    monkeypatch.setenv("HOME", str(place))
    return place


def tree(folder: Path) -> dict[str, str]:
    """Every file and folder with its content, for comparing a host's state before and after."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.join(top, name)] = "folder"
        for name in files:
            found[os.path.join(top, name)] = Path(top, name).read_text(errors="replace")
    return found
