from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.budget.dimensions import Usage
from proctor.doors.gateway.prices import Price, Rates, price

AT = datetime(2026, 11, 29, 14, 3, tzinfo=UTC)
USAGE = Usage(input=1_000, output=500, cache_read=20_000, cache_write=3_000)

amounts = st.integers(0, 10**6)
usages = st.builds(Usage, amounts, amounts, amounts, amounts)


@pytest.mark.parametrize(
    ("model", "micro", "entry", "exact"),
    [
        # dollars a million tokens: input, cache read, cache write, output
        ("claude-sonnet-4-5", 1_000 * 3 + 20_000 * 0.3 + 3_000 * 3.75 + 500 * 15, "anthropic/claude-sonnet-4-5", True),
        ("claude-haiku-4-5", 1_000 * 1 + 20_000 * 0.1 + 3_000 * 1.25 + 500 * 5, "anthropic/claude-haiku-4-5", True),
        ("gpt-5", 4_000 * 1.25 + 20_000 * 0.125 + 500 * 10, "openai/gpt-5", True),
        ("openai/gpt-5", 4_000 * 1.25 + 20_000 * 0.125 + 500 * 10, "openai/gpt-5", True),
        ("gpt-5-codex", 4_000 * 1.25 + 20_000 * 0.125 + 500 * 10, "openai/gpt-5", False),
    ],
)
def test_list_prices_are_right_to_the_micro_dollar_and_say_which_entry_they_are(
    model: str, micro: float, entry: str, exact: bool
) -> None:
    assert price(model, USAGE, at=AT) == Price(round(micro), entry, exact)


def test_a_dated_name_takes_the_price_of_its_pattern_and_says_so() -> None:
    dated, plain = price("claude-sonnet-4-5-20250929", USAGE, at=AT), price("claude-sonnet-4-5", USAGE, at=AT)
    assert dated is not None
    assert plain is not None
    assert (dated.micro, dated.exact, plain.exact) == (plain.micro, False, True)


@pytest.mark.parametrize(
    "model",
    [None, "", "my-local-model", "claude-bogus", "gpt-5-bogus", "nobody/nothing", "/", "x" * 10_000, "\0\ud800"],
)
def test_an_unknown_model_is_unpriced_and_not_free(model: str | None) -> None:
    assert price(model, USAGE, at=AT) is None


@pytest.mark.parametrize("model", ["azure/mai-ds-r1:free", "github-copilot/gpt-4.1"])
def test_a_model_without_a_list_price_is_unpriced_and_not_free(model: str) -> None:
    assert price(model, USAGE, at=AT) is None


def test_a_usage_that_makes_no_sense_is_unpriced() -> None:
    assert price("gpt-5", Usage(input=-5), at=AT) is None


def test_free_is_what_the_contract_says_is_free() -> None:
    free = {"my-local-model": Rates(0, 0)}
    assert price("my-local-model", USAGE, at=AT, overrides=free) == Price(0, "contract", exact=True)
    assert price("my-local-model-2", USAGE, at=AT, overrides=free) is None


def test_the_contract_comes_before_the_list() -> None:
    own = {"gpt-5": Rates(2_000_000, 4_000_000)}
    assert price("gpt-5", USAGE, at=AT, overrides=own) == Price(24_000 * 2 + 500 * 4, "contract", exact=True)
    cached = {"gpt-5": Rates(2_000_000, 4_000_000, cache_read=100_000, cache_write=0)}
    assert price("gpt-5", USAGE, at=AT, overrides=cached) == Price(2_000 + 2_000 + 2_000, "contract", exact=True)


def test_a_part_of_a_micro_dollar_is_rounded_up() -> None:
    cheap = {"m": Rates(100_000, 100_000)}
    assert [price("m", Usage(input=n), at=AT, overrides=cheap) for n in (0, 1, 10, 11)] == [
        Price(micro, "contract", exact=True) for micro in (0, 1, 1, 2)
    ]
    one = price("gpt-5", Usage(input=1), at=AT)
    assert one is not None
    assert one.micro == 2


@given(usages, usages)
def test_more_tokens_never_cost_less(usage: Usage, more: Usage) -> None:
    for overrides in ({}, {"gpt-5": Rates(7, 11)}):
        before, after = (price("gpt-5", one, at=AT, overrides=overrides) for one in (usage, usage + more))
        assert before is not None
        assert after is not None
        assert 0 <= before.micro <= after.micro


def test_the_price_list_is_the_packaged_one_and_no_socket_is_opened() -> None:
    program = """
import sys, threading
def refuse(event, _):
    if event.startswith("socket."):
        raise AssertionError(event)
sys.addaudithook(refuse)
from datetime import UTC, datetime
from proctor.budget.dimensions import Usage
from proctor.doors.gateway.prices import price
assert "genai_prices" not in sys.modules
assert price("gpt-5", Usage(10, 10), at=datetime(2026, 11, 29, tzinfo=UTC)).micro > 0
from genai_prices.data_snapshot import get_snapshot
assert not get_snapshot().from_auto_update
assert threading.active_count() == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
