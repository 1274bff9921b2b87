from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import Workspace


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Workspace]]:
    """Makes workspaces from samples; whatever runs in them is ended afterwards."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made: list[Workspace] = []

    def make(name: str, into: str = "w", pause: float = 0.02) -> Workspace:
        made.append(Workspace.sample(name, tmp_path / into, pause))
        return made[-1]

    yield make
    for workspace in made:
        workspace.settle()
