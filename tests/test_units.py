from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.units import (
    format_amount,
    format_count,
    format_duration,
    format_money,
    format_size,
    parse_amount,
    parse_count,
    parse_duration,
    parse_money,
    parse_percent,
    parse_size,
)
from proctor.words import Dimension

amounts = st.integers(min_value=0, max_value=2**53)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90_000), ("15m", 900_000), ("4h", 14_400_000), ("24h", 86_400_000), ("30d", 2_592_000_000),
        ("1h30m", 5_400_000), ("1h 30m", 5_400_000), ("2 hours 10 minutes", 7_800_000), ("1.5h", 5_400_000),
        ("500ms", 500), ("0.5 s", 500), ("1w", 604_800_000), ("60", 60_000), (60, 60_000), (0.25, 250), ("0", 0),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text: str | int | float, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", "h", "4 x", "4h!", "-4h", "1:30", "30m1h", "5m 5m", "1e3s", "4M", "½h", "٤h", "nan", True]
)
def test_what_is_no_duration_is_refused_with_the_text_in_the_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration") as caught:
        parse_duration(text)
    assert str(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [("64M", 64 << 20), ("4G", 4 << 30), ("4g", 4 << 30), ("512 KiB", 512 << 10), ("200MB", 200 << 20),
     ("1.5G", 3 << 29), ("1024", 1024), (10, 10), ("7B", 7), ("2T", 2 << 40)],
)  # fmt: skip
def test_sizes_are_binary(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "count"),
    [("2M", 2_000_000), ("812k", 812_000), ("1.5M", 1_500_000), ("3000", 3000), ("1,234,567", 1_234_567),
     ("1_000", 1000), (40, 40), ("1B", 10**9)],
)  # fmt: skip
def test_counts_are_decimal(text: str | int, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    "text", ["1.5", "0.0001k", "2MB", "1,00", "1,0000", "1234,567", "-3", "", "two", "9" * 30, "9" * 50]
)
def test_what_is_no_whole_count_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_count(text)


@pytest.mark.parametrize(
    ("text", "micro"),
    [("$20", 20_000_000), ("20", 20_000_000), ("$0.50", 500_000), ("$ 1,000.25", 1_000_250_000), ("3 USD", 3_000_000),
     ("20$", 20_000_000), (0.1, 100_000), ("0.000001", 1), (".5", 500_000), ("0", 0)],
)  # fmt: skip
def test_money_is_whole_micro_dollars(text: str | int | float, micro: int) -> None:
    assert parse_money(text) == micro


@pytest.mark.parametrize("text", ["€20", "$-1", "-1", "$", "20,50", "0.0000001", "$20k", "$$2", "free"])
def test_what_is_no_dollar_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"dollar"):
        parse_money(text)


def test_per_cents_are_whole_and_at_most_a_hundred() -> None:
    assert (parse_percent("50%"), parse_percent(70), parse_percent("100 %"), parse_percent("0")) == (50, 70, 100, 0)
    for text in ("101%", "0.5", "-1", "half", "%"):
        with pytest.raises(ValueError, match=r"per cent"):
            parse_percent(text)


def test_figures_read_as_on_the_screen() -> None:
    assert [format_duration(n) for n in (0, 850, 42 * 60_000, 5_400_000, 86_400_000 + 5_000, 3_599_999)] == [
        "0s", "850ms", "42m", "1h30m", "24h", "59m59s",
    ]  # fmt: skip
    assert [format_count(n) for n in (0, 118, 999, 812_345, 1_234_567, 2_000_000, 999_999)] == [
        "0", "118", "999", "812k", "1.23M", "2M", "999k",
    ]  # fmt: skip
    assert [format_size(n) for n in (0, 900, 64 << 20, 3 << 29, 1023 << 20)] == ["0B", "900B", "64M", "1.5G", "1023M"]
    assert [format_money(n) for n in (0, 14_600_000, 1_234_567_890, 276_935, 500_000, 30_001, 3_400, 1)] == [
        "$0.00", "$14.60", "$1,234.56", "$0.276", "$0.50", "$0.03", "$0.003", "$0.000001",
    ]  # fmt: skip


@given(st.sampled_from(list(Dimension)), amounts)
def test_what_is_shown_can_be_typed_back_and_is_never_more_than_the_amount(dimension: Dimension, amount: int) -> None:
    shown = parse_amount(dimension, format_amount(dimension, amount))
    assert shown <= amount
    assert shown >= amount * 0.95 or amount - shown < 60_000  # two units of time, three digits, or a cent
    assert (shown == 0) == (amount == 0)


@given(st.sampled_from(list(Dimension)), amounts)
def test_showing_is_stable(dimension: Dimension, amount: int) -> None:
    shown = format_amount(dimension, amount)
    assert format_amount(dimension, parse_amount(dimension, shown)) == shown


@given(st.sampled_from(list(Dimension)), amounts, amounts)
def test_more_is_never_shown_as_less(dimension: Dimension, one: int, two: int) -> None:
    low, high = sorted((one, two))
    shown = [parse_amount(dimension, format_amount(dimension, n)) for n in (low, high)]
    assert shown[0] <= shown[1]


@given(st.integers(0, 10_000), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_every_written_duration_is_the_sum_of_its_parts(d: int, h: int, m: int, s: int, ms: int) -> None:
    assert parse_duration(f"{d}d{h}h {m}m{s}s {ms}ms") == ((d * 24 + h) * 60 + m) * 60_000 + s * 1_000 + ms


@given(st.sampled_from(list(Dimension)), st.text(max_size=60))
def test_any_text_is_an_amount_or_one_clear_sentence(dimension: Dimension, text: str) -> None:
    try:
        amount, sentence = parse_amount(dimension, text), ""
    except ValueError as error:
        amount, sentence = 0, str(error)
    assert amount >= 0
    assert sentence.isprintable()
