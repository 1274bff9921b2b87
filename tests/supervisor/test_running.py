"""What is told of a worker that is up."""

from __future__ import annotations

import pytest

from proctor.supervisor.running import is_later

SECOND = 1_000_000_000
START = 100 * SECOND + 500_000_000


@pytest.mark.parametrize(
    ("changed", "later"),
    [
        (None, True),
        (START + 1, True),
        (START - 5_000_000, True),
        (START - 50_000_000, False),
        (100 * SECOND, True),
        (98 * SECOND, False),
    ],
    ids=["unknown", "after", "within a tick", "a rollback before", "of whole seconds", "seconds before"],
)
def test_what_a_rollback_changed_before_a_worker_started_is_not_told_as_the_workers(
    changed: int | None, later: bool
) -> None:
    assert is_later(changed, START) is later
