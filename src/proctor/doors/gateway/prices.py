"""What model calls cost, in whole micro-dollars, from the price list that `genai-prices` ships; nothing is fetched.

A price is list price. What cannot be priced is None, never 0: an unknown model, and a model whose list
price is missing or zero. Only the contract can say that a model is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from proctor.budget.dimensions import Usage
from proctor.contract import wrong

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_MILLION = 1_000_000
_CLAUDE_WRITES, _CLAUDE_WRITES_1H = Decimal("1.25"), 2
"""What Anthropic takes for writing to its cache, in input tokens: for five minutes, and for an hour."""
_LONGEST_NAME = 200
"""Model names come from workers; nothing longer is one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """A price of the contract: micro-dollars per million tokens. Cache tokens cost as input unless they are given,
    those written for an hour twice that, as Anthropic has it, who alone has them."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None

    def of(self, usage: Usage) -> int:
        """Micro-dollars, rounded up."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        hour = 2 * self.input if self.cache_write_1h is None else self.cache_write_1h
        amounts = (
            usage.input * self.input,
            usage.output * self.output,
            usage.cache_read * read,
            usage.cache_write * write,
            usage.cache_write_1h * hour,
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
    model: str | None,
    usage: Usage,
    *,
    at: datetime,
    overrides: Mapping[str, Rates] | None = None,
    tier: str = "",
) -> Price | None:
    """The price of one model call made at that time, rounded up to a micro-dollar; None if it is unpriced.

    The contract's prices come first, by exact name. Price one call at a time: some models cost more beyond a
    number of input tokens, which a sum of calls would reach and no call did. `tier` is the provider's word for a
    service that costs more or less than usual, such as `priority`.
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
    micro = _calculate(usage, _listed(info, at, tier), claude="claude" in info.id)
    if micro is None:
        return None
    exact = model.lower().removeprefix(f"{provider.id}/") == info.id.lower()
    return Price(int(micro.to_integral_value(ROUND_CEILING)), f"{provider.id}/{info.id}", exact)


def nearest(model: str, overrides: Iterable[str] = ()) -> str:
    """The name with a price that is most like one without; "" where none is like it."""
    from genai_prices.data_snapshot import get_snapshot

    listed = (info.id for provider in get_snapshot().providers for info in provider.models)
    return wrong.nearest(model[:_LONGEST_NAME], (*overrides, *listed))


@lru_cache(maxsize=256)
def _find(model: str) -> tuple[Provider, ModelInfo] | None:
    """Look the name up as it is, then as `provider/model`."""
    from genai_prices.data_snapshot import get_snapshot

    provider, slash, name = model.removeprefix("models/").partition("/")
    for attempt, provider_id in ((model, None), (name, provider))[: 1 + bool(slash)]:
        try:
            return get_snapshot().find_provider_model(attempt, None, provider_id, None)
        except LookupError:
            continue
    return None


def _listed(info: ModelInfo, at: datetime, tier: str) -> Mapping[str, Any]:
    """The entry's prices at that time, by the list's names for them: dollars per million tokens."""
    for kind in ("service_tier", "speed") if tier else ():
        if any(variant.when == {kind: tier} for variant in info.price_variants or ()):
            return vars(info.get_prices(at, {kind: tier}))
    return vars(info.get_prices(at))


def _calculate(usage: Usage, listed: Mapping[str, Any], claude: bool) -> Decimal | None:
    """Micro-dollars: what the library's own arithmetic comes to, a hundred times as fast, and with Anthropic's ratios
    for Claude where the list has no price for what is written to a cache."""

    def rate(name: str, otherwise: Decimal = Decimal(0)) -> Decimal:
        found = listed.get(f"{name}_mtok")
        if found is not None and not isinstance(found, Decimal):
            # Beyond the threshold every token of the call costs more, not only those beyond it.
            found = [found.base, *(one.price for one in found.tiers if usage.prefix > one.start)][-1]
        return otherwise if found is None else Decimal(found)

    if min(usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cache_write_1h, usage.reasoning) < 0:
        return None
    given, generated = rate("input"), rate("output")
    prefix = (
        usage.input * given
        + usage.cache_read * rate("cache_read", given)
        + usage.cache_write * rate("cache_write", given * _CLAUDE_WRITES if claude else given)
        + usage.cache_write_1h * rate("cache_write_1h", given * _CLAUDE_WRITES_1H)
    )
    reasoning = min(usage.reasoning, usage.output)
    output = (usage.output - reasoning) * generated + reasoning * rate("output_reasoning", generated)
    if (usage.input and not given) or (usage.prefix and not prefix) or (usage.output and not output):
        return None
    return prefix + output + (listed.get("requests_kcount") or 0) * 1_000
