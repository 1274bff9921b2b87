"""Where a request goes, with which key, and that the key never comes back."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from types import ModuleType

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from doors.gate import KEY, gate, message, messages, says, stream, streams
from proctor.doors.gateway.keys import Mask, read_key
from proctor.doors.gateway.port import Rules, Upstream
from proctor.doors.gateway.upstream import address, asking, choose
from proctor.errors import UsageError

HEADERS = ("authorization", "x-api-key", "x-goog-api-key")


@pytest.mark.parametrize(
    ("family", "given_", "expected"),
    [
        ("anthropic", {}, {"x-api-key": KEY}),
        ("openai", {}, {"authorization": f"Bearer {KEY}"}),
        ("gemini", {}, {"x-goog-api-key": KEY}),
        ("openai", {"auth": "api-key"}, {"api-key": KEY}),
        ("anthropic", {"auth": "authorization"}, {"authorization": f"Bearer {KEY}"}),
        ("openai", {"subscription": True}, {"authorization": f"Bearer {KEY}"}),
        ("openai", {"key": None}, {}),
        ("openai", {"headers": {"X-Org": "o"}}, {"authorization": f"Bearer {KEY}", "x-org": "o"}),
    ],
)
def test_the_key_goes_where_the_provider_wants_it(
    family: str, given_: dict[str, object], expected: dict[str, str]
) -> None:
    for placeholder in HEADERS:
        upstream = Upstream("main", "https://example.org", **{"key": KEY, **given_})  # type: ignore[arg-type]
        sent = asking({placeholder: "placeholder", "Host": "gateway"}, upstream, family)
        assert {name.lower(): text for name, text in sent.items()} == {"accept-encoding": "identity", **expected}


def test_a_login_s_token_comes_with_the_beta_that_it_needs() -> None:
    upstream = Upstream("main", "https://example.org", KEY, subscription=True)
    sent = asking({"anthropic-beta": "a, b"}, upstream, "anthropic")
    assert (sent["authorization"], sent["anthropic-beta"]) == (f"Bearer {KEY}", "a,b,oauth-2025-04-20")
    assert asking(sent, upstream, "anthropic")["anthropic-beta"] == "a,b,oauth-2025-04-20"


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        ("https://a.example", "/v1/messages?beta=true", "https://a.example/v1/messages?beta=true"),
        ("https://a.example/api/v1/", "/v1/responses", "https://a.example/api/v1/responses"),
        (
            "https://a.example/v1beta",
            "/v1beta/models/m:x?key=no&alt=sse",
            "https://a.example/v1beta/models/m:x?alt=sse",
        ),
        ("https://a.example/openai", "/v1/chat%2Fx/..", "https://a.example/openai/v1/chat%2Fx/.."),
        ("https://a.example", "//evil.example/v1", "https://a.example//evil.example/v1"),
        ("https://a.example", "/@evil.example/", "https://a.example/@evil.example/"),
    ],
)
def test_a_path_is_added_to_the_base(base: str, path: str, expected: str) -> None:
    found = address(Upstream("main", base, KEY), path)
    assert (str(found), found.host) == (expected, "a.example")


def test_a_query_of_the_contract_takes_the_place_of_the_client_s() -> None:
    upstream = Upstream("azure", "https://a.example", KEY, query={"api-version": "2026-01-01 x"})
    assert str(address(upstream, "/c?api-version=1&b=2")) == "https://a.example/c?b=2&api-version=2026-01-01+x"


def test_the_first_upstream_that_speaks_the_language_is_taken() -> None:
    one, two = Upstream("one", "", speaks=frozenset(("gemini",))), Upstream("two", "")
    assert [choose((one, two), family) for family in ("gemini", "openai")] == [one, two]
    assert choose((one,), "openai") is None


def test_keys_are_read_where_the_contract_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(f"{KEY}\nmore\n")
    ring = ModuleType("keyring")
    ring.get_password = lambda service, user: f"{service}+{user}-key"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    environ = {"A_KEY": KEY, "EMPTY": " "}
    assert read_key("env:A_KEY", environ, tmp_path) == KEY
    assert read_key("file:key", {}, tmp_path) == KEY
    assert read_key(f"file:{tmp_path}/key", {}, Path("/nowhere")) == KEY
    assert read_key("keyring:here/me/too", {}, tmp_path) == "here+me/too-key"
    (tmp_path / "odd").write_bytes(b"a\xffb")
    for missing in ("env:NONE", "env:EMPTY", "file:none", "file:.", "file:odd", KEY):
        with pytest.raises(UsageError) as refused:
            read_key(missing, environ, tmp_path)
        assert KEY not in str(refused.value)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(UsageError, match="pip install"):
        read_key("keyring:here/me", {}, tmp_path)


@settings(max_examples=50)
@given(st.lists(st.sampled_from([KEY, KEY[:9], KEY[9:], "sk-sk-the", "s", " and "]).map(str.encode)), st.data())
def test_no_key_passes_in_whatever_pieces(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    mask = Mask((KEY, None, "other-secret"))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    passed = b"".join(map(mask, pieces)) + mask.end()
    assert passed == whole.replace(KEY.encode(), b"*" * len(KEY))


async def test_what_cannot_begin_a_key_is_passed_on_at_once() -> None:
    mask = Mask((KEY,))
    assert mask(b"data: hello\n\n") == b"data: hello\n\n"
    assert (mask(b"ends with s"), mask(b"o it is kept")) == (b"ends with ", b"so it is kept")


async def echo(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
    """A server that tells all it was told, in head and body."""
    told = {name: text for name, text in request.headers.items() if KEY in text}
    status = int(request.headers.get("x-status", "200"))
    return web.json_response({**message(str(told)), "error": {"message": str(told)}}, status=status, headers=told)


@pytest.mark.parametrize("status", ["200", "400", "401", "429", "500"])
async def test_an_upstream_that_echoes_gives_nothing_away(
    tmp_path: Path, status: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.doors.gateway.ask.PAUSES", (0,))
    caplog.set_level(logging.DEBUG)
    headers = {"x-status": status, "x-should-retry": "false"}
    kept = tmp_path / "kept"
    async with gate(tmp_path, echo, record_to=kept, record=True, unknown_paths=True) as made:
        for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/other"):
            if status == "429" and path == "/v1/messages":
                continue  # it would be waited for
            async with made.client.post(path, json=messages(), headers=headers) as answer:
                assert KEY not in str(answer.headers)
                assert KEY.encode() not in await answer.read()
        said = f"{made.owner.calls} {made.owner.said} {made.owner.limits} {made.owner.current} {caplog.text}"
        assert KEY not in said
    assert all(KEY.encode() not in file.read_bytes() for file in kept.glob("*"))


async def test_a_stream_that_holds_the_key_does_not_give_it_away(tmp_path: Path) -> None:
    whole = b"".join(stream(f"it is {KEY}."))
    at = whole.index(KEY.encode()) + 9
    async with gate(tmp_path, streams([whole[:at], whole[at:]])) as made:
        _, body = await made.post(messages(stream=True))
    assert body == whole.replace(KEY.encode(), b"*" * len(KEY))


async def test_bodies_are_kept_only_if_the_rules_say_so_and_without_secrets(tmp_path: Path) -> None:
    kept, secret = tmp_path / "kept", "ghp_" + "a1B2" * 9
    async with gate(tmp_path, says(message(f"your token is {secret}")), record_to=kept) as made:
        await made.post(messages())
        made.owner.current = Rules(made.owner.current.upstreams, record=True)
        await made.post(messages(f"take {secret} and Bearer {'x' * 30}"))
        call = made.owner.calls[1].call
    asked, answered = (kept / f"{call}.{part}" for part in ("request", "answer"))
    assert sorted(kept.iterdir()) == sorted((asked, answered))
    assert json.loads(asked.read_bytes()) == messages("take [redacted] and [redacted]")
    assert json.loads(answered.read_bytes()) == message("your token is [redacted]")
    assert (kept.stat().st_mode & 0o777, asked.stat().st_mode & 0o777) == (0o700, 0o600)
