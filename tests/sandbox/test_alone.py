"""One worker at a time in a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.sandbox.alone import Busy, alone


def test_a_second_worker_has_to_wait_for_the_first_one_s_end(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(Busy, match="another worker is at work there"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


def test_workers_in_different_folders_are_not_in_each_other_s_way(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with alone(tmp_path / "one"), alone(tmp_path / "two"):
        pass
