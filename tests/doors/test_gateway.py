from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientPayloadError
from yarl import URL

from doors.gate import KEY, Gate, gate, message, messages, says, stream, streams
from doors.world import until
from harness import PATIENCE
from proctor.doors import door
from proctor.doors.gateway.port import Admitted, Denied, Upstream
from proctor.doors.gateway.server import Gateway
from proctor.journal.events import ModelCall
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import DOOR, GATEWAY, Policy
from proctor.words import CallEnd, Source


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Gate]:
    async with gate(tmp_path, says(message()), unknown_paths=True) as made:
        yield made


async def test_a_call_is_admitted_passed_on_and_settled(here: Gate) -> None:
    status, body = await here.post(messages(), headers={"x-api-key": "placeholder"})
    assert (status, json.loads(body)) == (200, message())
    (wanted,), (call,) = here.owner.wanted, here.owner.calls
    assert (wanted.call, wanted.model, wanted.most_output) == (call.call, "m-1", 100)
    assert (call.end, call.source, call.input, call.output) == (CallEnd.ANSWERED, Source.MEASURED, 11, 7)
    assert (call.iteration, call.task, call.status, call.message, call.retries) == (7, "t1", 200, "msg_1", 0)
    assert call.first is not None
    assert call.latency >= call.first
    headers = here.provider.seen[0].headers
    assert (headers["x-api-key"], headers["Accept-Encoding"]) == (KEY, "identity")
    assert here.gateway.in_flight == 0


async def test_a_stream_comes_as_it_is_made_and_its_end_waits_for_the_row(tmp_path: Path) -> None:
    pieces, go = stream(tool="Bash"), asyncio.Event()
    async with gate(tmp_path, streams(pieces, after={5: go})) as made:
        row = asyncio.Event()

        async def settling(_: ModelCall) -> None:
            await row.wait()

        made.owner.settling = settling
        async with made.client.post("/v1/messages", json=messages(stream=True)) as answer:
            got = b""
            while len(got) < len(b"".join(pieces[:5])):
                got += await asyncio.wait_for(answer.content.readany(), PATIENCE)
            assert got == b"".join(pieces[:5])
            assert made.gateway.in_flight == 1
            go.set()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(answer.content.readany(), 0.05)
            row.set()
            assert await answer.content.read() == pieces[5]
        (call,) = made.owner.calls
        assert (call.tools, call.named, call.output) == (1, ("Bash",), 7)


async def test_nothing_is_passed_on_before_the_reservation_is_durable(here: Gate) -> None:
    durable = asyncio.get_running_loop().create_future()
    here.owner.admission = lambda wanted: Admitted(durable=durable)
    asked = asyncio.create_task(here.post(messages()))
    await asyncio.wait_for(here.provider.asked.wait(), PATIENCE)
    done, _ = await asyncio.wait({asked}, timeout=0.05)
    assert not done
    durable.set_result(None)
    assert (await asked)[0] == 200


async def test_a_refused_call_never_leaves_and_is_settled(here: Gate) -> None:
    here.owner.admission = lambda wanted: Denied("the budget is used up")
    status, body = await here.post(messages())
    assert (status, json.loads(body)["error"]["message"]) == (402, "the budget is used up")
    assert here.provider.seen == []
    assert [(call.end, call.input) for call in here.owner.calls] == [(CallEnd.REFUSED, 0)]


async def test_what_the_steward_changes_goes_upstream_and_into_the_row(here: Gate) -> None:
    here.owner.admission = lambda wanted: Admitted("m-small", 50)
    await here.post(messages())
    sent = json.loads(here.provider.bodies[0])
    assert (sent["model"], sent["max_tokens"]) == ("m-small", 50)
    assert here.owner.calls[0].model == "m-small"
    assert here.owner.calls[0].changed == ("model: m-1 to m-small", "output: at most 50")


