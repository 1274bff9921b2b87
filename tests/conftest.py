"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, by a short path: the address of a Unix socket holds 107 bytes."""
    return tmp_path_factory.mktemp("t")
