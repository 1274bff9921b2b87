"""Amounts as people write them, and back: durations, sizes, money, counts, per cents.

Everything is kept as an integer in a base unit: milliseconds, bytes, micro-dollars, plain counts.
Parsing is exact (a part of a byte or a millisecond counts as one) and raises `ValueError` with one
sentence; formatting is for the eye, keeps about three digits and never rounds up, so that a figure
shown below a ceiling is below it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from proctor.words import Dimension

Written = str | int | float


class OutOfRange(ValueError):
    """A number that is well written, and is less than nothing or more than anything here can hold."""

    def __init__(self, sentence: str, low: bool) -> None:
        super().__init__(sentence)
        self.low = low


_LARGEST = 2**63 - 1  # what a journal row can hold
_LONGEST = 40
_NUMBER = r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
_GROUPED = re.compile(r"(?<![0-9.,_])[0-9]{1,3}(?:[,_][0-9]{3})+(?![0-9])")
_AMOUNT = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)")
_PART = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]+)")

_TIMES: dict[str, int] = {
    name: factor
    for names, factor in (
        ("ms millisecond milliseconds", 1),
        ("s sec secs second seconds", 1_000),
        ("m min mins minute minutes", 60_000),
        ("h hr hrs hour hours", 3_600_000),
        ("d day days", 86_400_000),
        ("w week weeks", 604_800_000),
    )
    for name in names.split()
}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
_BINARY = {"": 1, "b": 1} | {
    f"{letter}{tail}": 1024**power for power, letter in enumerate("kmgt", 1) for tail in ("", "b", "ib")
}


def parse_duration(written: Written) -> int:
    """Milliseconds of `4h`, `1h30m`, `2 min 10 s`; a bare number is seconds."""
    text = _text(written, "a duration such as 90s, 15m or 4h")
    if re.fullmatch(_NUMBER, text):
        return _whole(Fraction(text) * 1_000, text)
    total, place, last = Fraction(0), 0, _LARGEST
    while place < len(text):
        part = _PART.match(text, place)
        factor = _TIMES.get(part[2]) if part else None
        if part is None or factor is None or factor >= last:
            raise ValueError(f"{text!r} is not a duration; write it like 90s, 15m, 4h, 1h30m (units: ms s m h d w)")
        total, place, last = total + Fraction(part[1]) * factor, part.end(), factor
    return _whole(total, text)


def parse_size(written: Written) -> int:
    """Bytes of `64M`, `4G`, `512 KiB`: units are binary; a bare number is bytes."""
    text = _text(written, "a size such as 64M or 4G")
    return _whole(_scaled(text, _BINARY, "a size; write it like 512K, 64M, 4G"), text)


def parse_count(written: Written) -> int:
    """The number of `3000`, `812k`, `2M`, `1,000`: units are decimal and the result is exact."""
    text = _text(written, "a number such as 3000, 812k or 2M")
    count = _scaled(text, _DECIMAL, "a number; write it like 3000, 812k, 2M")
    if count.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number")
    return _whole(count, text)


def parse_money(written: Written) -> int:
    """Micro-dollars of `$20`, `0.50`, `1,000 USD`. Dollars are the only currency."""
    text = _text(written, "an amount of dollars such as $20")
    plain = re.sub(r"^\$\s*|\s*(?:\$|USD)$", "", text, count=1)
    try:
        micro = _scaled(plain, {"": 1}, "") * 1_000_000
    except ValueError:
        raise ValueError(f"{text!r} is not an amount of dollars; write it like $20 or $0.50") from None
    if micro.denominator != 1:
        raise ValueError(f"{text!r} is finer than a millionth of a dollar")
    return _whole(micro, text)


def parse_percent(written: Written) -> int:
    """The whole number from 0 to 100 of `50%` or `50`."""
    text = _text(written, "a per cent such as 50%")
    match = re.fullmatch(r"([0-9]{1,3})\s*%?", text)
    if match is None or int(match[1]) > 100:
        raise ValueError(f"{text!r} is not a whole per cent from 0 to 100; write it like 50%")
    return int(match[1])


def format_duration(ms: int) -> str:
    """`42m`, `1h30m`, `24h`, `2d4h`, `850ms`: the two largest units that are not zero, days from two on."""
    if ms < 1_000:
        return f"{ms}ms" if ms else "0s"
    parts, rest = [], ms
    for name in ("d", "h", "m", "s")[ms < 2 * _TIMES["d"] :]:
        count, rest = divmod(rest, _TIMES[name])
        if count:
            parts.append(f"{count}{name}")
        if len(parts) == 2 or (parts and not count):
            break
    return "".join(parts)


def format_size(size: int) -> str:
    """`64M`, `1.5G`, `900B`: binary units."""
    return _short(size, 1024, "KMGT") or f"{size}B"


def format_count(count: int) -> str:
    """`812k`, `2M`, `118`: decimal units."""
    return _short(count, 1000, "kMGT") or str(count)


def format_money(micro: int) -> str:
    """`$14.60`; tenths of a cent below a dollar where there are any, and an amount under a tenth of a cent whole, so
    that spent is never shown as nothing."""
    cents, tenths = micro // 10_000, micro // 1_000
    if micro and micro < 1_000:
        return f"$0.{micro:06d}".rstrip("0")
    if tenths < 1_000 and tenths % 10:
        return f"$0.{tenths:03d}"
    return f"${cents // 100:,}.{cents % 100:02d}"


_PARSERS: Mapping[Dimension, Callable[[Written], int]] = {
    Dimension.WALL_CLOCK: parse_duration,
    Dimension.ELAPSED: parse_duration,
    Dimension.COST: parse_money,
    Dimension.BYTES_WRITTEN: parse_size,
}
_FORMATS: Mapping[Dimension, Callable[[int], str]] = {
    Dimension.WALL_CLOCK: format_duration,
    Dimension.ELAPSED: format_duration,
    Dimension.COST: format_money,
    Dimension.BYTES_WRITTEN: format_size,
}


def parse_amount(dimension: Dimension, written: Written) -> int:
    """An amount in the dimension's base unit."""
    return _PARSERS.get(dimension, parse_count)(written)


