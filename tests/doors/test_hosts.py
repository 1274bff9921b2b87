from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors.world import HERE, Owner, Street, World, echo, street, until
from harness import PATIENCE
from proctor.doors import addresses
from proctor.doors.hosts import Bounds, environment
from proctor.doors.network import Internet

CONNECT = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
GET = b"GET http://example.org/a?b=1 HTTP/1.1\r\nHost: example.org\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Street]:
    """A worker's street, on which example.org is granted and exists: an echo on 443, `hello` on 80."""
    world = World()
    async with (
        world.host(echo, "example.org", 443),
        world.host(world.answering(OK), "example.org", 80),
        street(tmp_path, Owner(("example.org",)), world) as made,
    ):
        yield made


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_a_tunnel_carries_bytes_both_ways_until_both_ends_are_done(here: Street) -> None:
    sent = bytes(range(256)) * 4096
    reader, writer = await here.connect()
    writer.write(CONNECT)
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
    writer.write(sent)
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), PATIENCE) == sent
    writer.close()
    assert here.world.connected == [(HERE, 443)]
    assert here.owner.said == ["host door: CONNECT example.org:443: passed"]


async def test_what_comes_early_goes_into_the_tunnel_and_nowhere_else(here: Street) -> None:
    smuggled = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = await here.say(CONNECT + smuggled, end=True)
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + smuggled
    here.owner.hosts = ()
    answer = await here.say(CONNECT + smuggled)
    assert status(answer) == 403
    assert answer.count(b"HTTP/1.1") == 1


async def test_requests_for_a_path_are_the_gateway_s(here: Street) -> None:
    answer = await here.say(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"gateway")
    byte_by_byte = [bytes((byte,)) for byte in b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]
    assert (await here.say(*byte_by_byte)).endswith(b"gateway")
    assert here.world.looked_up == here.world.connected == []


