from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.burn import MINUTE, Sample, rate, recent, sparkline, time_left

steps = st.lists(st.tuples(st.integers(1, 5 * MINUTE), st.integers(0, 10_000)), min_size=1, max_size=40)


def series(pairs: list[tuple[int, int]]) -> list[Sample]:
    samples, at, used = [], 0, 0
    for pause, amount in pairs:
        at, used = at + pause, used + amount
        samples.append(Sample(at, used))
    return samples


def test_a_steady_burn_is_its_units_a_minute() -> None:
    samples = [Sample(minute * MINUTE, minute * 500) for minute in range(11)]
    assert rate(samples, 10 * MINUTE) == 500
    assert rate(samples, 10 * MINUTE, window=2 * MINUTE) == 500


def test_the_window_forgets_what_was_long_ago() -> None:
    samples = [Sample(0, 0), Sample(MINUTE, 100_000), Sample(20 * MINUTE, 100_100)]
    assert rate(samples, 20 * MINUTE) == 10


def test_a_budget_that_stands_still_is_seen_to_slow_down() -> None:
    samples = [Sample(0, 0), Sample(MINUTE, 600)]
    assert rate(samples, MINUTE) == 600
    assert rate(samples, 6 * MINUTE) == 100
    assert rate(samples, 11 * MINUTE) == 0


def test_before_any_time_has_passed_nothing_is_known() -> None:
    assert rate([], 5) is None
    assert rate([Sample(5, 100)], 5) is None
    assert rate([Sample(5, 100)], MINUTE + 5) == 0


def test_time_left_is_what_remains_at_this_rate() -> None:
    assert time_left(600, 1_000, 100.0) == 4 * MINUTE
    assert time_left(1_000, 1_000, None) == 0
    assert time_left(2_000, 1_000, 100.0) == 0
    assert time_left(600, 1_000, None) is None
    assert time_left(600, 1_000, 0.0) is None


def test_a_sparkline_shows_where_in_the_window_it_was_used() -> None:
    samples = [Sample(0, 0), Sample(30_000, 100), Sample(90_000, 150), Sample(240_000, 200)]
    assert sparkline(samples, 4 * MINUTE, bars=4, window=4 * MINUTE) == [100, 50, 0, 50]
    assert sparkline([], 4 * MINUTE, bars=3) == [0, 0, 0]


@given(steps, st.integers(0, 30 * MINUTE), st.integers(1, 20))
def test_bars_are_never_negative_and_add_up_to_what_the_window_used(
    pairs: list[tuple[int, int]], pause: int, bars: int
) -> None:
    samples = series(pairs)
    now = samples[-1].at + pause
    line = sparkline(samples, now, bars)
    assert len(line) == bars
    assert min(line) >= 0
    assert sum(line) == sum(sparkline(samples, now, 1))


@given(steps, st.integers(0, 30 * MINUTE))
def test_old_samples_can_be_dropped_without_changing_anything(pairs: list[tuple[int, int]], pause: int) -> None:
    samples = series(pairs)
    now = samples[-1].at + pause
    kept = recent(samples, now)
    assert sparkline(kept, now, 8) == sparkline(samples, now, 8)
    assert rate(kept, now) == rate(samples, now)