def format_amount(dimension: Dimension, amount: int) -> str:
    """An amount of the dimension, for the eye."""
    return _FORMATS.get(dimension, format_count)(amount)


def _text(written: Written, wanted: str) -> str:
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise ValueError(f"{written} is not {wanted}" if isinstance(written, bool) else f"should be {wanted}")
    text = str(written).strip()
    if not text or len(text) > _LONGEST:
        raise ValueError(f"{text[:_LONGEST]!r} is not {wanted}")
    if re.match(r"\$?-\$?[0-9.]", text):
        raise OutOfRange(f"{text!r} is less than nothing; write {wanted}", low=True)
    return _GROUPED.sub(lambda group: re.sub("[,_]", "", group[0]), text, count=1)


def _scaled(text: str, factors: Mapping[str, int], what: str) -> Fraction:
    match = _AMOUNT.fullmatch(text)
    factor = factors.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{text!r} is not {what}")
    return Fraction(match[1]) * factor


def _whole(amount: Fraction, text: str) -> int:
    if amount > _LARGEST:
        raise OutOfRange(f"{text!r} is too large", low=False)
    return math.ceil(amount)


def _short(amount: int, base: int, letters: str) -> str:
    """Three digits and a unit, cut and not rounded; nothing when the amount needs no unit."""
    power = next((p for p in range(len(letters), 0, -1) if amount >= base**p), 0)
    if not power:
        return ""
    whole, rest = divmod(amount, base**power)
    decimals = f"{rest * 100 // base**power:02d}"[: max(0, 3 - len(str(whole)))].rstrip("0")
    return f"{whole}.{decimals}{letters[power - 1]}" if decimals else f"{whole}{letters[power - 1]}"


_LABELS = {"time": Dimension.WALL_CLOCK, "tools": Dimension.TOOL_CALLS, "files": Dimension.FILES_TOUCHED}
_LABELS |= {"lines": Dimension.LINES_CHANGED, "written": Dimension.BYTES_WRITTEN, "prefix": Dimension.PREFIX_TOKENS}
_LABELS |= {"generated": Dimension.GENERATED_TOKENS}


def parse_dimension(text: str) -> Dimension:
    """A dimension by the contract's key or by the screen's label. ValueError names those there are."""
    word = text.strip().lower()
    if word in _LABELS:
        return _LABELS[word]
    try:
        return Dimension(word)
    except ValueError:
        raise ValueError(f"no such dimension: {text!r}; there are: {', '.join(Dimension)}") from None


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
