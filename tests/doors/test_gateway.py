from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientPayloadError, ClientSession, UnixConnector, web
from yarl import URL

from proctor.doors import door
from proctor.doors.gateway.port import Upstream
from proctor.doors.gateway.server import Gateway
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import DOOR, GATEWAY, Policy

KEY = "the-real-key"


@dataclass
class Provider:
    """A model provider on loopback: echoes what it got, or does what its paths say."""

    port: int = 0
    seen: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        self.bodies.append(await request.read())
        if request.path.endswith("/stream"):
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b"data: one\n\n")
            await self.go_on.wait()
            await response.write(b"data: two\n\n")
            return response
        if request.path.endswith("/break"):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"half")
            assert request.transport
            request.transport.abort()
            return response
        if request.path.endswith("/gzip"):
            return web.Response(body=b"\x1f\x8bnot really", headers={"Content-Encoding": "gzip", "X-Up": "1"})
        if request.path.endswith("/limit"):
            headers = {"Retry-After": "7", "Connection": "close, X-Mine", "X-Mine": "1", "Location": "/elsewhere"}
            return web.json_response({"error": "slow down"}, status=429, headers=headers)
        return web.json_response({"path": request.raw_path})


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    made = Provider()
    runner = web.ServerRunner(web.Server(made.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


Opened = Callable[[Upstream | None], Awaitable[ClientSession]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a gateway; a client on its socket."""
    ends: list[Callable[[], Awaitable[None]]] = []

    async def go(upstream: Upstream | None) -> ClientSession:
        made = door.make(tmp_path)
        gateway = Gateway()
        await gateway.start(made.folder, None, upstream)
        client = ClientSession(
            "http://gateway", connector=UnixConnector(str(made.folder / door.SOCKET)), auto_decompress=False
        )
        ends.extend((client.close, gateway.stop, gateway.stop))
        return client

    yield go
    for end in ends:
        await end()


def upstream(provider: Provider, name: str = "anthropic", path: str = "", key: str | None = KEY) -> Upstream:
    return Upstream(name, f"http://127.0.0.1:{provider.port}{path}", key)


async def test_requests_are_passed_on_as_they_are(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider, path="/base/"))
    raw = "/v1/a%2Fb/..%2f?x=%20y&x=2"
    async with client.post(URL("http://gateway" + raw, encoded=True), data=b"{}" * 100_000) as answer:
        assert (answer.status, await answer.json()) == (200, {"path": "/base" + raw})
    assert provider.bodies == [b"{}" * 100_000]
    assert provider.seen[0].headers["Host"] == f"127.0.0.1:{provider.port}"


@pytest.mark.parametrize(
    ("name", "sent", "expected"),
    [
        ("any", {"X-Api-Key": "placeholder"}, {"x-api-key": KEY}),
        ("any", {"Authorization": "Bearer placeholder"}, {"authorization": f"Bearer {KEY}"}),
        ("any", {"x-goog-api-key": "placeholder"}, {"x-goog-api-key": KEY}),
        ("anthropic", {}, {"x-api-key": KEY}),
        ("other", {}, {"authorization": f"Bearer {KEY}"}),
    ],
)
async def test_the_key_takes_the_placeholder_s_place(
    provider: Provider, opened: Opened, name: str, sent: dict[str, str], expected: dict[str, str]
) -> None:
    client = await opened(upstream(provider, name))
    await (await client.post("/v1/messages", headers=sent, json={})).read()
    headers = provider.seen[0].headers
    assert {
        name: headers[name] for name in ("authorization", "x-api-key", "x-goog-api-key") if name in headers
    } == expected


async def test_without_a_key_no_placeholder_leaves(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider, key=None))
    await (await client.get("/v1/models", headers={"Authorization": "Bearer placeholder"})).read()
    assert "authorization" not in provider.seen[0].headers


async def test_headers_of_one_connection_stay_on_it(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    sent = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "5", "TE": "trailers", "X-End": "1"}
    async with client.get("/limit", headers=sent, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Retry-After"], answer.headers["Location"]) == (429, "7", "/elsewhere")
        assert "X-Mine" not in answer.headers
    got = provider.seen[0].headers
    assert "X-End" in got
    assert not {"X-Hop", "Keep-Alive", "TE"} & set(got)


async def test_an_answer_streams_while_it_is_made(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    async with client.post("/stream", json={}) as answer:
        assert await asyncio.wait_for(answer.content.readany(), 5) == b"data: one\n\n"
        provider.go_on.set()
        assert await asyncio.wait_for(answer.content.read(), 5) == b"data: two\n\n"


async def test_a_compressed_answer_is_not_touched(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    async with client.get("/gzip", headers={"Accept-Encoding": "gzip"}) as answer:
        assert await answer.read() == b"\x1f\x8bnot really"
        assert answer.headers["X-Up"] == "1"


async def test_an_answer_that_breaks_off_breaks_off_here_too(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    with pytest.raises((ClientPayloadError, ClientConnectionError)):
        await (await client.get("/break")).read()
    assert (await client.get("/after")).status == 200


async def test_without_an_upstream_the_answer_says_so(opened: Opened) -> None:
    client = await opened(None)
    async with client.post("/v1/messages", json={}) as answer:
        assert answer.status == 502
        error = json.loads(await answer.read())["error"]
    assert error["type"] == "proctor"
    assert "gateway.upstream" in error["message"]


async def test_an_upstream_that_is_not_there_is_named(opened: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"http://127.0.0.1:{port}", "http://no.such.host.invalid", "nonsense"):
        client = await opened(Upstream("main", address, KEY))
        async with client.get("/v1/models") as answer:
            text = await answer.text()
            assert answer.status == 502
        assert "the upstream main did not answer" in text
        assert KEY not in text


async def test_only_plain_requests_are_passed_on(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    assert (await client.get("/v1", headers={"Upgrade": "websocket", "Connection": "upgrade"})).status == 400
    connector = client.connector
    assert isinstance(connector, UnixConnector)
    for line in (b"GET http://evil.example/ HTTP/1.1\r\n", b"CONNECT evil.example:443 HTTP/1.1\r\n", b"GARBAGE\r\n"):
        reader, writer = await asyncio.open_unix_connection(connector.path)
        writer.write(line + b"Host: evil.example\r\nConnection: close\r\n\r\n")
        head = await asyncio.wait_for(reader.read(), 5)
        assert head.split()[1][:1] == b"4"
        writer.close()
    assert provider.seen == []


async def test_a_client_that_goes_away_disturbs_nobody(provider: Provider, opened: Opened) -> None:
    client = await opened(upstream(provider))
    answer = await client.post("/stream", json={})
    await answer.content.readany()
    answer.close()
    provider.go_on.set()
    assert (await client.get("/after")).status == 200


async def test_a_worker_reaches_the_gateway_by_both_ways(provider: Provider, tmp_path: Path) -> None:
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
    connection.request("POST", "/v1/messages", body="{{}}", headers={{"x-api-key": "placeholder"}})
    print(connection.getresponse().status, flush=True)
"""
    gateway = Gateway()
    await gateway.start(made.folder, None, upstream(provider))
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
    assert [request.headers["x-api-key"] for request in provider.seen] == [KEY, KEY]


def test_a_door_may_lie_deep_and_be_made_anew(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    made = door.make(deep)
    door.listen(made.folder).close()
    with door.listen(made.folder):
        assert (made.folder / door.SOCKET).is_socket()
        assert os.stat(made.folder).st_mode & 0o077 == 0
    made.remove()
    made.remove()
    assert not made.folder.exists()