async def test_a_request_that_cannot_be_read_is_refused_and_not_counted(here: Gate) -> None:
    for raw in (b"{", b"[]", b'{"model": "a", "model": "b"}', b"\xff"):
        async with here.client.post("/v1/messages", data=raw) as answer:
            assert (answer.status, bool(json.loads(await answer.read())["error"]["message"])) == (400, True)
    assert here.provider.seen == here.owner.wanted == []


async def test_counting_tokens_costs_nothing(here: Gate) -> None:
    status, _ = await here.post(messages(), "/v1/messages/count_tokens?beta=true")
    assert status == 200
    assert len(here.provider.seen) == 1
    assert here.owner.wanted == here.owner.calls == []


async def test_other_paths_pass_only_by_the_rules(here: Gate) -> None:
    raw = "/v1/a%2Fb/..%2f?x=%20y&x=2"
    async with here.client.post(URL("http://gateway" + raw, encoded=True), data=b"{}" * 100_000) as answer:
        assert answer.status == 200
    assert here.provider.seen[0].raw_path == raw
    assert here.provider.bodies == [b"{}" * 100_000]
    assert here.owner.said == ["passed on, and not counted: POST /v1/a%2Fb/..%2f"]
    here.owner.current = type(here.owner.current)(here.owner.current.upstreams)
    assert (await here.client.get("/v1/models")).status == 404
    assert len(here.provider.seen) == 1


