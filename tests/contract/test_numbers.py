"""Every number of the contract has a least and a most, beyond which it is refused with both in the words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from proctor.contract import progress, schema
from proctor.progress import loops

from .conftest import SMALLEST

Refusal = Callable[[str | bytes], list[str]]
OFF = ", or 0, which switches it off"
LEAST = ": a shell, a runtime and git need as much"
BOUNDS = [
    ("worker.idle", "0", "8d", "1s to 7d"),
    ("state.checkpoint.max_file", "0", "1025T", "1B to 1024T"),
    ("state.checkpoint.max_total", "-1", "9999999T", "1B to 1024T"),
    ("state.checkpoint.keep", "0", "3651d", "1ms to 3650d"),
    ("budget.wall_clock.limit", "0s", "3651d", "1ms to 3650d"),
    ("budget.elapsed.per_task", "-5m", "3651d", "1ms to 3650d"),
    ("budget.tokens.limit", "0", "2T", "1 to 1T"),
    ("budget.tool_calls.per_iteration", "-1", "9" * 30, "1 to 1T"),
    ("budget.iterations.limit", "0", "2M", "1 to 1M"),
    ("budget.cost.limit", "$0", "$1,000,001", "$0.000001 to $1,000,000"),
    ("budget.bytes_written.limit", "0B", "1025T", "1B to 1024T"),
    ("progress.smoke.timeout", "0", "8d", "1ms to 7d"),
    ("progress.smoke.repeat", "-1", "1000000", "0 to 100"),
    ("progress.audit", "0", "3651d", "1ms to 3650d"),
    *((f"progress.plateau.{rule}", "-1", "1001", f"1 to 1,000{OFF}")
      for rule in ("no_change", "same_failure", "revisit", "no_op", "stalled", "same_denial")),
    ("progress.plateau.shrinking", "1", "1001", f"2 to 1,000{OFF}"),
    ("progress.plateau.same_call", "1", "65", f"2 to 64{OFF}"),
    ("progress.plateau.same_error", "1", "65", f"2 to 64{OFF}"),
    ("progress.plateau.cycle", "1", "17", f"2 to 16{OFF}"),
    ("progress.drift.premature_victory", "-1", "11", f"1 to 10{OFF}"),
    ("progress.drift.plan_rot", "-1", "5", f"1{OFF}"),
    ("progress.drift.state_pollution", "-1", "2M", f"1 to 1,000,000{OFF}"),
    ("progress.drift.test_gaming", "-1", "1001", f"1 to 1,000{OFF}"),
    ("progress.drift.tunnel_vision", "-1", "13", f"1 to 12{OFF}"),
    ("progress.drift.silent_regression", "-1", "51", f"1 to 50{OFF}"),
    ("progress.drift.budget_runaway", "1", "1001", f"2 to 1,000{OFF}"),
    ("approvals.expire", "0", "3651d", "1ms to 3650d"),
    ("sandbox.limits.memory", "64K", "1025T", f"64M to 1024T{LEAST}"),
    ("sandbox.limits.processes", "1", "5M", f"16 to 4,194,304{LEAST}"),
    ("sandbox.limits.file_size", "1000", "1025T", f"1M to 1024T{LEAST}"),
    ("sandbox.limits.open_files", "8", "2M", f"64 to 1,048,576{LEAST}"),
    ("sandbox.limits.scratch", "10", "1025T", f"1M to 1024T{LEAST}"),
    ("sandbox.limits.growth", "1K", "1025T", f"1M to 1024T{LEAST}"),
    ("gateway.prices.m.output", "-1", "$1,000,001", "$0 to $1,000,000"),
]  # fmt: skip


def within(key: str, value: str) -> str:
    """The smallest contract, with one more key."""
    *sections, last = key.split(".")
    more: dict[str, object] = {last: value}
    for section in reversed(sections[1:]):
        more = {section: more}
    lines = [line for line in SMALLEST.splitlines() if not line.startswith(sections[0])]
    return "\n".join([f"{sections[0]}: {json.dumps(more)}", *lines, ""])


@pytest.mark.parametrize(("key", "low", "high", "range_"), BOUNDS, ids=[bound[0] for bound in BOUNDS])
def test_a_number_beyond_its_bounds_is_refused_with_both(
    refusal: Refusal, key: str, low: str, high: str, range_: str
) -> None:
    less, more = (
        next(line for line in refusal(within(key, value)) if f": {key}: {value!r} is" in line) for value in (low, high)
    )
    assert less == f"proctor.yaml:1: {key}: {low!r} is too little; it can be {range_}"
    assert more == f"proctor.yaml:1: {key}: {high!r} is too much; it can be {range_.removesuffix(LEAST)}"


def numbers(rule: Any) -> Iterator[dict[str, Any]]:
    """The parts of a schema that are numbers."""
    if isinstance(rule, dict):
        if rule.get("type") in ("number", "integer"):
            yield rule
        for part in rule.values():
            yield from numbers(part)
    elif isinstance(rule, list):
        for part in rule:
            yield from numbers(part)


def test_editors_are_told_both_bounds_of_every_number() -> None:
    found = list(numbers(schema.schema()))
    assert len(found) > 40
    assert [rule for rule in found if not {"minimum", "maximum"} <= rule.keys()] == []


def test_no_rule_can_be_asked_for_more_than_is_remembered() -> None:
    assert progress.CALLS == loops.REMEMBERED
    assert progress.CALLS // 4 * max(loops.PERIODS) <= loops.REMEMBERED
