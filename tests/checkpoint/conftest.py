from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.repository import Store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of nobody: what the person who runs the tests has configured does not count."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A small project without git."""
    work = tmp_path / "work"
    write(work / "README", "a project\n")
    write(work / "src/main.py", "print(1)\n")
    write(work / "src/deep/er/x.py", "x = 1\n")
    write(work / "run.sh", "#!/bin/sh\n", 0o755)
    write(work / "data.bin", bytes(range(256)) * 40)
    return work


@pytest.fixture
def store_of() -> Callable[[Path], Store]:
    return lambda work: Store(work, work / ".proctor" / "checkpoints.git", ("tasks.json", "PROGRESS.md", "RULES.md"))


@pytest.fixture
def store(work: Path, store_of: Callable[[Path], Store]) -> Store:
    return store_of(work)
