"""What a call costs, from the provider's own report on the wire to the micro-dollar. The rates are the published list
prices, in dollars a million tokens; the figures are worked out here, not by the code under test."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any

import pytest
from genai_prices import Usage as Listed
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.budget.dimensions import Usage
from proctor.doors.gateway import providers
from proctor.doors.gateway.prices import Rates, price

AT = datetime(2026, 11, 29, 14, 3, tzinfo=UTC)
"""Within DeepSeek's full price, which half of the day has."""
MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"


def messages(given: int, output: int, read: int = 0, written: int = 0, hour: int = 0, **more: Any) -> dict[str, Any]:
    """Anthropic: the input without the cache; what was written in one sum, and split by how long it lives."""
    return {
        "type": "message",
        "content": [],
        "usage": {
            "input_tokens": given,
            "output_tokens": output,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written + hour,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": hour},
            **more,
        },
    }


def responses(
    given: int, output: int, read: int = 0, written: int = 0, reasoned: int = 0, **more: Any
) -> dict[str, Any]:
    """OpenAI: the input with the cache, the output with the reasoning."""
    usage = {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoned},
        "total_tokens": given + output,
    }
    return {"status": "completed", "usage": usage, **more}


def chat(given: int, output: int, **more: Any) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": given, "completion_tokens": output, **more}}


def gemini(given: int, output: int, read: int = 0, thoughts: int = 0) -> dict[str, Any]:
    """Gemini: the input with the cache, the output without the thoughts."""
    return {
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": given,
            "cachedContentTokenCount": read,
            "candidatesTokenCount": output,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": given + output + thoughts,
        },
    }


def of(*parts: tuple[int, str]) -> Decimal:
    """Tokens at dollars a million: micro-dollars."""
    return sum((count * Decimal(rate) for count, rate in parts), Decimal(0))


