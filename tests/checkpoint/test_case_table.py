"""The table of checkpoint cases, K1 to K24, each on a disk and in memory (ext4 and tmpfs, where this runs on them)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoint import case_files as files
from checkpoint import case_repositories as repositories
from checkpoint import case_sessions as sessions
from checkpoint.ground import Ground

TABLE: dict[str, Callable[[Ground], None]] = {
    "K1": repositories.killed,
    "K2": repositories.commits,
    "K3": repositories.staged,
    "K4": repositories.hundred,
    "K5": files.parents_variables,
    "K6": files.conversions,
    "K7": sessions.failed_snapshot,
    "K8": files.protected,
    "K9": files.no_change,
    "K10": repositories.apart,
    "K11": sessions.others_work,
    "K12": files.any_writer,
    "K13": repositories.nested,
    "K14": repositories.in_progress,
    "K15": files.large_files,
    "K16": files.no_project,
    "K17": repositories.locks,
    "K18": sessions.damage,
    "K19": repositories.collected,
    "K20": sessions.open_files,
    "K21": files.same_second,
    "K22": files.modes,
    "K23": files.names,
    "K24": sessions.fifty_deep,
}
SHARED_MEMORY = Path("/dev/shm")
LONG = ("K1", "K4", "K14", "K24")
"""Seconds each: in the ordinary suite on one of the two file systems, as nothing in them depends on which."""


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    if request.param == "disk":
        root = tmp_path / "root"
        root.mkdir()
    elif SHARED_MEMORY.is_dir():
        root = Path(tempfile.mkdtemp(prefix="t", dir=SHARED_MEMORY))
    else:
        pytest.skip("no file system in memory here")
    ground = Ground(root, monkeypatch)
    ground.prepare()
    yield ground
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.parametrize(
    ("ground", "case"),
    [
        pytest.param(place, case, marks=[pytest.mark.cases] if place == "memory" and case in LONG else [])
        for place in ("disk", "memory")
        for case in TABLE
    ],
    indirect=["ground"],
)
def test_each_case_holds(ground: Ground, case: str) -> None:
    assert (TABLE[case].__doc__ or "").startswith(f"{case}:")
    TABLE[case](ground)


def test_no_case_is_left_out() -> None:
    assert list(TABLE) == [f"K{number}" for number in range(1, 25)]