async def test_a_request_may_have_so_many_bytes(here: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.doors.gateway.server.MOST_BODY", 1 << 20)
    status, body = await here.post(messages("x" * (1 << 20)))
    assert (status, b"1 MB" in body) == (413, True)
    assert here.provider.seen == []
    assert (await here.post(messages("x" * 900_000)))[0] == 200


async def test_without_an_upstream_the_answer_says_so(here: Gate) -> None:
    here.owner.current = type(here.owner.current)((here.provider.upstream(speaks=frozenset(("openai",))),))
    status, body = await here.post(messages())
    assert (status, "gateway.upstream" in json.loads(body)["error"]["message"]) == (502, True)
    assert here.owner.wanted == []


async def test_an_upstream_that_is_not_there_is_named(here: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.doors.gateway.ask.PAUSES", (0, 0))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    gone = f"nothing answers at 127.0.0.1:{port} (connection refused); is it up, and base_url right?"
    for address, why in ((f"http://127.0.0.1:{port}", gone), ("nonsense", "its base_url is no address")):
        here.owner.current = type(here.owner.current)((Upstream("main", address, KEY),))
        async with here.client.post("/v1/messages", json=messages()) as answer:
            text = await answer.text()
            assert (answer.status, answer.headers["x-should-retry"]) == (502, "false")
        assert f"the upstream main did not answer: {why}" in text
        assert here.owner.said[-1] == f"the upstream main did not answer: {why}"
        assert KEY not in text
    assert [(call.end, call.input, call.retries) for call in here.owner.calls] == [(CallEnd.FAILED, 0, 2)] * 2


async def test_the_way_to_an_upstream_is_the_proxy_that_its_rules_name(
    here: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.doors.gateway.ask.PAUSES", ())
    proxy = f"http://me:word@127.0.0.1:{here.provider.port}"
    one = Upstream("main", "http://models.example/v1", KEY, proxy=proxy)
    here.owner.current = type(here.owner.current)((one,), unknown_paths=True)
    assert (await here.post(messages()))[0] == 200
    assert (await here.client.get("/v1/models", headers={"x-api-key": "placeholder"})).status == 200
    for seen, path in zip(here.provider.seen, ("/v1/messages", "/v1/models"), strict=True):
        assert seen.raw_path == f"http://models.example{path}"
        assert seen.headers["Proxy-Authorization"] == "Basic bWU6d29yZA=="
    here.provider.replies = [says({}, 403)]
    here.owner.current = type(here.owner.current)((replace(one, base_url="https://models.example"),))
    status, text = await here.post(messages())
    assert (status, here.provider.seen[-1].method) == (502, "CONNECT")
    assert b"the proxy refused to connect (403); see HTTPS_PROXY and NO_PROXY" in text
    assert b"word" not in text


async def test_headers_of_one_connection_stay_on_it(tmp_path: Path) -> None:
    given = {"Retry-After": "7", "Connection": "close, X-Mine", "X-Mine": "1", "Location": "/elsewhere"}
    async with gate(tmp_path, says({"error": {"message": "no"}}, 302, **given)) as made:
        sent = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "5", "TE": "trailers", "X-End": "1"}
        async with made.client.post("/v1/messages", json=messages(), headers=sent, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, "/elsewhere")
            assert not {"X-Mine", "Retry-After"} & set(answer.headers)
        got = made.provider.seen[0].headers
    assert "X-End" in got
    assert not {"X-Hop", "Keep-Alive", "TE"} & set(got)


async def test_an_answer_that_breaks_off_breaks_off_here_too_and_is_estimated(tmp_path: Path) -> None:
    async with gate(tmp_path, streams(stream("word " * 400)[:3], cut=True)) as made:
        with pytest.raises((ClientPayloadError, ClientConnectionError)):
            await made.post(messages(stream=True))
        (call,) = await made.rows(1)
    assert (call.end, call.source, call.input) == (CallEnd.CUT, Source.ESTIMATED, 11)
    assert 300 < call.output < 500


async def test_an_answer_without_usage_is_estimated(tmp_path: Path) -> None:
    silent = message("word " * 400)
    del silent["usage"]
    async with gate(tmp_path, says(silent)) as made:
        await made.post(messages("word " * 400))
        (call,) = made.owner.calls
    assert (call.end, call.source) == (CallEnd.ANSWERED, Source.ESTIMATED)
    assert 300 < call.input < 500
    assert 300 < call.output < 500


async def test_a_worker_that_hangs_up_does_not_hide_what_it_cost(tmp_path: Path) -> None:
    go = asyncio.Event()
    async with gate(tmp_path, streams(stream(), after={2: go})) as made:
        answer = await made.client.post("/v1/messages", json=messages(stream=True))
        await answer.content.readany()
        answer.close()
        go.set()
        (call,) = await made.rows(1)
        assert (call.end, call.source, call.output) == (CallEnd.ANSWERED, Source.MEASURED, 7)


async def test_an_end_of_the_gateway_settles_what_is_in_flight_once(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with gate(tmp_path, streams(stream("word " * 400), after={3: never})) as made:
        answer = await made.client.post("/v1/messages", json=messages(stream=True))
        await answer.content.readany()
        asked = asyncio.create_task(made.post(messages(stream=True)))
        await until(lambda: len(made.provider.seen) == 2)
        await made.gateway.stop()
        assert made.gateway.in_flight == 0
        never.set()
        assert [(call.end, call.source) for call in made.owner.calls] == [(CallEnd.CUT, Source.ESTIMATED)] * 2
        with pytest.raises((ClientPayloadError, ClientConnectionError)):
            await asked
        answer.close()


async def test_a_steward_that_fails_lets_no_end_through(here: Gate) -> None:
    async def settling(_: ModelCall) -> None:
        raise OSError("disk full")

    here.owner.settling = settling
    with pytest.raises((ClientPayloadError, ClientConnectionError)):
        await here.post(messages())


async def test_a_duplicate_adds_nothing_and_a_repeat_is_known(tmp_path: Path) -> None:
    replies = [says(message(answer_id=one)) for one in ("a", "a", "b", "b")]
    async with gate(tmp_path, *replies) as made:
        for text in ("one", "one", "one", "two"):
            await made.post(messages(text))
        assert [(call.duplicate, call.repeat) for call in made.owner.calls] == [
            (False, False),
            (True, False),
            (False, True),
            (False, False),
        ]


async def test_the_next_estimate_goes_by_what_the_last_call_really_was(tmp_path: Path) -> None:
    async with gate(tmp_path, says(message(input_tokens=5_000))) as made:
        text = "several words of a prompt " * 300
        await made.post(messages(text))
        await made.post(messages(text))
        await made.post(messages(text + "and a new end " * 300))
        first, second, third = (wanted.prefix for wanted in made.owner.wanted)
    assert first < 2_500
    assert 4_900 < second < 5_100
    assert 7_000 < third < 9_500


async def test_only_plain_requests_are_passed_on(here: Gate) -> None:
    head = b"Host: evil.example\r\nConnection: close\r\n"
    for request in (
        b"GARBAGE\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\n" + head + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\n" + head + b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\n" + head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /v1/models#x HTTP/1.1\r\n" + head + b"\r\n",
    ):
        reader, writer = await asyncio.open_unix_connection(str(here.socket))
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        assert answer.split()[1][:1] == b"4", request
        writer.close()
    assert here.provider.seen == []


async def test_a_client_may_ask_before_it_sends_a_body(here: Gate) -> None:
    body = json.dumps(messages()).encode()
    reader, writer = await asyncio.open_unix_connection(str(here.socket))
    writer.write(
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).startswith(b"HTTP/1.1 100 ")
    writer.write(body)
    assert b"200 OK" in await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()


async def test_a_worker_reaches_the_gateway_by_both_ways(here: Gate, tmp_path: Path) -> None:
    """Over the socket in its door and over loopback, without the key inside and without a network."""
    made = door.make(tmp_path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    script = f"""
import http.client, os, socket
class Door(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("{DOOR}/{door.SOCKET}")
for connection in (http.client.HTTPConnection("{GATEWAY}"), Door("gateway")):
    connection.request("POST", "/v1/messages", body='{json.dumps(messages())}', headers={{"x-api-key": "placeholder"}})
    print(connection.getresponse().status, flush=True)
"""
    gateway = Gateway(here.owner, iteration=1, task=None)
    await gateway.start(made.folder, None)
    policy = Policy(workspace, door=made.folder, listen=True)
    running = choose("bwrap").launch([sys.executable, "-I", "-S", "-c", script], policy, stdout=-1)
    try:
        assert running.listener
        await gateway.listen(running.listener)
        assert (await asyncio.to_thread(running.wait, 20)).code == 0
        assert running.stdout
        assert running.stdout.read() == b"200\n200\n"
    finally:
        running.close()
        await gateway.stop()
        made.remove()
    assert [request.headers["x-api-key"] for request in here.provider.seen] == [KEY, KEY]


def test_a_door_may_lie_deep_and_be_made_anew(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    made = door.make(deep)
    door.listen(made.folder).close()
    with door.listen(made.folder):
        assert (made.folder / door.SOCKET).is_socket()
        assert made.folder.stat().st_mode & 0o077 == 0
    made.remove()
    made.remove()
    assert not made.folder.exists()


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("more", [b"", b": a comment"])
async def test_of_a_stream_that_comes_in_one_piece_only_the_end_waits(tmp_path: Path, gap: bytes, more: bytes) -> None:
    whole = b"".join([*stream(), more + b"\n\n" if more else b""]).replace(b"\n\n", gap)
    free = 0 if more else whole.index(b"event: message_stop")
    row = asyncio.Event()
    async with gate(tmp_path, streams([whole])) as made:

        async def settling(_: ModelCall) -> None:
            await row.wait()

        made.owner.settling = settling
        reader, writer = await asyncio.open_unix_connection(str(made.socket))
        body = json.dumps(messages(stream=True)).encode()
        writer.write(b"POST /v1/messages HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        if free:
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            assert await asyncio.wait_for(reader.readexactly(free), PATIENCE) == whole[:free]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        row.set()
        assert (await asyncio.wait_for(reader.read(), PATIENCE)).endswith(whole[free:])
        writer.close()
