from __future__ import annotations

from pathlib import Path

import pytest

from proctor.contract.load import load
from proctor.contract.model import Contract
from proctor.errors import UsageError
from proctor.supervisor import policies
from proctor.words import Api

CONTRACT = """\
goal: try
worker: {{kind: command, command: [/bin/true]}}
state: {{hide: [secrets], environment: {{variables: [GRANTED]}}}}
sandbox: {{kind: {kind}}}
budget: {{iterations: {{limit: 3, on_exhaustion: stop}}}}
progress: {{checks: [{{run: [/bin/true]}}]}}
gateway: {{upstream: {{one: {{base_url: "http://h", key: "{key}"}}, two: {{base_url: "http://h", key: env:GRANTED}}}}}}
"""


def contract(workspace: Path, key: str = "env:ONE", kind: str = "bwrap") -> Contract:
    (workspace / "proctor.yaml").write_text(CONTRACT.format(key=key, kind=kind))
    return load(workspace)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "key-one-0123456789")
    monkeypatch.setenv("GRANTED", "key-two-0123456789")


@pytest.mark.parametrize("key", ["key", "a/../key", "link", "/etc/key", "/usr/share/key"])
def test_a_key_in_a_file_that_a_worker_can_read_is_refused(tmp_path: Path, key: str) -> None:
    (tmp_path / "key").write_text("key-three-0123456789\n")
    (tmp_path / "link").symlink_to("key")
    with pytest.raises(UsageError, match="a worker can read it there"):
        policies.upstreams(tmp_path, contract(tmp_path, f"file:{key}"))


def test_a_key_in_a_file_elsewhere_or_hidden_is_read(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("t") / "key"
    (tmp_path / "secrets").mkdir()
    for path, where in ((elsewhere, elsewhere), (tmp_path / "secrets" / "key", Path("secrets/key"))):
        path.write_text("key-three-0123456789\n")
        assert policies.upstreams(tmp_path, contract(tmp_path, f"file:{where}"))[0].key == "key-three-0123456789"


def test_without_walls_the_operator_s_keys_are_emptied_but_for_those_that_are_granted(tmp_path: Path) -> None:
    inside = policies.base(tmp_path, contract(tmp_path, kind="none")).environment
    assert (inside["ONE"], inside["GRANTED"]) == ("", "key-two-0123456789")
    assert "ONE" not in policies.base(tmp_path, contract(tmp_path)).environment


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://models.example/v1", "http://me:word@proxy.example:3128"),
        ("http://models.example", "http://plain.example"),
        ("https://models.inside.example", ""),
        ("https://here.example:8443", ""),
        ("http://localhost:8080", ""),
        ("http://127.1.2.3", ""),
        ("http://[::1]:8080", ""),
    ],
)
def test_upstreams_are_reached_by_the_operator_s_proxy_and_this_machine_by_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:word@proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "plain.example")
    monkeypatch.setenv("NO_PROXY", ".inside.example,here.example:8443")
    contract(tmp_path)
    path = tmp_path / "proctor.yaml"
    path.write_text(path.read_text().replace('"http://h", key: "env:ONE"', f'"{url}"'))
    made = load(tmp_path)
    assert policies.upstreams(tmp_path, made)[0].proxy == proxy
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:word@proxy.example")
    if url.startswith("https:") and proxy:
        with pytest.raises(UsageError, match="HTTPS_PROXY names a socks5 proxy, and only HTTP proxies can be used"):
            policies.upstreams(tmp_path, made)


@pytest.mark.parametrize(
    ("upstreams", "apis"),
    [
        ("{}", ()),
        ("{main: {base_url: http://h}}", ()),
        ("{openai: {base_url: http://h}}", (Api.CHAT,)),
        ("{a: {base_url: http://h, speaks: gemini}, anthropic: {base_url: http://h}}", (Api.MESSAGES, Api.GEMINI)),
        ("{a: {base_url: http://h, speaks: gemini}, main: {base_url: http://h}}", ()),
    ],
)
def test_a_worker_is_told_what_its_upstreams_can_be_asked_through(
    tmp_path: Path, upstreams: str, apis: tuple[Api, ...]
) -> None:
    text = CONTRACT.format(key="env:ONE", kind="bwrap").partition("gateway:")[0]
    (tmp_path / "proctor.yaml").write_text(f"{text}gateway: {{upstream: {upstreams}}}\n")
    assert policies.apis(load(tmp_path)) == apis


@pytest.mark.parametrize(
    ("approvals", "asks"),
    [
        ("{}", True),
        ('{allow: ["*(*)"]}', False),
        ('{allow: ["*(*)"], deny: ["shell(rm *)"]}', True),
        ('{allow: ["read(*)"]}', True),
    ],
)
def test_a_worker_asks_nothing_where_all_is_allowed(tmp_path: Path, approvals: str, asks: bool) -> None:
    contract(tmp_path)
    with (tmp_path / "proctor.yaml").open("a") as file:
        file.write(f"approvals: {approvals}\n")
    assert policies.asks(load(tmp_path)) is asks


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        ("", "", False),
        ("command: [/bin/true]}", "command: [/bin/true], model: some-model}", True),
        ("iterations: {limit: 3,", "tokens: {limit: 3000,", True),
        ("iterations: {limit: 3,", "cost: {limit: $3,", True),
        ("command: [/bin/true]}", "command: [/bin/true], agent: mini, model: some-model}", False),
    ],
)
def test_output_stands_for_tokens_only_where_the_contract_speaks_of_a_model(
    tmp_path: Path, before: str, after: str, counted: bool
) -> None:
    (tmp_path / "proctor.yaml").write_text(CONTRACT.format(key="env:ONE", kind="bwrap").replace(before, after, 1))
    assert policies.is_estimated(load(tmp_path)) is counted
