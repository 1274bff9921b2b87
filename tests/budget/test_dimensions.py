from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.dimensions import Ceiling, Usage, add, larger, merge_tokens
from proctor.journal.events import Figure
from proctor.words import Dimension, Exhaustion, Source

amounts = st.integers(0, 10**9)
usages = st.builds(Usage, amounts, amounts, amounts, amounts)


def test_input_from_the_cache_belongs_to_the_prefix_and_counts_once() -> None:
    usage = Usage(input=100, output=20, cache_read=1_000, cache_write=50)
    assert usage.amounts == {
        Dimension.TOKENS: 1_170,
        Dimension.PREFIX_TOKENS: 1_150,
        Dimension.GENERATED_TOKENS: 20,
    }
    assert usage + Usage(input=1, output=2) == Usage(101, 22, 1_000, 50)


def test_an_honest_report_is_taken_and_marked_as_reported() -> None:
    assert larger(1_000, 400) == Figure(1_000, Source.REPORTED)
    assert larger(1_000, 1_000) == Figure(1_000, Source.REPORTED)


def test_a_worker_that_reports_nothing_or_too_little_is_estimated() -> None:
    assert larger(None, 400) == Figure(400, Source.ESTIMATED)
    assert larger(10, 400) == Figure(400, Source.ESTIMATED)
    assert larger(0, 400) == Figure(400, Source.ESTIMATED)


def test_what_nobody_knows_is_unknown_and_not_a_measured_zero() -> None:
    assert larger(None, None).source is Source.UNKNOWN
    assert larger(5, None) == Figure(5, Source.REPORTED)


@given(st.none() | usages, usages)
def test_no_token_figure_is_below_either_side(reported: Usage | None, estimated: Usage) -> None:
    merged = merge_tokens(reported, estimated)
    for side in filter(None, (reported, estimated)):
        assert all(merged[dimension].used >= amount for dimension, amount in side.amounts.items())


@given(usages, usages, usages, usages)
def test_token_figures_only_grow_while_both_sides_do(said: Usage, seen: Usage, more: Usage, again: Usage) -> None:
    before, after = merge_tokens(said, seen), merge_tokens(said + more, seen + again)
    assert all(after[dimension].used >= before[dimension].used for dimension in before)


def test_a_sum_is_as_uncertain_as_its_least_certain_part() -> None:
    assert add([]) == Figure(0, Source.MEASURED)
    assert add([Figure(1, Source.MEASURED), Figure(2, Source.REPORTED)]) == Figure(3, Source.REPORTED)
    assert add([Figure(1, Source.REPORTED), Figure(2, Source.ESTIMATED)]) == Figure(3, Source.ESTIMATED)
    assert add([Figure(0, Source.UNKNOWN), Figure(2, Source.MEASURED)]) == Figure(2, Source.UNKNOWN)


def test_the_reserve_lies_beyond_the_limit_and_belongs_to_degrade_alone() -> None:
    assert Ceiling(Dimension.COST, 20_000_000, Exhaustion.DEGRADE, reserve=10).end == 22_000_000
    assert Ceiling(Dimension.COST, 20_000_000, Exhaustion.DEGRADE, reserve=0).end == 20_000_000
    assert Ceiling(Dimension.COST, 20_000_000, Exhaustion.DEGRADE).end == 22_000_000
    assert Ceiling(Dimension.COST, 20_000_000, Exhaustion.PARK, reserve=10).end == 20_000_000


def test_a_ceiling_is_only_ever_raised() -> None:
    ceiling = Ceiling(Dimension.TOKENS, 100, Exhaustion.PARK, per_task=10)
    assert ceiling.raised(50) == Ceiling(Dimension.TOKENS, 150, Exhaustion.PARK, per_task=10)
    for by in (0, -1):
        with pytest.raises(ValueError, match="only be raised"):
            ceiling.raised(by)
