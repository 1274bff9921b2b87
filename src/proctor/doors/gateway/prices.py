"""What model calls cost, in whole micro-dollars, from the price list that `genai-prices` ships; nothing is fetched.

A price is list price. What cannot be priced is None, never 0: an unknown model, and a model whose list
price is missing or zero. Only the contract can say that a model is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from proctor.budget.dimensions import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_MILLION = 1_000_000
_LONGEST_NAME = 200
"""Model names come from workers; nothing longer is one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """A price of the contract: micro-dollars per million tokens. Cache tokens cost as input unless they are given."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None

    def of(self, usage: Usage) -> int:
        """Micro-dollars, rounded up."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        amounts = (
            usage.input * self.input,
            usage.output * self.output,
            usage.cache_read * read,
            usage.cache_write * write,
        )
        return -(-sum(amounts) // _MILLION)


@dataclass(frozen=True, slots=True)
class Price:
    """A price in micro-dollars and the entry it comes from: `contract`, or `provider/model` of the list.

    `exact` is false where the list knows the name only by a pattern, such as a dated variant.
    """

    micro: int
    entry: str
    exact: bool


def price(
    model: str | None, usage: Usage, *, at: datetime, overrides: Mapping[str, Rates] | None = None
) -> Price | None:
    """The price of one model call made at that time, rounded up to a micro-dollar; None if it is unpriced.

    The contract's prices come first, by exact name. Price one call at a time: some models cost more beyond a
    number of input tokens, which a sum of calls would reach and no call did.
    """
    if not model or len(model) > _LONGEST_NAME:
        return None
    own = (overrides or {}).get(model)
    if own is not None:
        return Price(own.of(usage), "contract", exact=True)
    found = _find(model)
    if found is None:
        return None
    provider, info = found
    dollars = _calculate(usage, provider, info, at)
    if dollars is None:
        return None
    exact = model.lower().removeprefix(f"{provider.id}/") == info.id.lower()
    return Price(int((dollars * _MILLION).to_integral_value(ROUND_CEILING)), f"{provider.id}/{info.id}", exact)


@lru_cache(maxsize=256)
def _find(model: str) -> tuple[Provider, ModelInfo] | None:
    """Look the name up as it is, then as `provider/model`."""
    from genai_prices.data_snapshot import get_snapshot

    provider, slash, name = model.partition("/")
    for attempt, provider_id in ((model, None), (name, provider))[: 1 + bool(slash)]:
        try:
            return get_snapshot().find_provider_model(attempt, None, provider_id, None)
        except LookupError:
            continue
    return None


def _calculate(usage: Usage, provider: Provider, info: ModelInfo, at: datetime) -> Decimal | None:
    from genai_prices import Usage as Listed

    try:
        listed = Listed(
            input_tokens=usage.prefix,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        )
        result = info.calc_price(listed, provider, genai_request_timestamp=at)
    except ValueError:
        return None
    missing = (usage.prefix and not result.input_price) or (usage.output and not result.output_price)
    return None if missing else result.total_price
