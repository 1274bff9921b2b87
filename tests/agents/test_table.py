"""Agent by scenario. `pytest -m agents --dist load tests/agents` prints the table, two cells at a time."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.agents import BY_NAME, present
from agents.cells import SCENARIOS, tried

pytestmark = pytest.mark.agents
OFFLINE = "PROCTOR_AGENTS_OFFLINE"
"""Set to 1 where there is to be no network but loopback."""


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_task_is_done_and_verified(
    name: str, scenario: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cell", (name, scenario))
    present(name)
    record_property("said", tried(BY_NAME[name], scenario, tmp_path))


@pytest.mark.skipif(os.environ.get(OFFLINE) != "1", reason=f"{OFFLINE} is not set")
def test_there_is_no_network_outside() -> None:
    interfaces = [line.partition(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    assert interfaces == ["lo"]
    with socket.socket() as outside:
        assert outside.connect_ex(("192.0.2.1", 443)) in (errno.ENETUNREACH, errno.EHOSTUNREACH)
