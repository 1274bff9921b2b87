"""What a call is taken for before it is asked: what its conversation was, and what is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from proctor.budget.dimensions import Usage
from proctor.doors.gateway import providers
from proctor.doors.gateway.meter import Estimate, Meter

WORDS = "the quick brown fox jumps over the lazy dog and runs away again "
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500_000}}


@pytest.fixture
def meter() -> Iterator[Meter]:
    made = Meter()
    yield made
    made.close()


def said(*texts: object) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


async def estimate(meter: Meter, messages: list[dict[str, Any]], answered: int = 0) -> Estimate:
    """What a conversation is taken for; with `answered`, the provider then says so many tokens."""
    raw = json.dumps({"model": "m", "messages": messages, "max_tokens": 100}).encode()
    found = providers.of("POST", "/v1/chat/completions", {}, raw)
    assert found is not None
    provider, asked = found
    made = await meter.estimate(asked, lambda: provider.prompt(asked))
    if answered:
        meter.learn(asked, made, Usage(answered))
    return made


async def alone(messages: list[dict[str, Any]]) -> Estimate:
    """What a meter that knows of nothing takes it for."""
    meter = Meter()
    try:
        return await estimate(meter, messages)
    finally:
        meter.close()


@pytest.mark.parametrize("new", ["and then?", WORDS * 10, WORDS * 500])
async def test_what_is_new_is_added_to_what_the_provider_said_of_the_rest(meter: Meter, new: str) -> None:
    before = said(WORDS * 400)
    await estimate(meter, before, answered=10_000)
    ratio = 10_000 / (await alone(before)).tokens
    grown = await estimate(meter, [*before, *said(new)])
    assert grown.prefix == pytest.approx(10_000 + (await alone(said(new))).tokens * ratio, rel=0.02, abs=40)


async def test_an_attachment_that_is_gone_takes_no_text_with_it(meter: Meter) -> None:
    await estimate(meter, said(WORDS * 400, [IMAGE]), answered=7_000)
    whole = await alone(said(WORDS * 400))
    left = await estimate(meter, said(WORDS * 400))
    assert left.tokens > 0.9 * whole.tokens


async def test_many_short_turns_are_each_counted(meter: Meter) -> None:
    turns = said(*(f"{n} {WORDS}" for n in range(60)))
    for last in range(1, 61):
        made = await estimate(meter, turns[:last], answered=20 * last)
    assert made.prefix == pytest.approx(1_200, rel=0.1)