async def test_a_plain_request_is_written_anew_for_the_host_of_its_url(here: Street) -> None:
    head = (
        b"POST HTTP://EXAMPLE.org:80?x=%20 HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nConnection: x-mine, content-length\r\n"
        b"X-Mine: 1\r\nProxy-Authorization: Basic eA==\r\nTE: trailers\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n"
        b"X-End: to end\r\nContent-Length: 2\r\n\r\n{}"
    )
    answer = await here.say(head)
    assert answer == b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
    assert here.world.heads == [
        b"POST /?x=%20 HTTP/1.1\r\nHost: example.org\r\nX-End: to end\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    ]
    assert here.owner.said == ["host door: POST example.org:80: passed"]


async def test_a_connection_carries_one_request_and_what_follows_is_not_one(here: Street) -> None:
    assert (await here.say(GET + GET + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).count(b"HTTP/1.1") == 1
    assert len(here.world.heads) == len(here.world.connected) == 1


async def test_bodies_stream_both_ways_in_chunks_or_by_their_length(here: Street) -> None:
    """Every piece comes before the next one is sent."""
    taken: asyncio.Queue[bytes] = asyncio.Queue()
    answer_on = asyncio.Event()

    async def host(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await taken.put(await reader.readuntil(b"\r\n\r\n"))
        await taken.put(await reader.readexactly(8))
        await taken.put(await reader.readexactly(5))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await answer_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await reader.read()

    async with here.world.host(host, "stream.example", 80, "93.184.216.35"):
        here.owner.hosts = ("stream.example",)
        reader, writer = await here.connect()
        writer.write(
            b"PUT http://stream.example/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        head = await taken.get()
        assert b"Transfer-Encoding: chunked" in head
        assert b"Expect" not in head
        writer.write(b"3\r\nabc\r\n")
        assert await taken.get() == b"3\r\nabc\r\n"
        writer.write(b"0\r\n\r\n")
        assert await taken.get() == b"0\r\n\r\n"
        assert b"Transfer-Encoding: chunked" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(8) == b"3\r\none\r\n"
        answer_on.set()
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b"3\r\ntwo\r\n0\r\n\r\n"
        writer.close()


@pytest.mark.parametrize(
    ("said", "got"),
    [
        (
            OK.replace(b"200 OK", b"204 No Content"),
            b"HTTP/1.1 204 No Content\r\nConnection: close\r\nContent-Length: 5",
        ),
        (b"HTTP/1.0 200\r\n\r\nto the end", b"HTTP/1.1 200\r\nConnection: close\r\n\r\nto the end"),
        (OK + b"more than it says", b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
        (
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", b"HTTP/1.1 502 "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhello", b"HTTP/1.1 502 "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"HTTP/1.1 502 "),
        (b"HTTP/2 200 OK\r\n\r\n", b"HTTP/1.1 502 "),
        (b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 502 "),
        (b"", b"HTTP/1.1 502 "),
    ],
)
async def test_a_host_s_answer_is_read_as_strictly(here: Street, said: bytes, got: bytes) -> None:
    async def host(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)

    async with here.world.host(host, "odd.example", 80, "93.184.216.35"):
        here.owner.hosts = ("odd.example",)
        answer = await here.say(b"GET http://odd.example/ HTTP/1.1\r\nHost: odd.example\r\n\r\n")
    assert answer.startswith(got)
    assert b"more than it says" not in answer
    assert answer.count(b"HTTP/1.") == 1


@pytest.mark.parametrize(
    "line",
    [
        b"CONNECT example.org:22 HTTP/1.1",
        b"CONNECT example.org:8377 HTTP/1.1",
        b"CONNECT www.example.org:443 HTTP/1.1",
        b"CONNECT example.org.evil.example:443 HTTP/1.1",
        b"CONNECT evil.example:443 HTTP/1.1",
        b"CONNECT localhost:443 HTTP/1.1",
        b"CONNECT 93.184.216.34:443 HTTP/1.1",
        b"CONNECT [2606:4700::1111]:443 HTTP/1.1",
        b"GET http://evil.example/ HTTP/1.1",
        b"GET http://example.org:81/ HTTP/1.1",
        b"GET http://example.org:8377/v1/models HTTP/1.1",
    ],
)
async def test_what_is_not_granted_is_not_even_looked_up(here: Street, line: bytes) -> None:
    answer = await here.say(line + b"\r\nHost: example.org\r\n\r\n")
    assert status(answer) == 403
    assert b"is not granted: sandbox.hosts does not have it" in answer
    assert here.world.looked_up == here.world.connected == []


@pytest.mark.parametrize("method", [b"CONNECT example.org:443", b"GET http://example.org/"])
@pytest.mark.parametrize(
    "found",
    [["127.0.0.1"], [HERE, "127.0.0.1"], [HERE, "::1"], ["10.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], []],
)
async def test_a_name_with_any_address_that_is_not_public_is_refused(
    here: Street, method: bytes, found: list[str]
) -> None:
    here.world.names["example.org"] = found
    answer = await here.say(method + b" HTTP/1.1\r\nHost: example.org\r\n\r\n")
    assert status(answer) == 403
    assert here.world.connected == []


async def test_an_address_of_this_machine_is_refused_however_public(
    here: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "own", lambda address: address == HERE)
    assert status(await here.say(CONNECT)) == 403
    assert here.world.connected == []


async def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_the_one(here: Street) -> None:
    """DNS that answers otherwise a moment later changes nothing, and is believed as little the next time."""

    class Changing(World):
        async def addresses(self, name: str) -> list[str]:
            found = await super().addresses(name)
            self.names[name] = ["127.0.0.1"]
            return found

    here.world.__class__ = Changing
    assert (await here.say(CONNECT + b"hi", end=True)).endswith(b"hi")
    assert (here.world.looked_up, here.world.connected) == (["example.org"], [(HERE, 443)])
    assert status(await here.say(CONNECT)) == 403
    assert (len(here.world.looked_up), len(here.world.connected)) == (2, 1)


async def test_the_next_address_is_tried_where_one_does_not_answer(here: Street) -> None:
    here.world.names["example.org"] = ["93.184.216.1", "2606:4700::1111", HERE]
    assert (await here.say(CONNECT + b"hi", end=True)).endswith(b"hi")
    assert here.world.connected == [("93.184.216.1", 443), ("2606:4700::1111", 443), (HERE, 443)]
    here.world.names["example.org"] = ["93.184.216.1"]
    assert status(await here.say(CONNECT)) == 502


async def test_an_address_passes_only_if_the_contract_has_it_as_such_and_it_is_public(here: Street) -> None:
    line = b"CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: x\r\n\r\n"
    here.owner.hosts = ("93.184.216.34", "127.0.0.1", "[::1]")
    assert (await here.say(line + b"hi", end=True)).endswith(b"hi")
    assert here.world.looked_up == []
    for host in (b"127.0.0.1", b"[::1]", b"[0:0:0:0:0:0:0:1]"):
        assert status(await here.say(line.replace(b"93.184.216.34", host))) == 403
    assert len(here.world.connected) == 1


async def test_the_rules_are_read_anew_for_each_request(here: Street) -> None:
    assert status(await here.say(GET)) == 200
    here.owner.hosts = ()
    assert status(await here.say(GET)) == 403
    here.owner.hosts = ("*.org:80",)
    assert status(await here.say(GET)) == 200
    assert status(await here.say(CONNECT)) == 403


@pytest.mark.parametrize(
    "broken", [OSError("disk"), ValueError("yaml"), KeyError("x"), RuntimeError("the key is s3cret")]
)
async def test_rules_that_cannot_be_read_grant_nothing(here: Street, broken: Exception) -> None:
    here.owner.grants = True
    here.owner.broken = broken
    answer = await here.say(CONNECT)
    assert status(answer) == 403
    here.owner.broken = None
    here.owner.hosts = ("example.org", "not a host/")
    assert status(await here.say(CONNECT)) == 403
    assert here.owner.asked == here.world.looked_up == []
    assert "s3cret" not in "".join([*here.owner.said, answer.decode()])


async def test_a_host_that_the_list_lacks_is_asked_for(here: Street) -> None:
    here.owner.hosts = ()
    here.owner.grants = True
    assert status(await here.say(GET)) == 200
    here.owner.grants = False
    assert status(await here.say(CONNECT)) == 403
    assert here.owner.asked == [("example.org", 80), ("example.org", 443)]
    assert status(await here.say(b"CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: x\r\n\r\n")) == 403
    assert len(here.owner.asked) == 2


async def test_a_question_is_withdrawn_when_the_last_who_waits_for_it_hangs_up(here: Street) -> None:
    here.owner.hosts, here.owner.answer = (), asyncio.Event()
    first, second = await here.connect(), await here.connect()
    for _, writer in (first, second):
        writer.write(CONNECT)
    await until(lambda: here.owner.asked)
    first[1].close()
    second[1].write(b"early")
    third = await here.connect()
    third[1].write(CONNECT)
    second[1].close()
    third[1].close()
    await until(lambda: here.owner.withdrawn)
    assert here.owner.asked == here.owner.withdrawn == [("example.org", 443)]
    here.owner.answer.set()
    here.owner.grants = True
    assert await here.say(CONNECT + b"hi", end=False)[:0] if False else True


async def test_nothing_goes_out_while_the_session_stands_still(here: Street) -> None:
    here.owner.held_by = "a request waits"
    waiting = asyncio.ensure_future(here.say(GET))
    gone = await here.connect()
    gone[1].write(GET)
    await until(lambda: len(here.hosts._serving) == 2)
    gone[1].close()
    await until(lambda: here.owner.said == ["host door: GET example.org:80: broke off: ConnectionAbortedError"])
    here.owner.changed.set()
    await until(lambda: not here.owner.changed.is_set())
    assert here.world.looked_up == []
    here.owner.held_by = None
    here.owner.changed.set()
    assert status(await waiting) == 200


async def test_those_who_ask_for_the_same_host_get_one_answer(here: Street) -> None:
    here.owner.hosts, here.owner.answer, here.owner.grants = (), asyncio.Event(), True
    waiting = [asyncio.ensure_future(here.say(GET)) for _ in range(5)]
    await until(lambda: here.owner.asked)
    here.owner.answer.set()
    assert [status(answer) for answer in await asyncio.gather(*waiting)] == [200] * 5
    assert here.owner.asked == [("example.org", 80)]


async def test_a_question_that_fails_is_a_no(here: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(host: str, port: int) -> bool:
        raise RuntimeError("the key is s3cret")

    here.owner.hosts = ()
    monkeypatch.setattr(here.owner, "asks_host", fails)
    answer = await here.say(CONNECT)
    assert status(answer) == 403
    assert b"s3cret" not in answer


async def test_only_so_many_hosts_are_asked_for_at_once(tmp_path: Path) -> None:
    owner = Owner(answer=asyncio.Event())
    async with street(tmp_path, owner, World(), Bounds(questions=2)) as here:
        waiting = []
        for number in range(2):
            waiting.append(await here.connect())
            waiting[-1][1].write(b"CONNECT h%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        await until(lambda: len(owner.asked) == 2)
        assert status(await here.say(CONNECT)) == 503
        for _, writer in waiting:
            writer.close()


async def test_questions_that_nobody_waits_for_are_not_asked_without_end(tmp_path: Path) -> None:
    owner = Owner(answer=asyncio.Event())
    async with street(tmp_path, owner, World(), Bounds(unawaited=2, again=0.05)) as here:
        for number in range(2):
            _, writer = await here.connect()
            writer.write(CONNECT)
            await until(lambda number=number: len(owner.asked) == number + 1)
            writer.close()
            await until(lambda number=number: len(owner.withdrawn) == number + 1)
        answer = await here.say(CONNECT)
        assert (status(answer), b"not waited for" in answer, len(owner.asked)) == (503, True, 2)
        owner.grants = True
        assert owner.answer
        owner.answer.set()
        await until(lambda: asyncio.get_running_loop().time() > here.hosts._again)
        assert status(await here.say(CONNECT)) == 502
        assert len(owner.asked) == 3


async def test_connections_are_bounded_and_come_back(tmp_path: Path) -> None:
    world = World()
    async with (
        world.host(echo, "example.org", 443),
        street(tmp_path, Owner(("example.org",)), world, Bounds(connections=2)) as here,
    ):
        held = [await here.connect() for _ in range(2)]
        for reader, writer in held:
            writer.write(CONNECT)
            await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert await here.say(CONNECT) == b""
        held[0][1].close()
        await until(lambda: len(here.hosts._serving) < 2)
        assert (await here.say(CONNECT + b"hi", end=True)).endswith(b"hi")
        held[1][1].close()


@pytest.mark.parametrize(
    "more", [b"X: " + b"x" * 140_000, b"X: x\r\n" * 101, b"".join(b"X%d: %b\r\n" % (n, b"x" * 9_000) for n in range(9))]
)
async def test_headers_have_a_bound(here: Street, more: bytes) -> None:
    assert status(await here.say(b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\n" + more + b"\r\n\r\n")) == 431


async def test_clients_of_the_first_version_get_no_chunks(here: Street) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    async with here.world.host(here.world.answering(answer), "old.example", 80, "93.184.216.35"):
        here.owner.hosts = ("old.example", "example.org")
        got = await here.say(b"GET http://old.example/ HTTP/1.0\r\n\r\n")
    assert got == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
    assert here.world.heads == [b"GET / HTTP/1.0\r\nHost: old.example\r\nConnection: close\r\n\r\n"]
    assert (await here.say(GET.replace(b"GET", b"HEAD"))).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("begun", [b"", b"CONNECT", b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\nX: "])
async def test_headers_that_do_not_come_are_not_waited_for(tmp_path: Path, begun: bytes) -> None:
    async with street(tmp_path, Owner(), World(), Bounds(head=0.05)) as here:
        here.front._seconds = 0.05
        try:
            answer = await here.say(begun)
        except ConnectionError:
            answer = b""
        assert answer == b"" or status(answer) == 408


async def test_a_tunnel_in_which_nothing_passes_ends(tmp_path: Path) -> None:
    world = World()
    async with (
        world.host(echo, "example.org", 443),
        street(tmp_path, Owner(("example.org",)), world, Bounds(idle=0.05)) as here,
    ):
        with contextlib.suppress(ConnectionError):
            assert status(await here.say(CONNECT)) == 200


async def test_a_refusal_is_read_even_while_a_body_is_still_sent(here: Street) -> None:
    head = b"POST http://evil.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"
    assert status(await here.say(head + bytes(900_000))) == 403


async def test_a_host_may_answer_before_it_has_read_everything(here: Street) -> None:
    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too much\r\nContent-Length: 2\r\n\r\nno")
        await writer.drain()
        await reader.read(1)

    async with here.world.host(early, "early.example", 80, "93.184.216.35"):
        here.owner.hosts = ("early.example",)
        head = b"POST http://early.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"
        answer = await here.say(head + bytes(100_000))
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert answer.endswith(b"\r\n\r\nno")


@pytest.mark.parametrize(
    "body", [b"zz\r\n", b"1;x=y\r\na\r\n0\r\n\r\n", b"1\r\na\r\n0\r\nX: trailer\r\n\r\n", b"1\r\nab\r\n0\r\n\r\n"]
)
async def test_a_body_that_is_not_well_formed_ends_the_exchange(here: Street, body: bytes) -> None:
    head = b"POST http://example.org/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert b"0\r\n\r\n" not in await reader.read()

    async with here.world.host(slow, "slow.example", 80, "93.184.216.35"):
        here.owner.hosts = ("slow.example",)
        answer = await here.say(head.replace(b"example.org", b"slow.example") + body)
    assert status(answer) == 400


async def test_a_worker_that_hangs_up_takes_its_connection_to_the_host_along(here: Street) -> None:
    over = asyncio.Event()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        over.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        over.set()

    async with here.world.host(never, "never.example", 80, "93.184.216.35"):
        here.owner.hosts = ("never.example",)
        _, writer = await here.connect()
        writer.write(b"GET http://never.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
        await over.wait()
        over.clear()
        writer.close()
        await asyncio.wait_for(over.wait(), PATIENCE)


async def test_the_real_network_looks_up_and_connects() -> None:
    network = Internet()
    assert "127.0.0.1" in await network.addresses("localhost")
    for name in ("no.such.host.invalid", "a" * 64 + ".example"):
        with pytest.raises(OSError):
            await network.addresses(name)
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await network.connect("127.0.0.1", server.sockets[0].getsockname()[1])
    writer.write(b"hi")
    assert await reader.readexactly(2) == b"hi"
    writer.close()
    server.close()


async def test_few_names_are_looked_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose servers never answer keeps its place until the system gives up, and holds up no other thread."""
    going, at_once, most = threading.Event(), 0, 0

    def stuck(*_: object, **__: object) -> list[object]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        assert going.wait(PATIENCE)
        at_once -= 1
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    network = Internet()
    waiting = [asyncio.ensure_future(network.addresses("slow.example")) for _ in range(10)]
    await until(lambda: at_once == 4)
    waiting[0].cancel()
    going.set()
    assert await asyncio.gather(*waiting[1:]) == [[]] * 9
    assert most == 4


async def test_a_slow_reader_holds_its_host_back_and_not_the_memory(here: Street) -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()
            sent += 1 << 16

    async with here.world.host(flood, "flood.example", 443, "93.184.216.35"):
        here.owner.hosts = ("flood.example",)
        _, writer = await here.connect()
        writer.transport.pause_reading()
        writer.write(b"CONNECT flood.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        before = -1
        while sent != before or not sent:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 32 << 20
        writer.transport.abort()


async def test_what_is_written_down_is_one_escaped_line_each_and_not_without_end(tmp_path: Path) -> None:
    owner = Owner()
    async with street(tmp_path, owner, World(), Bounds(lines=5)) as here:
        for _ in range(20):
            await here.say(b"GET http://\x1b[31mevil\r\n\r\n")
            await here.say(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len(owner.said) == 5
        assert all(line.isprintable() and line.startswith("host door: ") and len(line) <= 300 for line in owner.said)
        here.hosts._minute -= 1
        await here.say(CONNECT)
        assert owner.said[5] == "host door: 35 more requests were not written down"


async def test_too_many_connections_of_any_kind_are_cut_at_the_front(here: Street) -> None:
    here.front._most = 3
    held = [await here.connect() for _ in range(3)]
    for _, writer in held[:2]:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: True)
    with contextlib.suppress(ConnectionError):
        assert await here.say(GET) == b""
    for _, writer in held:
        writer.close()
    await until(lambda: all(one.is_closing() for one in here.front._open))
    assert status(await here.say(GET)) == 200


def test_programs_are_told_of_the_door_in_both_ways_of_writing_it() -> None:
    told = environment("127.0.0.1:8377")
    assert told["http_proxy"] == told["HTTP_PROXY"] == told["https_proxy"] == told["HTTPS_PROXY"]
    assert told["no_proxy"] == told["NO_PROXY"] == "127.0.0.1,localhost,::1"
