"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("proctor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("proctor")  # how fast the machine is says nothing of the code


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, by a short path: the address of a Unix socket holds 107 bytes."""
    return tmp_path_factory.mktemp("t")
