"""An upstream that is broken or lies, and a worker that makes the most of either: what passes is counted, what cannot
be counted does not pass, and neither takes more memory or connections than there are for it."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError, web
from yarl import URL

from doors.gate import KEY, SSE, event, gate, message, messages, says, stream, streams
from doors.world import until
from harness import PATIENCE
from proctor.doors.gateway import hold
from proctor.doors.gateway.providers.base import Limited
from proctor.words import CallEnd, Source


def chat(usage: Any, text: str = "a dozen words or so that somebody has to pay for in the end") -> dict[str, Any]:
    said = {"role": "assistant", "content": text}
    return {"id": "c1", "model": "m-1", "choices": [{"index": 0, "message": said}], "usage": usage}


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 9, "completion_tokens": 0},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": "7"},
        {"prompt_tokens": 1e300, "completion_tokens": 1},
        None,
    ],
)
async def test_figures_that_cannot_be_are_none(tmp_path: Path, usage: Any) -> None:
    async with gate(tmp_path, says(chat(usage))) as made:
        body = {"model": "m-1", "messages": [{"role": "user", "content": "say something " * 20}]}
        assert (await made.post(body, "/v1/chat/completions"))[0] == 200
        (call,) = await made.rows(1)
        assert (call.end, call.source) == (CallEnd.ANSWERED, Source.ESTIMATED)
        assert call.input >= 9
        assert call.output > 5


async def test_what_is_thought_unseen_is_counted_when_the_answer_is_cut(tmp_path: Path) -> None:
    begun = event("response.created", response={"id": "r1", "status": "in_progress", "usage": None})
    cut = asyncio.Event()

    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers=SSE)
        await response.prepare(request)
        await response.write(begun)
        await cut.wait()
        assert request.transport
        request.transport.abort()
        return response

    async with gate(tmp_path, reply) as made:
        asked = asyncio.create_task(made.post({"model": "m-1", "input": "think", "stream": True}, "/v1/responses"))
        await until(lambda: any(one._asking.ms() > 60 for one in made.gateway._calls if one.in_flight))  # type: ignore[union-attr]
        cut.set()
        with pytest.raises(ClientPayloadError):
            await asked
        (call,) = await made.rows(1)
        assert (call.end, call.source) == (CallEnd.CUT, Source.ESTIMATED)
        assert 3 <= call.output < 4_096


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "gzip, gzip"])
async def test_a_compressed_answer_which_hides_usage_and_key_does_not_pass(
    tmp_path: Path, path: str, coding: str
) -> None:
    packed = gzip.compress(json.dumps({**message(), "echo": KEY}).encode())

    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        return web.Response(body=packed, headers={"Content-Encoding": coding})

    async with gate(tmp_path, reply) as made:
        status, body = await made.post(messages(), path)
        assert status == 502
        assert b"compressed" in body
        assert packed not in body
        if path == "/v1/messages":
            (call,) = await made.rows(1)
            assert (call.end, call.source, call.input > 0) == (CallEnd.CUT, Source.ESTIMATED, True)


async def test_little_passes_after_an_answer_s_own_end(tmp_path: Path) -> None:
    more = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 2_000})
    gone = asyncio.Event()

    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers=SSE)
        await response.prepare(request)
        await response.write(b"".join(stream()))
        try:
            while True:
                await response.write(more)
                await asyncio.sleep(0)
        finally:
            gone.set()

    async with gate(tmp_path, reply) as made, made.client.post("/v1/messages", json=messages(stream=True)) as answer:
        with pytest.raises(ClientPayloadError):
            await answer.read()
        await asyncio.wait_for(gone.wait(), PATIENCE)
        (call,) = await made.rows(1)
        assert (call.end, call.output) == (CallEnd.ANSWERED, 7)


@pytest.mark.parametrize(("served", "tier"), [("default", ""), ("flex", "flex"), (None, "")])
async def test_a_cheaper_service_is_one_only_if_the_provider_says_so(
    tmp_path: Path, served: str | None, tier: str
) -> None:
    answer = {**chat({"prompt_tokens": 9, "completion_tokens": 9}), "service_tier": served}
    async with gate(tmp_path, says(answer)) as made:
        await made.post({"model": "m-1", "messages": [], "service_tier": "flex"}, "/v1/chat/completions")
        await made.post({"model": "m-1", "messages": [], "service_tier": "priority"}, "/v1/chat/completions")
        flex, priority = await made.rows(2)
        assert flex.tier == tier
        assert priority.tier == ("priority" if served is None else tier)
        assert [one.tier for one in made.owner.wanted] == ["", "priority"]


@pytest.mark.parametrize("name", ["\ud800", "\x1b[2J\nmodel", "m" * 1_000_000])
async def test_a_model_s_name_is_made_harmless_before_anybody_writes_it_down(tmp_path: Path, name: str) -> None:
    async with gate(tmp_path, says(message())) as made:
        body = json.dumps(messages(model=name)).encode()
        async with made.client.post("/v1/messages", data=body) as answer:
            assert answer.status == 200
        (wanted,), (call,) = made.owner.wanted, await made.rows(1)
        assert wanted.model == call.model
        assert wanted.model.isprintable()
        assert len(wanted.model.encode()) <= 800


async def test_a_body_weighs_what_it_takes_in_memory(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message())) as made:
        heavy = b'{"model":"m","max_tokens":5,"messages":[' + b",".join([b"{}"] * 800_000) + b"]}"
        async with made.client.post("/v1/messages", data=heavy) as answer:
            assert answer.status == 413
        assert (made.owner.wanted, made.gateway._bodies) == ([], 0)
        assert (await made.post(messages()))[0] == 200


async def test_headers_without_an_end_are_cut(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message())) as made:
        reader, writer = await asyncio.open_unix_connection(str(made.socket))
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n")
        try:
            for number in range(100):
                writer.write(b"x%d: %s\r\n" % (number, b"y" * 50_000))
                await writer.drain()
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        except ConnectionError:
            pass
        await until(lambda: not made.gateway.server.all)
        writer.close()


async def test_calls_that_are_hung_up_on_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.doors.gateway.server.MOST_CALLS", 5)
    go = asyncio.Event()
    async with gate(tmp_path, streams(stream(), after={0: go})) as made:
        for number in range(5):
            _, writer = await asyncio.open_unix_connection(str(made.socket))
            body = json.dumps(messages(stream=True)).encode()
            writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await until(lambda number=number: len(made.provider.seen) == number + 1)
            writer.close()
        assert (await made.post(messages()))[0] == 400
        assert len(made.provider.seen) == 5
        go.set()
        assert len(await made.rows(5)) == 5
        assert (await made.post(messages()))[0] == 200


def test_a_wait_ends_though_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"time": 2e9, "monotonic": 50.0}
    monkeypatch.setattr("proctor.doors.gateway.hold.time.time", lambda: now["time"])
    monkeypatch.setattr("proctor.doors.gateway.hold.time.monotonic", lambda: now["monotonic"])
    limit = hold.Limit(None, "main")  # type: ignore[arg-type]
    limit.hit(Limited("later", 10), 1)
    now["time"] -= 1e8
    assert limit.on
    now["monotonic"] += 11
    assert not limit.on
    limit.hit(Limited("later", 10), 1)
    now["time"] += 11  # slept through
    assert not limit.on


async def test_a_long_answer_that_was_a_connection_s_last_does_not_break_the_gateway_s_end(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message("x" * 5_000_000))) as made:
        reader, writer = await asyncio.open_unix_connection(str(made.socket), limit=1024)
        body = json.dumps(messages()).encode()
        head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)
        await made.rows(1)
        assert len(await asyncio.wait_for(reader.read(), PATIENCE)) > 5_000_000
        await made.gateway.stop()
        writer.close()


async def test_what_a_provider_has_kept_of_a_conversation_is_expected_to_be_read_again(tmp_path: Path) -> None:
    usage = {"input_tokens": 90_000, "output_tokens": 1_000}
    answer = {"id": "r1", "status": "completed", "output": [], "usage": usage}
    async with gate(tmp_path, says(answer)) as made:
        for more in ({}, {"previous_response_id": "r1"}, {}):
            await made.post({"model": "m-1", "input": "x" * 800, **more}, "/v1/responses")
        first, second, third = (one.prefix for one in made.owner.wanted)
        assert second >= 91_000 + first
        assert third < 91_000


async def test_a_body_is_read_upstream_as_it_was_read_here(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message())) as made:
        await made.post(messages(), headers={"Content-Type": "application/json; charset=utf-7"})
        assert made.provider.seen[0].headers["Content-Type"] == "application/json"


async def test_a_try_that_breaks_off_after_long_thought_is_counted_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.doors.gateway.ask.LONG", 50)
    cut = asyncio.Event()

    async def reply(request: web.BaseRequest, _: bytes) -> web.StreamResponse:
        await cut.wait()
        assert request.transport
        request.transport.abort()
        return web.Response()

    async with gate(tmp_path, reply) as made:
        asked = asyncio.create_task(made.post(messages()))
        await until(lambda: made.provider.seen and min(one._asking.ms() for one in made.gateway._calls) > 60)  # type: ignore[union-attr]
        cut.set()
        assert (await asked)[0] == 502
        (call,) = await made.rows(1)
        assert (call.end, call.source, call.retries) == (CallEnd.CUT, Source.ESTIMATED, 0)
        assert (call.input > 0, 3 <= call.output <= 100) == (True, True)


@pytest.mark.parametrize(
    ("method", "path", "passes"),
    [
        ("GET", "/v1/models?limit=1000", True),
        ("GET", "/v1beta/models/gemini-2.5-pro", True),
        ("HEAD", "/v1/models", True),
        ("POST", "/v1/models", False),
        ("GET", "/v1/models/g:generateContent", False),
        ("GET", "/v1/models/../files", False),
        ("GET", "/v1/models%2f..%2ffiles", False),
        ("GET", "/v1/responses/r1", False),
        ("POST", "/v1/messages/batches", False),
        ("POST", "/v1/batches", False),
        ("POST", "/v1/completions", False),
        ("POST", "/v1/embeddings", False),
        ("POST", "/v1beta/models/g:batchGenerateContent", False),
    ],
)
async def test_of_other_paths_only_lists_of_models_pass_by_default(
    tmp_path: Path, method: str, path: str, passes: bool
) -> None:
    async with gate(tmp_path, says({"data": []}), model_lists=True) as made:
        url = URL("http://gateway" + path, encoded=True)
        async with made.client.request(method, url, json={"model": "m"} if method == "POST" else None) as answer:
            assert answer.status == (200 if passes else 404)
        assert (len(made.provider.seen), made.owner.said) == (passes, [])
