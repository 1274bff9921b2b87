"""What the scripted server really served, and what it costs: a table of its own, in exact decimals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

from models.script import Tokens


@dataclass(frozen=True, slots=True)
class Rate:
    """Dollars for a million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    write_5m: Decimal = Decimal(0)
    write_1h: Decimal = Decimal(0)


def _rate(*dollars: str) -> Rate:
    return Rate(*map(Decimal, dollars))


RATES: dict[str, tuple[tuple[int, Rate], ...]] = {
    "claude-sonnet-4-5": (
        (0, _rate("3", "15", "0.30", "3.75", "6")),
        (200_000, _rate("6", "22.50", "0.60", "7.50", "12")),
    ),
    "claude-haiku-4-5": ((0, _rate("1", "5", "0.10", "1.25", "2")),),
    "gpt-5": ((0, _rate("1.25", "10", "0.125")),),
    "gpt-5-mini": ((0, _rate("0.25", "2", "0.025")),),
    "gpt-4o-mini": ((0, _rate("0.15", "0.60", "0.075")),),
    "gpt-5.5": ((0, _rate("5", "30", "0.50")), (272_000, _rate("10", "45", "1"))),
    "gemini-2.5-flash": ((0, _rate("0.30", "2.50", "0.03")),),
    "gemini-2.5-pro": ((0, _rate("1.25", "10", "0.125")), (200_000, _rate("2.50", "15", "0.25"))),
}
"""List prices as the providers publish them, from the number of prompt tokens on that they hold above."""


def micro(model: str, tokens: Tokens) -> int | None:
    """The price in micro-dollars, rounded up as a whole; None where the table has none."""
    prefix = tokens.input + tokens.cache_read + tokens.write_5m + tokens.write_1h
    rate = next((rate for above, rate in reversed(RATES.get(model, ())) if prefix > above or not above), None)
    if rate is None:
        return None
    dollars_per_million = (
        tokens.input * rate.input
        + tokens.output * rate.output
        + tokens.cache_read * rate.cache_read
        + tokens.write_5m * rate.write_5m
        + tokens.write_1h * rate.write_1h
    )
    return int(dollars_per_million.to_integral_value(ROUND_CEILING))


@dataclass(slots=True)
class Served:
    """One request as the server saw it. `tokens` are what a provider would bill for; of an answer that broke off, what
    was generated until then. `whole`: every byte of the answer was handed to the connection. `told`: the usage was
    among them. `side`: not the script's, but a title or the like."""

    number: int
    api: str
    model: str
    path: str
    stream: bool
    digest: str
    tries: int
    agent: str = ""
    side: str = ""
    status: int = 0
    fault: str = ""
    message: str = ""
    request: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    tools: tuple[str, ...] = ()
    whole: bool = False
    told: bool = False

    @property
    def micro(self) -> int | None:
        return micro(self.model, self.tokens)


def total(rows: Iterable[Served]) -> Tokens:
    """The sum of what was billed."""
    found = [row.tokens for row in rows]
    return Tokens(
        sum(t.input for t in found),
        sum(t.output for t in found),
        sum(t.cache_read for t in found),
        sum(t.write_5m for t in found),
        sum(t.write_1h for t in found),
        sum(t.reasoning for t in found),
    )
