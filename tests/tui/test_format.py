"""Figures and times as people say them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from proctor.tui import format as fmt
from proctor.tui.spans import Role, plain, width
from proctor.words import Dimension

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0s"),
        (48_999, "48s"),
        (42 * 60_000, "42m"),
        (65 * 60_000, "1h05m"),
        (4 * 3_600_000, "4h"),
        (52 * 3_600_000, "2d4h"),
    ],
)
def test_a_duration_is_no_finer_than_a_person_looks(ms: int, said: str) -> None:
    assert fmt.short_time(ms) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "just now"),
        (14, "14 s ago"),
        (6 * 60 + 30, "6 min ago"),
        (7200, "2 h ago"),
        (7800, "2 h 10 min ago"),
        (3 * 86_400, "3 days ago"),
    ],
)
def test_how_long_ago_is_said_as_people_say_it(seconds: int, said: str) -> None:
    assert fmt.ago(NOW - timedelta(seconds=seconds), NOW) == said


@given(limit=some.integers(1, 10**12), used=some.integers(0, 10**12))
def test_a_hundred_per_cent_is_shown_only_when_it_is_reached(limit: int, used: int) -> None:
    said = fmt.percent(used, limit).split()[0]
    assert (said != "<1" and int(said) >= 100) == (used >= limit)
    assert (said == "0") == (used == 0), "what is used is not nothing"


def test_a_limit_of_whole_dollars_has_no_cents_and_what_was_spent_has() -> None:
    assert fmt.limit(Dimension.COST, 20_000_000) == "$20"
    assert fmt.amount(Dimension.COST, 20_000_000) == "$20.00"
    assert fmt.limit(Dimension.COST, 2_500_000) == "$2.50"


def test_full_amounts_have_every_count_and_no_digit_that_nobody_reads() -> None:
    assert fmt.full(Dimension.TOKENS, 812_345) == "812,345"
    assert fmt.full(Dimension.COST, 14_602_310) == "$14.60"
    assert fmt.full(Dimension.WALL_CLOCK, 31_816) == "31s"
    assert fmt.full(Dimension.ELAPSED, 86_400_000) == "24h"
    assert fmt.full(Dimension.BYTES_WRITTEN, 20_971_520) == "20M"


@given(share=some.floats(0, 3), room=some.integers(6, 200))
def test_a_bar_has_the_same_width_and_all_its_ticks_however_full_it_is(share: float, room: int) -> None:
    bar = fmt.bar(share, room, (50, 70), Role.TEXT)
    assert width(bar) == room
    ticks = sum(plain(bar).count(tick) for tick in "┿┼")
    assert ticks == len({min(room - 3, mark * (room - 2) // 100) for mark in (50, 70)})
    assert plain(bar)[0] in "├┝"
    assert plain(bar)[-1] in "┤┥"


def test_the_least_use_is_not_drawn_as_none_and_only_a_full_bar_is_closed() -> None:
    assert "━" in plain(fmt.bar(0.0001, 40, (50, 70), Role.TEXT))
    assert "━" not in plain(fmt.bar(0, 40, (50, 70), Role.TEXT))
    assert plain(fmt.bar(0.999, 40, (50, 70), Role.TEXT))[-1] == "┤"
    assert plain(fmt.bar(1, 40, (50, 70), Role.TEXT))[-1] == "┥"


def test_a_sparkline_never_draws_something_as_nothing() -> None:
    assert fmt.spark([0, 1, 8]) == "▁▁█"
    assert fmt.spark([0, 0]) == ""
    assert len(fmt.spark(range(100), bars=8)) == 8
