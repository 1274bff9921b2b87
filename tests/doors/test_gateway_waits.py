"""Calls that wait: held by the session, or by a provider's own limit; and tries that are made again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors.gate import Gate, event, gate, message, messages, says, stream, streams
from doors.world import until
from proctor.doors.gateway import hold
from proctor.doors.gateway.port import Denied
from proctor.words import CallEnd

BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
RATE = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Gate]:
    async with gate(tmp_path, streams(stream())) as made:
        yield made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of hundredths of a second."""
    monkeypatch.setattr("proctor.doors.gateway.call.PING_EVERY", 0.01)
    monkeypatch.setattr("proctor.doors.gateway.ask.PAUSES", (0, 0, 0))
    monkeypatch.setattr(hold, "MARGIN", 0.01)
    monkeypatch.setattr(hold, "LONGEST_STEP", 0.01)


async def test_held_calls_wait_and_are_named_and_nothing_is_asked(here: Gate) -> None:
    here.owner.hold = "a request is open"
    asked = [asyncio.create_task(here.post(messages(str(n), stream=True))) for n in range(2)]
    await until(lambda: 2 in here.owner.held_calls)
    assert (here.owner.wanted, here.provider.seen, here.gateway.in_flight) == ([], [], 0)
    here.owner.release()
    assert [await one for one in asked] == [(200, b"".join(stream()))] * 2
    assert here.owner.held_calls[-1] == 0
    assert len(here.owner.calls) == 2


async def test_what_is_held_is_told_again_and_again(here: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "TELL_EVERY", 0.01)
    here.owner.hold = "paused"
    asked = asyncio.create_task(here.post(messages()))
    await until(lambda: here.owner.held_calls.count(1) > 3)
    here.owner.release()
    assert (await asked)[0] == 200


@pytest.mark.usefixtures("quick")
async def test_a_held_stream_is_kept_alive_and_then_goes_on(here: Gate) -> None:
    here.owner.hold = "paused"
    async with here.client.post("/v1/messages", json=messages(stream=True)) as answer:
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        assert (await answer.content.readany()).startswith(b"event: ping\n")
        assert here.provider.seen == []
        here.owner.release()
        assert (await answer.content.read()).endswith(b"".join(stream()))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
async def test_a_held_stream_that_is_refused_in_the_end_says_so_inside(here: Gate, path: str) -> None:
    here.owner.hold = "paused"
    here.owner.admission = lambda wanted: Denied("no more money")
    body = {"model": "m-1", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    if path == "/v1/responses":
        body = {"model": "m-1", "stream": True, "input": "hi"}
    async with here.client.post(path, json=body) as answer:
        await answer.content.readany()
        here.owner.release()
        last = (await answer.content.read()).split(b"\n\n")[-2]
    kind, data = last.split(b"\n")
    assert kind == (b"event: response.failed" if path == "/v1/responses" else b"event: error")
    assert b"no more money" in data
    assert json.loads(data.removeprefix(b"data: "))
    assert [call.end for call in here.owner.calls] == [CallEnd.REFUSED]


async def test_a_held_call_whose_worker_leaves_is_over(here: Gate) -> None:
    here.owner.hold = "paused"
    asked = asyncio.create_task(here.post(messages()))
    await until(lambda: here.owner.held_calls)
    asked.cancel()
    await until(lambda: here.owner.held_calls[-1] == 0)
    assert here.owner.wanted == here.owner.calls == []


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "first",
    [
        says(RATE, 429, **{"Retry-After": "0"}),
        says(BUSY, 529),
        says({"error": {"message": "broken"}}, 500),
        says(b"bad gateway", 502),
        streams([], cut=True),
        streams([event("error", error=BUSY["error"])]),
    ],
)
async def test_what_passes_by_itself_the_worker_never_notices(tmp_path: Path, first: object) -> None:
    async with gate(tmp_path, first, first, says(message())) as made:  # type: ignore[arg-type]
        status, body = await made.post(messages())
        assert (status, json.loads(body)) == (200, message())
        assert [(call.end, call.retries, call.input) for call in made.owner.calls] == [(CallEnd.ANSWERED, 2, 11)]
        assert made.owner.limits == []


@pytest.mark.usefixtures("quick")
async def test_a_long_limit_is_told_once_until_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "MARGIN", 0.2)
    monkeypatch.setattr(hold, "TOLD_FROM", 0.1)
    limited = says(RATE, 429, **{"Retry-After": "0"})
    async with gate(tmp_path, limited, limited, says(message())) as made:
        begun = time.time()
        async with made.client.post("/v1/messages", json=messages(stream=True)) as answer:
            assert (await answer.content.readany()).startswith(b"event: ping\n")
            assert (await made.post(messages()))[0] == 200
            await answer.content.read()
        *told, over = made.owner.limits
        assert over == "main"
        assert len(told) == 2
        name, why, until_when = told[0]
        assert (name, why) == ("main", "429 rate_limit_error: slow down")
        assert isinstance(until_when, float)
        assert begun + 0.15 < until_when < time.time() + 0.2
        assert sum(call.retries for call in made.owner.calls) == 2


async def test_a_worker_that_leaves_ends_the_wait_for_its_provider(tmp_path: Path) -> None:
    async with gate(tmp_path, says(RATE, 429, **{"Retry-After": "3600"})) as made:
        asked = asyncio.create_task(made.post(messages()))
        await until(lambda: made.owner.limits)
        asked.cancel()
        (call,) = await made.rows(1)
        assert (call.end, call.input, made.owner.limits[-1]) == (CallEnd.FAILED, 0, "main")


@pytest.mark.usefixtures("quick")
async def test_a_failure_that_stays_is_said_so_that_clients_stop(tmp_path: Path) -> None:
    async with gate(tmp_path, says({"error": {"message": "broken\x1b[31m"}}, 503)) as made:
        async with made.client.post("/v1/messages", json=messages()) as answer:
            text = await answer.text()
            assert (answer.status, answer.headers["x-should-retry"]) == (502, "false")
        chat = {"model": "m", "messages": []}
        assert (await made.post(chat, "/v1/chat/completions"))[0] == 400
        assert len(made.provider.seen) == 8
    assert "the upstream main did not answer: it answered 503" in json.loads(text)["error"]["message"]


@pytest.mark.parametrize("status", [400, 401, 404, 413])
async def test_an_error_that_is_the_request_s_own_is_passed_on(tmp_path: Path, status: int) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    async with gate(tmp_path, says(body, status, **{"Retry-After": "3600"})) as made:
        async with made.client.post("/v1/messages", json=messages()) as answer:
            assert (answer.status, await answer.json()) == (status, body)
            assert "Retry-After" not in answer.headers
        (call,) = made.owner.calls
        assert (call.end, call.status, call.input, call.retries) == (CallEnd.FAILED, status, 0, 0)
        assert bool(made.owner.said) == (status == 401)


async def test_a_quota_that_no_wait_mends_is_no_429_to_the_worker(tmp_path: Path) -> None:
    spent = {"error": {"message": "check your plan", "type": "insufficient_quota", "code": "insufficient_quota"}}
    async with gate(tmp_path, says(spent, 429)) as made:
        status, body = await made.post({"model": "m", "input": "hi"}, "/v1/responses")
        assert (status, b"check your plan" in body) == (400, True)
        assert len(made.provider.seen) == 1