GOLDEN: list[tuple[str, str, dict[str, Any], Decimal]] = [
    # Anthropic. Input, output, cache read at a tenth, writes at 1.25 for five minutes and at 2 for an hour.
    (MESSAGES, "claude-sonnet-4-5", messages(1_000, 500), of((1_000, "3"), (500, "15"))),
    (MESSAGES, "claude-sonnet-4-5", messages(1_000, 500, 20_000, 3_000, 7_000),
     of((1_000, "3"), (20_000, "0.3"), (3_000, "3.75"), (7_000, "6"), (500, "15"))),
    (MESSAGES, "claude-sonnet-4-5-20250929", messages(7, 3, 11, 13, 17),
     of((7, "3"), (11, "0.3"), (13, "3.75"), (17, "6"), (3, "15"))),
    (MESSAGES, "claude-haiku-4-5", messages(1_000, 500, 20_000, 3_000, 7_000),
     of((1_000, "1"), (20_000, "0.1"), (3_000, "1.25"), (7_000, "2"), (500, "5"))),
    (MESSAGES, "claude-opus-4-1", messages(1_000, 500, 20_000, 3_000, 7_000),
     of((1_000, "15"), (20_000, "1.5"), (3_000, "18.75"), (7_000, "30"), (500, "75"))),
    (MESSAGES, "claude-opus-5", messages(0, 1, 0, 0, 1), of((1, "10"), (1, "25"))),
    (MESSAGES, "claude-opus-5", messages(1_000, 500, 20_000, 3_000, 7_000, speed="fast"),
     of((1_000, "10"), (20_000, "1"), (3_000, "12.5"), (7_000, "20"), (500, "50"))),
    # Entries of resellers without a price for an hour: Anthropic's ratio holds.
    (MESSAGES, "google/claude-4-sonnet", messages(1_000, 500, 20_000, 3_000, 7_000),
     of((1_000, "3"), (20_000, "0.3"), (3_000, "3.75"), (7_000, "6"), (500, "15"))),
    (MESSAGES, "openrouter/anthropic/claude-3-haiku", messages(1_000, 500, 0, 4_000, 7_000),
     of((1_000, "0.25"), (4_000, "0.3125"), (7_000, "0.5"), (500, "1.25"))),
    # Beyond 200,000 tokens of input, cached ones among them, every token of the call costs more.
    (MESSAGES, "claude-sonnet-4-5", messages(1_000, 500, 190_000, 2_000, 7_000),
     of((1_000, "3"), (190_000, "0.3"), (2_000, "3.75"), (7_000, "6"), (500, "15"))),
    (MESSAGES, "claude-sonnet-4-5", messages(1_001, 500, 190_000, 2_000, 7_000),
     of((1_001, "6"), (190_000, "0.6"), (2_000, "7.5"), (7_000, "12"), (500, "22.5"))),
    # OpenAI.
    (RESPONSES, "gpt-5", responses(24_000, 500, 20_000, 0, 300), of((4_000, "1.25"), (20_000, "0.125"), (500, "10"))),
    (RESPONSES, "gpt-5.5", responses(272_000, 500, 200_000), of((72_000, "5"), (200_000, "0.5"), (500, "30"))),
    (RESPONSES, "gpt-5.5", responses(272_001, 500, 200_000), of((72_001, "10"), (200_000, "1"), (500, "45"))),
    (RESPONSES, "gpt-5.5", responses(24_000, 500, 20_000, service_tier="priority"),
     of((4_000, "12.5"), (20_000, "1.25"), (500, "75"))),
    (RESPONSES, "gpt-5.5", responses(24_000, 500, 20_000, service_tier="default"),
     of((4_000, "5"), (20_000, "0.5"), (500, "30"))),
    (RESPONSES, "gpt-6-sol", responses(24_000, 500, 20_000, 3_000, 20),
     of((1_000, "2"), (20_000, "0.2"), (3_000, "2.5"), (500, "10"))),
    (CHAT, "gpt-4o", chat(1_200, 80, prompt_tokens_details={"cached_tokens": 1_024}),
     of((176, "2.5"), (1_024, "1.25"), (80, "10"))),
    (CHAT, "o4-mini", chat(1_200, 80, completion_tokens_details={"reasoning_tokens": 64}),
     of((1_200, "1.1"), (80, "4.4"))),
    # Gemini.
    ("gemini", "gemini-2.5-flash", gemini(5_400, 170, 4_600, 20), of((800, "0.3"), (4_600, "0.03"), (190, "2.5"))),
    ("gemini", "gemini-2.5-pro", gemini(200_000, 10, 150_000, 90),
     of((50_000, "1.25"), (150_000, "0.125"), (100, "10"))),
    ("gemini", "gemini-2.5-pro", gemini(200_001, 10, 150_000, 90), of((50_001, "2.5"), (150_000, "0.25"), (100, "15"))),
    # Others that speak Chat: cache within the input or beside it, reasoning within the output or beside it.
    (CHAT, "deepseek/deepseek-chat", chat(1_000, 80, prompt_cache_hit_tokens=600, prompt_cache_miss_tokens=400),
     of((400, "0.27"), (600, "0.07"), (80, "1.1"))),
    (CHAT, "grok-4-0709", chat(1_000, 80, total_tokens=1_280, prompt_tokens_details={"cached_tokens": 600},
                               completion_tokens_details={"reasoning_tokens": 200}),
     of((400, "3"), (600, "0.75"), (280, "15"))),
    (CHAT, "claude-sonnet-4-5", chat(1_000, 80, total_tokens=4_080, cache_read_input_tokens=2_000,
                                     cache_creation_input_tokens=1_000),
     of((1_000, "3"), (2_000, "0.3"), (1_000, "3.75"), (80, "15"))),
    (CHAT, "claude-sonnet-4-5", chat(4_000, 80, total_tokens=4_080, cache_read_input_tokens=2_000,
                                     cache_creation_input_tokens=1_000),
     of((1_000, "3"), (2_000, "0.3"), (1_000, "3.75"), (80, "15"))),
    (CHAT, "openrouter/qwen/qwen3-coder-plus",
     chat(5_000, 80, prompt_tokens_details={"cached_tokens": 3_000, "cache_write_tokens": 1_000}),
     of((1_000, "0.65"), (3_000, "0.13"), (1_000, "0.8125"), (80, "3.25"))),
    (CHAT, "groq/llama-3.3-70b-versatile", chat(1_000, 80), of((1_000, "0.59"), (80, "0.79"))),
    (CHAT, "mistral-large-latest", chat(1_000, 80), of((1_000, "2"), (80, "6"))),
]  # fmt: skip


@pytest.mark.parametrize(("path", "model", "answer", "micro"), GOLDEN)
def test_what_a_provider_reports_is_priced_right_to_the_micro_dollar(
    path: str, model: str, answer: dict[str, Any], micro: Decimal
) -> None:
    path = f"/v1beta/models/{model}:generateContent" if path == "gemini" else path
    found = providers.of("POST", path, {}, json.dumps({"model": model} if path[:4] == "/v1/" else {}).encode())
    assert found is not None
    reading = found[0].reading(found[1])
    reading.feed(json.dumps(answer).encode())
    reading.end()
    assert reading.usage is not None
    cost = price(model, reading.usage, at=AT, tier=reading.tier)
    assert cost is not None
    assert cost.micro == int(micro.to_integral_value(ROUND_CEILING))


def test_the_calls_of_a_sub_agent_are_priced_one_by_one_and_never_as_one_long_context() -> None:
    one = Usage(input=150_000, output=100)
    single = price("claude-sonnet-4-5", one, at=AT)
    assert single is not None
    assert single.micro == 150_000 * 3 + 100 * 15
    together = price("claude-sonnet-4-5", one + one, at=AT)
    assert together is not None
    assert together.micro > 2 * single.micro


def test_the_contract_may_say_what_is_written_for_an_hour_and_else_it_is_twice_the_input() -> None:
    usage = Usage(cache_write_1h=1_000)
    for rates, micro in (
        (Rates(3_000_000, 0), 6_000),
        (Rates(3_000_000, 0, cache_write=3_750_000), 6_000),
        (Rates(3_000_000, 0, cache_write_1h=1_000_000), 1_000),
        (Rates(0, 0), 0),
    ):
        found = price("m", usage, at=AT, overrides={"m": rates})
        assert found is not None
        assert found.micro == micro


def test_a_tier_that_the_list_does_not_know_costs_what_the_usual_one_does() -> None:
    usage = Usage(100, 100)
    assert price("gpt-5.5", usage, at=AT, tier="galactic") == price("gpt-5.5", usage, at=AT)
    assert price("mistral-large-latest", usage, at=AT, tier="priority") is not None


MODELS = [(provider, info) for provider in get_snapshot().providers for info in provider.models]
counts = st.integers(0, 400_000)


@settings(max_examples=150)
@given(st.sampled_from(MODELS), counts, counts, counts, counts, st.integers(0, 23))
def test_for_every_model_of_the_list_the_price_is_what_the_lists_own_arithmetic_comes_to(
    entry: tuple[Any, Any], given_: int, output: int, read: int, written: int, hour: int
) -> None:
    provider, info = entry
    at = AT.replace(hour=hour)
    found = price(f"{provider.id}/{info.id}", Usage(given_, output, read, written), at=at)
    if found is None or found.entry != f"{provider.id}/{info.id}":
        return  # without a price, or the list knows it by another entry's name
    listed = info.get_prices(at)
    if written and "claude" in info.id and listed.cache_write_mtok is None:
        return  # the list forgets what Anthropic takes
    tokens = Listed(
        input_tokens=given_ + read + written,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    dollars = info.calc_price(tokens, provider, genai_request_timestamp=at).total_price
    assert found.micro == int((dollars * 1_000_000).to_integral_value(ROUND_CEILING))
